//! What happens by time alone: the end of the last permitted lease, the end of a time to live.
//!
//! Every read sees both at once (`Job::state`, `Orders::census`). This file writes them down, a bounded number a
//! command, so that replicas and files learn of them and memory is freed.

use super::Queue;
use crate::effect::{Cause, Effects};
use crate::job::{Reason, Standing, State};
use crate::slots::Slot;
use crate::time::UnixMs;

/// The most records that one command tidies up.
pub const TIDY_MAX: usize = 100;

impl Queue {
    /// Writes down up to [`TIDY_MAX`] ended last leases, ended times to live, and dead jobs too many. O(log n) each.
    pub fn tidy(&mut self, now: UnixMs, effects: &mut Effects<'_>) {
        for _ in 0..TIDY_MAX {
            if let Some(slot) = self.orders.first_exhausted(now) {
                self.settle_death(slot, State::Dead, effects);
            } else if let Some(slot) = self.orders.first_expired(now) {
                self.remove_recorded(slot, Cause::Expired, effects);
            } else if let Some(slot) = self.first_dead_too_many() {
                self.remove_recorded(slot, Cause::Dropped, effects);
            } else {
                return;
            }
        }
    }

    /// Writes down the death of a job that is dead by time alone, before anything else is done with it.
    pub(super) fn settle_death(&mut self, slot: Slot, state: State, effects: &mut Effects<'_>) {
        match self.jobs.get(slot) {
            Some(job) if state == State::Dead && job.standing == Standing::LastLease => {
                let ended = job.time;
                self.bury_recorded(slot, Reason::LeaseExpired, ended, effects);
            }
            _ => {}
        }
    }

    fn first_dead_too_many(&self) -> Option<Slot> {
        self.orders.first_dead_beyond(self.policy.dead_max?)
    }
}
