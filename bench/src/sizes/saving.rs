//! What a fork does: how long it takes to write the store to a file, how long the file is, and what is copied meanwhile.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::figure::{Figure, Section};
use super::population::Population;
use super::requests::is_delivery;
use super::{Bench, say};
use crate::client::{Connection, Wait};
use crate::error::Result;
use crate::machine::info;
use crate::process::Folder;
use crate::server::Server;

/// From one look at the server to the next, and from one batch of the load to the next.
const TICK: Duration = Duration::from_millis(10);
/// Jobs pushed, and jobs claimed, in a tick.
const TICK_JOBS: usize = 20;
/// No save takes longer.
const DEADLINE: Duration = Duration::from_secs(300);

/// Something that the server forks for.
struct Fork {
    start: &'static [&'static [u8]],
    /// Fields of INFO that are 0 when it has ended.
    running: &'static [&'static str],
    status: &'static str,
    copied: &'static str,
}

const SNAPSHOT: Fork = Fork {
    start: &[b"BGSAVE"],
    running: &["rdb_bgsave_in_progress"],
    status: "rdb_last_bgsave_status",
    copied: "rdb_last_cow_size",
};
const FIRST_REWRITE: Fork = Fork { start: &[b"CONFIG", b"SET", b"appendonly", b"yes"], ..REWRITE };
const REWRITE: Fork = Fork {
    start: &[b"BGREWRITEAOF"],
    running: &["aof_rewrite_in_progress", "aof_rewrite_scheduled"],
    status: "aof_last_bgrewrite_status",
    copied: "aof_last_cow_size",
};

/// What one fork came to.
struct Outcome {
    elapsed: Duration,
    /// The child's CPU, in seconds.
    cpu: f64,
    copied_bytes: f64,
    /// How long the server did nothing else than fork.
    forking: Duration,
    /// Jobs pushed and claimed meanwhile.
    changes: usize,
    /// The longest batch of the load, from its sending to its last reply.
    longest_batch: Duration,
}

/// Jobs that the load pushes a second; it claims as many.
pub fn load_per_second() -> u64 {
    (TICK_JOBS as f64 / TICK.as_secs_f64()).round() as u64
}

/// RDB files: without load in rounds, then one under load.
pub fn snapshots(
    bench: &Bench<'_>,
    server: &Server,
    folder: &Folder,
    population: &mut Population,
) -> Result<Vec<Figure>> {
    let mut forker = Forker::new(server, population)?;
    let rounds = || forker.run(&SNAPSHOT, Load::None);
    let quiet = std::iter::repeat_with(rounds).take(bench.options.rounds).collect::<Result<Vec<_>>>()?;
    let bytes = folder.length_of("dump.rdb")? as f64;
    let loaded = forker.run(&SNAPSHOT, Load::Fixed)?;
    population.check(server)?;
    let section = Section::Snapshot;
    let mut figures = vec![
        Figure::seconds(section, "BGSAVE, no load: s", quiet.iter().map(|outcome| outcome.elapsed)),
        Figure::decimal(section, "BGSAVE, no load: CPU s", quiet.iter().map(|outcome| outcome.cpu)),
        Figure::megabytes(section, "file: MB", [bytes]),
        Figure::decimal(section, "file: bytes a job", [bytes / population.present as f64]),
        Figure::milliseconds(section, "the fork itself: ms", quiet.iter().map(|outcome| outcome.forking)),
    ];
    figures.extend(under_load(section, "BGSAVE", &loaded));
    Ok(figures)
}

/// The append-only file with an RDB at its beginning: switched on under load, then rewritten without.
pub fn rewrite_with_preamble(server: &Server, population: &mut Population) -> Result<Vec<Figure>> {
    set(server, b"aof-use-rdb-preamble", b"yes")?;
    let loaded = Forker::new(server, population)?.run(&FIRST_REWRITE, Load::Fixed)?;
    let mut figures: Vec<_> = under_load(Section::Rewrite, "rewrite, RDB preamble", &loaded).into();
    figures.extend(rewrite(server, population, "RDB preamble")?);
    Ok(figures)
}

/// The append-only file as commands.
pub fn rewrite_as_commands(server: &Server, population: &mut Population) -> Result<Vec<Figure>> {
    set(server, b"aof-use-rdb-preamble", b"no")?;
    rewrite(server, population, "commands")
}

fn rewrite(server: &Server, population: &mut Population, content: &str) -> Result<Vec<Figure>> {
    let quiet = Forker::new(server, population)?.run(&REWRITE, Load::None)?;
    let bytes = number(&mut server.connect_to_wait(Wait::Sleeping)?, "aof_base_size")?;
    Ok(vec![
        Figure::seconds(Section::Rewrite, &format!("rewrite, {content}, no load: s"), [quiet.elapsed]),
        Figure::decimal(Section::Rewrite, &format!("rewrite, {content}, no load: CPU s"), [quiet.cpu]),
        Figure::megabytes(Section::Rewrite, &format!("file, {content}: MB"), [bytes]),
    ])
}

