//! What becomes of a delivery: done, given back, or kept for longer. All go by receipt.

use smallvec::smallvec;

use super::{Queue, add_one};
use crate::effect::{Cause, Effect, Effects};
use crate::id::IdRef;
use crate::job::{ERROR_MAX, Job, Reason, State, Token};
use crate::slots::Slot;
use crate::time::{Millis, UnixMs};

/// Names one delivery of one job. It is current until the job is claimed again, given back, acked, replaced,
/// rescheduled, moved, redriven or removed; the lease's end alone does not end it.
#[derive(Clone, Copy, Debug)]
pub struct Receipt<'a> {
    /// The claim.
    pub token: Token,
    /// The job.
    pub id: IdRef<'a>,
}

/// How a job is given back.
#[derive(Clone, Copy, Debug)]
pub struct Nack<'a> {
    /// When it can be delivered again.
    pub retry: Retry,
    /// What went wrong. The first [`ERROR_MAX`] bytes are kept; an empty text removes the last one.
    pub error: Option<&'a [u8]>,
}

/// When a job that was given back can be delivered again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// After the policy's backoff.
    Backoff {
        /// A random number, for the jitter.
        draw: u64,
    },
    /// After so long.
    After(Millis),
    /// At once, and the attempt does not count.
    Unused,
    /// Never: it dies.
    Never,
}

impl Queue {
    /// Ends a delivery whose work is done: the job leaves. `false` if the receipt is not current. A job that died only by
    /// its lease's end can still be acked. O(log n).
    pub fn ack(&mut self, now: UnixMs, receipt: Receipt<'_>, effects: &mut Effects<'_>) -> bool {
        let Some((slot, _, state)) = self.find_delivery(receipt, now) else { return false };
        self.settle_death(slot, state, effects);
        self.remove_recorded(slot, Cause::Acked, effects);
        true
    }

    /// Gives a job back; returns what it is then, or `None` if the receipt is not current. A job whose attempts are used
    /// up dies, unless the attempt does not count; one that died by its lease's end stays dead. O(log n).
    pub fn nack(
        &mut self,
        now: UnixMs,
        receipt: Receipt<'_>,
        nack: Nack<'_>,
        effects: &mut Effects<'_>,
    ) -> Option<State> {
        let (slot, job, state) = self.find_delivery(receipt, now)?;
        let (attempts, id) = (job.attempts, job.id.clone());
        if let Some(text) = nack.error {
            let text: Box<[u8]> = text.get(..ERROR_MAX).unwrap_or(text).into();
            effects.0.push(Effect::Error { id: id.clone(), text: text.clone() });
            self.keep_error(slot, text);
        }
        if state == State::Dead {
            return Some(State::Dead);
        }
        let exhausted = self.policy.is_exhausted(attempts);
        let (visible, attempts) = match nack.retry {
            Retry::Never => return Some(self.reject(now, slot, Reason::Rejected, effects)),
            Retry::Unused => (now, attempts.saturating_sub(1)),
            Retry::After(_) | Retry::Backoff { .. } if exhausted => {
                return Some(self.reject(now, slot, Reason::Nacked, effects));
            }
            Retry::After(delay) => (now.plus(delay), attempts),
            Retry::Backoff { draw } => (now.plus(self.policy.backoff.wait(attempts, draw)), attempts),
        };
        effects.0.push(Effect::Release { id, visible, attempts });
        self.release(slot, visible, attempts);
        Some(State::Waiting)
    }

    /// Lets the lease of a delivery end at `now + lease`; `false` if the receipt is not current or the job has died.
    /// O(log n).
    pub fn extend(
        &mut self,
        now: UnixMs,
        receipt: Receipt<'_>,
        lease: Millis,
        effects: &mut Effects<'_>,
    ) -> bool {
        let Some((slot, job, state)) = self.find_delivery(receipt, now) else { return false };
        if state == State::Dead {
            return false;
        }
        let (until, id) = (now.plus(lease), job.id.clone());
        match effects.0.last_mut() {
            Some(Effect::Extend { until: last, ids }) if *last == until => ids.push(id),
            _ => effects.0.push(Effect::Extend { until, ids: smallvec![id] }),
        }
        self.extend_to(slot, until);
        true
    }

    pub(super) fn extend_to(&mut self, slot: Slot, until: UnixMs) {
        let sequence = self.take_sequence();
        self.restand(slot, |job| (job.time, job.sequence) = (until, sequence));
    }

    pub(super) fn release(&mut self, slot: Slot, visible: UnixMs, attempts: u32) {
        add_one(&mut self.counters.nacked);
        self.wait(slot, visible, attempts);
    }

    pub(super) fn keep_error(&mut self, slot: Slot, text: Box<[u8]>) {
        self.restand(slot, |job| job.extra_mut().error = (!text.is_empty()).then_some(text));
    }

    fn reject(&mut self, now: UnixMs, slot: Slot, reason: Reason, effects: &mut Effects<'_>) -> State {
        self.bury_recorded(slot, reason, now, effects);
        State::Dead
    }

    /// Finds the job whose current delivery `receipt` names.
    fn find_delivery(&self, receipt: Receipt<'_>, now: UnixMs) -> Option<(Slot, &Job, State)> {
        self.find_at(receipt.id, now).filter(|(_, job, _)| receipt.token != 0 && job.token() == receipt.token)
    }
}
