//! How late those are woken who wait for some of very many queues.

use super::many::key;
use super::{Bench, say};
use crate::client::{Connection, Wait};
use crate::error::Result;
use crate::field::Store;
use crate::jobs::Job;
use crate::server::Durability;
use crate::text;
use crate::wake::crowd::consume;
use crate::wake::deliveries::{Deliveries, Lateness, Row, now_ms};
use crate::wake::queue::{Claim, Claimer, await_blocked, push_jobs};
use crate::wake::schedule;

/// From the last push to the first due time.
const LEAD_MS: u64 = 1_500;
/// How long after the last due time it is waited for what has not come.
const GRACE_MS: u64 = 5_000;

/// One waiter each for some queues of few, and of very many; each has one job, the others' are due tomorrow.
pub fn run(bench: &Bench<'_>) -> Result<Vec<Row>> {
    let options = bench.options;
    say(Store::Queue, "waiters for some of the queues");
    let mut rows = Vec::new();
    for queues in [options.waited, options.queues] {
        let server = bench.launcher.start(Durability::None)?;
        let mut control = server.connect_to_wait(Wait::Sleeping)?;
        let tomorrow = now_ms()? + schedule::DAY_MS;
        for number in options.waited..queues {
            push(&mut control, number, tomorrow)?;
        }
        let mut waiters = Vec::new();
        for number in 0..options.waited {
            waiters.push(Claimer::wait(&server, &key(number), Claim::OneLeased)?);
        }
        await_blocked(&server, options.waited)?;
        let rounds = (0..options.rounds).map(|_| round(bench, &mut control, &mut waiters));
        let rounds = rounds.collect::<Result<Vec<_>>>()?;
        let [waited, queues] = [options.waited, queues].map(|count| text::grouped(count as u64));
        rows.push(Row::new(format!("DQ, {waited} of {queues} queues waited for"), rounds));
    }
    Ok(rows)
}

fn round(bench: &Bench<'_>, control: &mut Connection, waiters: &mut [Claimer]) -> Result<Lateness> {
    let options = bench.options;
    let dues = schedule::random(options.waited, now_ms()? + LEAD_MS, options.waiting_ms);
    for (number, due_ms) in dues.iter().enumerate() {
        push(control, number, *due_ms)?;
    }
    let mut deliveries = Deliveries::expect(dues.len());
    let end = dues.iter().max().copied().unwrap_or(0) + GRACE_MS;
    consume(waiters, &mut deliveries, end)?;
    // The leased jobs go, so that the next round may use their ids.
    for number in 0..options.waited {
        control.call(&[b"DQ.PURGE", &key(number), b"CLAIMED"])?;
    }
    Ok(deliveries.summary())
}

fn push(control: &mut Connection, number: usize, due_ms: u64) -> Result<()> {
    let job = Job { id: number.to_string(), at: due_ms.to_string(), message: b"a message".to_vec() };
    push_jobs(control, &key(number), &[job])
}
