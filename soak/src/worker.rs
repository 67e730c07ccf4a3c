//! A client: it asks, notes what comes back, and connects anew when its connection is gone.

use crate::clock::{Moment, now};
use crate::event::{Outcome, Queue};
use crate::harness::random::Random;
use crate::harness::reply::Reply;
use crate::shared::{Session, Shared, StopsOnPanic, pause};
use crate::{consumer, mover, operator, producer, reader};

/// What a client does for a living.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    Producer,
    Consumer,
    Mover,
    Operator,
    Reader,
}

/// A delivery in a consumer's hands.
#[derive(Clone)]
pub struct Held {
    pub queue: Queue,
    pub serial: u64,
    pub token: u64,
    pub receipt: Vec<u8>,
    /// When the consumer will have done its work.
    pub ready: Moment,
    pub attempt: u64,
}

/// A client.
pub struct Worker<'a> {
    pub shared: &'a Shared,
    pub random: Random,
    /// What a consumer works on.
    pub held: Vec<Held>,
    /// Whether it is between MULTI and EXEC, where with memory full everything is refused.
    pub is_queueing: bool,
    session: Option<Session>,
}

/// What came of a command.
pub enum Said {
    Reply(Reply),
    /// The server said that it did not do it.
    Refused,
    /// The connection ended before the reply.
    Lost,
}

impl Said {
    /// The outcome, if a reply means what `judge` makes of it.
    pub fn outcome(&self, judge: impl FnOnce(&Reply) -> Outcome) -> Outcome {
        match self {
            Said::Reply(reply) => judge(reply),
            Said::Refused => Outcome::Rejected,
            Said::Lost => Outcome::Unknown,
        }
    }
}

/// Errors that the disasters bring with them, and which mean that nothing was done.
const EXPECTED: [&str; 5] = ["READONLY", "LOADING", "UNBLOCKED", "MASTERDOWN", "EXECABORT"];
/// Who may be refused for want of memory.
const GROWING: [&str; 7] = ["DQ.PUSH", "DQ.MPUSH", "DQ.MOVE", "DQ.POLICY", "ZADD", "SET", "EXEC"];

/// The life of a client, until the run is over.
pub fn live(shared: &Shared, role: Role, seed: u64) {
    let _stops = StopsOnPanic(shared);
    let mut worker =
        Worker { shared, random: Random::seeded(seed), held: Vec::new(), is_queueing: false, session: None };
    while let Some(entered) = shared.enter() {
        match role {
            Role::Producer => producer::act(&mut worker),
            Role::Consumer => consumer::act(&mut worker),
            Role::Mover => mover::act(&mut worker),
            Role::Operator => operator::act(&mut worker),
            Role::Reader => reader::act(&mut worker),
        }
        drop(entered);
        let rest = match role {
            Role::Consumer => 0,
            Role::Producer => worker.random.below(6),
            _ => 5 + worker.random.below(40),
        };
        pause(rest);
    }
}

impl Worker<'_> {
    /// True once in `chances`.
    pub fn one_in(&mut self, chances: u64) -> bool {
        self.random.below(chances) == 0
    }

    /// The reign of the connection; 0, which no connection of a later reign has, without one.
    pub fn reign(&self) -> u64 {
        self.session.as_ref().map_or(0, |session| session.reign)
    }

    /// Sees to it that there is a connection to the master. False while there is no master.
    pub fn connected(&mut self) -> bool {
        let master = self.shared.master.load(std::sync::atomic::Ordering::SeqCst);
        if self.session.as_ref().is_some_and(|session| session.server != master) {
            self.session = None;
        }
        if self.session.is_none() {
            self.session = Session::to_master(self.shared);
        }
        if self.session.is_none() {
            pause(5);
        }
        self.session.is_some()
    }

    /// Gives the connection up, with whatever it was in the middle of.
    pub fn hang_up(&mut self) {
        self.session = None;
    }

    /// Sends a command over the connection, which there must be, and notes what is out of order.
    pub fn ask<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Said {
        let name = String::from_utf8_lossy(words[0].as_ref()).into_owned();
        self.shared.count(&format!("command {name}"));
        let began = now();
        let Some(session) = self.session.as_mut() else { return Said::Refused };
        match session.client.try_call(words) {
            Err(_) => {
                self.session = None;
                self.shared.count("lost replies");
                Said::Lost
            }
            Ok(reply) if reply.is_error() => self.refused(&name, &reply.error(), began),
            Ok(reply) => Said::Reply(reply),
        }
    }

    fn refused(&mut self, name: &str, error: &str, began: Moment) -> Said {
        let word = error.split(' ').next().unwrap_or_default();
        if word == "OOM" {
            let (from, to) = *self.shared.pressure.lock().expect("no one panics here");
            let pressed = now() >= from && began <= to;
            if !(pressed && (GROWING.contains(&name) || self.is_queueing)) {
                self.shared.ledger().violations.push(format!("{name} was refused: {error}"));
            }
            self.shared.count("refused OOM");
        } else if EXPECTED.contains(&word) {
            self.shared.count(&format!("refused {word}"));
            // It may be a replica by now.
            self.session = None;
            pause(3);
        } else {
            self.shared.ledger().violations.push(format!("{name}: unexpected error: {error}"));
        }
        Said::Refused
    }
}
