//! The words of effects: the arguments of `DQ.APPLY`, as they are written.

use super::{Cause, Effect, Put, VERSION};
use crate::id::Id;
use crate::job::Reason;

/// The words that effects are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A job is put in.
    Put,
    /// Its priority, if it is not 0.
    Priority,
    /// Its expiry, if it has one.
    Expires,
    /// How often it was claimed, if it was.
    Attempts,
    /// Jobs are claimed.
    Lease,
    /// Jobs leave.
    Remove,
    /// Leases end at another time.
    Extend,
    /// A job is given back.
    Release,
    /// What a consumer said of a job.
    Error,
    /// A job dies.
    Bury,
    /// A job is due at another time.
    Reschedule,
    /// Dead jobs wait again.
    Redrive,
    /// The policy.
    Policy,
    /// The pause.
    Pause,
    /// A chunk of the stored form.
    Load,
    /// A cause.
    Claimed,
    /// A cause.
    Acked,
    /// A cause.
    Cancelled,
    /// A cause.
    Moved,
    /// A cause.
    Expired,
    /// A cause.
    Dropped,
    /// A cause.
    Purged,
    /// A reason.
    Nacked,
    /// A reason.
    Rejected,
    /// A reason.
    LeaseExpired,
    /// A reason.
    Conflict,
}

/// Each word as it is written, in the order of [`Word`].
pub const WORDS: [&str; 26] = [
    "PUT",
    "PRIORITY",
    "EXPIRES",
    "ATTEMPTS",
    "LEASE",
    "REMOVE",
    "EXTEND",
    "RELEASE",
    "ERROR",
    "BURY",
    "RESCHEDULE",
    "REDRIVE",
    "POLICY",
    "PAUSE",
    "LOAD",
    "claimed",
    "acked",
    "cancelled",
    "moved",
    "expired",
    "dropped",
    "purged",
    "nacked",
    "rejected",
    "lease-expired",
    "conflict",
];

impl Cause {
    /// Every cause.
    pub const ALL: [Cause; 7] = [
        Cause::Claimed,
        Cause::Acked,
        Cause::Cancelled,
        Cause::Moved,
        Cause::Expired,
        Cause::Dropped,
        Cause::Purged,
    ];

    /// Returns its word.
    #[must_use]
    pub fn word(self) -> Word {
        match self {
            Cause::Claimed => Word::Claimed,
            Cause::Acked => Word::Acked,
            Cause::Cancelled => Word::Cancelled,
            Cause::Moved => Word::Moved,
            Cause::Expired => Word::Expired,
            Cause::Dropped => Word::Dropped,
            Cause::Purged => Word::Purged,
        }
    }
}

/// Returns the word of a reason.
#[must_use]
pub fn reason_word(reason: Reason) -> Word {
    match reason {
        Reason::Nacked => Word::Nacked,
        Reason::Rejected => Word::Rejected,
        Reason::LeaseExpired => Word::LeaseExpired,
        Reason::Conflict => Word::Conflict,
    }
}

// The version is compared as it is written, and it is one digit.
const _: () = assert!(VERSION == 1 && matches!(Word::VERSION, b"1"));

impl Word {
    /// The version as it is written.
    pub const VERSION: &[u8] = b"1";

    /// Returns the word as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        WORDS.get(self as usize).copied().unwrap_or_default()
    }
}

/// Takes the words of effects, one argument each.
pub trait Words {
    /// A word.
    fn word(&mut self, word: Word);

    /// Bytes.
    fn text(&mut self, bytes: &[u8]);

    /// A number, in decimal digits.
    fn number(&mut self, number: u64);

    /// A word and an id.
    fn word_and_id(&mut self, word: Word, id: &Id) {
        self.word(word);
        self.text(&id.text());
    }

    /// A word and a number.
    fn word_and_number(&mut self, word: Word, number: u64) {
        self.word(word);
        self.number(number);
    }

    /// A word and a number, unless that is 0.
    fn unless_zero(&mut self, word: Word, number: u64) {
        if number != 0 {
            self.word_and_number(word, number);
        }
    }

    /// How many ids, and the ids.
    fn ids(&mut self, ids: &[Id]) {
        self.number(ids.len() as u64);
        for id in ids {
            self.text(&id.text());
        }
    }
}

impl Effect<'_> {
    /// Writes the effect as words.
    pub fn write(&self, out: &mut impl Words) {
        match self {
            Effect::Put(put) => put.write(out),
            Effect::Lease { until, token, ids } => {
                out.word_and_number(Word::Lease, until.0);
                out.number(*token);
                out.ids(ids);
            }
            Effect::Remove { cause, ids } => {
                out.word(Word::Remove);
                out.word(cause.word());
                out.ids(ids);
            }
            Effect::Extend { until, ids } => {
                out.word_and_number(Word::Extend, until.0);
                out.ids(ids);
            }
            Effect::Release { id, visible, attempts } => {
                out.word_and_id(Word::Release, id);
                out.number(visible.0);
                out.number(u64::from(*attempts));
            }
            Effect::Error { id, text } => {
                out.word_and_id(Word::Error, id);
                out.text(text);
            }
            Effect::Bury { id, reason, died } => {
                out.word_and_id(Word::Bury, id);
                out.word(reason_word(*reason));
                out.number(died.0);
            }
            Effect::Reschedule { id, due, expires } => {
                out.word_and_id(Word::Reschedule, id);
                out.number(due.0);
                out.unless_zero(Word::Expires, expires.map_or(0, |at| at.0));
            }
            Effect::Redrive { due, ids } => {
                out.word_and_number(Word::Redrive, due.0);
                out.ids(ids);
            }
            Effect::Policy(policy) => {
                out.word(Word::Policy);
                policy.numbers().into_iter().for_each(|number| out.number(number));
            }
            Effect::Pause(until) => out.word_and_number(Word::Pause, until.map_or(0, |at| at.0)),
            Effect::Load(chunk) => {
                out.word(Word::Load);
                out.text(chunk);
            }
        }
    }
}

impl Put<'_> {
    fn write(&self, out: &mut impl Words) {
        out.word(Word::Put);
        out.text(&self.id.text());
        out.text(self.message);
        out.number(self.due.0);
        out.unless_zero(Word::Priority, u64::from(self.priority));
        out.unless_zero(Word::Expires, self.expires.map_or(0, |at| at.0));
        out.unless_zero(Word::Attempts, u64::from(self.attempts));
    }
}
