//! Instants and durations with their unit in the type, and the ranges that the contract allows.
//!
//! Everything in the engine takes `now` as an argument. Nothing here reads a clock.

/// A Unix time in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UnixMs(pub u64);

/// A duration in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Millis(pub u64);

impl UnixMs {
    /// The latest time that is accepted or stored: 2^53 - 1, the largest integer every client language can hold.
    pub const MAX: UnixMs = UnixMs((1 << 53) - 1);
    /// The earliest time that an `AT` accepts: 10^11 (in the year 1973). A smaller number is taken for seconds.
    pub const AT_MIN: UnixMs = UnixMs(100_000_000_000);

    /// Returns the time `duration` later, or `None` beyond [`UnixMs::MAX`].
    #[must_use]
    pub fn after(self, duration: Millis) -> Option<UnixMs> {
        let sum = UnixMs(self.0.checked_add(duration.0)?);
        (sum <= UnixMs::MAX).then_some(sum)
    }

    /// Returns the time `duration` later, at most [`UnixMs::MAX`], which no duration from a real clock's now reaches.
    #[must_use]
    pub fn plus(self, duration: Millis) -> UnixMs {
        self.after(duration).unwrap_or(UnixMs::MAX)
    }
}

impl Millis {
    /// The longest duration that is accepted: 10^12 ms (31 years). A larger number is taken for a Unix time.
    pub const MAX: Millis = Millis(1_000_000_000_000);
    /// No time at all; for a lease and a time to live it means "none".
    pub const ZERO: Millis = Millis(0);

    /// Tells whether this is the zero duration.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Millis, UnixMs};

    #[test]
    fn a_sum_outside_the_range_is_none() {
        assert_eq!(UnixMs(5).after(Millis(7)), Some(UnixMs(12)));
        assert_eq!(UnixMs::MAX.after(Millis(0)), Some(UnixMs::MAX));
        assert_eq!(UnixMs::MAX.after(Millis(1)), None);
        assert_eq!(UnixMs(u64::MAX).after(Millis(1)), None);
    }
}
