//! Very many jobs due in the same millisecond: how long it takes until all are claimed, and what others notice of it.

use std::time::Duration;

use super::crowd::consume;
use super::deliveries::{Deliveries, Lateness, now_ms, until_ms};
use super::probe::{Readings, while_probing};
use super::queue::{Claim, Claimer, push};
use super::waking::GRACE_MS;
use super::{Bench, say};
use crate::client::Wait;
use crate::error::Result;
use crate::server::{Durability, Server};

/// How long before they are due the probe begins.
const PROBE_LEAD: Duration = Duration::from_millis(500);
/// The pushes get so long; if that was not enough, twice as long, and so on.
const LEAD_MS: u64 = 2_000;
const ATTEMPTS: u32 = 4;

/// What a round found.
pub struct Round {
    /// What came, and how late.
    pub lateness: Lateness,
    /// From the due time to the last delivery.
    pub drained_ms: f64,
    /// What the probe saw meanwhile.
    pub probe: Readings,
}

/// Lets the herd come, once in a round.
pub fn run(bench: &Bench<'_>) -> Result<Vec<Round>> {
    say("very many jobs due at once");
    let server = bench.launcher.start(Durability::None)?;
    (0..bench.options.rounds).map(|_| round(bench, &server)).collect()
}

fn round(bench: &Bench<'_>, server: &Server) -> Result<Round> {
    let sizes = bench.options.sizes;
    let due_ms = prepare(server, sizes.herd)?;
    let mut crowd = Claimer::crowd(server, b"queue", Claim::Hundred, sizes.waiters)?;
    let left = until_ms(due_ms)?.checked_sub(PROBE_LEAD).ok_or("the jobs were due before all waited")?;
    std::thread::sleep(left);
    let mut deliveries = Deliveries::expect(sizes.herd);
    let (_, probe) = while_probing(server, || consume(&mut crowd, &mut deliveries, due_ms + GRACE_MS))?;
    let drained_us = deliveries.last_us().saturating_sub(due_ms * 1_000);
    Ok(Round { lateness: deliveries.summary(), drained_ms: drained_us as f64 / 1e3, probe })
}

/// Pushes the jobs, early enough; returns when they are due.
fn prepare(server: &Server, jobs: usize) -> Result<u64> {
    let mut control = server.connect_to_wait(Wait::Sleeping)?;
    for attempt in 0..ATTEMPTS {
        control.call(&[b"DEL", b"queue"])?;
        let due_ms = now_ms()? + (LEAD_MS << attempt);
        push(&mut control, b"queue", &vec![due_ms; jobs])?;
        if until_ms(due_ms)? > 2 * PROBE_LEAD {
            return Ok(due_ms);
        }
    }
    Err("pushing the jobs takes too long on this machine".into())
}
