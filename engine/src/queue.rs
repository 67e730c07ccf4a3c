//! The queue: its records, their index and orders, and the few steps of which every operation is made.
//!
//! The operations stand in the files below: `push`, `deliver` (claims and moves), `settle` (what becomes of a delivery),
//! `control` (by id, and of the queue as a whole), `tidy` (what happens by time alone), `read`, `apply` (effects done
//! again), `check` (the invariants). Each operation takes `now`, decides, changes the queue through the steps of this
//! file, and records what it did as effects; `apply` goes through the same steps, so that both end in the same state.

mod apply;
mod check;
mod control;
mod deliver;
mod push;
mod read;
mod settle;
mod store;
mod tidy;

pub use deliver::{Claim, Deliver, Delivery, Limit, Picked};
pub use push::{Outcome, Push, Replace, When};
pub use read::{Info, Page};
pub use settle::{Nack, Receipt, Retry};
pub use store::Loaded;

use crate::effect::{Cause, Effect, Effects, Put};
use crate::error::Refusal;
use crate::id::{Id, IdRef};
use crate::index::{Hash, Index};
use crate::job::{Job, Reason, Standing, State, Token};
use crate::orders::Orders;
use crate::policy::Policy;
use crate::slots::{Slot, Slots};
use crate::time::UnixMs;

/// From this number on, jobs are numbered anew. Collisions of numbers from outside may push a queue slightly beyond it.
const SEQUENCE_MAX: u64 = 1 << 63;

/// A queue of jobs.
#[derive(Clone, Debug)]
pub struct Queue {
    jobs: Slots,
    index: Index,
    orders: Orders,
    policy: Policy,
    paused_until: Option<UnixMs>,
    counters: Counters,
    /// The number that the next job which gets a time is given.
    next_sequence: u64,
    /// The largest token that was used.
    last_token: Token,
    /// What the jobs own outside their records, in bytes.
    heap_bytes: usize,
}

/// What happened to jobs since the queue was created. Counted when it is recorded: a lease's end by the operation that
/// finds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Jobs put in, replacements included.
    pub pushed: u64,
    /// Deliveries to consumers.
    pub claimed: u64,
    /// Jobs that a consumer was done with.
    pub acked: u64,
    /// Deliveries given back or rejected.
    pub nacked: u64,
    /// Leases that ended without an answer.
    pub lapsed: u64,
    /// Jobs whose time to live was over.
    pub expired: u64,
    /// Jobs that died.
    pub died: u64,
    /// Dead jobs that were one too many.
    pub dropped: u64,
    /// Jobs moved to another key.
    pub moved: u64,
    /// Jobs withdrawn by id.
    pub cancelled: u64,
    /// Jobs removed with others of their state.
    pub purged: u64,
}

impl Counters {
    /// The counters in the order in which they are stored and shown, with their names: "claimed" alone is a state.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 11] {
        [
            ("pushed_total", self.pushed),
            ("claimed_total", self.claimed),
            ("acked_total", self.acked),
            ("nacked_total", self.nacked),
            ("lapsed_total", self.lapsed),
            ("expired_total", self.expired),
            ("died_total", self.died),
            ("dropped_total", self.dropped),
            ("moved_total", self.moved),
            ("cancelled_total", self.cancelled),
            ("purged_total", self.purged),
        ]
    }

    /// Reads the counters from their numbers in stored order.
    #[must_use]
    pub fn from_numbers(numbers: [u64; 11]) -> Self {
        let [pushed, claimed, acked, nacked, lapsed, expired, died, dropped, moved, cancelled, purged] =
            numbers;
        Counters { pushed, claimed, acked, nacked, lapsed, expired, died, dropped, moved, cancelled, purged }
    }
}

impl Default for Queue {
    fn default() -> Self {
        Queue::new(Policy::DEFAULT)
    }
}

