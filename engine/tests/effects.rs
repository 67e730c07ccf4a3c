//! What effects promise: done again elsewhere they give an equal queue, and what strangers send changes nothing or
//! leaves a sound queue.
//!
//! Two queues are equal when they are stored as the same bytes: jobs, orders, sequences, counters, policy and pause.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

mod random;

use dq_engine::effect::{Effects, parse};
use dq_engine::error::{EffectFault, Refusal};
use dq_engine::queue::Queue;
use dq_engine::time::UnixMs;
use proptest::prelude::*;

use random::chunks::{first_sequence, loaded, numbered_from, stored};
use random::perform::{Book, perform};
use random::words::{Arguments, borrowed, hostile, line_of, words_of};
use random::{NARROW, START, Step, Tidy, WIDE, configured, steps};

proptest! {
    #![proptest_config(configured(300))]
    #[test]
    fn effects_done_again_give_an_equal_queue_after_every_operation(
        policy in random::policy(),
        first in first_sequence(),
        steps in steps(NARROW, 1..80),
    ) {
        replicate(|| numbered_from(policy, first), &steps.0, 1)?;
    }

    #[test]
    fn what_strangers_send_changes_nothing_or_leaves_a_sound_queue(
        policy in random::policy(),
        before in steps(NARROW, 0..20),
        batches in prop::collection::vec(hostile(), 1..12),
        after in steps(NARROW, 0..20),
    ) {
        let (mut queue, _) = run(Queue::new(policy), &before.0);
        for words in &batches {
            send(&mut queue, words)?;
        }
        prop_assert_eq!(&stored(&queue), &stored(&loaded(&stored(&queue))), "it can be stored and loaded");
        run(queue, &after.0).0.check().map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(configured(4))]
    #[test]
    fn effects_of_a_queue_with_many_jobs_done_again_give_an_equal_queue(
        policy in random::policy(),
        steps in steps(WIDE, 3_000..4_000),
    ) {
        replicate(|| Queue::new(policy), &steps.0, 100)?;
    }
}

/// Does `steps`, each to one of two queues, and their effects to the other, which is the one that operates next.
fn replicate(begin: impl Fn() -> Queue, steps: &[Step], every: usize) -> Result<(), TestCaseError> {
    let (mut master, mut replica) = (begin(), begin());
    let (mut now, mut book) = (START, Book::default());
    for (number, step) in steps.iter().enumerate() {
        now = step.tick.after(now);
        let mut effects = Effects::default();
        if step.tidy == Tidy::Before {
            master.tidy(UnixMs(now), &mut effects);
        }
        book.note(&perform(&mut master, now, &step.op, &book, &mut effects));
        if step.tidy == Tidy::After {
            master.tidy(UnixMs(now), &mut effects);
        }
        if !effects.is_empty() {
            let words = words_of(&effects);
            let words = borrowed(&words);
            let parsed = parse(&words).expect("effects are understood");
            prop_assert_eq!(&parsed[..], &effects.0[..], "step {}", number);
            prop_assert_eq!(replica.apply(&parsed), Ok(()), "step {}", number);
        }
        if number % every == every - 1 || number + 1 == steps.len() {
            prop_assert_eq!(stored(&master), stored(&replica), "after step {} at {}", number, now);
            prop_assert_eq!(master.bytes(), replica.bytes());
            prop_assert_eq!(replica.check(), Ok(()));
        }
        std::mem::swap(&mut master, &mut replica);
    }
    Ok(())
}

/// Does `steps` to `queue`, whose effects must be fit for a replica; returns it and when it is.
fn run(mut queue: Queue, steps: &[Step]) -> (Queue, u64) {
    let mut replica = loaded(&stored(&queue));
    let (mut now, mut book) = (START, Book::default());
    for step in steps {
        now = step.tick.after(now);
        let mut effects = Effects::default();
        book.note(&perform(&mut queue, now, &step.op, &book, &mut effects));
        queue.tidy(UnixMs(now), &mut effects);
        if !effects.is_empty() {
            let words = words_of(&effects);
            replica.apply(&parse(&borrowed(&words)).expect("effects are understood")).expect("effects fit");
        }
    }
    assert_eq!(stored(&queue), stored(&replica));
    (queue, now)
}

