//! What a queue does, told as stories: given this, at that time, then so. Each test's name is a sentence.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

mod random;
mod story;
