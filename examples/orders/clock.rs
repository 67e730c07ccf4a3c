//! The wall clock, as the ledgers write it down; the processes and their server share one machine and so one clock.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::Result;

/// Unix time in microseconds.
pub fn now_us() -> Result<u64> {
    Ok(u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros())?)
}