/// Sends words to a queue: they are done and leave it sound, or are refused and change nothing.
fn send(queue: &mut Queue, words: &Arguments) -> Result<(), TestCaseError> {
    let before = stored(queue);
    let done = parse(&borrowed(words)).map_err(Refusal::from).and_then(|effects| queue.apply(&effects));
    match done {
        Ok(()) => prop_assert_eq!(queue.check(), Ok(()), "after {}", line_of(words)),
        Err(_) => prop_assert_eq!(before, stored(queue), "refused: {}", line_of(words)),
    }
    Ok(())
}

/// A queue with a job in each standing, whose id tells it, made from effects.
fn one_of_each() -> Queue {
    let mut queue = Queue::default();
    let words = [
        "POLICY 0 2 1000 2 3600000 0 10001 0",
        "PUT waiting m 2000 PUT leased m 2000 EXPIRES 9000 PUT last m 2000 ATTEMPTS 1 PUT dead m 2000",
        "LEASE 3000 77 2 leased last BURY dead rejected 2500",
    ];
    for words in words {
        queue.apply(&parse(&split(words)).expect("sound words")).expect("fitting effects");
    }
    queue
}

fn split(line: &str) -> Vec<&[u8]> {
    line.split(' ').map(str::as_bytes).collect()
}

/// Does the effects of `line`; if they are refused, nothing has changed.
fn attempt(queue: &mut Queue, line: &str) -> Result<(), Refusal> {
    let before = stored(queue);
    let done = parse(&split(line)).map_err(Refusal::from).and_then(|effects| queue.apply(&effects));
    assert_eq!(queue.check(), Ok(()), "after {line}");
    if done.is_err() {
        assert_eq!(before, stored(queue), "refused: {line}");
    }
    done
}

#[test]
fn an_effect_is_done_only_to_jobs_in_a_fitting_state() {
    let fitting = [
        ("PUT {} m 1", "absent waiting leased last dead"),
        ("LEASE 4000 78 1 {}", "waiting leased last"),
        ("REMOVE acked 1 {}", "waiting leased last dead"),
        ("EXTEND 4000 1 {}", "leased last"),
        ("RELEASE {} 4000 1", "leased last"),
        ("ERROR {} text", "waiting leased last dead"),
        ("BURY {} conflict 4000", "waiting leased last"),
        ("RESCHEDULE {} 4000", "waiting leased last"),
        ("REDRIVE 4000 1 {}", "dead"),
    ];
    for (effect, states) in fitting {
        for state in ["absent", "waiting", "leased", "last", "dead"] {
            let fits = states.split(' ').any(|fitting| fitting == state);
            let done = attempt(&mut one_of_each(), &effect.replace("{}", state));
            let missing = Err(EffectFault::NoSuchJob(state.as_bytes().into()).into());
            assert_eq!(done, if fits { Ok(()) } else { missing }, "{effect} to {state}");
        }
    }
}

#[test]
fn a_bad_effect_behind_good_ones_undoes_none_since_none_was_done() {
    let good = "PUT new m 1 LEASE 9 80 2 new waiting REMOVE acked 1 leased PAUSE 5 POLICY 1 1 1 1 1 1 1 1";
    assert_eq!(attempt(&mut one_of_each(), good), Ok(()));
    let bad = [
        "REMOVE acked 1 absent",
        "REMOVE acked 1 leased",
        "REDRIVE 4000 1 waiting",
        "LEASE 9 81 2 last last REMOVE moved 2 last last",
        "LOAD J",
        "PUT",
        "NONSENSE",
    ];
    for bad in bad {
        assert!(attempt(&mut one_of_each(), &format!("{good} {bad}")).is_err(), "{bad}");
    }
}

#[test]
fn an_effect_sees_what_those_before_it_did() {
    let chain = "PUT a m 1 LEASE 9 80 1 a BURY a nacked 9 REDRIVE 9 1 a REMOVE moved 1 a PUT a m 2";
    assert_eq!(attempt(&mut one_of_each(), chain), Ok(()));
    for spoiled in ["REMOVE acked 1 dead REDRIVE 9 1 dead", "RELEASE leased 9 1 EXTEND 9 1 leased"] {
        assert!(attempt(&mut one_of_each(), spoiled).is_err(), "{spoiled}");
    }
}

