//! Options that several commands share: how they are read, and how the documentation shows them.

use dq_engine::job::State;
use dq_engine::queue::{Replace, When};
use dq_engine::time::Millis;

use crate::args::Args;
use crate::error::Error;
use crate::host::command::{Argument, ArgumentKind};
use crate::sorted_set::{Addition, Unit};

/// `key`, the first argument.
pub const KEY: Argument = Argument::new(c"key", ArgumentKind::Key(0));
/// `id`
pub const ID: Argument = Argument::new(c"id", ArgumentKind::Text);
/// `receipt [receipt ...]`
pub const RECEIPTS: Argument = Argument::new(c"receipt", ArgumentKind::Text).multiple();
/// `WAITING | CLAIMED | DEAD`
pub const STATE: Argument = Argument::of(
    c"state",
    ArgumentKind::OneOf,
    &[
        Argument::word(c"waiting", c"WAITING"),
        Argument::word(c"claimed", c"CLAIMED"),
        Argument::word(c"dead", c"DEAD"),
    ],
);
/// `[COUNT n]`
pub const COUNT: Argument = Argument::after(c"COUNT", c"count", ArgumentKind::Integer).optional();
/// `[SECONDS]`
pub const SECONDS: Argument = Argument::word(c"seconds", c"SECONDS").optional();
/// `[ZSET [SECONDS] [ENVELOPE]]`
pub const ZSET: Argument = Argument::of(
    c"sorted-set",
    ArgumentKind::Block,
    &[Argument::word(c"zset", c"ZSET"), SECONDS, Argument::word(c"envelope", c"ENVELOPE").optional()],
)
.optional();
/// `[BLOCK ms]`
pub const BLOCK: Argument = Argument::after(c"BLOCK", c"milliseconds", ArgumentKind::Integer).optional();
/// `[PRIORITY n]`
pub const PRIORITY: Argument = Argument::after(c"PRIORITY", c"priority", ArgumentKind::Integer).optional();
/// `[TTL ms]`
pub const TTL: Argument = Argument::after(c"TTL", c"ttl", ArgumentKind::Integer).optional();
/// `[DELAY ms | AT unix-ms]`
pub const WHEN: Argument = Argument::of(
    c"when",
    ArgumentKind::OneOf,
    &[
        Argument::after(c"DELAY", c"delay", ArgumentKind::Integer),
        Argument::after(c"AT", c"unix-time-milliseconds", ArgumentKind::UnixTime),
    ],
);

/// What `DQ.PUSH` and `DQ.MPUSH` say of their jobs.
#[derive(Default)]
pub struct PushOptions {
    replace: bool,
    priority: Option<u8>,
    /// `TTL`.
    pub ttl: Option<Millis>,
    sorted_set: bool,
    seconds: bool,
    envelope: bool,
}

impl PushOptions {
    /// Takes the next option if it is one of these; tells whether it was.
    pub fn take(&mut self, option: &[u8], args: &mut Args<'_>) -> Result<bool, Error> {
        match option {
            b"REPLACE" => args.flag(&mut self.replace)?,
            b"PRIORITY" => args.value(&mut self.priority, |args| {
                Ok(args.number("PRIORITY", 0, u64::from(u8::MAX))? as u8)
            })?,
            b"TTL" => args.value(&mut self.ttl, |args| args.duration("TTL"))?,
            b"ZSET" => args.flag(&mut self.sorted_set)?,
            b"SECONDS" => args.flag(&mut self.seconds)?,
            b"ENVELOPE" => args.flag(&mut self.envelope)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the priority.
    #[must_use]
    pub fn priority(&self) -> u8 {
        self.priority.unwrap_or(0)
    }

    /// Returns how members of a sorted set are written, if `ZSET` was given; `for_jobs` if a word was given besides these
    /// that is for job queues.
    pub fn members(&self, for_jobs: bool) -> Result<Option<Addition>, Error> {
        if !self.sorted_set {
            let refused = self.seconds || self.envelope;
            let refused = refused.then_some(Error::Mismatch("SECONDS and ENVELOPE go with ZSET"));
            return refused.map_or(Ok(None), Err);
        }
        if for_jobs || self.priority.is_some() || self.ttl.is_some() {
            return Err(Error::Mismatch("ID, KEEPDUE, PRIORITY and TTL are for job queues, not for ZSET"));
        }
        let unit = if self.seconds { Unit::Seconds } else { Unit::Milliseconds };
        Ok(Some(Addition { unit, replace: self.replace, envelope: self.envelope }))
    }

    /// Returns what happens to a job that has the id; `keep_due` if `KEEPDUE` was given, which goes with `REPLACE`.
    pub fn replace(&self, keep_due: bool) -> Result<Replace, Error> {
        match (self.replace, keep_due) {
            (false, true) => Err(Error::Mismatch("KEEPDUE goes with REPLACE")),
            (false, false) => Ok(Replace::No),
            (true, false) => Ok(Replace::Yes),
            (true, true) => Ok(Replace::KeepDue),
        }
    }
}

/// Returns the state that a word, in upper case, names.
#[must_use]
pub fn state_named(word: &[u8]) -> Option<State> {
    match word {
        b"WAITING" => Some(State::Waiting),
        b"CLAIMED" => Some(State::Claimed),
        b"DEAD" => Some(State::Dead),
        _ => None,
    }
}

/// Takes `DELAY ms` or `AT unix-ms` if the next option is one of them; tells whether it was.
pub fn take_when(option: &[u8], args: &mut Args<'_>, when: &mut Option<When>) -> Result<bool, Error> {
    match option {
        b"DELAY" => args.value(when, |args| args.duration("DELAY").map(When::In))?,
        b"AT" => args.value(when, |args| args.time("AT").map(When::At))?,
        _ => return Ok(false),
    }
    Ok(true)
}
