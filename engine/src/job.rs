//! One job: its record, where it stands, and what a reader is shown of it.

use crate::id::{Id, IdRef};
use crate::time::UnixMs;

/// The number of a claim; 0 is none. Every claim of a queue has a larger one than the claim before.
pub type Token = u64;

/// The most bytes of an error text that are kept.
pub const ERROR_MAX: usize = 1024;

/// A job's record. 72 bytes; what only some jobs need is in [`Extra`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The id.
    pub id: Id,
    /// The message, never altered.
    pub message: Box<[u8]>,
    /// Its time in the order where it stands: visible time, lease's end, or time of death.
    pub time: UnixMs,
    /// Its number in the order of jobs with the same time. Larger ones got their time later.
    pub sequence: u64,
    /// What only some jobs need.
    pub extra: Option<Box<Extra>>,
    /// How often it was claimed.
    pub attempts: u32,
    /// Higher goes first.
    pub priority: u8,
    /// Where it stands.
    pub standing: Standing,
}

/// The part of a record that only jobs with a time to live, a delivery or a death have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extra {
    /// From when on the job is not delivered any more.
    pub expires: Option<UnixMs>,
    /// The claim whose receipt is current; 0 if there is none.
    pub token: Token,
    /// Of a leased or dead job: when its last delivery became possible.
    pub due: UnixMs,
    /// Of a dead job: why it died.
    pub reason: Option<Reason>,
    /// The last error text that a consumer gave.
    pub error: Option<Box<[u8]>>,
}

/// Where a job stands, which only an operation changes. What it is *now* is its [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// In the order of visible times.
    Waiting,
    /// Claimed with a lease; in the order of lease ends.
    Leased,
    /// Claimed with a lease for the last permitted time.
    LastLease,
    /// In the order of deaths.
    Dead,
}

/// What a job is at some instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It will be, or can be, delivered.
    Waiting,
    /// A lease on it runs.
    Claimed,
    /// It will not be delivered unless it is redriven.
    Dead,
}

/// Why a job died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Given back after its last permitted attempt.
    Nacked,
    /// Declared hopeless by a consumer.
    Rejected,
    /// The lease of its last permitted attempt ended.
    LeaseExpired,
    /// It could not be moved, since the destination had its id.
    Conflict,
}

impl State {
    /// The word that clients see.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Claimed => "claimed",
            State::Dead => "dead",
        }
    }
}

impl Reason {
    /// Every reason.
    pub const ALL: [Reason; 4] = [Reason::Nacked, Reason::Rejected, Reason::LeaseExpired, Reason::Conflict];

    /// The words that clients see.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Reason::Nacked => "nacked",
            Reason::Rejected => "rejected",
            Reason::LeaseExpired => "lease expired",
            Reason::Conflict => "conflict",
        }
    }
}

impl Job {
    /// The expiry, if the job has one.
    #[must_use]
    pub fn expires(&self) -> Option<UnixMs> {
        self.extra.as_ref().and_then(|extra| extra.expires)
    }

    /// The token of the current delivery; 0 if there is none.
    #[must_use]
    pub fn token(&self) -> Token {
        self.extra.as_ref().map_or(0, |extra| extra.token)
    }

    /// What the job is at `now`; `None` when its time to live is over.
    #[must_use]
    pub fn state(&self, now: UnixMs) -> Option<State> {
        match self.standing {
            Standing::Dead => Some(State::Dead),
            Standing::Leased | Standing::LastLease if now < self.time => Some(State::Claimed),
            Standing::LastLease => Some(State::Dead),
            Standing::Waiting | Standing::Leased => {
                let gone = self.expires().is_some_and(|expires| expires <= now);
                (!gone).then_some(State::Waiting)
            }
        }
    }

    /// The part of the record that not every job has, made if it is missing.
    pub fn extra_mut(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }

    /// When the job goes away by time alone: its expiry, or its lease's end if that is later. `None` if never.
    #[must_use]
    pub fn vanishes(&self) -> Option<UnixMs> {
        match self.standing {
            Standing::Waiting => self.expires(),
            Standing::Leased => self.expires().map(|expires| expires.max(self.time)),
            Standing::LastLease | Standing::Dead => None,
        }
    }

    /// Tells whether the job will have vanished before it can be delivered: it was given back for longer than it lives, or
    /// its lease outlives it.
    #[must_use]
    pub fn is_doomed(&self) -> bool {
        self.vanishes().is_some_and(|at| at <= self.time)
    }

    /// The bytes that this job owns outside its record.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let extra = self
            .extra
            .as_ref()
            .map_or(0, |extra| size_of::<Extra>() + extra.error.as_ref().map_or(0, |text| text.len()));
        self.id.heap_bytes() + self.message.len() + extra
    }

    /// Shows the job as it is at `now`; `None` when its time to live is over.
    #[must_use]
    pub fn view(&self, now: UnixMs) -> Option<View<'_>> {
        let state = self.state(now)?;
        let extra = self.extra.as_deref();
        let dead = state == State::Dead;
        let reason = extra.and_then(|extra| extra.reason).or(dead.then_some(Reason::LeaseExpired));
        let delivery_due = extra.map_or(self.time, |extra| extra.due);
        Some(View {
            id: self.id.as_ref(),
            message: &self.message,
            state,
            due: if state == State::Waiting { self.time } else { delivery_due },
            priority: self.priority,
            attempts: self.attempts,
            expires: self.expires(),
            lease_until: (state == State::Claimed).then_some(self.time),
            token: self.token(),
            error: extra.and_then(|extra| extra.error.as_deref()),
            died: dead.then_some(self.time),
            reason: reason.filter(|_| dead),
        })
    }
}

/// A job as readers are shown it at some instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View<'a> {
    /// The id.
    pub id: IdRef<'a>,
    /// The message.
    pub message: &'a [u8],
    /// What it is.
    pub state: State,
    /// When its next (waiting) or last delivery became or becomes possible.
    pub due: UnixMs,
    /// Higher goes first.
    pub priority: u8,
    /// How often it was claimed.
    pub attempts: u32,
    /// From when on it is not delivered any more.
    pub expires: Option<UnixMs>,
    /// Of a claimed job: when its lease ends.
    pub lease_until: Option<UnixMs>,
    /// The claim whose receipt is current; 0 if there is none.
    pub token: Token,
    /// The last error text that a consumer gave.
    pub error: Option<&'a [u8]>,
    /// Of a dead job: when it died.
    pub died: Option<UnixMs>,
    /// Of a dead job: why.
    pub reason: Option<Reason>,
}

#[cfg(test)]
mod tests {
    use super::Job;

    #[test]
    fn a_record_takes_72_bytes() {
        assert_eq!(size_of::<Job>(), 72);
        assert_eq!(size_of::<Option<Job>>(), 72);
    }
}
