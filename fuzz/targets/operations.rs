//! The fuzzer of sequences of operations against a naive list; what it does is in `src/operations.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| dq_fuzz::operations::run(input));
