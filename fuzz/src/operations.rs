//! Target `operations`: sequences of the queue's operations, driven by bytes.
//!
//! Each step is done to the queue and to the naive list of the engine's tests; its effects are done again to a replica.

use dq_engine::effect::{Effects, parse};
use dq_engine::job::State;
use dq_engine::queue::Queue;
use dq_engine::time::UnixMs;
use dq_engine::timeline::Key;

use crate::drawing::Drawing;
use crate::naive::Naive;
use crate::random::chunks::{numbered_from, stored};
use crate::random::perform::{Answer, Book, Seen, perform};
use crate::random::words::{borrowed, words_of};
use crate::random::{START, Tidy};

/// Does the steps of `input`. After each, replies and listings are those of the naive list, the invariants hold, and the
/// replica is stored as the same bytes.
pub fn run(input: &[u8]) {
    let mut drawing = Drawing::of(input);
    let Some((policy, first)) = drawing.beginning() else { return };
    let (mut queue, mut replica) = (numbered_from(policy, first), numbered_from(policy, first));
    let (mut naive, mut now, mut book) = (Naive::new(policy), START, Book::default());
    while let Some(step) = drawing.step() {
        now = step.tick.after(now);
        let mut effects = Effects::default();
        if step.tidy == Tidy::Before {
            queue.tidy(UnixMs(now), &mut effects);
            naive.tidy(now);
        }
        let answer = perform(&mut queue, now, &step.op, &book, &mut effects);
        assert_eq!(answer, naive.perform(now, &step.op, &book), "{step:?} at {now}");
        assert!(answer != Answer::Refused || step.tidy == Tidy::Before || effects.is_empty(), "{step:?}");
        book.note(&answer);
        if step.tidy == Tidy::After {
            queue.tidy(UnixMs(now), &mut effects);
            naive.tidy(now);
        }
        follow(&mut replica, &effects);
        assert_eq!(queue.check(), Ok(()), "{step:?} at {now}");
        assert_eq!(stored(&queue), stored(&replica), "{step:?} at {now}");
        compare(&queue, &naive, now);
    }
}

fn follow(replica: &mut Queue, effects: &Effects<'_>) {
    if !effects.is_empty() {
        let words = words_of(effects);
        let effects = parse(&borrowed(&words)).expect("effects are understood");
        replica.apply(&effects).expect("effects fit");
    }
}

/// Every listing, job by job, and the counters; when lapses and deaths by time are counted is the engine's affair.
fn compare(queue: &Queue, naive: &Naive, now: u64) {
    let at = UnixMs(now);
    for state in [State::Waiting, State::Claimed, State::Dead] {
        let shown = queue.walk(state, Key::FIRST, at).filter_map(|(_, slot)| queue.view(slot, at));
        let shown: Vec<Seen> = shown.map(|view| Seen::of(&view)).collect();
        let listed = naive.listed(state, now).into_iter().filter_map(|row| naive.rows[row].seen(now));
        assert_eq!(shown, listed.collect::<Vec<_>>(), "{state:?} at {now}");
    }
    let mut counters = *queue.counters();
    (counters.lapsed, counters.died) = (0, 0);
    assert_eq!(
        (counters, *queue.policy(), queue.last_token()),
        (naive.counters, naive.policy, naive.last_token)
    );
}
