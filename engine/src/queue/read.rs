//! Reading: nothing here changes anything, so replicas can do it too.

use super::{Counters, Limit, Picked, Queue};
use crate::id::IdRef;
use crate::job::{Job, State, Token, View};
use crate::orders::Census;
use crate::policy::Policy;
use crate::slots::Slot;
use crate::time::{Millis, UnixMs};
use crate::timeline::Key;

/// Some jobs of a list.
#[derive(Clone, Debug)]
pub struct Page {
    /// The jobs.
    pub slots: Picked,
    /// Where the list goes on; `None` at its end.
    pub next: Option<Key>,
}

/// The state of a queue as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// How many jobs are what.
    pub census: Census,
    /// The visible time of the due job that has waited longest.
    pub oldest_due: Option<UnixMs>,
    /// The visible time of the next job that becomes due.
    pub next_due: Option<UnixMs>,
    /// The end of a running pause.
    pub paused_until: Option<UnixMs>,
    /// Roughly how many bytes the queue takes.
    pub bytes: usize,
    /// Its policy.
    pub policy: Policy,
    /// What happened since it was created.
    pub counters: Counters,
}

impl Queue {
    /// Returns the number of jobs in all states at `now`. O(log n).
    #[must_use]
    pub fn len(&self, now: UnixMs) -> usize {
        let census = self.orders.census(now);
        census.waiting + census.claimed + census.dead
    }

    /// Tells whether no job is there at `now`. O(log n).
    #[must_use]
    pub fn is_empty(&self, now: UnixMs) -> bool {
        self.len(now) == 0
    }

    /// Returns the number of records, those included that are gone by time alone. O(1).
    #[must_use]
    pub fn records(&self) -> usize {
        self.jobs.len()
    }

    /// Shows the job of `id` as it is at `now`. O(1).
    #[must_use]
    pub fn get(&self, now: UnixMs, id: IdRef<'_>) -> Option<View<'_>> {
        self.find_at(id, now)?.1.view(now)
    }

    /// Returns the jobs that are in `state` at `now`, from `from` on: by visible time, lease's end or time of death.
    pub fn walk(&self, state: State, from: Key, now: UnixMs) -> impl Iterator<Item = (Key, Slot)> {
        let orders = &self.orders;
        let waiting = (state == State::Waiting).then(|| orders.waiting(from, now));
        let claimed = (state == State::Claimed).then(|| orders.claimed(from, now));
        let dead = (state == State::Dead).then(|| orders.dead(from, now));
        waiting.into_iter().flatten().chain(claimed.into_iter().flatten()).chain(dead.into_iter().flatten())
    }

    /// Returns the jobs that are in `state` at `now`, from `from` on, as many as `limit` allows, and where the next one
    /// stands. O(log n + count).
    #[must_use]
    pub fn page(&self, state: State, from: Key, now: UnixMs, limit: Limit) -> Page {
        let (mut slots, mut bytes, mut next) = (Picked::new(), 0, None);
        for (key, slot) in self.walk(state, from, now) {
            if slots.len() == limit.count || bytes > limit.bytes {
                next = Some(key);
                break;
            }
            slots.push(slot);
            bytes += self.jobs.get(slot).map_or(0, |job| job.message.len());
        }
        Page { slots, next }
    }

    /// Describes the queue as it is at `now`. O(log n) a priority in use.
    #[must_use]
    pub fn info(&self, now: UnixMs) -> Info {
        let oldest_due = self.orders.available_at(now, Millis::ZERO).filter(|&time| time <= now);
        Info {
            census: self.orders.census(now),
            oldest_due,
            next_due: self.orders.upcoming(now),
            paused_until: self.paused_until.filter(|&until| now < until),
            bytes: self.bytes(),
            policy: self.policy,
            counters: self.counters,
        }
    }

    /// Returns the policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns what happened since the queue was created.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the number that the next job which gets a time is given.
    #[must_use]
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Returns the largest token that was used.
    #[must_use]
    pub fn last_token(&self) -> Token {
        self.last_token
    }

    /// Returns every record once, in the order in which they are stored. O(n).
    pub fn records_in_order(&self) -> impl Iterator<Item = &Job> {
        self.orders.all().filter_map(|slot| self.jobs.get(slot))
    }

    /// Returns roughly how many bytes the queue takes. O(1) a priority in use.
    #[must_use]
    pub fn bytes(&self) -> usize {
        // The index: 9 bytes an entry in tables that are between half and 7/8 full. Records: chunks, mostly full.
        let per_record = size_of::<Job>() + 14;
        size_of::<Self>() + self.jobs.len() * per_record + self.orders.bytes() + self.heap_bytes
    }
}
