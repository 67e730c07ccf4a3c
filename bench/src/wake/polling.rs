//! The loop that people write: each worker looks into a sorted set ten times a second and removes what is due.
//!
//! Looking and removing are two commands, so several workers see the same job. Who removed it has it; the others have lost
//! a race and a round trip.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::deliveries::{Deliveries, Row, now_ms, now_us};
use super::queue::decimal;
use super::waking::{GRACE_MS, LEAD_MS};
use super::{Bench, say, schedule};
use crate::client::{Connection, Wait};
use crate::error::Result;
use crate::jobs::scattered;
use crate::resp::{self, Reply};
use crate::server::{Durability, Server};
use crate::text;

const PAUSE: Duration = Duration::from_millis(100);
/// The fewer workers, beside as many as there are waiters in a queue.
const FEW_WORKERS: usize = 5;

/// Jobs at random times, for few workers and for many.
pub fn run(bench: &Bench<'_>) -> Result<Vec<Row>> {
    let sizes = bench.options.sizes;
    [FEW_WORKERS, sizes.waiters].into_iter().map(|workers| poll_with(bench, workers)).collect()
}

fn poll_with(bench: &Bench<'_>, workers: usize) -> Result<Row> {
    say("the poll loop");
    let sizes = bench.options.sizes;
    let server = bench.launcher.start(Durability::None)?;
    let dues_ms = schedule::random(sizes.random_jobs, now_ms()? + LEAD_MS, sizes.random_ms);
    fill(&server, &dues_ms)?;
    let end_ms = LEAD_MS + sizes.random_ms + GRACE_MS;
    let board =
        Board { left: AtomicUsize::new(dues_ms.len()), end: Instant::now() + Duration::from_millis(end_ms) };
    let found = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers)
            .map(|number| {
                let (server, board) = (&server, &board);
                scope.spawn(move || work(server, board, number).map_err(|error| error.to_string()))
            })
            .collect();
        threads.into_iter().map(|thread| Ok(thread.join().map_err(|_| "a worker panicked")??)).collect()
    });
    row(bench, workers, &dues_ms, found)
}

fn fill(server: &Server, dues_ms: &[u64]) -> Result<()> {
    let mut control = server.connect_to_wait(Wait::Sleeping)?;
    let mut requests = Vec::new();
    for (number, due) in dues_ms.iter().enumerate() {
        let (number, due) = (number.to_string(), due.to_string());
        resp::encode(&mut requests, &[b"ZADD", b"set", due.as_bytes(), number.as_bytes()]);
    }
    control.time(&requests, dues_ms.len()).map(drop)
}

fn row(bench: &Bench<'_>, workers: usize, dues_ms: &[u64], found: Result<Vec<Found>>) -> Result<Row> {
    let found = found?;
    let mut deliveries = Deliveries::expect(dues_ms.len());
    for (job, at_us) in found.iter().flat_map(|found| &found.won) {
        let due_ms = dues_ms.get(*job).ok_or("a job that nobody pushed")?;
        deliveries.note(*job, due_ms * 1_000, *at_us)?;
    }
    let lost: u64 = found.iter().map(|found| found.lost).sum();
    let polls: u64 = found.iter().map(|found| found.polls).sum();
    let sizes = bench.options.sizes;
    let jobs = text::grouped(sizes.random_jobs as u64);
    let name = format!("poll loop, {workers} workers, {jobs} jobs over {} s", sizes.random_ms / 1_000);
    let note = format!("{} polls, {} lost races", text::grouped(polls), text::grouped(lost));
    Ok(Row { name, rounds: vec![deliveries.summary()], note })
}

/// What all workers know.
struct Board {
    left: AtomicUsize,
    end: Instant,
}

/// What one worker did.
#[derive(Default)]
struct Found {
    won: Vec<(usize, u64)>,
    lost: u64,
    polls: u64,
}

fn work(server: &Server, board: &Board, number: usize) -> Result<Found> {
    let mut connection = server.connect_to_wait(Wait::Sleeping)?;
    let mut found = Found::default();
    // Workers do not start together.
    std::thread::sleep(Duration::from_millis(scattered(number as u64) % 100));
    while board.left.load(Ordering::Relaxed) > 0 && Instant::now() < board.end {
        found.polls += 1;
        let due = due_jobs(&mut connection)?;
        if due.is_empty() {
            std::thread::sleep(PAUSE);
        }
        for job in due {
            if connection.call(&[b"ZREM", b"set", job.to_string().as_bytes()])?.integer()? == 1 {
                found.won.push((job, now_us()?));
                board.left.fetch_sub(1, Ordering::Relaxed);
            } else {
                found.lost += 1;
            }
        }
    }
    Ok(found)
}

fn due_jobs(connection: &mut Connection) -> Result<Vec<usize>> {
    let now = now_ms()?.to_string();
    let request: [&[u8]; 7] = [b"ZRANGEBYSCORE", b"set", b"-inf", now.as_bytes(), b"LIMIT", b"0", b"100"];
    let Reply::Array(jobs) = connection.call(&request)? else { return Err("no range".into()) };
    jobs.iter().map(|job| decimal(job.text()?)).collect()
}
