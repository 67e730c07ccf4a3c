//! What a queue does with jobs that name nothing themselves: leases, attempts, backoff, dead jobs, time to live.

use crate::time::Millis;

/// A queue's policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The lease of claims that name none; zero is none.
    pub lease: Millis,
    /// How often a job may be claimed, 1 to 65,535; `None` is without limit.
    pub max_attempts: Option<u16>,
    /// How long a job that is given back waits.
    pub backoff: Backoff,
    /// How many dead jobs are kept; `None` is all.
    pub dead_max: Option<u64>,
    /// The time to live of pushes that name none; zero is none.
    pub ttl: Millis,
}

/// Retry `k` waits `min(base * factor^(k-1), max)`, shortened at random by up to `jitter_percent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The first wait.
    pub base: Millis,
    /// By how much each wait is longer than the one before, 1 to 100.
    pub factor: u8,
    /// The longest wait.
    pub max: Millis,
    /// 0 to 100.
    pub jitter_percent: u8,
}

impl Policy {
    /// The policy of a queue for which none was set.
    pub const DEFAULT: Policy = Policy {
        lease: Millis::ZERO,
        max_attempts: None,
        backoff: Backoff { base: Millis(1000), factor: 2, max: Millis(3_600_000), jitter_percent: 0 },
        dead_max: Some(10_000),
        ttl: Millis::ZERO,
    };

    /// The largest limit of dead jobs.
    pub const DEAD_MAX_LIMIT: u64 = u32::MAX as u64;

    /// How many numbers make a policy.
    pub const NUMBERS: usize = 8;

    /// Returns the policy as numbers, in the order in which they are stored; 0 is "none" or "unlimited".
    #[must_use]
    pub fn numbers(&self) -> [u64; Policy::NUMBERS] {
        [
            self.lease.0,
            self.max_attempts.map_or(0, u64::from),
            self.backoff.base.0,
            u64::from(self.backoff.factor),
            self.backoff.max.0,
            u64::from(self.backoff.jitter_percent),
            self.dead_max.map_or(0, |most| most.saturating_add(1)),
            self.ttl.0,
        ]
    }

    /// Reads a policy from its numbers; `None` if one is out of its range.
    #[must_use]
    pub fn from_numbers(numbers: [u64; Policy::NUMBERS]) -> Option<Policy> {
        let [lease, attempts, base, factor, max, jitter, dead_max, ttl] = numbers;
        let durations = [lease, base, max, ttl];
        let in_range = durations.iter().all(|&ms| ms <= Millis::MAX.0) && (1..=100).contains(&factor);
        if !in_range || jitter > 100 {
            return None;
        }
        let attempts = u16::try_from(attempts).ok()?;
        Some(Policy {
            lease: Millis(lease),
            max_attempts: (attempts != 0).then_some(attempts),
            backoff: Backoff {
                base: Millis(base),
                factor: factor as u8,
                max: Millis(max),
                jitter_percent: jitter as u8,
            },
            dead_max: dead_max.checked_sub(1),
            ttl: Millis(ttl),
        })
    }

    /// Tells whether a job that was claimed `attempts` times may not be claimed again.
    #[must_use]
    pub fn is_exhausted(&self, attempts: u32) -> bool {
        self.max_attempts.is_some_and(|most| attempts >= u32::from(most))
    }
}

impl Default for Policy {
    fn default() -> Self {
        Policy::DEFAULT
    }
}

impl Backoff {
    /// Returns the wait after the `attempt`-th claim. `draw` is a random number that decides the jitter. Never
    /// overflows: the product stops at the longest wait.
    #[must_use]
    pub fn wait(&self, attempt: u32, draw: u64) -> Millis {
        let mut wait = self.base.0;
        for _ in 1..attempt {
            if wait >= self.max.0 || wait == 0 || self.factor <= 1 {
                break;
            }
            wait = wait.saturating_mul(u64::from(self.factor));
        }
        let wait = wait.min(self.max.0);
        let jitter = wait.saturating_mul(u64::from(self.jitter_percent)) / 100;
        Millis(wait - draw % (jitter + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::Backoff;
    use crate::time::Millis;

    const MINUTES: Backoff =
        Backoff { base: Millis(60_000), factor: 2, max: Millis(3_600_000), jitter_percent: 0 };

    #[test]
    fn retries_wait_longer_and_longer_up_to_the_maximum() {
        let waits: Vec<u64> = (1..9).map(|attempt| MINUTES.wait(attempt, 7).0 / 60_000).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn a_large_factor_stops_at_the_maximum() {
        let backoff = Backoff { base: Millis::MAX, factor: 100, max: Millis::MAX, jitter_percent: 0 };
        assert_eq!(backoff.wait(u32::MAX, u64::MAX), Millis::MAX);
        let zero = Backoff { base: Millis(0), factor: 100, max: Millis::MAX, jitter_percent: 100 };
        assert_eq!(zero.wait(u32::MAX, 1), Millis(0));
        let flat = Backoff { base: Millis(5), factor: 1, max: Millis::MAX, jitter_percent: 0 };
        assert_eq!(flat.wait(u32::MAX, 1), Millis(5));
    }

    #[test]
    fn jitter_only_shortens_and_reaches_both_ends() {
        let backoff = Backoff { jitter_percent: 50, ..MINUTES };
        let waits: Vec<u64> = (0..30_001).map(|draw| backoff.wait(1, draw).0).collect();
        assert_eq!(waits.iter().min(), Some(&30_000));
        assert_eq!(waits.iter().max(), Some(&60_000));
    }
}
