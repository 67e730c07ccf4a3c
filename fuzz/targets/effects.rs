//! The fuzzer of the words of effects, as anyone may send them; what it does is in `src/effects.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| dq_fuzz::effects::run(input));
