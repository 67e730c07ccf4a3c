//! A deliberately stupid queue: a list of rows, scanned for everything. It is written from the contract of the
//! commands and shares no code with the engine's orders, index and effects.
//!
//! `stamp` numbers the moments at which jobs got their times; among equal times the smaller stamp stands first.

mod by_id;
mod delivering;
mod settling;

use dq_engine::job::{Reason, State};
use dq_engine::policy::Policy;
use dq_engine::queue::Counters;
use dq_engine::time::{Millis, UnixMs};

use crate::random::perform::{Answer, Book, Seen};
use crate::random::{NAMES, Op};

/// The list.
#[derive(Clone, Debug)]
pub struct Naive {
    pub rows: Vec<Row>,
    pub policy: Policy,
    pub paused_until: Option<u64>,
    pub last_token: u64,
    /// What is counted at once; when lapses and deaths by time are counted is left to the engine.
    pub counters: Counters,
    stamp: u64,
}

#[derive(Clone, Debug)]
pub struct Row {
    pub id: Vec<u8>,
    message: Vec<u8>,
    priority: u8,
    attempts: u32,
    expires: Option<u64>,
    error: Option<Vec<u8>>,
    pub stamp: u64,
    stand: Stand,
}

#[derive(Clone, Copy, Debug)]
enum Stand {
    Waiting { visible: u64 },
    Leased { until: u64, last: bool, token: u64, due: u64 },
    Dead { died: u64, reason: Reason, token: u64, due: u64 },
}

/// What a row is at some instant, with the time by which it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Is {
    Gone,
    Waiting(u64),
    Claimed(u64),
    Dead(u64),
}

/// The end of a pause that has none, as effects and chunks have it.
pub const FOREVER: u64 = 1 << 53;

impl Row {
    pub fn is(&self, now: u64) -> Is {
        let over = self.expires.is_some_and(|expires| expires <= now);
        match self.stand {
            Stand::Dead { died, .. } => Is::Dead(died),
            Stand::Leased { until, .. } if now < until => Is::Claimed(until),
            Stand::Leased { until, last: true, .. } => Is::Dead(until),
            _ if over => Is::Gone,
            Stand::Waiting { visible } | Stand::Leased { until: visible, .. } => Is::Waiting(visible),
        }
    }

    fn state(&self, now: u64) -> Option<State> {
        match self.is(now) {
            Is::Gone => None,
            Is::Waiting(_) => Some(State::Waiting),
            Is::Claimed(_) => Some(State::Claimed),
            Is::Dead(_) => Some(State::Dead),
        }
    }

    fn token(&self) -> u64 {
        match self.stand {
            Stand::Waiting { .. } => 0,
            Stand::Leased { token, .. } | Stand::Dead { token, .. } => token,
        }
    }

    /// When the job's present delivery, or its last one, became possible.
    fn delivery_due(&self) -> u64 {
        match self.stand {
            Stand::Waiting { visible } => visible,
            Stand::Leased { due, .. } | Stand::Dead { due, .. } => due,
        }
    }

    pub fn seen(&self, now: u64) -> Option<Seen> {
        let state = self.state(now)?;
        let is = self.is(now);
        let reason = match self.stand {
            Stand::Dead { reason, .. } => Some(reason),
            _ => (state == State::Dead).then_some(Reason::LeaseExpired),
        };
        let (lease_until, died) = match is {
            Is::Claimed(until) => (Some(until), None),
            Is::Dead(died) => (None, Some(died)),
            _ => (None, None),
        };
        Some(Seen {
            id: self.id.clone(),
            message: self.message.clone(),
            state,
            due: if let Is::Waiting(visible) = is { visible } else { self.delivery_due() },
            priority: self.priority,
            attempts: self.attempts,
            expires: self.expires,
            lease_until,
            token: self.token(),
            error: self.error.clone(),
            died,
            reason,
        })
    }

    /// Whether time alone will make this job due after `now`, and when.
    fn becomes_due(&self, now: u64) -> Option<u64> {
        let at = match (self.is(now), self.stand) {
            (Is::Waiting(visible), _) if visible > now => visible,
            (Is::Claimed(until), Stand::Leased { last: false, .. }) => until,
            _ => return None,
        };
        self.expires.is_none_or(|expires| expires > at).then_some(at)
    }
}

impl Naive {
    pub fn new(policy: Policy) -> Self {
        let counters = Counters::default();
        Naive { rows: Vec::new(), policy, paused_until: None, last_token: 0, counters, stamp: 0 }
    }

    /// Does `op` at `now`.
    pub fn perform(&mut self, now: u64, op: &Op, book: &Book) -> Answer {
        match op {
            Op::Push { .. } => self.push(now, op),
            Op::Receive { .. } => self.receive(now, op),
            Op::Claim { .. } => self.claim(now, op),
            Op::Move { .. } => self.move_out(now, op),
            Op::Ack(_) | Op::Nack { .. } | Op::Extend { .. } => self.settle(now, op, book),
            Op::Tidy => {
                self.tidy(now);
                Answer::Nothing
            }
            _ => self.control(now, op),
        }
    }

