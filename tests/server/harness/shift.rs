//! Producers, waiting consumers and a mover at work on one queue of a cluster while something happens to it, and their
//! ledger.
//!
//! Leases are far longer than a test, so that any second delivery of a job that was not given back is a fault.

use crate::harness::cluster::Cluster;
use crate::harness::eventually::{DEADLINE, eventually, eventually_some};
use crate::harness::queue::Delivery;
use crate::harness::reply::Reply;
use crate::harness::routed::Routed;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

const PRODUCERS: usize = 2;
const CONSUMERS: usize = 3;
/// When a consumer has acknowledged so many, it gives the next job back, unless that came back already.
const NACKED: usize = 7;

/// How far the work has come, for the one who waits for it.
#[derive(Default)]
pub struct Progress {
    is_over: AtomicBool,
    producing: AtomicUsize,
    pushed: AtomicUsize,
    acked: AtomicUsize,
}

impl Progress {
    /// Waits until so many more jobs have been pushed, and so many more acknowledged.
    #[track_caller]
    pub fn wait_for_more(&self, count: usize) {
        for counter in [&self.pushed, &self.acked] {
            let target = counter.load(Ordering::SeqCst) + count;
            eventually("the work goes on", DEADLINE, || counter.load(Ordering::SeqCst) >= target);
        }
    }

    fn all_is_finished(&self) -> bool {
        let [producing, pushed, acked] =
            [&self.producing, &self.pushed, &self.acked].map(|counter| counter.load(Ordering::SeqCst));
        producing == 0 && acked >= pushed
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

/// What the workers saw.
#[derive(Default)]
pub struct Ledger {
    pushed: Vec<String>,
    /// One list a DQ.CLAIM.
    claims: Vec<Vec<Delivery>>,
    nacked: Vec<String>,
    acked: Vec<String>,
    /// Receipts of running leases that were not taken.
    refused: Vec<String>,
    /// Messages that were pushed beside, to be moved into a list.
    sent: Vec<String>,
    /// What stands in that list at the end.
    arrived: Vec<String>,
}

/// Lets workers work on `key` during `event` and until the queue has no due job left.
#[track_caller]
pub fn work_during(cluster: &Cluster, key: &str, event: impl FnOnce(&Progress)) -> Ledger {
    let progress = Progress::default();
    progress.producing.store(PRODUCERS, Ordering::SeqCst);
    thread::scope(|scope| {
        let at_work = &progress;
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|number| scope.spawn(move || produce(cluster, key, number, at_work)))
            .collect();
        let consumers: Vec<_> =
            (0..CONSUMERS).map(|_| scope.spawn(move || consume(cluster, key, at_work))).collect();
        let carrier = scope.spawn(move || carry(cluster, key, at_work));
        // Also when the event fails the test: workers that nobody stops would hold it up for ever.
        let end = End(&progress);
        event(&progress);
        drop(end);
        let parts = producers.into_iter().chain(consumers).chain([carrier]);
        parts.map(|part| part.join().expect("a worker failed")).fold(Ledger::default(), Ledger::with)
    })
}

struct End<'a>(&'a Progress);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }
}

fn produce(cluster: &Cluster, key: &str, number: usize, progress: &Progress) -> Ledger {
    let (mut client, mut ledger) = (Routed::new(cluster), Ledger::default());
    // Also when this producer fails: the consumers must not wait for it.
    let _leaving = Leaving(progress);
    while !progress.is_over() {
        let id = format!("p{number}-{}", ledger.pushed.len());
        let reply = client.done(&format!("DQ.PUSH {key} message-of-{id} DELAY {} ID {id}", number * 3));
        assert_eq!(reply, format!("[{id} created]"));
        ledger.pushed.push(id);
        progress.pushed.fetch_add(1, Ordering::SeqCst);
    }
    ledger
}

struct Leaving<'a>(&'a Progress);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.producing.fetch_sub(1, Ordering::SeqCst);
    }
}

fn consume(cluster: &Cluster, key: &str, progress: &Progress) -> Ledger {
    let (mut client, mut ledger) = (Routed::new(cluster), Ledger::default());
    loop {
        let claimed = eventually_some("a job comes, or all are finished", DEADLINE, || {
            let reply = client.done(&format!("DQ.CLAIM {key} COUNT 5 LEASE 100000000 BLOCK 100"));
            let claimed = deliveries(&reply);
            (!claimed.is_empty() || progress.all_is_finished()).then_some(claimed)
        });
        if claimed.is_empty() {
            return ledger;
        }
        let acked = ledger.acked.len();
        for delivery in &claimed {
            finish(&mut client, key, delivery, &mut ledger);
        }
        progress.acked.fetch_add(ledger.acked.len() - acked, Ordering::SeqCst);
        ledger.claims.push(claimed);
    }
}

