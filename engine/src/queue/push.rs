//! Putting jobs in.

use super::Queue;
use crate::effect::{Cause, Effect, Effects, Put};
use crate::error::Refusal;
use crate::id::IdRef;
use crate::job::State;
use crate::slots::JOBS_MAX;
use crate::time::{Millis, UnixMs};

/// A job to be pushed.
#[derive(Clone, Copy, Debug)]
pub struct Push<'a> {
    /// Its id.
    pub id: IdRef<'a>,
    /// Its message.
    pub message: &'a [u8],
    /// When it is due.
    pub when: When,
    /// Higher goes first.
    pub priority: u8,
    /// How long after its due time it may still be delivered: zero is for ever, `None` what the policy says.
    pub ttl: Option<Millis>,
    /// What happens if the queue has a job of this id.
    pub replace: Replace,
}

/// A due time, given from now or absolutely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// So long from now.
    In(Millis),
    /// Then.
    At(UnixMs),
}

/// What a push does to a job that already has its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// Leaves it as it is.
    No,
    /// Takes its place.
    Yes,
    /// Takes its place, and its due time if it waits.
    KeepDue,
}

/// What came of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The job is new.
    Created,
    /// It took the place of another.
    Replaced,
    /// Nothing changed: a job in this state has the id.
    Exists(State),
}

impl Outcome {
    /// The word that clients see.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Created => "created",
            Outcome::Replaced => "replaced",
            Outcome::Exists(state) => state.word(),
        }
    }
}

impl When {
    /// Returns the absolute time; refuses one beyond [`UnixMs::MAX`].
    pub fn resolve(self, now: UnixMs) -> Result<UnixMs, Refusal> {
        match self {
            When::At(time) => Ok(time),
            When::In(delay) => now.after(delay).ok_or(Refusal::TimeTooLarge { what: "DELAY" }),
        }
    }
}

impl Queue {
    /// Tells whether all of `pushes` can be done at `now`. O(1) each.
    pub fn check_pushes(&self, now: UnixMs, pushes: &[Push<'_>]) -> Result<(), Refusal> {
        if self.jobs.len() + pushes.len() > JOBS_MAX {
            return Err(Refusal::QueueFull);
        }
        pushes.iter().try_for_each(|push| {
            let due = push.when.resolve(now)?;
            self.expiry_of(due, push.ttl).map(|_| ())
        })
    }

    /// Puts one job in. O(log n). Refuses a due time or expiry that is too large.
    pub fn push<'a>(
        &mut self,
        now: UnixMs,
        push: &Push<'a>,
        effects: &mut Effects<'a>,
    ) -> Result<Outcome, Refusal> {
        let asked = push.when.resolve(now)?;
        self.expiry_of(asked, push.ttl)?;
        let hash = self.index.hash(push.id);
        let found = self.find_hashed(push.id, hash);
        let job = found.and_then(|slot| self.jobs.get(slot));
        let state = job.and_then(|job| job.state(now));
        if let (Some(state), Replace::No) = (state, push.replace) {
            return Ok(Outcome::Exists(state));
        }
        let keeps = push.replace == Replace::KeepDue && state == Some(State::Waiting);
        let due = job.filter(|_| keeps).map_or(asked, |job| job.time);
        let expires = self.expiry_of(due, push.ttl)?;
        let outcome = match (found, state) {
            (None, _) => Outcome::Created,
            (Some(slot), Some(state)) => {
                self.settle_death(slot, state, effects);
                Outcome::Replaced
            }
            (Some(slot), None) => {
                self.remove_recorded(slot, Cause::Expired, effects);
                Outcome::Created
            }
        };
        let Push { id, message, priority, .. } = *push;
        let put = Put { id, message, due, priority, expires, attempts: 0 };
        self.put(&put, hash)?;
        effects.0.push(Effect::Put(put));
        Ok(outcome)
    }

    /// Puts a job in as it comes from another queue, unless this one has its id. O(log n).
    pub fn receive<'a>(
        &mut self,
        now: UnixMs,
        put: Put<'a>,
        effects: &mut Effects<'a>,
    ) -> Result<bool, Refusal> {
        let hash = self.index.hash(put.id);
        if let Some(slot) = self.find_hashed(put.id, hash) {
            if self.jobs.get(slot).and_then(|job| job.state(now)).is_some() {
                return Ok(false);
            }
            self.remove_recorded(slot, Cause::Expired, effects);
        }
        self.put(&put, hash)?;
        effects.0.push(Effect::Put(put));
        Ok(true)
    }

    fn expiry_of(&self, due: UnixMs, ttl: Option<Millis>) -> Result<Option<UnixMs>, Refusal> {
        let ttl = ttl.unwrap_or(self.policy.ttl);
        if ttl.is_zero() {
            return Ok(None);
        }
        due.after(ttl).map(Some).ok_or(Refusal::TimeTooLarge { what: "TTL" })
    }
}
