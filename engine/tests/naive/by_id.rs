//! Control by id and of the whole, the stupid way.

use dq_engine::job::State;

use super::delivering::resolve;
use super::{FOREVER, Is, Naive, name};
use crate::random::perform::Answer;
use crate::random::{Due, Op};

impl Naive {
    pub(super) fn control(&mut self, now: u64, op: &Op) -> Answer {
        match op {
            Op::Cancel(index) => self.cancel(now, *index),
            Op::Reschedule { name: index, due } => self.reschedule(now, *index, *due),
            Op::Redrive { delay, count } => {
                let ids = self.listed(State::Dead, now).into_iter().take(*count);
                let ids = ids.map(|at| self.rows[at].id.clone()).collect();
                self.redrive(now + delay.0, ids)
            }
            Op::RedriveIds { delay, names } => {
                let mut ids: Vec<Vec<u8>> = Vec::new();
                for id in names.iter().map(|&index| name(index)) {
                    let dead = self.find(id).is_some_and(|at| self.rows[at].state(now) == Some(State::Dead));
                    if dead && !ids.iter().any(|other| other == id) {
                        ids.push(id.to_vec());
                    }
                }
                self.redrive(now + delay.0, ids)
            }
            Op::Purge { state, count } => self.purge(now, *state, *count),
            Op::Pause(length) => {
                self.paused_until = Some(length.map_or(FOREVER, |length| now + length.0));
                Answer::Nothing
            }
            Op::Resume => {
                self.paused_until = None;
                Answer::Nothing
            }
            Op::SetPolicy(policy) => {
                self.policy = *policy;
                Answer::Nothing
            }
            _ => Answer::Nothing,
        }
    }

    fn cancel(&mut self, now: u64, index: usize) -> Answer {
        let Some(at) = self.find(name(index)) else { return Answer::State(None) };
        let state = self.rows[at].state(now);
        if state.is_some() {
            self.rows.remove(at);
            self.counters.cancelled += 1;
        }
        Answer::State(state)
    }

    fn reschedule(&mut self, now: u64, index: usize, due: Due) -> Answer {
        let Some(due) = resolve(due.when(now), now) else { return Answer::Refused };
        let Some(at) = self.find(name(index)) else { return Answer::State(None) };
        let Is::Waiting(visible) = self.rows[at].is(now) else {
            return Answer::State(self.rows[at].state(now));
        };
        // The time to live moves along: it is over as long after the new time as it was after the old one. That of a job
        // which would not have lived to see that stays.
        if let Some(expires) = self.rows[at].expires.filter(|&expires| expires > visible) {
            let moved = due + (expires - visible);
            if moved > dq_engine::time::UnixMs::MAX.0 {
                return Answer::Refused;
            }
            self.rows[at].expires = Some(moved);
        }
        self.wait(at, due);
        Answer::State(Some(State::Waiting))
    }

    /// Read so: who is redriven has no time to live any more.
    fn redrive(&mut self, due: u64, ids: Vec<Vec<u8>>) -> Answer {
        for id in &ids {
            let Some(at) = self.find(id) else { continue };
            self.rows[at].expires = None;
            self.rows[at].attempts = 0;
            self.wait(at, due);
        }
        Answer::Count(ids.len())
    }

    fn purge(&mut self, now: u64, state: State, count: usize) -> Answer {
        let ids: Vec<_> =
            self.listed(state, now).into_iter().take(count).map(|at| self.rows[at].id.clone()).collect();
        self.rows.retain(|row| !ids.contains(&row.id));
        self.counters.purged += ids.len() as u64;
        Answer::Count(ids.len())
    }
}