fn deliveries(reply: &Reply) -> Vec<Delivery> {
    if reply.is_null() { Vec::new() } else { reply.items().iter().map(Delivery::of).collect() }
}

fn finish(client: &mut Routed, key: &str, delivery: &Delivery, ledger: &mut Ledger) {
    let (id, receipt) = (delivery.id(), delivery.receipt());
    assert_eq!(delivery.message, format!("message-of-{id}").into_bytes());
    if delivery.attempt == 1 && ledger.acked.len() % NACKED == NACKED - 1 {
        let reply = client.done(&format!("DQ.NACK {key} DELAY 0 {receipt}"));
        let list = if reply == "[waiting]" { &mut ledger.nacked } else { &mut ledger.refused };
        list.push(id);
    } else {
        let reply = client.done(&format!("DQ.ACK {key} {receipt}"));
        let list = if reply == "[1]" { &mut ledger.acked } else { &mut ledger.refused };
        list.push(id);
    }
}

/// Pushes into a queue beside the key, and moves what is due into a list, in turns.
fn carry(cluster: &Cluster, key: &str, progress: &Progress) -> Ledger {
    let (mut client, mut ledger) = (Routed::new(cluster), Ledger::default());
    let (queue, list) = (beside(key, "sent"), beside(key, "arrived"));
    while !progress.is_over() {
        let message = format!("m{}", ledger.sent.len());
        client.done(&format!("DQ.PUSH {queue} {message}"));
        ledger.sent.push(message);
        if ledger.sent.len().is_multiple_of(3) {
            client.done(&format!("DQ.MOVE {queue} {list}"));
        }
    }
    client.done(&format!("DQ.MOVE {queue} {list}"));
    let arrived = client.done(&format!("LRANGE {list} 0 -1"));
    ledger.arrived = arrived.items().iter().map(Reply::string).collect();
    ledger
}

/// Another key of the same slot.
fn beside(key: &str, name: &str) -> String {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map_or(key, |(tag, _)| tag);
    format!("{{{tag}}}:{name}")
}

impl Ledger {
    /// How many jobs went through the queue.
    pub fn jobs(&self) -> usize {
        self.pushed.len()
    }

    /// Fails the test unless each job was delivered as often as it had to be, and acknowledged once.
    #[track_caller]
    pub fn assert_nothing_lost_or_doubled(&self) {
        let acked: BTreeSet<&String> = self.acked.iter().collect();
        let lost: Vec<&String> = self.pushed.iter().filter(|id| !acked.contains(id)).collect();
        assert!(lost.is_empty(), "pushed and never finished: {lost:?}");
        assert!(self.refused.is_empty(), "under a running lease and refused: {:?}", self.refused);
        assert_eq!(acked.len(), self.acked.len(), "acknowledged twice");
        for (id, attempts) in self.attempts() {
            let times = 1 + self.nacked.iter().filter(|nacked| **nacked == id).count();
            assert_eq!(attempts, (1..=times as i64).collect::<BTreeSet<_>>(), "the deliveries of {id}");
        }
        self.assert_tokens_are_unique();
        assert_eq!(self.arrived, self.sent, "moved into the list");
    }

    fn attempts(&self) -> BTreeMap<String, BTreeSet<i64>> {
        let mut attempts: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for delivery in self.claims.iter().flatten() {
            let is_new = attempts.entry(delivery.id()).or_default().insert(delivery.attempt);
            assert!(is_new, "delivered twice as the same attempt: {delivery:?}");
        }
        attempts
    }

    #[track_caller]
    fn assert_tokens_are_unique(&self) {
        let tokens: BTreeSet<&str> = self.claims.iter().map(|claim| token(&claim[0])).collect();
        assert_eq!(tokens.len(), self.claims.len(), "two claims got one token");
    }

    fn with(mut self, other: Ledger) -> Ledger {
        self.pushed.extend(other.pushed);
        self.claims.extend(other.claims);
        self.nacked.extend(other.nacked);
        self.acked.extend(other.acked);
        self.refused.extend(other.refused);
        self.sent.extend(other.sent);
        self.arrived.extend(other.arrived);
        self
    }
}

/// The number of the claim, as it stands in a delivery's receipt.
pub fn token(delivery: &Delivery) -> &str {
    delivery.receipt().split_once('-').map_or("", |(token, _)| token)
}
