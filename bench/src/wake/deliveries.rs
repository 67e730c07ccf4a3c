//! Which jobs came, when, and how late that was.
//!
//! Times are microseconds since 1970 by `CLOCK_REALTIME`, which server and client share: they are on one host.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::Result;
use crate::statistics::percentile;

/// The shares of the deliveries that the page tells: median, 99 %, 99.9 %, the latest.
const SHARES: [f64; 4] = [0.5, 0.99, 0.999, 1.0];

/// The clock's reading.
pub fn now_us() -> Result<u64> {
    Ok(u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros())?)
}

/// The same in milliseconds, as jobs are timed.
pub fn now_ms() -> Result<u64> {
    Ok(now_us()? / 1_000)
}

/// How long it is until then.
pub fn until_ms(at_ms: u64) -> Result<Duration> {
    Ok(Duration::from_micros((at_ms * 1_000).saturating_sub(now_us()?)))
}

/// What is being noted while a round runs. Jobs are numbered from 0.
pub struct Deliveries {
    times_seen: Vec<u32>,
    late_us: Vec<u32>,
    by_server_ms: Vec<u32>,
    early: usize,
    distinct: usize,
    last_us: u64,
}

impl Deliveries {
    /// Expects so many jobs.
    pub fn expect(jobs: usize) -> Deliveries {
        Deliveries {
            times_seen: vec![0; jobs],
            late_us: Vec::with_capacity(jobs),
            by_server_ms: Vec::new(),
            early: 0,
            distinct: 0,
            last_us: 0,
        }
    }

    /// Notes that this job, due then, has come now.
    pub fn note(&mut self, job: usize, due_us: u64, at_us: u64) -> Result<()> {
        let seen = self.times_seen.get_mut(job).ok_or_else(|| format!("there was no job {job}"))?;
        *seen += 1;
        self.distinct += usize::from(*seen == 1);
        self.early += usize::from(at_us < due_us);
        self.late_us.push(u32::try_from(at_us.saturating_sub(due_us)).unwrap_or(u32::MAX));
        self.last_us = self.last_us.max(at_us);
        Ok(())
    }

    /// Notes how late the server's own clock says that it was.
    pub fn note_by_server(&mut self, late_ms: u64) {
        self.by_server_ms.push(u32::try_from(late_ms).unwrap_or(u32::MAX));
    }

    /// True when all have come.
    pub fn is_complete(&self) -> bool {
        self.distinct == self.times_seen.len()
    }

    /// When the last one came.
    pub fn last_us(&self) -> u64 {
        self.last_us
    }

    /// Sums up.
    pub fn summary(mut self) -> Lateness {
        self.late_us.sort_unstable();
        self.by_server_ms.sort_unstable();
        Lateness {
            jobs: self.times_seen.len(),
            missing: self.times_seen.len() - self.distinct,
            doubled: self.times_seen.iter().filter(|seen| **seen > 1).count(),
            early: self.early,
            late_ms: SHARES.map(|share| f64::from(percentile(&self.late_us, share)) / 1e3),
            by_server_ms: (!self.by_server_ms.is_empty())
                .then(|| SHARES.map(|share| percentile(&self.by_server_ms, share))),
        }
    }
}

/// What one round found.
pub struct Lateness {
    /// Jobs that were due.
    pub jobs: usize,
    /// Those that did not come while one waited.
    pub missing: usize,
    /// Those that came more than once.
    pub doubled: usize,
    /// Deliveries before the due time.
    pub early: usize,
    /// p50, p99, p99.9 and maximum, as a client sees it.
    pub late_ms: [f64; 4],
    /// The same by the server's clock, in whole milliseconds, where the reply tells it.
    pub by_server_ms: Option<[u32; 4]>,
}

/// One way of waiting, and what its rounds found.
pub struct Row {
    /// What waited for what.
    pub name: String,
    /// Its rounds.
    pub rounds: Vec<Lateness>,
    /// What else is to be said.
    pub note: String,
}

impl Row {
    /// Rounds about which there is nothing else to say.
    pub fn new(name: String, rounds: Vec<Lateness>) -> Row {
        Row { name, rounds, note: String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::Deliveries;

    #[test]
    fn missing_doubled_and_early_jobs_are_counted() {
        let mut deliveries = Deliveries::expect(3);
        deliveries.note(0, 1_000, 1_500).unwrap();
        assert!(!deliveries.is_complete());
        deliveries.note(1, 2_000, 1_999).unwrap();
        deliveries.note(1, 2_000, 4_000).unwrap();
        assert!(deliveries.note(3, 0, 0).is_err());
        let lateness = deliveries.summary();
        assert_eq!((lateness.missing, lateness.doubled, lateness.early), (1, 1, 1));
        assert_eq!(lateness.late_ms, [0.5, 2.0, 2.0, 2.0]);
    }

    #[test]
    fn a_round_is_complete_when_each_job_has_come() {
        let mut deliveries = Deliveries::expect(2);
        deliveries.note(1, 0, 7).unwrap();
        deliveries.note(0, 0, 5).unwrap();
        assert!(deliveries.is_complete());
        assert_eq!(deliveries.last_us(), 7);
    }
}
