//! The fuzzer of the stored form, as bytes that anyone may have written; what it does is in `src/chunks.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| dq_fuzz::chunks::run(input));
