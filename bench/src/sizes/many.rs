//! Very many stores of one job each: job queues against sorted sets whose one member is the message.

use std::time::Duration;

use super::figure::{Figure, Section};
use super::requests::is_delivery;
use super::speed::PIPELINE;
use super::{Bench, say};
use crate::client::{Fleet, Keep, Slice};
use crate::error::Result;
use crate::field::{Scripts, Store};
use crate::jobs::{Due, Ids, Job, JobSource};
use crate::memory::used_memory;
use crate::resp::{self, Reply};
use crate::server::{Durability, Server};
use crate::throughput::{CONNECTIONS, MESSAGE_BYTES};
use crate::wake::deliveries::now_ms;

/// The keys, of equal names for both.
pub fn key(number: usize) -> Vec<u8> {
    format!("queue:{number}").into_bytes()
}

/// Makes them, and takes the job out of each in turn; in rounds, each on a fresh server.
pub fn run(bench: &Bench<'_>, store: Store) -> Result<Vec<Figure>> {
    say(store, &format!("{} of one job each", bench.options.queues));
    let rounds: Vec<Round> = (0..bench.options.rounds).map(|_| round(bench, store)).collect::<Result<_>>()?;
    let per_second = |elapsed: Duration| bench.options.queues as f64 / elapsed.as_secs_f64();
    Ok(vec![
        Figure::decimal(Section::Many, "bytes a store", rounds.iter().map(|round| round.bytes)),
        Figure::decimal(
            Section::Many,
            "bytes a store whose job was claimed",
            rounds.iter().map(|round| round.bytes_after),
        ),
        Figure::whole(
            Section::Many,
            "push: stores a second",
            rounds.iter().map(|round| per_second(round.push)),
        ),
        Figure::whole(
            Section::Many,
            "claim, each store in turn: jobs a second",
            rounds.iter().map(|round| per_second(round.claim)),
        ),
    ])
}

struct Round {
    bytes: f64,
    bytes_after: f64,
    push: Duration,
    claim: Duration,
}

fn round(bench: &Bench<'_>, store: Store) -> Result<Round> {
    let queues = bench.options.queues;
    let server = bench.launcher.start(Durability::None)?;
    let empty = used_memory(&server)?;
    let mut fleet = server.connect_fleet(CONNECTIONS)?;
    let mut source = JobSource::new(Ids::Uuid, MESSAGE_BYTES);
    let push =
        fleet.run(&lay_out(queues, |number| push(store, number, &source.next(Due::Now)))?, Keep::Nothing)?;
    drop(fleet);
    let bytes = (used_memory(&server)? - empty) / queues as f64;
    let claim = claim_each(&server, store, queues)?;
    let bytes_after = (used_memory(&server)? - empty) / queues as f64;
    Ok(Round { bytes, bytes_after, push, claim })
}

fn claim_each(server: &Server, store: Store, queues: usize) -> Result<Duration> {
    let scripts = Scripts::load(&mut server.connect()?)?;
    let mut fleet = server.connect_fleet(CONNECTIONS)?;
    let elapsed = fleet.run(&lay_out(queues, |number| claim(store, &scripts, number))?, Keep::Replies)?;
    check(&fleet, queues)?;
    Ok(elapsed)
}

/// Writes a request for each store, in turn over the connections.
fn lay_out(queues: usize, mut encode: impl FnMut(usize) -> Result<Vec<u8>>) -> Result<Slice> {
    let mut batches: Vec<Vec<Vec<u8>>> = vec![Vec::new(); CONNECTIONS];
    for (batch, first) in (0..queues).step_by(PIPELINE).enumerate() {
        let requests = (first..first + PIPELINE).map(&mut encode).collect::<Result<Vec<_>>>()?;
        let place = batch % CONNECTIONS;
        batches.get_mut(place).ok_or("no such connection")?.push(requests.concat());
    }
    Ok(Slice { batches, replies: PIPELINE })
}

fn push(store: Store, number: usize, job: &Job) -> Result<Vec<u8>> {
    let (mut buffer, key, at) = (Vec::new(), key(number), job.at.as_bytes());
    match store {
        Store::Queue => resp::encode(&mut buffer, &[b"DQ.PUSH", &key, &job.message, b"AT", at]),
        _ => resp::encode(&mut buffer, &[b"ZADD", &key, at, &job.message]),
    }
    Ok(buffer)
}

fn claim(store: Store, scripts: &Scripts, number: usize) -> Result<Vec<u8>> {
    let (mut buffer, key) = (Vec::new(), key(number));
    match store {
        Store::Queue => resp::encode(&mut buffer, &[b"DQ.CLAIM", &key]),
        _ => {
            let now = now_ms()?.to_string();
            resp::encode(&mut buffer, &[b"EVALSHA", &scripts.claim, b"1", &key, now.as_bytes()]);
        }
    }
    Ok(buffer)
}

/// Each claim must have brought its job: of a queue as an array, of a sorted set as a text.
fn check(fleet: &Fleet, queues: usize) -> Result<()> {
    let mut delivered = 0;
    for connection in &fleet.connections {
        let replies = connection.kept_replies()?;
        delivered +=
            replies.iter().filter(|reply| is_delivery(reply) || matches!(reply, Reply::Text(_))).count();
    }
    match delivered == queues {
        true => Ok(()),
        false => Err(format!("{delivered} of {queues} jobs were claimed").into()),
    }
}
