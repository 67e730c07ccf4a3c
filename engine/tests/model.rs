//! Random operations against a naive list, over times that stand still, jump ahead and step back.
//!
//! After every step the replies, every job, every listing, the counts and the order of delivery are the same, and
//! the invariants hold.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

mod naive;
mod random;

use dq_engine::effect::Effects;
use dq_engine::id::IdRef;
use dq_engine::job::State;
use dq_engine::lane::Horizon;
use dq_engine::queue::{Limit, Queue};
use dq_engine::time::{Millis, UnixMs};
use dq_engine::timeline::Key;
use proptest::prelude::*;

use naive::Naive;
use random::chunks::{first_sequence, numbered_from, stored};
use random::perform::{Answer, Book, Seen, perform};
use random::{NAMES, NARROW, START, Spread, Step, Tidy, WIDE, configured, steps};

const ALL: Limit = Limit { count: usize::MAX, bytes: usize::MAX };

proptest! {
    #![proptest_config(configured(400))]
    #[test]
    fn the_queue_agrees_with_a_naive_list_at_every_step(
        policy in random::policy(),
        first in first_sequence(),
        steps in steps(NARROW, 1..80),
    ) {
        run(numbered_from(policy, first), NARROW, &steps.0, 1)?;
    }
}

proptest! {
    #![proptest_config(configured(5))]
    #[test]
    fn a_queue_with_many_jobs_agrees_with_a_naive_list(
        policy in random::policy(),
        steps in steps(WIDE, 3_000..4_000),
    ) {
        run(Queue::new(policy), WIDE, &steps.0, 50)?;
    }
}

/// Does `steps` to both; compares all of both after every `every`th.
fn run(mut queue: Queue, spread: Spread, steps: &[Step], every: usize) -> Result<(), TestCaseError> {
    let mut naive = Naive::new(*queue.policy());
    let (mut now, mut book) = (START, Book::default());
    for (number, step) in steps.iter().enumerate() {
        now = step.tick.after(now);
        if step.tidy == Tidy::Before {
            queue.tidy(UnixMs(now), &mut Effects::default());
            naive.tidy(now);
        }
        let compared = number % every == every - 1;
        let before = compared.then(|| stored(&queue));
        let mut effects = Effects::default();
        let answer = perform(&mut queue, now, &step.op, &book, &mut effects);
        prop_assert_eq!(&answer, &naive.perform(now, &step.op, &book), "step {} at {}", number, now);
        book.note(&answer);
        if let Some(before) = before {
            prop_assert!(answer != Answer::Refused || effects.is_empty(), "step {} is refused", number);
            let same = !effects.is_empty() || before == stored(&queue);
            prop_assert!(same, "step {} had no effects but changed the queue", number);
        }
        if step.tidy == Tidy::After {
            queue.tidy(UnixMs(now), &mut Effects::default());
            naive.tidy(now);
        }
        if compared {
            prop_assert_eq!(queue.check(), Ok(()), "step {}", number);
            compare(&queue, &naive, now, spread)
                .map_err(|fault| TestCaseError::fail(format!("after step {number} at {now}: {fault}")))?;
        }
    }
    Ok(())
}

/// Everything that can be read of both at `now`.
fn compare(queue: &Queue, naive: &Naive, now: u64, spread: Spread) -> Result<(), TestCaseError> {
    let at = UnixMs(now);
    for name in &NAMES[..spread.names] {
        let seen = queue.get(at, IdRef::of(name)).map(|view| Seen::of(&view));
        let row = naive.find(name).and_then(|row| naive.rows[row].seen(now));
        prop_assert_eq!(seen, row);
    }
    let ids = |rows: Vec<usize>| rows.into_iter().map(|row| naive.rows[row].id.clone()).collect::<Vec<_>>();
    for state in [State::Waiting, State::Claimed, State::Dead] {
        let mut last = Key::FIRST;
        let listed: Vec<Vec<u8>> = queue
            .walk(state, Key::FIRST, at)
            .map(|(key, slot)| {
                assert!(key > last, "the cursor of each job is past the one before");
                last = key;
                queue.view(slot, at).expect("a listed job is there").id.text().to_vec()
            })
            .collect();
        prop_assert_eq!(listed, ids(naive.listed(state, now)), "listing of {:?}", state);
    }
    for ahead in [0, 9] {
        let picked = queue.pick(Horizon { now: at, waiting: UnixMs(now + ahead) }, ALL);
        let picked: Vec<Vec<u8>> =
            picked.iter().map(|&slot| queue.view(slot, at).expect("a due job").id.text().to_vec()).collect();
        prop_assert_eq!(&picked, &ids(naive.order(now, ahead)), "order of delivery, {} ms ahead", ahead);
        compare_availability(queue, at, Millis(ahead))?;
    }
    compare_counts(queue, naive, now)
}

/// What is available is picked from that very millisecond on.
fn compare_availability(queue: &Queue, now: UnixMs, ahead: Millis) -> Result<(), TestCaseError> {
    let finds = |now: UnixMs| !queue.pick(Horizon { now, waiting: now.plus(ahead) }, ALL).is_empty();
    match queue.available_at(now, ahead) {
        Some(at) => prop_assert!(finds(at) && (at == now || !finds(UnixMs(at.0 - 1))), "from {} on", at.0),
        None => prop_assert!(!finds(now) && !finds(UnixMs::MAX)),
    }
    Ok(())
}

fn compare_counts(queue: &Queue, naive: &Naive, now: u64) -> Result<(), TestCaseError> {
    let info = queue.info(UnixMs(now));
    let count = |state| naive.listed(state, now).len();
    let (waiting, claimed, dead) = (count(State::Waiting), count(State::Claimed), count(State::Dead));
    let due: Vec<u64> = due_times(naive, now);
    prop_assert_eq!((info.census.waiting, info.census.claimed, info.census.dead), (waiting, claimed, dead));
    prop_assert_eq!((info.census.due, info.census.waiting_new), (due.len(), naive.never_claimed(now)));
    prop_assert_eq!(queue.len(UnixMs(now)), waiting + claimed + dead);
    prop_assert_eq!(queue.records(), naive.rows.len());
    prop_assert_eq!(info.oldest_due.map(|time| time.0), due.iter().min().copied());
    prop_assert_eq!(info.next_due.map(|time| time.0), naive.next_due(now));
    prop_assert_eq!(info.paused_until.map(|time| time.0), naive.paused_until.filter(|&until| until > now));
    prop_assert_eq!((info.policy, queue.last_token()), (naive.policy, naive.last_token));
    let mut counters = info.counters;
    (counters.lapsed, counters.died) = (0, 0);
    prop_assert_eq!(counters, naive.counters);
    Ok(())
}

/// The visible times of the due jobs, pause or not.
fn due_times(naive: &Naive, now: u64) -> Vec<u64> {
    naive.due(now, 0).into_iter().filter_map(|row| naive.rows[row].seen(now)).map(|seen| seen.due).collect()
}