    /// What happens by time alone is written down: at most 100 rows; deaths first, then expiries, then dead ones too
    /// many. Which hundred of a kind is the engine's choice: the earliest, of the expired those never claimed first.
    pub fn tidy(&mut self, now: u64) {
        for _ in 0..100 {
            let ended = self.first(|row| match row.stand {
                Stand::Leased { until, last: true, .. } if until <= now => Some(until),
                _ => None,
            });
            let over = self.first(|row| match (row.is(now), row.stand, row.expires) {
                (Is::Gone, Stand::Leased { until, .. }, Some(expires)) => Some((1, until.max(expires))),
                (Is::Gone, _, expires) => expires.map(|expires| (u64::from(row.attempts > 0), expires)),
                _ => None,
            });
            let dead = self.first(|row| match row.stand {
                Stand::Dead { died, .. } => Some(died),
                _ => None,
            });
            let dead_len =
                self.rows.iter().filter(|row| matches!(row.stand, Stand::Dead { .. })).count() as u64;
            if let Some(at) = ended {
                self.settle_death(at);
            } else if let Some(at) = over {
                self.rows.remove(at);
                self.counters.expired += 1;
            } else if let Some(at) = dead.filter(|_| self.policy.dead_max.is_some_and(|most| dead_len > most))
            {
                self.rows.remove(at);
                self.counters.dropped += 1;
            } else {
                return;
            }
        }
    }

    /// A death that time brought stands like any other from now on; its receipt can still be acked.
    fn settle_death(&mut self, at: usize) {
        let row = &mut self.rows[at];
        if let Stand::Leased { until, last: true, token, due } = row.stand {
            row.stand = Stand::Dead { died: until, reason: Reason::LeaseExpired, token, due };
        }
    }

    /// The jobs that can be delivered, in order: those due up to `ahead` ms from now, unless the queue is paused.
    pub fn order(&self, now: u64, ahead: u64) -> Vec<usize> {
        let paused = self.paused_until.is_some_and(|until| now < until);
        if paused { Vec::new() } else { self.due(now, ahead) }
    }

    /// The rows that are due up to `ahead` ms from now, in the order of delivery.
    pub fn due(&self, now: u64, ahead: u64) -> Vec<usize> {
        let mut due: Vec<_> = (0..self.rows.len())
            .filter_map(|at| {
                let row = &self.rows[at];
                let Is::Waiting(visible) = row.is(now) else { return None };
                let ever = row.expires.is_none_or(|expires| expires > visible);
                (ever && visible <= now + ahead).then_some((255 - row.priority, visible, row.stamp, at))
            })
            .collect();
        due.sort_unstable();
        due.into_iter().map(|(.., at)| at).collect()
    }

    /// The rows in `state`, by visible time, lease's end or time of death.
    pub fn listed(&self, state: State, now: u64) -> Vec<usize> {
        let mut listed: Vec<_> = (0..self.rows.len())
            .filter_map(|at| {
                let row = &self.rows[at];
                match (row.is(now), state) {
                    (Is::Waiting(time), State::Waiting)
                    | (Is::Claimed(time), State::Claimed)
                    | (Is::Dead(time), State::Dead) => Some((time, row.stamp, at)),
                    _ => None,
                }
            })
            .collect();
        listed.sort_unstable();
        listed.into_iter().map(|(.., at)| at).collect()
    }

    pub fn never_claimed(&self, now: u64) -> usize {
        self.listed(State::Waiting, now).into_iter().filter(|&at| self.rows[at].attempts == 0).count()
    }

    pub fn find(&self, id: &[u8]) -> Option<usize> {
        self.rows.iter().position(|row| row.id == id)
    }

    /// The earliest time at which something becomes due that is not due now.
    pub fn next_due(&self, now: u64) -> Option<u64> {
        self.rows.iter().filter_map(|row| row.becomes_due(now)).min()
    }

    fn first<T: Ord>(&self, time: impl Fn(&Row) -> Option<T>) -> Option<usize> {
        let found = self.rows.iter().enumerate();
        let found = found.filter_map(|(at, row)| Some((time(row)?, row.stamp, at)));
        found.min().map(|(.., at)| at)
    }

    fn take_stamp(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp
    }

    /// Lets a row wait.
    fn wait(&mut self, at: usize, visible: u64) {
        let stamp = self.take_stamp();
        let row = &mut self.rows[at];
        (row.stamp, row.stand) = (stamp, Stand::Waiting { visible });
    }

    fn bury(&mut self, at: usize, reason: Reason, now: u64) {
        let stamp = self.take_stamp();
        let row = &mut self.rows[at];
        let due = row.delivery_due();
        (row.stamp, row.stand) = (stamp, Stand::Dead { died: now, reason, token: 0, due });
    }
}

/// The time `by` ms after `now`, if there is such a time.
fn after(now: u64, by: Millis) -> Option<u64> {
    UnixMs(now).after(by).map(|time| time.0)
}

fn name(index: usize) -> &'static [u8] {
    &NAMES[index]
}
