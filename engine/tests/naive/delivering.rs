//! Putting jobs in and delivering them, the stupid way.

use dq_engine::job::{Reason, State};
use dq_engine::queue::{Outcome, Replace, When};
use dq_engine::time::Millis;

use super::{Naive, Row, Stand, after, name};
use crate::random::Op;
use crate::random::perform::{Answer, Given, Seen};

impl Naive {
    pub(super) fn push(&mut self, now: u64, op: &Op) -> Answer {
        let Op::Push { name: index, message, due, priority, ttl, replace } = op else {
            return Answer::Nothing;
        };
        let Some(mut due) = resolve(due.when(now), now) else { return Answer::Refused };
        let ttl = ttl.unwrap_or(self.policy.ttl);
        if after(due, ttl).is_none() {
            return Answer::Refused;
        }
        let old = self.find(name(*index));
        let state = old.and_then(|at| self.rows[at].state(now));
        if let (Some(state), Replace::No) = (state, replace) {
            return Answer::Pushed(Outcome::Exists(state));
        }
        if let (Some(at), Some(State::Waiting), Replace::KeepDue) = (old, state, replace) {
            due = self.rows[at].seen(now).map_or(due, |seen| seen.due);
        }
        let expires = if ttl.is_zero() { None } else { Some(after(due, ttl)) };
        if expires == Some(None) {
            return Answer::Refused;
        }
        self.take_place(now, old);
        self.put(Row { priority: *priority, expires: expires.flatten(), ..row(*index, message, due) });
        Answer::Pushed(if state.is_some() { Outcome::Replaced } else { Outcome::Created })
    }

    pub(super) fn receive(&mut self, now: u64, op: &Op) -> Answer {
        let Op::Receive { name: index, message, due, priority, ttl, attempts } = op else {
            return Answer::Nothing;
        };
        let old = self.find(name(*index));
        if old.is_some_and(|at| self.rows[at].state(now).is_some()) {
            return Answer::Flag(false);
        }
        self.take_place(now, old);
        let (priority, attempts, expires) = (*priority, *attempts, ttl.map(|ttl| due + ttl));
        self.put(Row { priority, attempts, expires, ..row(*index, message, *due) });
        Answer::Flag(true)
    }

    pub(super) fn claim(&mut self, now: u64, op: &Op) -> Answer {
        let Op::Claim { count, bytes, lease, token } = op else { return Answer::Nothing };
        let lease = lease.unwrap_or(self.policy.lease);
        let until = now + lease.0;
        let picked = self.picked(now, 0, *count, *bytes);
        if picked.is_empty() {
            return Answer::Given(Vec::new());
        }
        let token = (!lease.is_zero()).then(|| (*token).max(self.last_token + 1));
        let mut given = Vec::new();
        for id in picked {
            let Some(at) = self.find(&id) else { continue };
            let Some(seen) = self.rows[at].seen(now) else { continue };
            let (attempt, due) = (seen.attempts + 1, seen.due);
            given.push(Given { id: seen.id, message: seen.message, attempt, due, token });
            match token {
                Some(token) => self.lease(at, until, token),
                None => drop(self.rows.remove(at)),
            }
            self.counters.claimed += 1;
        }
        Answer::Given(given)
    }

    pub(super) fn move_out(&mut self, now: u64, op: &Op) -> Answer {
        let Op::Move { count, bytes, ahead, conflicts } = op else { return Answer::Nothing };
        let mut moved: Vec<Seen> = Vec::new();
        for (turn, id) in self.picked(now, *ahead, *count, *bytes).into_iter().enumerate() {
            let Some(at) = self.find(&id) else { continue };
            if conflicts >> (turn % 8) & 1 == 1 {
                self.bury(at, Reason::Conflict, now);
            } else {
                moved.extend(self.rows[at].seen(now));
                self.rows.remove(at);
                self.counters.moved += 1;
            }
        }
        Answer::Moved(moved)
    }

    /// The ids that are taken: `count`, or less if the one that makes the messages more than `bytes` comes first.
    fn picked(&self, now: u64, ahead: u64, count: usize, bytes: usize) -> Vec<Vec<u8>> {
        let (mut ids, mut sum) = (Vec::new(), 0);
        for at in self.order(now, ahead) {
            if ids.len() == count || sum > bytes {
                break;
            }
            sum += self.rows[at].message.len();
            ids.push(self.rows[at].id.clone());
        }
        ids
    }

    fn lease(&mut self, at: usize, until: u64, token: u64) {
        let stamp = self.take_stamp();
        self.last_token = token;
        let row = &mut self.rows[at];
        let due = match row.stand {
            Stand::Waiting { visible } => visible,
            Stand::Leased { until, .. } => until,
            Stand::Dead { died, .. } => died,
        };
        row.attempts += 1;
        let last = self.policy.max_attempts.is_some_and(|most| row.attempts >= u32::from(most));
        (row.stamp, row.stand) = (stamp, Stand::Leased { until, last, token, due });
    }

    /// Makes the place of an id free. Whoever was gone by time is counted.
    fn take_place(&mut self, now: u64, old: Option<usize>) {
        let Some(at) = old else { return };
        if self.rows.remove(at).state(now).is_none() {
            self.counters.expired += 1;
        }
    }

    fn put(&mut self, row: Row) {
        let stamp = self.take_stamp();
        self.rows.push(Row { stamp, ..row });
        self.counters.pushed += 1;
    }
}

fn row(index: usize, message: &[u8], due: u64) -> Row {
    let (id, message, stand) = (name(index).to_vec(), message.to_vec(), Stand::Waiting { visible: due });
    Row { id, message, priority: 0, attempts: 0, expires: None, error: None, stamp: 0, stand }
}

/// The absolute time that is meant, if it is one.
pub(super) fn resolve(when: When, now: u64) -> Option<u64> {
    match when {
        When::At(time) => Some(time.0),
        When::In(Millis(delay)) => after(now, Millis(delay)),
    }
}
