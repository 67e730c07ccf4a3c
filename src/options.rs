//! Options that several commands share: how they are read, and how the documentation shows them.

use dq_engine::job::State;
use dq_engine::queue::{Replace, When};
use dq_engine::time::Millis;

use crate::args::Args;
use crate::error::Error;
use crate::host::command::{Argument, ArgumentKind};

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
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the priority.
    #[must_use]
    pub fn priority(&self) -> u8 {
        self.priority.unwrap_or(0)
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
