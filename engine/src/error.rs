//! Why an operation or an effect was refused. Each refusal carries the facts; the skin words them for clients.

use std::fmt;

use crate::id::ID_MAX;
use crate::slots::JOBS_MAX;

/// A refused operation. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An id is empty, too long, or the star that asks for one to be made.
    Id {
        /// Its length in bytes.
        length: usize,
    },
    /// Now or a due time, with a duration added, is beyond the largest time.
    TimeTooLarge {
        /// The option that gave the duration.
        what: &'static str,
    },
    /// The queue holds, or would hold, more jobs than it can number.
    QueueFull,
    /// An effect that does not fit the queue or is not well formed.
    Effect(EffectFault),
}

/// What is wrong with a stored or replicated effect or chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectFault {
    /// A version that this program does not know.
    Version,
    /// A word that names no effect, cause or reason.
    UnknownWord(Box<[u8]>),
    /// Fewer arguments than the effect has.
    Missing(&'static str),
    /// A number that is not one or is outside its range.
    Number(&'static str),
    /// The effect names a job that the queue does not have in a fitting state.
    NoSuchJob(Box<[u8]>),
    /// A chunk of the stored format is damaged at this byte.
    Damaged {
        /// The offset within the chunk, in bytes.
        at: usize,
    },
    /// A chunk brings a job or a place in the order that is there already.
    Duplicate,
    /// A chunk is loaded beside other effects.
    LoadNotAlone,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Id { length } => {
                write!(f, "id must be 1 to {ID_MAX} bytes other than '*', not {length} bytes")
            }
            Refusal::TimeTooLarge { what } => {
                write!(f, "{what} must end at a time of at most 9007199254740991")
            }
            Refusal::QueueFull => write!(f, "the queue is full: it can hold {JOBS_MAX} jobs"),
            Refusal::Effect(fault) => fault.fmt(f),
        }
    }
}

impl fmt::Display for EffectFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EffectFault::Version => write!(f, "effect version must be 1"),
            EffectFault::UnknownWord(word) => {
                write!(f, "effect has an unknown word '{}'", printable(word))
            }
            EffectFault::Missing(what) => write!(f, "effect lacks its argument '{what}'"),
            EffectFault::Number(what) => write!(f, "effect has a '{what}' that is not a number in its range"),
            EffectFault::NoSuchJob(id) => {
                write!(
                    f,
                    "effect names a job that is not there or not in a fitting state: '{}'",
                    printable(id)
                )
            }
            EffectFault::Damaged { at } => write!(f, "chunk is damaged at byte {at}"),
            EffectFault::LoadNotAlone => write!(f, "effect LOAD must be the only one of its command"),
            EffectFault::Duplicate => write!(f, "chunk brings a job or a place in the order twice"),
        }
    }
}

impl From<EffectFault> for Refusal {
    fn from(fault: EffectFault) -> Self {
        Refusal::Effect(fault)
    }
}

/// Returns at most 64 bytes of `bytes`, escaped so that they are one printable ASCII word.
#[must_use]
pub fn printable(bytes: &[u8]) -> String {
    let head = bytes.get(..64).unwrap_or(bytes);
    let tail = if bytes.len() > head.len() { "..." } else { "" };
    format!("{}{tail}", head.escape_ascii())
}
