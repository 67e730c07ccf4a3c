//! What becomes of deliveries, the stupid way.

use dq_engine::job::{Reason, State};
use dq_engine::queue::Retry;

use super::{Is, Naive, Stand};
use crate::random::Op;
use crate::random::perform::{Answer, Book};

impl Naive {
    pub(super) fn settle(&mut self, now: u64, op: &Op, book: &Book) -> Answer {
        match op {
            Op::Ack(pick) => {
                let Some(at) = self.current(now, &book.receipt(*pick)) else { return Answer::Flag(false) };
                self.rows.remove(at);
                self.counters.acked += 1;
                Answer::Flag(true)
            }
            Op::Extend { pick, lease } => {
                let Some(at) = self.current(now, &book.receipt(*pick)) else { return Answer::Flag(false) };
                Answer::Flag(self.extend(now, at, now + lease.0))
            }
            Op::Nack { pick, how, error } => {
                let Some(at) = self.current(now, &book.receipt(*pick)) else { return Answer::State(None) };
                self.nack(now, at, *how, error.as_deref())
            }
            _ => Answer::Nothing,
        }
    }

    /// The row whose current delivery the receipt names.
    fn current(&self, now: u64, (token, id): &(u64, Vec<u8>)) -> Option<usize> {
        let at = self.find(id)?;
        let row = &self.rows[at];
        (*token != 0 && row.token() == *token && row.is(now) != Is::Gone).then_some(at)
    }

    /// Read so: one that died by its lease's end can only be acked.
    fn extend(&mut self, now: u64, at: usize, ends: u64) -> bool {
        if self.rows[at].state(now) == Some(State::Dead) {
            return false;
        }
        let stamp = self.take_stamp();
        let row = &mut self.rows[at];
        if let Stand::Leased { until, .. } = &mut row.stand {
            *until = ends;
        }
        row.stamp = stamp;
        true
    }

    fn nack(&mut self, now: u64, at: usize, how: Retry, error: Option<&[u8]>) -> Answer {
        let attempts = self.rows[at].attempts;
        if let Some(text) = error {
            let kept = &text[..text.len().min(1024)];
            self.rows[at].error = (!kept.is_empty()).then(|| kept.to_vec());
        }
        // Read so: one that died by its lease's end is dead, whatever it is given back for.
        if self.rows[at].state(now) == Some(State::Dead) {
            return Answer::State(Some(State::Dead));
        }
        self.counters.nacked += 1;
        let used_up = self.policy.max_attempts.is_some_and(|most| attempts >= u32::from(most));
        match how {
            Retry::Never => self.bury(at, Reason::Rejected, now),
            Retry::Unused => {
                self.rows[at].attempts -= 1;
                self.wait(at, now);
            }
            _ if used_up => self.bury(at, Reason::Nacked, now),
            Retry::After(delay) => self.wait(at, now + delay.0),
            Retry::Backoff { .. } => self.wait(at, now + self.backoff(attempts)),
        }
        let died = matches!(self.rows[at].stand, Stand::Dead { .. });
        Answer::State(Some(if died { State::Dead } else { State::Waiting }))
    }

    /// min(base * factor^(k-1), max); the runs have no jitter.
    fn backoff(&self, attempt: u32) -> u64 {
        let backoff = self.policy.backoff;
        let power = u128::from(backoff.factor).pow(attempt - 1);
        let wait = u128::from(backoff.base.0) * power;
        wait.min(u128::from(backoff.max.0)) as u64
    }
}
