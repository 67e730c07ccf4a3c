//! What the fuzzers do with an input: three targets, each a function of bytes that panics when a promise is broken.
//!
//! The binaries in `targets/` give these functions to libFuzzer (`make fuzz`); `tests/replay.rs` gives them the seeds.
//! Operations, their interpreter and the naive list against which they are held are those of the engine's own tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "to panic is how a target reports"
)]

pub mod chunks;
pub mod drawing;
pub mod effects;
pub mod operations;
pub mod seeds;

#[allow(dead_code, reason = "the engine's model test compares more of it")]
#[path = "../../engine/tests/naive/mod.rs"]
mod naive;
#[path = "../../engine/tests/random/mod.rs"]
mod random;
