//! Every error that a client can get, and its words.

use std::fmt;

use dq_engine::error::{EffectFault, Refusal, printable};

/// Why a command was refused. Nothing was changed.
pub enum Error {
    /// A word that the command does not know, or knows but not here or not twice.
    Syntax(Box<[u8]>),
    /// An argument, or an option's value, is missing at the end.
    Missing(&'static str),
    /// An option stands at the end, without its value.
    NoValue(&'static str),
    /// A word does not go with the others.
    Mismatch(&'static str),
    /// A value is outside its range.
    Range {
        /// The option or argument.
        what: &'static str,
        /// Its range, in words.
        range: String,
        /// The value.
        value: Box<[u8]>,
    },
    /// The key holds no queue, and the command needs one.
    NoQueue,
    /// The key holds another type.
    WrongType,
    /// The key holds a sorted set, and the command, or a word of it, is for job queues.
    SortedSet,
    /// The key holds a job queue, and a word of the command is for sorted sets.
    JobQueue,
    /// The scores of a sorted set do not look like the unit that the command says.
    Unit {
        /// What they look like, and what to do.
        hint: &'static str,
        /// The score.
        score: f64,
    },
    /// The engine refused.
    Refused(Refusal),
    /// The server itself answered with an error, which is passed on.
    Server(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Syntax(word) => write!(f, "ERR syntax error near '{}'", printable(word)),
            Error::Missing(what) => write!(f, "ERR syntax error: {what} is missing at the end"),
            Error::NoValue(what) => write!(f, "ERR syntax error: {what} needs a value"),
            Error::Mismatch(what) => write!(f, "ERR syntax error: {what}"),
            Error::Range { what, range, value } => {
                write!(f, "ERR {what} must be {range}, not '{}'", printable(value))
            }
            Error::NoQueue => write!(f, "NOQUEUE The key does not exist"),
            Error::WrongType => {
                write!(f, "WRONGTYPE Operation against a key holding the wrong kind of value")
            }
            Error::SortedSet => write!(
                f,
                "WRONGTYPE The key holds a sorted set, and this is for job queues; DQ.PUSH with ZSET adds to it, \
                 DQ.MOVE key queue PUSH imports it"
            ),
            Error::JobQueue => write!(
                f,
                "WRONGTYPE The key holds a job queue, and SECONDS, WITHSCORES and ZSET are for sorted sets"
            ),
            Error::Unit { hint, score } => write!(f, "ERR the score {score} {hint}"),
            Error::Refused(refusal) => write!(f, "ERR {refusal}"),
            Error::Server(message) => f.write_str(message),
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Error::Refused(refusal)
    }
}

impl From<EffectFault> for Error {
    fn from(fault: EffectFault) -> Self {
        Error::Refused(fault.into())
    }
}