fn under_load(section: Section, name: &str, outcome: &Outcome) -> [Figure; 5] {
    let per_change = outcome.copied_bytes / outcome.changes.max(1) as f64;
    let named = |what: &str| format!("{name} under load: {what}");
    [
        Figure::seconds(section, &named("s"), [outcome.elapsed]),
        Figure::whole(section, &named("jobs pushed and claimed"), [outcome.changes as f64]),
        Figure::megabytes(section, &named("copied on write, MB"), [outcome.copied_bytes]),
        Figure::whole(section, &named("copied on write, bytes a change"), [per_change]),
        Figure::milliseconds(section, &named("longest batch, ms"), [outcome.longest_batch]),
    ]
}

/// Sets a setting of the server.
pub fn set(server: &Server, name: &[u8], value: &[u8]) -> Result<()> {
    server.connect_to_wait(Wait::Sleeping)?.call(&[b"CONFIG", b"SET", name, value])?;
    Ok(())
}

/// Reads a number of INFO.
fn number(control: &mut Connection, field: &str) -> Result<f64> {
    Ok(info(control, field)?.ok_or_else(|| format!("INFO has no {field}"))?.parse()?)
}

/// The CPU that all children so far have used, in seconds.
fn children_cpu(control: &mut Connection) -> Result<f64> {
    Ok(number(control, "used_cpu_user_children")? + number(control, "used_cpu_sys_children")?)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Load {
    None,
    Fixed,
}

/// Lets the server fork, and works on it meanwhile.
struct Forker<'a> {
    population: &'a mut Population,
    control: Connection,
    trader: Connection,
}

impl<'a> Forker<'a> {
    fn new(server: &Server, population: &'a mut Population) -> Result<Forker<'a>> {
        let mut control = server.connect_to_wait(Wait::Sleeping)?;
        population.requests.prepare(&mut control)?;
        Ok(Forker { population, control, trader: server.connect_to_wait(Wait::Sleeping)? })
    }

    fn run(&mut self, fork: &Fork, load: Load) -> Result<Outcome> {
        let under = if load == Load::Fixed { "under load" } else { "no load" };
        say(
            self.population.requests.store,
            &format!("{}, {under}", String::from_utf8_lossy(&fork.start.join(&b' '))),
        );
        let cpu_before = children_cpu(&mut self.control)?;
        let start = Instant::now();
        self.control.call(fork.start)?;
        let (mut changes, mut longest_batch, mut next) = (0, Duration::ZERO, Instant::now());
        while self.is_running(fork)? {
            if start.elapsed() > DEADLINE {
                return Err("the fork does not end".into());
            }
            if load == Load::Fixed {
                let (changed, length) = self.trade()?;
                changes += changed;
                longest_batch = longest_batch.max(length);
            }
            next += TICK;
            sleep(next.saturating_duration_since(Instant::now()));
        }
        let elapsed = start.elapsed();
        if info(&mut self.control, fork.status)?.as_deref() != Some("ok") {
            return Err(format!("{} is not ok", fork.status).into());
        }
        let cpu = children_cpu(&mut self.control)? - cpu_before;
        let forking = Duration::from_secs_f64(number(&mut self.control, "latest_fork_usec")? / 1e6);
        let copied_bytes = number(&mut self.control, fork.copied)?;
        Ok(Outcome { elapsed, cpu, copied_bytes, forking, changes, longest_batch })
    }

    fn is_running(&mut self, fork: &Fork) -> Result<bool> {
        for field in fork.running {
            if number(&mut self.control, field)? > 0.0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// One batch: so many jobs pushed, so many claimed.
    fn trade(&mut self) -> Result<(usize, Duration)> {
        let jobs = self.population.take_far(TICK_JOBS);
        let (mut pushes, mut claims) = (Vec::new(), Vec::new());
        for job in &jobs {
            self.population.requests.push(&mut pushes, job);
            self.population.requests.claim(&mut claims)?;
        }
        let start = Instant::now();
        self.trader.time(&pushes, TICK_JOBS * self.population.requests.replies_to_push())?;
        self.trader.ask_all(&claims, TICK_JOBS)?;
        let claimed = self.trader.answers()?.iter().filter(|reply| is_delivery(reply)).count();
        let length = start.elapsed();
        self.population.present = self.population.present + jobs.len() - claimed;
        Ok((jobs.len() + claimed, length))
    }
}
