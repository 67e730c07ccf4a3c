//! The wall clock of this machine, which is the servers' too.

use std::time::{SystemTime, UNIX_EPOCH};

/// A wall time in microseconds.
pub type Moment = u64;

/// How much older than a command a server's idea of "now" may be: some read the clock once for several commands.
pub const SLACK_MS: u64 = 2;

/// The time.
pub fn now() -> Moment {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as Moment)
}

/// The time in milliseconds, as the servers have it.
pub fn now_ms() -> u64 {
    now() / 1000
}

/// From before a command was sent to after its reply was read; the server did it somewhere between.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub start: Moment,
    /// `Moment::MAX` as long as there is no reply.
    pub end: Moment,
}

impl Span {
    /// One that begins now.
    pub fn begin() -> Span {
        Span { start: now(), end: Moment::MAX }
    }

    /// Whether it may have happened between these times.
    pub fn touches(self, from: Moment, to: Moment) -> bool {
        self.start <= to && self.end >= from
    }

    /// The earliest millisecond that the server can have taken for "now".
    pub fn earliest_ms(self) -> u64 {
        (self.start / 1000).saturating_sub(SLACK_MS)
    }

    /// The latest one.
    pub fn latest_ms(self) -> u64 {
        self.end.min(now()) / 1000
    }
}
