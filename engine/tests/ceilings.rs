//! Numbers from outside that stand at their ends: what a queue makes of them must still be storable, and in order.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test may stop at once")]

use dq_engine::codec::{HEADER, Writer};
use dq_engine::effect::Effects;
use dq_engine::id::IdRef;
use dq_engine::policy::Policy;
use dq_engine::queue::{Claim, Deliver, Delivery, Limit, Push, Queue, Replace, When};
use dq_engine::time::{Millis, UnixMs};

const NOW: UnixMs = UnixMs(1_000_000_000_000);

struct Ids(Vec<String>);

impl Deliver for Ids {
    fn expect(&mut self, _: usize) {}

    fn deliver(&mut self, delivery: Delivery<'_>) {
        self.0.push(delivery.id.text().escape_ascii().to_string());
    }
}

/// A queue whose header came from outside with these values.
fn queue_with(next_sequence: u64, last_token: u64, counter: u64) -> Queue {
    let mut header = Writer::new(HEADER);
    [0, next_sequence, last_token, 0].into_iter().for_each(|number| header.number(number));
    Policy::DEFAULT.numbers().into_iter().for_each(|number| header.number(number));
    (0..11).for_each(|_| header.number(counter));
    let mut queue = Queue::new(Policy::DEFAULT);
    queue.load(header.bytes()).expect("a header in range");
    queue
}

fn push(queue: &mut Queue, id: &str) {
    let push = Push {
        id: IdRef::of(id.as_bytes()),
        message: b"m",
        when: When::At(NOW),
        priority: 0,
        ttl: None,
        replace: Replace::No,
    };
    queue.push(NOW, &push, &mut Effects::default()).expect("room");
}

fn reloaded(queue: &Queue) -> Queue {
    let mut copy = Queue::new(Policy::DEFAULT);
    queue.store(&mut |chunk| {
        copy.load(chunk).expect("what a queue stored can be loaded");
    });
    copy.check().expect("sound");
    copy
}

fn claim(queue: &mut Queue, count: usize) -> Vec<String> {
    let mut ids = Ids(Vec::new());
    let limit = Limit { count, bytes: usize::MAX };
    let claim = Claim { limit, lease: Some(Millis(60_000)), token: 1 };
    queue.claim(NOW, &claim, &mut ids, &mut Effects::default());
    ids.0
}

#[test]
fn sequences_at_their_end_are_numbered_anew_in_the_same_order() {
    let mut queue = queue_with((1 << 63) - 2, 0, 0);
    ["a", "b", "c", "d", "e"].into_iter().for_each(|id| push(&mut queue, id));
    queue.check().expect("sound");
    let mut copy = reloaded(&queue);
    assert!(copy.next_sequence() < 10);
    assert_eq!(claim(&mut copy, 9), ["a", "b", "c", "d", "e"]);
    assert_eq!(claim(&mut queue, 9), ["a", "b", "c", "d", "e"]);
}

#[test]
fn a_token_at_its_end_can_still_be_stored() {
    let mut queue = queue_with(1, u64::MAX - 1, 0);
    ["a", "b", "c"].into_iter().for_each(|id| push(&mut queue, id));
    for id in ["a", "b", "c"] {
        assert_eq!(claim(&mut queue, 1), [id]);
        reloaded(&queue);
    }
}

#[test]
fn a_counter_at_its_end_stays_there() {
    let mut queue = queue_with(1, 0, u64::MAX);
    push(&mut queue, "a");
    claim(&mut queue, 1);
    assert_eq!((queue.counters().pushed, queue.counters().claimed), (u64::MAX, u64::MAX));
    reloaded(&queue);
}
