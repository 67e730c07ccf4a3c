//! Numbers about the queue alone that its documentation names: what one command costs the server, what a job's state costs memory.

use std::time::Duration;

use super::figure::{Figure, Section};
use super::{Bench, say};
use crate::client::{Connection, Wait};
use crate::error::Result;
use crate::field::{Field, Store};
use crate::jobs::{Due, Ids, JobSource};
use crate::memory::used_memory;
use crate::resp;
use crate::server::{Durability, Server};
use crate::text;
use crate::throughput::MESSAGE_BYTES;

/// Commands of which the server's own account gives a mean.
const CALLS: usize = 1_000;
/// Jobs of one preparing command.
const CHUNK_JOBS: usize = 1_000;
/// A lease that outlives the run.
const LEASE_MS: &[u8] = b"3600000";

/// What becomes of the jobs of a queue before its memory is read.
#[derive(Clone, Copy)]
enum Fate {
    Waiting,
    Expiring,
    Leased,
    Dead,
}

const FATES: [(&str, Fate); 4] = [
    ("waiting", Fate::Waiting),
    ("waiting, with a TTL", Fate::Expiring),
    ("leased", Fate::Leased),
    ("dead", Fate::Dead),
];

/// Measures both.
pub fn run(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    say(Store::Queue, "what commands and states cost");
    let mut figures = commands(bench)?;
    for (name, fate) in FATES {
        figures.push(Figure::decimal(
            Section::Details,
            &format!("bytes a job, {name}"),
            [bytes(bench, fate)?],
        ));
    }
    Ok(figures)
}

fn commands(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let jobs = bench.options.detail_jobs;
    let server = bench.launcher.start(Durability::None)?;
    let field = Field::new(jobs);
    let mut control = server.connect()?;
    fill(&mut control, &field, jobs)?;
    let named = |what: &str| format!("{what}, {} jobs", text::grouped(jobs as u64));
    let claims = claim_many(&mut control, &field, bench.options.repeats)?;
    let mut figures = vec![Figure::milliseconds(
        Section::Details,
        &named("DQ.CLAIM COUNT 10000 LEASE 1000: round trip, ms"),
        claims,
    )];
    let claim_us = usec_per_call(&mut control, "DQ.CLAIM")?;
    figures.push(Figure::whole(Section::Details, &named("the same by the server's account: us"), [claim_us]));
    for command in ["DQ.INFO", "DQ.LEN", "MEMORY USAGE"] {
        let mut words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
        words.push(&field.queue);
        for _ in 0..CALLS {
            control.call(&words)?;
        }
        let cost_us = usec_per_call(&mut control, &command.replace(' ', "|"))?;
        figures.push(Figure::decimal(Section::Details, &named(&format!("{command}: us")), [cost_us]));
    }
    Ok(figures)
}

fn fill(control: &mut Connection, field: &Field, jobs: usize) -> Result<()> {
    let mut source = JobSource::new(Ids::Uuid, MESSAGE_BYTES);
    let mut left = jobs;
    while left > 0 {
        let some = source.take(left.min(CHUNK_JOBS), Due::Now);
        left -= some.len();
        field.put(control, Store::Queue, &some)?;
    }
    Ok(())
}

fn claim_many(control: &mut Connection, field: &Field, times: usize) -> Result<Vec<Duration>> {
    let mut request = Vec::new();
    resp::encode(&mut request, &[b"DQ.CLAIM", &field.queue, b"COUNT", b"10000", b"LEASE", b"1000"]);
    (0..times).map(|_| control.time(&request, 1)).collect()
}

/// The mean cost of a command, as the server accounts for it. Servers before 7.0 name no subcommands.
fn usec_per_call(control: &mut Connection, command: &str) -> Result<f64> {
    let reply = control.call(&[b"INFO", b"commandstats"])?;
    let text = String::from_utf8_lossy(reply.text()?).to_lowercase();
    let container = command.split('|').next().unwrap_or(command).to_lowercase();
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{name}:")));
    let line = line(&command.to_lowercase()).or_else(|| line(&container));
    let field = line.and_then(|line| line.split(',').find_map(|field| field.strip_prefix("usec_per_call=")));
    Ok(field.ok_or_else(|| format!("the server has no account of {command}"))?.parse()?)
}

/// What a job of this fate needs of the server's memory.
fn bytes(bench: &Bench<'_>, fate: Fate) -> Result<f64> {
    let jobs = bench.options.state_jobs;
    let server = bench.launcher.start(Durability::None)?;
    let empty = used_memory(&server)?;
    lead_to(&server, fate, jobs)?;
    Ok((used_memory(&server)? - empty) / jobs as f64)
}

fn lead_to(server: &Server, fate: Fate, jobs: usize) -> Result<()> {
    let field = Field::new(jobs);
    let mut control = server.connect_to_wait(Wait::Sleeping)?;
    let ttl = if matches!(fate, Fate::Expiring) { "1000000000000" } else { "0" };
    let policy: [&[u8]; 6] = [b"DQ.POLICY", &field.queue, b"TTL", ttl.as_bytes(), b"DEADMAX", b"UNLIMITED"];
    control.call(&policy)?;
    fill(&mut control, &field, jobs)?;
    if matches!(fate, Fate::Leased | Fate::Dead) {
        while claim_some(&mut control, &field, fate)? > 0 {}
    }
    Ok(())
}

/// Leases some jobs, and rejects them if they are to die; returns how many.
fn claim_some(control: &mut Connection, field: &Field, fate: Fate) -> Result<usize> {
    let count = CHUNK_JOBS.to_string();
    let mut claim = Vec::new();
    let words: [&[u8]; 6] = [b"DQ.CLAIM", &field.queue, b"COUNT", count.as_bytes(), b"LEASE", LEASE_MS];
    resp::encode(&mut claim, &words);
    let reply = control.exchange(&claim)?;
    let mut receipts: Vec<Vec<u8>> = Vec::new();
    while let Ok(job) = reply.at(receipts.len()) {
        receipts.push(job.at(4)?.text()?.to_vec());
    }
    if matches!(fate, Fate::Dead) && !receipts.is_empty() {
        let head: [&[u8]; 3] = [b"DQ.NACK", &field.queue, b"DEAD"];
        let words: Vec<&[u8]> = head.into_iter().chain(receipts.iter().map(Vec::as_slice)).collect();
        control.call(&words)?;
    }
    Ok(receipts.len())
}
