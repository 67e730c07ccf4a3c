//! Every order in which the jobs of a queue stand: lanes by priority, last leases, deaths, expiries.
//!
//! A job stands in exactly one of the first three, by its [`Standing`]; one that expires stands in the expiries too.
//! Jobs on their last permitted lease are apart, so that the many that are dead by their lease's end are out of the
//! way of claims. Called by `queue` only, which holds the records.

use crate::job::{Job, Standing};
use crate::lane::{Horizon, Lane, Source, merge};
use crate::slots::Slot;
use crate::time::{Millis, UnixMs};
use crate::timeline::{Key, Timeline};

/// The orders of a queue.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// The highest priority first; none is empty.
    lanes: Vec<Lane>,
    /// By lease's end.
    last_leases: Timeline<Slot>,
    /// By time of death.
    dead: Timeline<Slot>,
    /// The jobs of all priorities that will have vanished before they can be delivered. They wait, or are claimed, as
    /// others are, but are never due.
    doomed: Lane,
    /// By when jobs vanish: not new, new, doomed and not new, doomed and new. They are counted apart.
    expiry: [Timeline<Slot>; 4],
    /// How many jobs are new, expired ones included.
    new: usize,
}

/// How many jobs are what at some instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Waiting, lapsed ones included.
    pub waiting: usize,
    /// Of these, never claimed.
    pub waiting_new: usize,
    /// Of these, due.
    pub due: usize,
    /// With a running lease.
    pub claimed: usize,
    /// Dead.
    pub dead: usize,
}

impl Orders {
    /// Puts `job` in its places; `false`, with nothing changed, if one is taken. O(log n).
    pub fn insert(&mut self, job: &Job, slot: Slot) -> bool {
        if !self.insert_by_standing(job, slot) {
            return false;
        }
        let Some(key) = expiry_key(job) else {
            self.new += usize::from(is_new(job));
            return true;
        };
        let free = self.expiry_of(job).insert(key, slot);
        if free {
            self.new += usize::from(is_new(job));
        } else {
            self.remove_by_standing(job);
        }
        free
    }

    /// Takes `job` from its places. O(log n).
    pub fn remove(&mut self, job: &Job) {
        self.remove_by_standing(job);
        self.new -= usize::from(is_new(job));
        if let Some(key) = expiry_key(job) {
            self.expiry_of(job).remove(key);
        }
    }

    /// Returns the due jobs in the order of delivery: by priority, then visible time, then sequence.
    pub fn due(&self, horizon: Horizon) -> impl Iterator<Item = Slot> {
        self.lanes.iter().flat_map(move |lane| lane.due(horizon)).map(|(_, slot)| slot)
    }

    /// Returns the due job that is delivered first. O(log n) a priority in use.
    #[must_use]
    pub fn first_due(&self, horizon: Horizon) -> Option<Slot> {
        self.lanes.iter().find_map(|lane| lane.first_due(horizon))
    }

    /// Returns the first job whose last permitted lease has ended at `now`. O(log n).
    #[must_use]
    pub fn first_exhausted(&self, now: UnixMs) -> Option<Slot> {
        first_until(&self.last_leases, now)
    }

    /// Returns the first job whose time to live is over at `now`. O(log n).
    #[must_use]
    pub fn first_expired(&self, now: UnixMs) -> Option<Slot> {
        self.expiry.iter().find_map(|order| first_until(order, now))
    }

    /// Returns the job that died first, if more than `most` stand as dead. O(log n).
    #[must_use]
    pub fn first_dead_beyond(&self, most: u64) -> Option<Slot> {
        if self.dead.len() as u64 <= most {
            return None;
        }
        self.dead.first().map(|(_, slot)| slot)
    }

    /// Counts the jobs by what they are at `now`. O(log n) a priority in use.
    #[must_use]
    pub fn census(&self, now: UnixMs) -> Census {
        let exhausted = self.last_leases.rank(now);
        let [old, new, doomed_old, doomed_new] = self.expiry.each_ref().map(|order| order.rank(now));
        let (mut waiting, mut due, mut claimed) = (0, 0, self.last_leases.len() - exhausted);
        for lane in self.lanes_and_doomed() {
            let lapsed = lane.rank_leased(now);
            waiting += lane.waiting_len() + lapsed;
            claimed += lane.leased_len() - lapsed;
        }
        for lane in &self.lanes {
            due += lane.rank(now);
        }
        // Whatever has expired was counted above as waiting, and as due unless it was doomed (I5).
        Census {
            waiting: waiting - old - new - doomed_old - doomed_new,
            waiting_new: self.new - new - doomed_new,
            due: due - old - new,
            claimed,
            dead: self.dead.len() + exhausted,
        }
    }

    /// Returns the waiting jobs, expired and lapsed ones left out or in as at `now`, by visible time. O(log n) to start.
    pub fn waiting(&self, from: Key, now: UnixMs) -> impl Iterator<Item = (Key, Slot)> {
        let horizon = Horizon { now, waiting: UnixMs(u64::MAX) };
        merge(self.lanes_and_doomed().flat_map(move |lane| lane.visible_sources(from, horizon)))
    }

    /// Returns the jobs with a lease that runs at `now`, by its end. O(log n) to start.
    pub fn claimed(&self, from: Key, now: UnixMs) -> impl Iterator<Item = (Key, Slot)> {
        let from = from.max(Key { time: UnixMs(now.0.saturating_add(1)), sequence: 0 });
        let last = Source::new(&self.last_leases, from, UnixMs(0), UnixMs(u64::MAX));
        merge(self.lanes_and_doomed().flat_map(move |lane| lane.leased_sources(from)).chain([last]))
    }

