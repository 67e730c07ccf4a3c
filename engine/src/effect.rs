//! What an operation did, in a form that can be sent, stored and done again: absolute times, explicit ids and tokens.
//!
//! An operation of the queue decides, by the clock it is given, and records its decisions here; replicas, the AOF and
//! the tests hand them to `Queue::apply`, which decides nothing. Their words are a stored format (docs/format.md):
//! a change of meaning needs a new [`VERSION`].

mod parse;
mod words;

pub use parse::{parse, parse_digits};
pub use words::{WORDS, Word, Words};

use smallvec::{SmallVec, smallvec};

use crate::id::{Id, IdRef};
use crate::job::{Reason, Token};
use crate::policy::Policy;
use crate::time::UnixMs;

/// The version of the words, which stands before them.
pub const VERSION: u64 = 1;
/// The end of a pause that has none.
pub const FOREVER: UnixMs = UnixMs(UnixMs::MAX.0 + 1);

/// Ids, the first of which needs no allocation: most commands name one job.
pub type Ids = SmallVec<[Id; 1]>;

/// One thing that happened to a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect<'a> {
    /// A job is new, or takes the place of one with its id.
    Put(Put<'a>),
    /// Jobs were claimed under one token.
    Lease {
        /// When the leases end.
        until: UnixMs,
        /// The claim.
        token: Token,
        /// Which jobs.
        ids: Ids,
    },
    /// Jobs left the queue.
    Remove {
        /// Why.
        cause: Cause,
        /// Which jobs.
        ids: Ids,
    },
    /// Leases end at another time.
    Extend {
        /// When.
        until: UnixMs,
        /// Of which jobs.
        ids: Ids,
    },
    /// A claimed job was given back.
    Release {
        /// Which job.
        id: Id,
        /// When it can be delivered again.
        visible: UnixMs,
        /// How often it counts as claimed.
        attempts: u32,
    },
    /// A consumer told what went wrong with a job.
    Error {
        /// Which job.
        id: Id,
        /// Its words.
        text: Box<[u8]>,
    },
    /// A job died.
    Bury {
        /// Which job.
        id: Id,
        /// Why.
        reason: Reason,
        /// When.
        died: UnixMs,
    },
    /// A waiting job has another due time.
    Reschedule {
        /// Which job.
        id: Id,
        /// When it is due.
        due: UnixMs,
        /// Its expiry.
        expires: Option<UnixMs>,
    },
    /// Dead jobs wait again.
    Redrive {
        /// When they are due.
        due: UnixMs,
        /// Which jobs.
        ids: Ids,
    },
    /// The queue has another policy.
    Policy(Policy),
    /// The queue is paused until then, [`FOREVER`], or not.
    Pause(Option<UnixMs>),
    /// A chunk of the stored format. Always the only effect of its command.
    Load(&'a [u8]),
}

/// A job as it is put into a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put<'a> {
    /// The id.
    pub id: IdRef<'a>,
    /// The message.
    pub message: &'a [u8],
    /// When it can be delivered.
    pub due: UnixMs,
    /// Higher goes first.
    pub priority: u8,
    /// From when on it is not delivered any more. Not before `due`.
    pub expires: Option<UnixMs>,
    /// How often it counts as claimed.
    pub attempts: u32,
}

/// Why a job left the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Claimed without a lease.
    Claimed,
    /// Its consumer is done with it.
    Acked,
    /// Withdrawn by id.
    Cancelled,
    /// Moved to another key.
    Moved,
    /// Its time to live was over.
    Expired,
    /// Dead, and one too many.
    Dropped,
    /// Removed with others of its state.
    Purged,
}

/// What the effects of one command are collected in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects<'a>(pub SmallVec<[Effect<'a>; 1]>);

impl Effects<'_> {
    /// Tells whether nothing happened.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Records that `id` left the queue, together with those that left just before for the same cause.
    pub fn removed(&mut self, cause: Cause, id: Id) {
        match self.0.last_mut() {
            Some(Effect::Remove { cause: last, ids }) if *last == cause => ids.push(id),
            _ => self.0.push(Effect::Remove { cause, ids: smallvec![id] }),
        }
    }
}
