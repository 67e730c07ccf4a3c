//! The messages and their times: each is its number and the millisecond at which it is due.

use std::time::{SystemTime, UNIX_EPOCH};

use redis::Connection;

use crate::Result;
use crate::arguments::Options;

/// The sorted set.
pub const SCHEDULE: &str = "demo:schedule";
/// The list into which what is due is moved.
pub const READY: &str = "demo:ready";

/// How long before the first message is due.
const HEAD_START_MS: u64 = 300;
/// Each fourth message is due at such a time, together with others.
const BURST_MS: u64 = 500;
/// Messages in one `ZADD`.
const PART: usize = 500;

/// A message that was read.
pub struct Message {
    pub number: usize,
    pub due_ms: u64,
}

impl Message {
    /// Reads what `add_all` wrote.
    pub fn read(text: &str) -> Result<Message> {
        let (number, due_ms) =
            text.split_once('@').ok_or_else(|| format!("{text} is no message of this demo"))?;
        Ok(Message { number: number.parse()?, due_ms: due_ms.parse()? })
    }
}

/// Unix time in microseconds.
pub fn now_us() -> Result<u64> {
    Ok(u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros())?)
}

/// Adds all messages as any producer would; returns when the last of them is due.
pub fn add_all(connection: &mut Connection, options: &Options) -> Result<u64> {
    redis::cmd("DEL").arg(SCHEDULE).arg(READY).exec(connection)?;
    let start_ms = now_us()? / 1000 + HEAD_START_MS;
    let times: Vec<u64> = (0..options.messages).map(|number| due_ms(number, start_ms, options)).collect();
    let numbered: Vec<(usize, u64)> = times.iter().copied().enumerate().collect();
    for part in numbered.chunks(PART) {
        let mut command = redis::cmd("ZADD");
        command.arg(SCHEDULE);
        for (number, due_ms) in part {
            command.arg(due_ms).arg(format!("{number}@{due_ms}"));
        }
        command.exec(connection)?;
    }
    Ok(times.into_iter().max().unwrap_or(start_ms))
}

fn due_ms(number: usize, start_ms: u64, options: &Options) -> u64 {
    let offset = options.seconds * 1000 * number as u64 / options.messages as u64;
    start_ms + if number.is_multiple_of(4) { offset.next_multiple_of(BURST_MS) } else { offset }
}
