//! Jobs that wake waiters, on a server that has little else to do.

use super::crowd::consume;
use super::deliveries::{Deliveries, Lateness, Row, now_ms};
use super::queue::{Claim, Claimer, push, push_jobs};
use super::{Bench, say, schedule};
use crate::client::Wait;
use crate::error::Result;
use crate::jobs::{Due, Ids, JobSource};
use crate::server::{Durability, Server};
use crate::text;

/// How the page calls one waiter on a server with nothing else.
pub const IDLE: &str = "DQ, 1 waiter, idle";
/// From the first push to the first due time: the pushes are over by then.
pub const LEAD_MS: u64 = 1_500;
/// How long after the last due time it is waited for what has not come.
pub const GRACE_MS: u64 = 5_000;

/// One waiter, one job after the other: on a server with nothing else, and with many pending jobs in the queue.
pub fn one_by_one(bench: &Bench<'_>) -> Result<[Row; 2]> {
    let sizes = bench.options.sizes;
    say("one waiter, one job after the other");
    let empty = bench.launcher.start(Durability::None)?;
    let full = bench.launcher.start(Durability::None)?;
    fill(&full, sizes.pending)?;
    let mut alone = Vec::new();
    let mut among_pending = Vec::new();
    for _ in 0..bench.options.rounds {
        for (server, rounds) in [(&empty, &mut alone), (&full, &mut among_pending)] {
            let dues = schedule::one_by_one(sizes.wakes, now_ms()? + LEAD_MS);
            rounds.push(wake(server, b"queue", &dues, 1)?);
        }
    }
    let pending = text::grouped(sizes.pending as u64);
    Ok([
        Row::new(IDLE.into(), alone),
        Row::new(format!("DQ, 1 waiter, {pending} jobs pending"), among_pending),
    ])
}

/// Many waiters, jobs at random times.
pub fn at_random_times(bench: &Bench<'_>) -> Result<Row> {
    let sizes = bench.options.sizes;
    say("many waiters, jobs at random times");
    let server = bench.launcher.start(Durability::None)?;
    let mut rounds = Vec::new();
    for _ in 0..bench.options.rounds {
        let dues = schedule::random(sizes.random_jobs, now_ms()? + LEAD_MS, sizes.random_ms);
        rounds.push(wake(&server, b"queue", &dues, sizes.waiters)?);
    }
    Ok(Row::new(format!("DQ, {}", random_jobs(bench, "waiters")), rounds))
}

/// How the page calls jobs at random times.
pub fn random_jobs(bench: &Bench<'_>, waiters: &str) -> String {
    let sizes = bench.options.sizes;
    let jobs = text::grouped(sizes.random_jobs as u64);
    format!("{} {waiters}, {jobs} jobs over {} s", sizes.waiters, sizes.random_ms / 1_000)
}

fn wake(server: &Server, key: &[u8], dues_ms: &[u64], waiters: usize) -> Result<Lateness> {
    let mut control = server.connect_to_wait(Wait::Sleeping)?;
    push(&mut control, key, dues_ms)?;
    let mut crowd = Claimer::crowd(server, key, Claim::OneLeased, waiters)?;
    let mut deliveries = Deliveries::expect(dues_ms.len());
    let end = dues_ms.iter().max().copied().unwrap_or(0) + GRACE_MS;
    consume(&mut crowd, &mut deliveries, end)?;
    drop(crowd);
    // The leased jobs go, so that the next round may use their ids.
    while control.call(&[b"DQ.PURGE", key, b"CLAIMED"])?.integer()? > 0 {}
    Ok(deliveries.summary())
}

fn fill(server: &Server, pending: usize) -> Result<()> {
    let mut control = server.connect_to_wait(Wait::Sleeping)?;
    let mut source = JobSource::new(Ids::Uuid, 32);
    let mut left = pending;
    while left > 0 {
        let jobs = source.take(left.min(10_000), Due::Far);
        left -= jobs.len();
        push_jobs(&mut control, b"queue", &jobs)?;
    }
    Ok(())
}