impl Queue {
    /// Makes an empty queue with `policy`.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Queue {
            jobs: Slots::default(),
            index: Index::default(),
            orders: Orders::default(),
            policy,
            paused_until: None,
            counters: Counters::default(),
            next_sequence: 1,
            last_token: 0,
            heap_bytes: 0,
        }
    }

    fn find(&self, id: IdRef<'_>) -> Option<Slot> {
        self.find_hashed(id, self.index.hash(id))
    }

    fn find_hashed(&self, id: IdRef<'_>, hash: Hash) -> Option<Slot> {
        self.index.find(hash, |slot| self.jobs.get(slot).is_some_and(|job| job.id.as_ref() == id))
    }

    /// Finds the job of `id` as it is at `now`; one whose time to live is over is not there.
    fn find_at(&self, id: IdRef<'_>, now: UnixMs) -> Option<(Slot, &Job, State)> {
        let slot = self.find(id)?;
        let job = self.jobs.get(slot)?;
        Some((slot, job, job.state(now)?))
    }

    /// Takes a number for a job that gets a time.
    fn take_sequence(&mut self) -> u64 {
        if self.next_sequence >= SEQUENCE_MAX {
            self.renumber();
        }
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }

    /// Numbers all jobs anew, in the order that they have. O(n log n), but only numbers from outside get that far: from 1
    /// it takes a billion jobs a second for 292 years.
    fn renumber(&mut self) {
        let mut slots: Vec<Slot> = self.jobs.iter().map(|(slot, _)| slot).collect();
        let place = |slot: &Slot| self.jobs.get(*slot).map(|job| (job.sequence, job.id.text().to_vec()));
        slots.sort_by_cached_key(place);
        self.orders = Orders::default();
        self.next_sequence = 1;
        for slot in slots {
            let Some(job) = self.jobs.get_mut(slot) else { continue };
            job.sequence = self.next_sequence;
            self.next_sequence += 1;
            self.stand(slot);
        }
    }

    /// Puts a job in, or in the place of the one with its id, which has this hash. Whatever receipt that had is not
    /// current any more.
    fn put(&mut self, put: &Put<'_>, hash: Hash) -> Result<(), Refusal> {
        let sequence = self.take_sequence();
        let fresh = |id: Id| {
            let mut job = Job {
                id,
                message: put.message.into(),
                time: put.due,
                sequence,
                extra: None,
                attempts: put.attempts,
                priority: put.priority,
                standing: Standing::Waiting,
            };
            if put.expires.is_some() {
                job.extra_mut().expires = put.expires;
            }
            job
        };
        match self.find_hashed(put.id, hash) {
            Some(slot) => self.restand(slot, |job| *job = fresh(job.id.clone())),
            None => {
                let job = fresh(put.id.to_id());
                let bytes = job.heap_bytes();
                let slot = self.jobs.insert(job).map_err(|_| Refusal::QueueFull)?;
                self.heap_bytes += bytes;
                self.index.insert(hash, slot);
                self.stand(slot);
            }
        }
        add_one(&mut self.counters.pushed);
        Ok(())
    }

    /// Places a record in the orders. Its sequence is replaced if that place is taken, which only data from elsewhere
    /// can bring about.
    fn stand(&mut self, slot: Slot) {
        let Some(job) = self.jobs.get_mut(slot) else { return };
        while !self.orders.insert(job, slot) {
            job.sequence = self.next_sequence;
            self.next_sequence += 1;
        }
    }

    /// Changes a record, and with it its places in the orders.
    fn restand(&mut self, slot: Slot, change: impl FnOnce(&mut Job)) {
        let Some(job) = self.jobs.get_mut(slot) else { return };
        self.orders.remove(job);
        self.heap_bytes -= job.heap_bytes();
        change(job);
        if job.extra.as_deref().is_some_and(|extra| *extra == Default::default()) {
            job.extra = None;
        }
        self.heap_bytes += job.heap_bytes();
        self.stand(slot);
    }

    /// Leases the job of `slot`, which becomes its next attempt.
    fn lease(&mut self, slot: Slot, until: UnixMs, token: Token) {
        let sequence = self.take_sequence();
        let policy = self.policy;
        self.count_lapse(slot);
        add_one(&mut self.counters.claimed);
        self.last_token = self.last_token.max(token);
        self.restand(slot, |job| {
            let due = job.time;
            job.attempts = job.attempts.saturating_add(1);
            let last = policy.is_exhausted(job.attempts);
            job.standing = if last { Standing::LastLease } else { Standing::Leased };
            (job.time, job.sequence) = (until, sequence);
            let extra = job.extra_mut();
            (extra.token, extra.due) = (token, due);
        });
    }

    /// Lets the job of `slot` wait until `due`; no receipt of it is current any more.
    fn wait(&mut self, slot: Slot, due: UnixMs, attempts: u32) {
        let sequence = self.take_sequence();
        self.restand(slot, |job| {
            (job.standing, job.attempts) = (Standing::Waiting, attempts);
            (job.time, job.sequence) = (due, sequence);
            if let Some(extra) = job.extra.as_deref_mut() {
                (extra.token, extra.due, extra.reason) = (0, UnixMs(0), None);
            }
        });
    }

    /// Lets the job of `slot` die. One whose last lease ended keeps its receipt and its place among its like.
    fn bury(&mut self, slot: Slot, reason: Reason, died: UnixMs) {
        let by_time = reason == Reason::LeaseExpired;
        let sequence = if by_time { None } else { Some(self.take_sequence()) };
        add_one(&mut self.counters.died);
        match reason {
            Reason::Nacked | Reason::Rejected => add_one(&mut self.counters.nacked),
            Reason::LeaseExpired => add_one(&mut self.counters.lapsed),
            Reason::Conflict => self.count_lapse(slot),
        }
        self.restand(slot, |job| {
            let waited = (job.standing == Standing::Waiting).then_some(job.time);
            job.standing = Standing::Dead;
            job.time = died;
            job.sequence = sequence.unwrap_or(job.sequence);
            let extra = job.extra_mut();
            extra.reason = Some(reason);
            extra.due = waited.unwrap_or(extra.due);
            if !by_time {
                extra.token = 0;
            }
        });
    }

    /// Takes the job of `slot` out.
    fn remove(&mut self, slot: Slot, cause: Cause) -> Option<Job> {
        if matches!(cause, Cause::Claimed | Cause::Moved | Cause::Expired) {
            self.count_lapse(slot);
        }
        let job = self.jobs.remove(slot)?;
        self.orders.remove(&job);
        self.index.remove(self.index.hash(job.id.as_ref()), slot);
        self.heap_bytes -= job.heap_bytes();
        add_one(match cause {
            Cause::Claimed => &mut self.counters.claimed,
            Cause::Acked => &mut self.counters.acked,
            Cause::Cancelled => &mut self.counters.cancelled,
            Cause::Moved => &mut self.counters.moved,
            Cause::Expired => &mut self.counters.expired,
            Cause::Dropped => &mut self.counters.dropped,
            Cause::Purged => &mut self.counters.purged,
        });
        Some(job)
    }

    /// Takes the job of `slot` out and records it.
    fn remove_recorded(&mut self, slot: Slot, cause: Cause, effects: &mut Effects<'_>) {
        if let Some(job) = self.remove(slot, cause) {
            effects.removed(cause, job.id);
        }
    }

    /// Lets the job of `slot` die and records it.
    fn bury_recorded(&mut self, slot: Slot, reason: Reason, died: UnixMs, effects: &mut Effects<'_>) {
        let Some(job) = self.jobs.get(slot) else { return };
        effects.0.push(Effect::Bury { id: job.id.clone(), reason, died });
        self.bury(slot, reason, died);
    }

    /// Counts a lease that ended, if the job of `slot`, which is about to leave or to be claimed again, stands at one.
    fn count_lapse(&mut self, slot: Slot) {
        if self.jobs.get(slot).is_some_and(|job| job.standing == Standing::Leased) {
            add_one(&mut self.counters.lapsed);
        }
    }
}

/// Counts one more. A counter from outside may stand at its end.
fn add_one(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}
