//! The seeds of the fuzzers, run once by an ordinary build: what a fuzzer found stays found.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use dq_fuzz::{chunks, effects, operations, seeds};

fn replay(target: &str, run: impl Fn(&[u8])) {
    let inputs = seeds::of(target);
    assert!(inputs.len() > 50, "{target} has {} seeds", inputs.len());
    inputs.iter().for_each(|input| run(input));
}

#[test]
fn the_seeds_of_chunks_keep_every_promise() {
    replay("chunks", chunks::run);
}

#[test]
fn the_seeds_of_effects_keep_every_promise() {
    replay("effects", effects::run);
}

#[test]
fn the_seeds_of_operations_keep_every_promise() {
    replay("operations", operations::run);
}
