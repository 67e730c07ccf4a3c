//! A queue with one of everything that can be stored, made by operations; the golden file of the stored form holds it.

use dq_engine::effect::Effects;
use dq_engine::id::IdRef;
use dq_engine::job::State;
use dq_engine::lane::Horizon;
use dq_engine::policy::{Backoff, Policy};
use dq_engine::queue::{Claim, Limit, Nack, Push, Queue, Receipt, Replace, Retry, When};
use dq_engine::time::{Millis, UnixMs};

use super::perform::Hands;

/// When it is made.
pub const MADE: UnixMs = UnixMs(1_700_000_000_000);

const POLICY: Policy = Policy {
    lease: Millis(30_000),
    max_attempts: Some(2),
    backoff: Backoff { base: Millis(1_500), factor: 3, max: Millis(600_000), jitter_percent: 0 },
    dead_max: Some(4),
    ttl: Millis(86_400_000),
};

/// Every standing, reason and optional part, two priorities and more, a policy, a pause; every counter counts.
pub fn rich() -> Queue {
    let mut queue = Queue::new(POLICY);
    let later = |ms: u64| UnixMs(MADE.0 + ms);
    let nack = |queue: &mut Queue, at, receipt: (u64, &[u8]), how, text: Option<&[u8]>| {
        let receipt = Receipt { token: receipt.0, id: IdRef::of(receipt.1) };
        queue.nack(at, receipt, Nack { retry: how, error: text }, &mut Effects::default());
    };
    // Who leaves: cancelled, acked, claimed without lease, moved, purged, expired, dropped.
    for id in [&b"acked"[..], b"claimed", b"moved", b"dropped"] {
        push(&mut queue, MADE, new(id));
    }
    push(&mut queue, MADE, New { ttl: Some(1), ..new(b"expired") });
    push(&mut queue, later(90_000), new(b"cancelled"));
    queue.cancel(MADE, IdRef::of(b"cancelled"), &mut Effects::default());
    let token = claim(&mut queue, MADE, 1, Some(60_000));
    queue.ack(MADE, Receipt { token, id: IdRef::of(b"acked") }, &mut Effects::default());
    claim(&mut queue, MADE, 1, Some(0));
    if let [slot] = queue.pick(Horizon::at(MADE), Limit { count: 1, bytes: 0 })[..] {
        queue.move_out(slot, &mut Effects::default());
    }
    let token = claim(&mut queue, MADE, 1, Some(60_000));
    nack(&mut queue, MADE, (token, b"dropped"), Retry::Never, Some(b"one too many"));
    push(&mut queue, later(1), new(b"purged"));
    queue.purge(MADE, State::Waiting, 2, &mut Effects::default());
    push(&mut queue, later(1), New { ttl: Some(1), ..new(b"expired") });
    queue.tidy(later(2), &mut Effects::default());
    die(&mut queue, nack);
    stay(&mut queue, nack);
    queue.pause(later(5_000), None, &mut Effects::default());
    queue
}

/// Four deaths, of every reason; the fifth that is there already is dropped.
fn die(queue: &mut Queue, nack: impl Fn(&mut Queue, UnixMs, (u64, &[u8]), Retry, Option<&[u8]>)) {
    let later = |ms: u64| UnixMs(MADE.0 + ms);
    push(queue, later(10), New { priority: 3, ttl: Some(0), ..new(b"rejected") });
    let token = claim(queue, later(10), 1, None);
    nack(queue, later(20), (token, b"rejected"), Retry::Never, Some(b"no such\r\ncustomer \xff\0"));
    push(queue, later(30), new(b"nacked"));
    let token = claim(queue, later(30), 1, Some(10));
    nack(queue, later(31), (token, b"nacked"), Retry::After(Millis(0)), None);
    let token = claim(queue, later(31), 1, Some(10));
    nack(queue, later(32), (token, b"nacked"), Retry::Backoff { draw: 0 }, Some(b"again"));
    push(queue, later(40), new(b"lapsed"));
    claim(queue, later(40), 1, Some(5));
    claim(queue, later(50), 1, Some(5));
    queue.tidy(later(60), &mut Effects::default());
    push(queue, later(70), New { priority: 255, ttl: Some(500), ..new(b"conflict") });
    if let [slot] = queue.pick(Horizon::at(later(71)), Limit { count: 1, bytes: 0 })[..] {
        queue.refuse_move(later(71), slot, &mut Effects::default());
    }
    queue.tidy(later(80), &mut Effects::default());
}

/// Jobs that live on: waiting and leased, with and without what is optional.
fn stay(queue: &mut Queue, nack: impl Fn(&mut Queue, UnixMs, (u64, &[u8]), Retry, Option<&[u8]>)) {
    let later = |ms: u64| UnixMs(MADE.0 + ms);
    push(queue, later(100), new(b"again"));
    let token = claim(queue, later(100), 1, None);
    nack(queue, later(200), (token, b"again"), Retry::Backoff { draw: 0 }, Some(&[b'e'; 200]));
    push(queue, later(300), new(b"last"));
    claim(queue, later(300), 1, Some(5));
    claim(queue, later(310), 1, Some(1_000_000));
    push(queue, later(400), New { priority: 7, ..new(b"leased") });
    push(queue, later(400), New { ttl: Some(0), ..new(b"leased-for-ever") });
    claim(queue, later(400), 2, Some(2_000_000));
    push(queue, later(500), New { delay: 60_000, ..new(b"0190a5d2-7b3c-7def-8123-456789abcdef") });
    push(queue, later(500), New { priority: 9, delay: 60_000, ttl: Some(0), ..new(&[b'i'; 300]) });
    push(queue, later(500), New { delay: 60_000, ttl: Some(0), ..new(b"\0\r\n") });
    push(
        queue,
        later(500),
        New { priority: 200, delay: 900_000_000_000, ttl: Some(1_000_000), ..new(b"far") },
    );
}

/// What a push of this file says.
struct New<'a> {
    id: &'a [u8],
    priority: u8,
    delay: u64,
    ttl: Option<u64>,
}

fn new(id: &[u8]) -> New<'_> {
    New { id, priority: 0, delay: 0, ttl: None }
}

fn push(queue: &mut Queue, now: UnixMs, new: New<'_>) {
    let message = [b"message of ", new.id].concat();
    let push = Push {
        id: IdRef::of(new.id),
        message: &message,
        when: When::In(Millis(new.delay)),
        priority: new.priority,
        ttl: new.ttl.map(Millis),
        replace: Replace::No,
    };
    queue.push(now, &push, &mut Effects::default()).expect("a time in range");
}

/// Claims with the token that the clock gives; returns the one that was used.
fn claim(queue: &mut Queue, now: UnixMs, count: usize, lease: Option<u64>) -> u64 {
    let limit = Limit { count, bytes: usize::MAX };
    let claim = Claim { limit, lease: lease.map(Millis), token: (now.0 * 1000) << 12 };
    let mut hands = Hands::default();
    queue.claim(now, &claim, &mut hands, &mut Effects::default());
    assert_eq!(hands.given.len(), count);
    hands.given[0].token.unwrap_or_default()
}
