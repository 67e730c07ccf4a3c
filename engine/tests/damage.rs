//! Damaged chunks: each is refused or leaves a queue that is sound and can be used. Nothing panics, and no number in a
//! chunk makes the engine take memory for it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

mod random;

use dq_engine::codec::{HEADER, JOBS, Writer};
use dq_engine::effect::Effects;
use dq_engine::id::IdRef;
use dq_engine::queue::{Loaded, Queue};
use dq_engine::time::UnixMs;
use proptest::prelude::*;

use random::aftermath::use_up;
use random::chunks::{loaded, stored};
use random::perform::{Book, perform};
use random::rich::rich;
use random::{NARROW, START, configured, steps};

/// Loads `chunk`, which is the header or comes behind it: refused with nothing changed, or sound.
fn load_damaged(header: Option<&Vec<u8>>, chunk: &[u8]) -> Option<Loaded> {
    let mut queue = loaded(header.map(std::slice::from_ref).unwrap_or_default());
    let before = stored(&queue);
    let done = queue.load(chunk);
    assert_eq!(queue.check(), Ok(()));
    match done {
        Ok(what) => {
            use_up(queue);
            Some(what)
        }
        Err(_) => {
            assert_eq!(before, stored(&queue));
            None
        }
    }
}

/// Every bit of every chunk turned over, and every chunk cut at every byte.
fn damage_everywhere(chunks: &[Vec<u8>]) {
    for (number, chunk) in chunks.iter().enumerate() {
        let header = (number > 0).then(|| &chunks[0]);
        let whole = load_damaged(header, chunk).expect("a sound chunk");
        for length in 0..chunk.len() {
            match (load_damaged(header, &chunk[..length]), whole) {
                (None, _) => {}
                // Cut between two jobs: the sum is not what the header tells.
                (Some(Loaded::Jobs(part)), Loaded::Jobs(all)) => assert!(part < all),
                (Some(part), _) => panic!("cut at {length} of {}: {part:?}", chunk.len()),
            }
        }
        for bit in 0..chunk.len() * 8 {
            let mut damaged = chunk.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            load_damaged(header, &damaged);
        }
    }
}

#[test]
fn every_cut_and_every_flipped_bit_of_a_rich_queue_is_refused_or_harmless() {
    damage_everywhere(&stored(&rich()));
}

proptest! {
    #![proptest_config(configured(8))]
    #[test]
    fn every_cut_and_every_flipped_bit_of_any_queue_is_refused_or_harmless(
        policy in random::policy(),
        steps in steps(NARROW, 0..30),
    ) {
        let mut queue = Queue::new(policy);
        let (mut now, mut book) = (START, Book::default());
        for step in &steps.0 {
            now = step.tick.after(now);
            let answer = perform(&mut queue, now, &step.op, &book, &mut Effects::default());
            book.note(&answer);
        }
        // The id of 1,024 bytes would only make it slow.
        queue.cancel(UnixMs(now), IdRef::of(&random::NAMES[2]), &mut Effects::default());
        damage_everywhere(&stored(&queue));
    }
}

proptest! {
    #![proptest_config(configured(2_000))]
    #[test]
    fn bytes_that_no_queue_wrote_are_refused_or_harmless(
        kind in prop_oneof![Just(HEADER), Just(JOBS), any::<u8>()],
        rest in prop::collection::vec(prop_oneof![2 => 0..6u8, 1 => any::<u8>()], 0..60),
    ) {
        load_damaged(None, &[&[kind], &rest[..]].concat());
        load_damaged(Some(&stored(&rich())[0]), &[&[kind], &rest[..]].concat());
    }
}

#[test]
fn an_empty_chunk_is_refused() {
    assert_eq!(load_damaged(None, b""), None);
    assert_eq!(load_damaged(None, b"J"), None);
    assert_eq!(load_damaged(None, b"H"), None);
}

/// The most memory that this process has used so far, in kB, where the system tells it.
fn peak_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// A dead job with an error text of this length, which does not follow.
fn dead_with_error(length: u64) -> Vec<u8> {
    let mut numbers = Writer::new(JOBS);
    [1, u64::from(b'i'), 0, 1, 1, 0, length].iter().for_each(|&number| numbers.number(number));
    // What the job has: an error text, a reason, the standing of the dead.
    [&[JOBS, 0x80 | 0x40 | 3], &numbers.bytes()[1..]].concat()
}

#[test]
fn a_length_or_count_that_is_claimed_takes_no_memory() {
    let header = stored(&rich()).swap_remove(0);
    let sound = [&dead_with_error(1)[..], b"x"].concat();
    assert_eq!(load_damaged(Some(&header), &sound), Some(Loaded::Jobs(1)));
    let before = peak_kb();
    for claimed in (20..64).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits]) {
        // A job's id, its message, its error text, and how many jobs the header tells of.
        let (mut id, mut message) = (Writer::new(JOBS), Writer::new(JOBS));
        [0, claimed].iter().for_each(|&number| id.number(number));
        [0, 1, u64::from(b'i'), claimed].iter().for_each(|&number| message.number(number));
        for chunk in [id.bytes(), message.bytes(), &dead_with_error(claimed)] {
            assert_eq!(load_damaged(Some(&header), chunk), None);
        }
        let mut telling = Writer::new(HEADER);
        let rest = [1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0].into_iter().chain([0; 11]);
        [claimed].into_iter().chain(rest).for_each(|number| telling.number(number));
        assert_eq!(load_damaged(None, telling.bytes()), Some(Loaded::Header { jobs: claimed }));
    }
    // Tests beside this one take some memory too; the smallest reservation that matters here is 2^31.
    if let (Some(before), Some(after)) = (before, peak_kb()) {
        assert!(after - before < 1 << 20, "{before} kB, then {after} kB");
    }
}