    /// Returns the jobs that are dead at `now`, by time of death. O(log n) to start.
    pub fn dead(&self, from: Key, now: UnixMs) -> impl Iterator<Item = (Key, Slot)> {
        merge([
            Source::new(&self.dead, from, UnixMs(0), UnixMs(u64::MAX)),
            Source::new(&self.last_leases, from, UnixMs(0), now),
        ])
    }

    /// Returns every job once, each order in turn: the order in which they are stored.
    pub fn all(&self) -> impl Iterator<Item = Slot> {
        let always = Key::FIRST;
        let lanes = self.lanes_and_doomed().flat_map(move |lane| {
            merge(lane.waiting_sources(always)).chain(merge(lane.leased_sources(always)))
        });
        let last = Source::new(&self.last_leases, always, UnixMs(0), UnixMs(u64::MAX));
        let dead = Source::new(&self.dead, always, UnixMs(0), UnixMs(u64::MAX));
        lanes.chain(last).chain(dead).map(|(_, slot)| slot)
    }

    /// Returns when a job is first within a horizon that looks `ahead`, which may be past. O(log n) a priority in use.
    #[must_use]
    pub fn available_at(&self, now: UnixMs, ahead: Millis) -> Option<UnixMs> {
        self.lanes.iter().filter_map(|lane| lane.available_at(now, ahead)).min()
    }

    /// Returns when, after `now`, the next job becomes due. O(log n) a priority in use.
    #[must_use]
    pub fn upcoming(&self, now: UnixMs) -> Option<UnixMs> {
        let after = Key { time: UnixMs(now.0.saturating_add(1)), sequence: 0 };
        let all = merge(self.lanes.iter().flat_map(move |lane| lane.all_sources(after, now))).next();
        all.map(|(key, _)| key.time)
    }

    /// Returns roughly how many bytes the orders take. O(1) a priority in use.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let lanes: usize = self.lanes_and_doomed().map(|lane| size_of::<Lane>() + lane.bytes()).sum();
        lanes
            + self.last_leases.bytes()
            + self.dead.bytes()
            + self.expiry.iter().map(Timeline::bytes).sum::<usize>()
    }

    /// Returns the number of entries of the expiries, and whether all orders are sound. O(n).
    #[must_use]
    pub fn soundness(&self) -> (usize, bool) {
        let lanes =
            self.lanes.iter().all(|lane| lane.is_sound() && !lane.is_empty()) && self.doomed.is_sound();
        let descending = self.lanes.is_sorted_by(|one, next| one.priority > next.priority);
        let others =
            self.last_leases.is_sound() && self.dead.is_sound() && self.expiry.iter().all(Timeline::is_sound);
        (self.expiry.iter().map(Timeline::len).sum(), lanes && descending && others)
    }

    fn lanes_and_doomed(&self) -> impl Iterator<Item = &Lane> {
        self.lanes.iter().chain([&self.doomed])
    }

    fn insert_by_standing(&mut self, job: &Job, slot: Slot) -> bool {
        let key = Key { time: job.time, sequence: job.sequence };
        match job.standing {
            Standing::LastLease => self.last_leases.insert(key, slot),
            Standing::Dead => self.dead.insert(key, slot),
            Standing::Waiting | Standing::Leased if job.is_doomed() => self.doomed.insert(job, slot),
            Standing::Waiting | Standing::Leased => {
                let at = self.lanes.partition_point(|lane| lane.priority > job.priority);
                if self.lanes.get(at).is_none_or(|lane| lane.priority != job.priority) {
                    // Most queues use one priority, and a lane is large.
                    self.lanes.reserve_exact(1);
                    self.lanes.insert(at, Lane::new(job.priority));
                }
                self.lanes.get_mut(at).is_some_and(|lane| lane.insert(job, slot))
            }
        }
    }

    fn expiry_of(&mut self, job: &Job) -> &mut Timeline<Slot> {
        let [old, new, doomed_old, doomed_new] = &mut self.expiry;
        match (job.is_doomed(), is_new(job)) {
            (false, false) => old,
            (false, true) => new,
            (true, false) => doomed_old,
            (true, true) => doomed_new,
        }
    }

    fn remove_by_standing(&mut self, job: &Job) {
        let key = Key { time: job.time, sequence: job.sequence };
        match job.standing {
            Standing::LastLease => drop(self.last_leases.remove(key)),
            Standing::Dead => drop(self.dead.remove(key)),
            Standing::Waiting | Standing::Leased if job.is_doomed() => self.doomed.remove(job),
            Standing::Waiting | Standing::Leased => {
                let at = self.lanes.partition_point(|lane| lane.priority > job.priority);
                let Some(lane) = self.lanes.get_mut(at) else { return };
                lane.remove(job);
                if lane.is_empty() {
                    self.lanes.remove(at);
                }
            }
        }
    }
}

fn first_until(order: &Timeline<Slot>, now: UnixMs) -> Option<Slot> {
    order.first().filter(|(key, _)| key.time <= now).map(|(_, slot)| slot)
}

/// Waiting, and never claimed.
fn is_new(job: &Job) -> bool {
    job.standing == Standing::Waiting && job.attempts == 0
}

fn expiry_key(job: &Job) -> Option<Key> {
    job.vanishes().map(|time| Key { time, sequence: job.sequence })
}
