//! The longest push while a queue grows from nothing: one job, one round trip, again and again.

use std::time::Duration;

use crate::client::Connection;
use crate::contestant::name;
use crate::error::Result;
use crate::field::Field;
use crate::jobs::{Due, Ids, Job, JobSource};
use crate::machine;
use crate::options::Options;
use crate::resp;
use crate::server::{Durability, Launcher, Server};
use crate::statistics::percentile;
use crate::text;
use crate::throughput::MESSAGE_BYTES;

/// From here on a push is too long.
pub const LONG: Duration = Duration::from_millis(5);
/// Pings that are enough to see what the machine alone does.
const PINGS_MAX: usize = 1_000_000;
/// Memory that each job may need in the greediest store, generously.
const BYTES_PER_JOB: u64 = 500;

/// How one store grew.
pub struct Growth {
    /// The commands that were sent.
    pub name: &'static str,
    /// Round trips made.
    pub count: usize,
    /// The median, 99 %, 99.9 %, 99.99 % and 100 % of the round trips.
    pub percentiles: [Duration; 5],
    /// Round trips above `LONG`.
    pub long: usize,
    /// The longest ones, with the number of jobs present, longest first.
    pub longest: Vec<(Duration, usize)>,
    /// Commands above `LONG` by the server's own watch, and the longest of them.
    pub slow_log: (usize, Duration),
}

/// One store's way of taking a job.
struct Grower {
    name: &'static str,
    replies: usize,
    encode: fn(&mut Vec<u8>, &Field, &Job),
}

/// Grows both stores, each on a fresh server, after pings that show what the machine alone does.
pub fn run(launcher: &Launcher, options: &Options) -> Result<Vec<Growth>> {
    let jobs = affordable(options.grow);
    let growers = [
        (Grower { name: name::PING, replies: 1, encode: ping }, jobs.min(PINGS_MAX)),
        (Grower { name: name::ZADD_HSET, replies: 2, encode: zadd_hset }, jobs),
        (Grower { name: name::PUSH_ID, replies: 1, encode: push }, jobs),
    ];
    let mut all = Vec::new();
    for (grower, count) in growers {
        let server = launcher.start(Durability::None)?;
        if grower.name == name::PUSH_ID && !server.has_module() {
            continue;
        }
        all.push(grow(&server, &grower, count).map_err(|error| format!("{}: {error}", grower.name))?);
    }
    Ok(all)
}

fn grow(server: &Server, grower: &Grower, count: usize) -> Result<Growth> {
    let mut connection = server.connect()?;
    watch_slow_commands(&mut connection)?;
    let field = Field::new(count);
    let mut source = JobSource::new(Ids::Uuid, MESSAGE_BYTES);
    let mut nanoseconds: Vec<u32> = Vec::with_capacity(count);
    let mut request = Vec::new();
    for made in 0..count {
        if made.is_multiple_of(1_000_000) {
            eprintln!("growth: {} at {}", grower.name, text::grouped(made as u64));
        }
        request.clear();
        (grower.encode)(&mut request, &field, &source.next(Due::Far));
        let elapsed = connection.time(&request, grower.replies)?;
        nanoseconds.push(u32::try_from(elapsed.as_nanos()).unwrap_or(u32::MAX));
    }
    let slow_log = slow_commands(&mut connection)?;
    Ok(summary(grower.name, nanoseconds, slow_log))
}

fn summary(name: &'static str, mut nanoseconds: Vec<u32>, slow_log: (usize, Duration)) -> Growth {
    let length = |ns: u32| Duration::from_nanos(ns.into());
    let mut longest: Vec<(u32, usize)> = nanoseconds.iter().copied().zip(0..).collect();
    longest.sort_unstable_by(|left, right| right.cmp(left));
    longest.truncate(5);
    nanoseconds.sort_unstable();
    Growth {
        name,
        count: nanoseconds.len(),
        percentiles: [0.5, 0.99, 0.999, 0.9999, 1.0].map(|share| length(percentile(&nanoseconds, share))),
        long: nanoseconds.iter().filter(|ns| length(**ns) > LONG).count(),
        longest: longest.into_iter().map(|(ns, size)| (length(ns), size)).collect(),
        slow_log,
    }
}

fn watch_slow_commands(connection: &mut Connection) -> Result<()> {
    let threshold_us = LONG.as_micros().to_string();
    connection.call(&[b"CONFIG", b"SET", b"slowlog-log-slower-than", threshold_us.as_bytes()])?;
    connection.call(&[b"CONFIG", b"SET", b"slowlog-max-len", b"100000"])?;
    connection.call(&[b"SLOWLOG", b"RESET"])?;
    Ok(())
}

fn slow_commands(connection: &mut Connection) -> Result<(usize, Duration)> {
    let entries = connection.call(&[b"SLOWLOG", b"GET", b"100000"])?;
    let (mut count, mut longest) = (0, 0);
    while let Ok(entry) = entries.at(count) {
        longest = longest.max(entry.at(2)?.integer()?);
        count += 1;
    }
    Ok((count, Duration::from_micros(u64::try_from(longest)?)))
}

/// As many jobs as were asked for, or as the free memory can hold.
fn affordable(jobs: usize) -> usize {
    let fitting = |free: u64| usize::try_from(free / BYTES_PER_JOB).unwrap_or(jobs);
    let limit = machine::free_bytes().map_or(jobs, fitting);
    if limit < jobs {
        eprintln!("growth: free memory holds {} jobs only", text::grouped(limit as u64));
    }
    jobs.min(limit)
}

fn ping(buffer: &mut Vec<u8>, _: &Field, _: &Job) {
    resp::encode(buffer, &[b"PING"]);
}

fn zadd_hset(buffer: &mut Vec<u8>, field: &Field, job: &Job) {
    buffer.extend(field.zadd(std::slice::from_ref(job)));
    buffer.extend(field.hset(std::slice::from_ref(job)));
}

fn push(buffer: &mut Vec<u8>, field: &Field, job: &Job) {
    buffer.extend(field.push(job));
}
