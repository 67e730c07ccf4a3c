//! What waiting costs: the CPU of a server on which consumers wait for queues whose jobs are due tomorrow, against that of a
//! server with the same queues and connections on which nobody waits.

use std::time::Duration;

use super::deliveries::now_ms;
use super::queue::{await_blocked, push};
use super::schedule::DAY_MS;
use super::{Bench, say};
use crate::client::{Connection, Wait};
use crate::error::Result;
use crate::resp;
use crate::server::{Durability, Server};

/// CPU in milliseconds a second, over one round.
pub struct Round {
    /// Of the server with waiters.
    pub waiting: f64,
    /// Of the server without.
    pub idle: f64,
}

/// Measures both servers at the same time, in rounds that follow each other without a pause: what comes once a minute is in
/// one of them.
pub fn run(bench: &Bench<'_>) -> Result<Vec<Round>> {
    let sizes = bench.options.sizes;
    say("what waiting costs");
    let (waiting, idle) = (bench.launcher.start(Durability::None)?, bench.launcher.start(Durability::None)?);
    let mut waiters = visit(bench, &waiting)?;
    let bystanders = visit(bench, &idle)?;
    for (number, waiter) in waiters.iter_mut().enumerate() {
        let mut request = Vec::new();
        resp::encode(&mut request, &[b"DQ.CLAIM", key(number).as_bytes(), b"BLOCK", b"0"]);
        waiter.ask(&request)?;
    }
    await_blocked(&waiting, sizes.consumers)?;
    std::thread::sleep(sizes.settling);
    let rounds = (0..bench.options.rounds).map(|_| round([&waiting, &idle], sizes.rest)).collect();
    drop((waiters, bystanders));
    rounds
}

/// Makes the queues and the connections.
fn visit(bench: &Bench<'_>, server: &Server) -> Result<Vec<Connection>> {
    let sizes = bench.options.sizes;
    let mut control = server.connect_to_wait(Wait::Sleeping)?;
    let tomorrow = now_ms()? + DAY_MS;
    for number in 0..sizes.queues {
        push(&mut control, key(number).as_bytes(), &[tomorrow])?;
    }
    (0..sizes.consumers).map(|_| connect(server)).collect()
}

/// A connection that has been used: the server keeps more for it than for one that never asked anything.
fn connect(server: &Server) -> Result<Connection> {
    let mut connection = server.connect_to_wait(Wait::Sleeping)?;
    connection.call(&[b"PING"])?;
    Ok(connection)
}

fn key(number: usize) -> String {
    format!("queue:{number}")
}

fn round([waiting, idle]: [&Server; 2], length: Duration) -> Result<Round> {
    let read =
        |server: &Server| server.cpu_of_all_threads().ok_or("the kernel does not tell the server's CPU");
    let (waiting_before, idle_before) = (read(waiting)?, read(idle)?);
    std::thread::sleep(length);
    let rate =
        |before: Duration, after: Duration| (after - before).as_secs_f64() * 1e3 / length.as_secs_f64();
    Ok(Round { waiting: rate(waiting_before, read(waiting)?), idle: rate(idle_before, read(idle)?) })
}
