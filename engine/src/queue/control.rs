//! Control by id, and of the queue as a whole.

use smallvec::smallvec;

use super::{Queue, When};
use crate::effect::{Cause, Effect, Effects, FOREVER};
use crate::error::Refusal;
use crate::id::IdRef;
use crate::job::State;
use crate::policy::Policy;
use crate::slots::Slot;
use crate::time::{Millis, UnixMs};
use crate::timeline::Key;

impl Queue {
    /// Takes the job of `id` out, whatever it is; returns what it was. O(log n).
    pub fn cancel(&mut self, now: UnixMs, id: IdRef<'_>, effects: &mut Effects<'_>) -> Option<State> {
        let (slot, _, state) = self.find_at(id, now)?;
        self.settle_death(slot, state, effects);
        self.remove_recorded(slot, Cause::Cancelled, effects);
        Some(state)
    }

    /// Gives a waiting job another due time; its expiry moves along, unless it comes before the job is due. Returns what the job is: if that is not waiting,
    /// nothing changed. O(log n). Refuses a time that is too large.
    pub fn reschedule(
        &mut self,
        now: UnixMs,
        id: IdRef<'_>,
        when: When,
        effects: &mut Effects<'_>,
    ) -> Result<Option<State>, Refusal> {
        let due = when.resolve(now)?;
        let Some((slot, job, state)) = self.find_at(id, now) else { return Ok(None) };
        if state != State::Waiting {
            return Ok(Some(state));
        }
        let expires = match job.expires() {
            Some(expires) if !job.is_doomed() => {
                let left = Millis(expires.0.saturating_sub(job.time.0));
                Some(due.after(left).ok_or(Refusal::TimeTooLarge { what: "TTL" })?)
            }
            other => other,
        };
        effects.0.push(Effect::Reschedule { id: job.id.clone(), due, expires });
        self.reschedule_to(slot, due, expires);
        Ok(Some(State::Waiting))
    }

    /// Lets dead jobs wait again, those that died first, with no attempt counted and no expiry. Returns how many.
    /// O(log n) a job.
    pub fn redrive(&mut self, now: UnixMs, delay: Millis, count: usize, effects: &mut Effects<'_>) -> usize {
        let slots: Vec<Slot> = self.orders.dead(Key::FIRST, now).take(count).map(|(_, slot)| slot).collect();
        self.redrive_slots(now.plus(delay), &slots, effects)
    }

    /// Lets the dead jobs among `ids` wait again. As [`Queue::redrive`].
    pub fn redrive_ids(
        &mut self,
        now: UnixMs,
        delay: Millis,
        ids: &[IdRef<'_>],
        effects: &mut Effects<'_>,
    ) -> usize {
        let mut redriven = 0;
        for &id in ids {
            if let Some((slot, _, State::Dead)) = self.find_at(id, now) {
                redriven += self.redrive_slots(now.plus(delay), &[slot], effects);
            }
        }
        redriven
    }

    fn redrive_slots(&mut self, due: UnixMs, slots: &[Slot], effects: &mut Effects<'_>) -> usize {
        // Deaths by time alone are written down first, so that the effect names only dead jobs.
        slots.iter().for_each(|&slot| self.settle_death(slot, State::Dead, effects));
        for &slot in slots {
            let Some(id) = self.jobs.get(slot).map(|job| job.id.clone()) else { continue };
            match effects.0.last_mut() {
                Some(Effect::Redrive { due: last, ids }) if *last == due => ids.push(id),
                _ => effects.0.push(Effect::Redrive { due, ids: smallvec![id] }),
            }
            self.redrive_to(slot, due);
        }
        slots.len()
    }

    /// Takes out up to `count` jobs that are in `state`, in the order in which they are listed. Returns how many.
    /// O(log n) a job.
    pub fn purge(&mut self, now: UnixMs, state: State, count: usize, effects: &mut Effects<'_>) -> usize {
        let slots: Vec<Slot> = self.walk(state, Key::FIRST, now).take(count).map(|(_, slot)| slot).collect();
        slots.iter().for_each(|&slot| self.settle_death(slot, state, effects));
        slots.iter().for_each(|&slot| self.remove_recorded(slot, Cause::Purged, effects));
        slots.len()
    }

    /// Sets the policy. O(1).
    pub fn set_policy(&mut self, policy: Policy, effects: &mut Effects<'_>) {
        if self.policy != policy {
            self.policy = policy;
            effects.0.push(Effect::Policy(policy));
        }
    }

    /// Stops deliveries until `now + length`, or, with `None`, until they are resumed. O(1).
    pub fn pause(&mut self, now: UnixMs, length: Option<Millis>, effects: &mut Effects<'_>) {
        let until = length.map_or(FOREVER, |length| now.plus(length));
        if self.paused_until != Some(until) {
            self.paused_until = Some(until);
            effects.0.push(Effect::Pause(Some(until)));
        }
    }

    /// Lets deliveries go on. O(1).
    pub fn resume(&mut self, effects: &mut Effects<'_>) {
        if self.paused_until.take().is_some() {
            effects.0.push(Effect::Pause(None));
        }
    }

    pub(super) fn reschedule_to(&mut self, slot: Slot, due: UnixMs, expires: Option<UnixMs>) {
        let attempts = self.jobs.get(slot).map_or(0, |job| job.attempts);
        self.count_lapse(slot);
        self.set_expiry(slot, expires);
        self.wait(slot, due, attempts);
    }

    pub(super) fn redrive_to(&mut self, slot: Slot, due: UnixMs) {
        self.set_expiry(slot, None);
        self.wait(slot, due, 0);
    }

    fn set_expiry(&mut self, slot: Slot, expires: Option<UnixMs>) {
        self.restand(slot, |job| {
            if job.expires() != expires {
                job.extra_mut().expires = expires;
            }
        });
    }
}