#[test]
fn a_chunk_is_loaded_by_a_command_of_its_own() {
    let chunks = stored(&one_of_each());
    for beside in ["PAUSE 5", "LOAD J"] {
        let beside = split(beside);
        for words in [
            [&[&b"LOAD"[..], &chunks[1]], &beside[..]].concat(),
            [&beside, &[&b"LOAD"[..], &chunks[1]][..]].concat(),
        ] {
            assert_eq!(parse(&words), Err(EffectFault::LoadNotAlone));
        }
    }
    let (load, pause) =
        (parse(&[b"LOAD", &chunks[1]]).expect("sound"), parse(&split("PAUSE 5")).expect("sound"));
    let mut queue = Queue::default();
    let both = [pause, load].concat();
    assert_eq!(queue.apply(&both), Err(EffectFault::LoadNotAlone.into()));
    assert_eq!(stored(&queue), stored(&Queue::default()));
}

/// Effects with a number that is none or is outside its range, or a word out of its place.
const WRONG: [&str; 45] = [
    "PUT a m 9007199254740992",
    "PUT a m 1 PRIORITY 256",
    "PUT a m 1 PRIORITY 0",
    "PUT a m 1 PRIORITY",
    "PUT a m 1 EXPIRES 9007199254740992",
    "PUT a m 9 EXPIRES 8",
    "PUT a m 0 EXPIRES 0",
    "PUT a m 1 ATTEMPTS 4294967296",
    "PUT a m 1 ATTEMPTS 0",
    "PUT a m 1 ATTEMPTS 1 PRIORITY 1",
    "PUT a m 1 PRIORITY 1 PRIORITY 1",
    "PUT a m -1",
    "PUT a m 1.5",
    "PUT a m +1",
    "PUT a m 1e3",
    "PUT a m 0x1",
    "PUT a m ",
    "PUT a m 18446744073709551616",
    "PUT a m 000000000000000000001",
    "PUT  m 1",
    "PUT a m",
    "LEASE 9007199254740992 1 1 waiting",
    "LEASE 1 0 1 waiting",
    "LEASE 1 18446744073709551616 1 waiting",
    "LEASE 1 1 0",
    "LEASE 1 1 2 waiting",
    "LEASE 1 1 18446744073709551615 waiting",
    "LEASE 1 1 4294967295 waiting",
    "RELEASE leased 9007199254740992 1",
    "RELEASE leased 1 4294967296",
    "BURY leased nacked 9007199254740992",
    "BURY leased lease_expired 1",
    "REMOVE done 1 waiting",
    "RESCHEDULE waiting 9 EXPIRES 0",
    "RESCHEDULE waiting 9 EXPIRES 9007199254740992",
    "REDRIVE 9007199254740992 1 dead",
    "PAUSE 9007199254740993",
    "POLICY 1000000000001 0 0 1 0 0 0 0",
    "POLICY 0 65536 0 1 0 0 0 0",
    "POLICY 0 0 1000000000001 1 0 0 0 0",
    "POLICY 0 0 0 0 0 0 0 0",
    "POLICY 0 0 0 101 0 0 0 0",
    "POLICY 0 0 0 1 1000000000001 0 0 0",
    "POLICY 0 0 0 1 0 101 0 0",
    "POLICY 0 0 0 1 0 0 0 1000000000001",
];

#[test]
fn a_number_outside_its_range_is_refused() {
    for line in WRONG {
        assert!(attempt(&mut one_of_each(), line).is_err(), "{line}");
    }
    let right = [
        "PUT a m 9007199254740991 PRIORITY 255 EXPIRES 9007199254740991 ATTEMPTS 4294967295",
        "PAUSE 9007199254740992",
        "PAUSE 0",
    ];
    for line in right {
        assert_eq!(attempt(&mut one_of_each(), line), Ok(()), "{line}");
    }
    assert_eq!(parse(&[]), Err(EffectFault::Missing("effect")));
}

#[test]
fn an_id_or_an_error_text_beyond_its_length_is_refused() {
    for (length, fits) in [(1024, true), (1025, false)] {
        let text = "x".repeat(length);
        assert_eq!(attempt(&mut one_of_each(), &format!("PUT {text} m 1")).is_ok(), fits);
        assert_eq!(attempt(&mut one_of_each(), &format!("ERROR dead {text}")).is_ok(), fits);
    }
}
