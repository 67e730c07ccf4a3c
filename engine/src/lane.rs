//! The jobs of one priority that can still be delivered, in the order of their visible times.
//!
//! Four timelines: waiting jobs and leased jobs, those that never expire apart from those that do, so that the many
//! without a time to live pay nothing for it. Leased jobs stand at their lease's end, where they become due again
//! with no one doing anything; so each timeline's head is the next job it can deliver, and the lane's is the earliest.

use std::iter::Peekable;

use crate::job::{Job, Standing};
use crate::slots::Slot;
use crate::time::{Millis, UnixMs};
use crate::timeline::{Entry, Key, Mortal, Timeline, Walk};

/// The deliverable jobs of one priority.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    /// The priority.
    pub priority: u8,
    waiting: Timeline<Slot>,
    leased: Timeline<Slot>,
    waiting_mortal: Timeline<Mortal>,
    leased_mortal: Timeline<Mortal>,
}

/// Up to which time jobs are due: leases have ended and expiries passed at `now`, waiting jobs are taken up to
/// `waiting`, which is `now` or, to look ahead, later.
#[derive(Clone, Copy, Debug)]
pub struct Horizon {
    /// The instant.
    pub now: UnixMs,
    /// The latest visible time of a waiting job that counts as due.
    pub waiting: UnixMs,
}

impl Horizon {
    /// What is due at `now`.
    #[must_use]
    pub fn at(now: UnixMs) -> Self {
        Horizon { now, waiting: now }
    }
}

impl Lane {
    /// Makes an empty lane.
    #[must_use]
    pub fn new(priority: u8) -> Self {
        Lane { priority, ..Lane::default() }
    }

    /// Tells whether no job stands here.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
            && self.leased.is_empty()
            && self.waiting_mortal.is_empty()
            && self.leased_mortal.is_empty()
    }

    /// Puts `job` in its place; `false` if the place is taken. O(log n).
    pub fn insert(&mut self, job: &Job, slot: Slot) -> bool {
        let key = Key { time: job.time, sequence: job.sequence };
        let leased = job.standing == Standing::Leased;
        match (job.vanishes(), leased) {
            (None, false) => self.waiting.insert(key, slot),
            (None, true) => self.leased.insert(key, slot),
            (Some(at), false) => self.waiting_mortal.insert(key, Mortal { expires: at.0, slot }),
            (Some(at), true) => self.leased_mortal.insert(key, Mortal { expires: at.0, slot }),
        }
    }

    /// Takes `job` from its place. O(log n).
    pub fn remove(&mut self, job: &Job) {
        let key = Key { time: job.time, sequence: job.sequence };
        let leased = job.standing == Standing::Leased;
        match (job.vanishes().is_some(), leased) {
            (false, false) => drop(self.waiting.remove(key)),
            (false, true) => drop(self.leased.remove(key)),
            (true, false) => drop(self.waiting_mortal.remove(key)),
            (true, true) => drop(self.leased_mortal.remove(key)),
        }
    }

    /// Returns when a job here is first within a horizon that looks `ahead`, which may be past. O(log n).
    #[must_use]
    pub fn available_at(&self, now: UnixMs, ahead: Millis) -> Option<UnixMs> {
        let waiting = [self.waiting.first(), self.waiting_mortal.first_alive(now)].into_iter().flatten();
        let leased = [self.leased.first(), self.leased_mortal.first_alive(now)].into_iter().flatten();
        let seen = waiting.map(|(key, _)| UnixMs(key.time.0.saturating_sub(ahead.0)));
        seen.chain(leased.map(|(key, _)| key.time)).min()
    }

    /// Returns the place of the first job that is due. O(log n).
    #[must_use]
    pub fn first_due(&self, horizon: Horizon) -> Option<Slot> {
        let waiting = [self.waiting.first(), self.waiting_mortal.first_alive(horizon.now)];
        let leased = [self.leased.first(), self.leased_mortal.first_alive(horizon.now)];
        let waiting = waiting.into_iter().flatten().filter(|(key, _)| key.time <= horizon.waiting);
        let leased = leased.into_iter().flatten().filter(|(key, _)| key.time <= horizon.now);
        waiting.chain(leased).min_by_key(|(key, _)| *key).map(|(_, slot)| slot)
    }

    /// Returns the due jobs in order. O(log n) to start, O(1) each, however many expired ones stand between.
    pub fn due(&self, horizon: Horizon) -> impl Iterator<Item = (Key, Slot)> {
        merge(self.visible_sources(Key::FIRST, horizon))
    }

    /// Returns, from `from` on, the jobs that wait or whose lease has ended, up to the horizon, to be merged.
    pub fn visible_sources(&self, from: Key, horizon: Horizon) -> [Source<'_>; 4] {
        self.sources(from, horizon.now, horizon.waiting, horizon.now)
    }

    /// Returns, from `from` on, the jobs that wait or are leased and have not expired at `now`, to be merged.
    pub fn all_sources(&self, from: Key, now: UnixMs) -> [Source<'_>; 4] {
        self.sources(from, now, UnixMs(u64::MAX), UnixMs(u64::MAX))
    }

    fn sources(&self, from: Key, now: UnixMs, waiting: UnixMs, leased: UnixMs) -> [Source<'_>; 4] {
        [
            Source::new(&self.waiting, from, now, waiting),
            Source::new(&self.leased, from, now, leased),
            Source::new(&self.waiting_mortal, from, now, waiting),
            Source::new(&self.leased_mortal, from, now, leased),
        ]
    }

    /// Returns, from `from` on, the jobs with a lease, ended or not, to be merged.
    pub fn leased_sources(&self, from: Key) -> [Source<'_>; 2] {
        let (always, never) = (UnixMs(0), UnixMs(u64::MAX));
        [
            Source::new(&self.leased, from, always, never),
            Source::new(&self.leased_mortal, from, always, never),
        ]
    }

    /// Returns, from `from` on, the jobs that stand as waiting, expired or not, to be merged.
    pub fn waiting_sources(&self, from: Key) -> [Source<'_>; 2] {
        let (always, never) = (UnixMs(0), UnixMs(u64::MAX));
        [
            Source::new(&self.waiting, from, always, never),
            Source::new(&self.waiting_mortal, from, always, never),
        ]
    }

    /// Returns how many jobs stand here with a time not after `now`, expired ones included. O(log n).
    #[must_use]
    pub fn rank(&self, now: UnixMs) -> usize {
        self.waiting.rank(now) + self.waiting_mortal.rank(now) + self.rank_leased(now)
    }

    /// Returns how many jobs stand here with a lease that has ended, expired ones included. O(log n).
    #[must_use]
    pub fn rank_leased(&self, now: UnixMs) -> usize {
        self.leased.rank(now) + self.leased_mortal.rank(now)
    }

    /// Returns how many jobs stand here as waiting, expired ones included. O(1).
    #[must_use]
    pub fn waiting_len(&self) -> usize {
        self.waiting.len() + self.waiting_mortal.len()
    }

    /// Returns how many jobs stand here with a lease, ended or not. O(1).
    #[must_use]
    pub fn leased_len(&self) -> usize {
        self.leased.len() + self.leased_mortal.len()
    }

    /// Returns roughly how many bytes the orders take. O(1).
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.waiting.bytes() + self.leased.bytes() + self.waiting_mortal.bytes() + self.leased_mortal.bytes()
    }

    /// Tells whether the orders are sound. O(n).
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.waiting.is_sound()
            && self.leased.is_sound()
            && self.waiting_mortal.is_sound()
            && self.leased_mortal.is_sound()
    }
}

