//! What becomes of a delivery: done, given back, or kept for longer. All go by receipt.

use smallvec::smallvec;

use super::Queue;
use crate::effect::{Cause, Effect, Effects};
use crate::error::Refusal;
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
pub enum Nack {
    /// After the policy's backoff.
    Backoff {
        /// A random number, for the jitter.
        draw: u64,
    },
    /// After so long.
    Delay(Millis),
    /// At once, and the attempt does not count.
    Unused,
    /// Never: it dies.
    Dead,
}

impl Queue {
    /// Ends a delivery whose work is done: the job leaves. `false` if the receipt is not current. A job that died only by
    /// its lease's end can still be acked. O(log n).
    pub fn ack(&mut self, now: UnixMs, receipt: Receipt<'_>, effects: &mut Effects<'_>) -> bool {
        let Some((slot, ..)) = self.find_delivery(receipt, now) else { return false };
        self.remove_recorded(slot, Cause::Acked, effects);
        true
    }

    /// Gives a job back; returns what it is then, or `None` if the receipt is not current. One that died by its lease's
    /// end stays dead. `error`, cut to [`ERROR_MAX`] bytes, is kept. O(log n). Refuses a delay that ends too late.
    pub fn nack(
        &mut self,
        now: UnixMs,
        receipt: Receipt<'_>,
        how: Nack,
        error: Option<&[u8]>,
        effects: &mut Effects<'_>,
    ) -> Result<Option<State>, Refusal> {
        let Some((slot, job, state)) = self.find_delivery(receipt, now) else { return Ok(None) };
        let exhausted = self.policy.is_exhausted(job.attempts);
        let attempts = job.attempts;
        let visible = match how {
            Nack::Unused | Nack::Dead => now,
            Nack::Delay(delay) => now.after(delay).ok_or(Refusal::TimeTooLarge { what: "DELAY" })?,
            Nack::Backoff { draw } => {
                let wait = self.policy.backoff.wait(attempts, draw);
                now.after(wait).ok_or(Refusal::TimeTooLarge { what: "backoff" })?
            }
        };
        if let Some(text) = error {
            let text: Box<[u8]> = text.get(..ERROR_MAX).unwrap_or(text).into();
            effects.0.push(Effect::Error { id: job.id.clone(), text: text.clone() });
            self.keep_error(slot, text);
        }
        match (state, how) {
            (State::Dead, _) => return Ok(Some(State::Dead)),
            (_, Nack::Dead) => self.bury_recorded(slot, Reason::Rejected, now, effects),
            (_, Nack::Unused) => self.release_recorded(slot, visible, attempts.saturating_sub(1), effects),
            _ if exhausted => self.bury_recorded(slot, Reason::Nacked, now, effects),
            _ => {
                self.release_recorded(slot, visible, attempts, effects);
                return Ok(Some(State::Waiting));
            }
        }
        Ok(Some(if matches!(how, Nack::Unused) { State::Waiting } else { State::Dead }))
    }

    /// Lets the lease of a delivery end at `now + lease`; `false` if the receipt is not current or the job has died.
    /// O(log n). Refuses a lease that ends too late.
    pub fn extend(
        &mut self,
        now: UnixMs,
        receipt: Receipt<'_>,
        lease: Millis,
        effects: &mut Effects<'_>,
    ) -> Result<bool, Refusal> {
        let until = now.after(lease).ok_or(Refusal::TimeTooLarge { what: "LEASE" })?;
        let Some((slot, job, state)) = self.find_delivery(receipt, now) else { return Ok(false) };
        if state == State::Dead {
            return Ok(false);
        }
        let id = job.id.clone();
        match effects.0.last_mut() {
            Some(Effect::Extend { until: last, ids }) if *last == until => ids.push(id),
            _ => effects.0.push(Effect::Extend { until, ids: smallvec![id] }),
        }
        self.extend_to(slot, until);
        Ok(true)
    }

    pub(super) fn extend_to(&mut self, slot: Slot, until: UnixMs) {
        let sequence = self.take_sequence();
        self.restand(slot, |job| (job.time, job.sequence) = (until, sequence));
    }

    pub(super) fn release(&mut self, slot: Slot, visible: UnixMs, attempts: u32) {
        self.counters.nacked += 1;
        self.wait(slot, visible, attempts);
    }

    pub(super) fn keep_error(&mut self, slot: Slot, text: Box<[u8]>) {
        self.restand(slot, |job| job.extra_mut().error = (!text.is_empty()).then_some(text));
    }

    fn release_recorded(&mut self, slot: Slot, visible: UnixMs, attempts: u32, effects: &mut Effects<'_>) {
        let Some(job) = self.jobs.get(slot) else { return };
        effects.0.push(Effect::Release { id: job.id.clone(), visible, attempts });
        self.release(slot, visible, attempts);
    }

    /// Finds the job whose current delivery `receipt` names.
    fn find_delivery(&self, receipt: Receipt<'_>, now: UnixMs) -> Option<(Slot, &Job, State)> {
        self.find_at(receipt.id, now).filter(|(_, job, _)| receipt.token != 0 && job.token() == receipt.token)
    }
}
