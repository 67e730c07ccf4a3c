//! What was done to a job, as far as a client can know: when it was asked for, and what came back.

use crate::clock::Span;

/// The queues of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Queue {
    /// Leases only, retries, no TTL, nothing dropped: every job is accounted for.
    Orders,
    /// What is moved out of `Orders` by `DQ.MOVE ... PUSH`, and jobs of its own. As strict; nothing is moved out of it.
    Overflow,
    /// Everything that may lose a job by design: claims without lease, TTL, REPLACE, PURGE, a bound of dead jobs.
    Mail,
    /// A plain sorted set.
    Plain,
}

impl Queue {
    pub const ALL: [Queue; 4] = [Queue::Orders, Queue::Overflow, Queue::Mail, Queue::Plain];

    /// The key.
    pub fn key(self) -> &'static str {
        match self {
            Queue::Orders => "orders",
            Queue::Overflow => "overflow",
            Queue::Mail => "mail",
            Queue::Plain => "plain",
        }
    }

    /// Whether a job can be missing only if somebody is known to have ended it.
    pub fn is_strict(self) -> bool {
        matches!(self, Queue::Orders | Queue::Overflow)
    }
}

/// A time that a command gave to a job, exactly or counted from when the server did it.
#[derive(Clone, Copy, Debug)]
pub enum Due {
    At(u64),
    After { least: u64, most: u64 },
}

impl Due {
    pub fn after(ms: u64) -> Due {
        Due::After { least: ms, most: ms }
    }

    /// The earliest and the latest that it can be.
    pub fn bounds(self, span: Span) -> (u64, u64) {
        match self {
            Due::At(ms) => (ms, ms),
            Due::After { least, most } => (span.earliest_ms() + least, span.latest_ms() + most),
        }
    }

    pub fn admits(self, span: Span, due: u64) -> bool {
        let (low, high) = self.bounds(span);
        (low..=high).contains(&due)
    }
}

/// A job as it was found when nobody worked.
#[derive(Clone, Debug)]
pub struct Seen {
    pub state: String,
    pub due: u64,
    pub attempts: u64,
    pub token: Option<u64>,
    pub lease_until: Option<u64>,
    pub expires: Option<u64>,
    pub version: u32,
}

/// One thing that was asked for.
#[derive(Clone, Debug)]
pub enum What {
    Pushed {
        version: u32,
        due: Due,
        ttl: Option<u64>,
    },
    Seen(Seen),
    /// A delivery; without a lease the job left.
    Delivered {
        token: Option<u64>,
        attempt: u64,
        due: u64,
        lease_ms: Option<u64>,
        version: u32,
    },
    Acked {
        token: u64,
    },
    Nacked {
        token: u64,
        due: Due,
        unused: bool,
    },
    Extended {
        token: u64,
        lease_ms: u64,
    },
    Cancelled,
    Rescheduled {
        due: Due,
    },
    Redriven {
        due: Due,
    },
    /// It was found in this list, stream or sorted set.
    Moved {
        to: &'static str,
    },
}

/// What is known of whether it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There is no reply yet.
    Pending,
    /// There will be no reply, or what replied was lost with its server.
    Unknown,
    /// It did not happen: the server said why not.
    Rejected,
    /// It did not happen: there was nothing to do it to.
    Refused,
    /// It happened.
    Done,
    /// It happened, and the job died of it.
    Died,
}

impl Outcome {
    /// Whether it may have happened.
    pub fn is_possible(self) -> bool {
        !matches!(self, Outcome::Rejected | Outcome::Refused)
    }
}

#[derive(Clone, Debug)]
pub struct Event {
    pub queue: Queue,
    pub span: Span,
    pub what: What,
    pub outcome: Outcome,
}

impl Event {
    /// Whether it certainly happened.
    pub fn is_sure(&self) -> bool {
        matches!(self.outcome, Outcome::Done | Outcome::Died)
    }

    /// Whether it may have happened.
    pub fn is_possible(&self) -> bool {
        self.outcome.is_possible()
    }

    /// Whether after it, if it happened, the job is not in its queue any more.
    pub fn ends_job(&self) -> bool {
        matches!(
            self.what,
            What::Acked { .. }
                | What::Cancelled
                | What::Moved { .. }
                | What::Delivered { lease_ms: None, .. }
        )
    }

    /// One line of a job's history; times in milliseconds after `origin`.
    pub fn line(&self, origin: u64) -> String {
        line(self.span, origin, self.queue, self.outcome, &self.what)
    }
}

fn line(span: Span, origin: u64, queue: Queue, outcome: Outcome, what: &impl std::fmt::Debug) -> String {
    let ms = |moment: u64| (moment as f64 - origin as f64) / 1000.0;
    let end = if span.end == u64::MAX { "...".into() } else { format!("{:.3}", ms(span.end)) };
    format!("{:.3} .. {end} {} {outcome:?}: {what:?}", ms(span.start), queue.key())
}

/// What was asked of a queue as a whole, so that its jobs are not known beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// A claim; its lease in ms, if it has one.
    Claim {
        count: u64,
        lease_ms: Option<u64>,
    },
    Move {
        count: u64,
    },
    Purge {
        count: u64,
    },
    Redrive {
        delay_ms: u64,
    },
}

/// Such a command.
#[derive(Clone, Copy, Debug)]
pub struct Whole {
    pub queue: Queue,
    pub span: Span,
    pub sweep: Sweep,
    pub outcome: Outcome,
}

impl Whole {
    /// Whether it has delivered something, or may have, of which nobody was told.
    pub fn is_unresolved_claim(&self) -> bool {
        let unresolved = matches!(self.outcome, Outcome::Pending | Outcome::Unknown);
        unresolved && matches!(self.sweep, Sweep::Claim { .. })
    }

    /// One line of a history.
    pub fn line(&self, origin: u64) -> String {
        line(self.span, origin, self.queue, self.outcome, &self.sweep)
    }
}