/// A walk through either kind of timeline, up to a time.
#[derive(Debug)]
pub struct Source<'a> {
    walk: Kind<'a>,
    until: UnixMs,
}

/// Either kind of walk, or none.
#[derive(Debug)]
pub enum Kind<'a> {
    /// Through a timeline without entries.
    Empty,
    /// Through jobs that never expire.
    Plain(Walk<'a, Slot>),
    /// Through jobs that expire.
    Mortal(Walk<'a, Mortal>),
}

impl<'a> From<Walk<'a, Slot>> for Kind<'a> {
    fn from(walk: Walk<'a, Slot>) -> Self {
        Kind::Plain(walk)
    }
}

impl<'a> From<Walk<'a, Mortal>> for Kind<'a> {
    fn from(walk: Walk<'a, Mortal>) -> Self {
        Kind::Mortal(walk)
    }
}

impl<'a> Source<'a> {
    /// Walks through the entries of `timeline` from `from` on that are alive at `now` and not after `until`.
    pub fn new<E: Entry>(timeline: &'a Timeline<E>, from: Key, now: UnixMs, until: UnixMs) -> Self
    where
        Walk<'a, E>: Into<Kind<'a>>,
    {
        let walk = if timeline.is_empty() { Kind::Empty } else { timeline.walk(from, now).into() };
        Source { walk, until }
    }
}

impl Iterator for Source<'_> {
    type Item = (Key, Slot);

    fn next(&mut self) -> Option<(Key, Slot)> {
        let next = match &mut self.walk {
            Kind::Empty => None,
            Kind::Plain(walk) => walk.next(),
            Kind::Mortal(walk) => walk.next(),
        };
        next.filter(|(key, _)| key.time <= self.until)
    }
}

/// Merges sources that are each in order into one that is in order.
pub fn merge<'a>(sources: impl IntoIterator<Item = Source<'a>>) -> Merge<'a> {
    let mut sources: Vec<_> = sources.into_iter().map(Iterator::peekable).collect();
    sources.retain_mut(|source| source.peek().is_some());
    Merge { sources }
}

/// Several sources as one that is in order.
#[derive(Debug)]
pub struct Merge<'a> {
    sources: Vec<Peekable<Source<'a>>>,
}

impl Iterator for Merge<'_> {
    type Item = (Key, Slot);

    fn next(&mut self) -> Option<(Key, Slot)> {
        let heads = self.sources.iter_mut().filter_map(|source| Some((source.peek()?.0, source)));
        heads.min_by_key(|(key, _)| *key)?.1.next()
    }
}
