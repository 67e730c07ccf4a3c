//! Very many waiters on one key, and jobs that come one by one: how long the server does nothing else meanwhile.
//!
//! The server calls all waiters of a key whenever something comes for one of them, and how it does that differs from server
//! to server. What BLPOP, its own blocking command, costs on the same server is the measure.

use std::path::PathBuf;
use std::time::Duration;

use super::crowd::ready;
use super::probe::{Readings, while_probing};
use super::queue::await_blocked;
use super::{Bench, say};
use crate::client::{Connection, Wait};
use crate::error::Result;
use crate::machine;
use crate::resp::{self, Reply};
use crate::server::{Durability, Launcher, Server};

/// The servers of the test suite on which this is measured beside the default one.
const OTHERS: [&str; 2] = ["redis-8.2.3", "valkey-9.1.2"];
/// From one job to the next.
const PAUSE: Duration = Duration::from_millis(2);
const DEADLINE: Duration = Duration::from_secs(10);

/// One way of waiting.
struct Contestant {
    name: &'static str,
    wait: &'static [&'static [u8]],
    give: &'static [&'static [u8]],
}

const CONTESTANTS: [Contestant; 3] = [
    Contestant {
        name: "DQ.CLAIM, pushed due",
        wait: &[b"DQ.CLAIM", b"key", b"BLOCK", b"0"],
        give: &[b"DQ.PUSH", b"key", b"message"],
    },
    Contestant {
        name: "DQ.CLAIM, due 5 ms later",
        wait: &[b"DQ.CLAIM", b"key", b"BLOCK", b"0"],
        give: &[b"DQ.PUSH", b"key", b"message", b"DELAY", b"5"],
    },
    Contestant { name: "BLPOP", wait: &[b"BLPOP", b"key", b"0"], give: &[b"RPUSH", b"key", b"message"] },
];

/// What one way of waiting does to one server.
pub struct Throng {
    /// Name and version of the server.
    pub server: String,
    /// The way of waiting.
    pub name: &'static str,
    /// What the probe saw, in each round.
    pub rounds: Vec<Readings>,
}

/// All servers and contestants, and the servers that were not there.
pub struct Outcome {
    /// What was found.
    pub throngs: Vec<Throng>,
    /// Servers that were not there.
    pub absent: Vec<&'static str>,
}

/// Measures all contestants on all servers that are here.
pub fn run(bench: &Bench<'_>) -> Result<Outcome> {
    let mut outcome = Outcome { throngs: on_server(bench, bench.launcher)?, absent: Vec::new() };
    for name in OTHERS {
        let binary: PathBuf = bench.options.servers.join(name);
        if !binary.is_file() {
            eprintln!("wake: {name} is not in {} (make servers)", bench.options.servers.display());
            outcome.absent.push(name);
            continue;
        }
        let launcher = Launcher::new(&binary, Some(&bench.options.module), bench.cores)?;
        outcome.throngs.extend(on_server(bench, &launcher)?);
    }
    Ok(outcome)
}

fn on_server(bench: &Bench<'_>, launcher: &Launcher) -> Result<Vec<Throng>> {
    let server_name = machine::describe(launcher, bench.cores)?.server;
    say(&format!("many waiters on one key, {server_name}"));
    let server = launcher.start(Durability::None)?;
    let empty = |contestant: &Contestant| Throng {
        server: server_name.clone(),
        name: contestant.name,
        rounds: Vec::new(),
    };
    let mut throngs: Vec<Throng> = CONTESTANTS.iter().map(empty).collect();
    for _ in 0..bench.options.rounds {
        for (contestant, throng) in CONTESTANTS.iter().zip(&mut throngs) {
            throng.rounds.push(round(bench, &server, contestant)?);
        }
    }
    Ok(throngs)
}

fn round(bench: &Bench<'_>, server: &Server, contestant: &Contestant) -> Result<Readings> {
    let sizes = bench.options.sizes;
    let mut control = server.connect_to_wait(Wait::Sleeping)?;
    control.call(&[b"DEL", b"key"])?;
    let mut request = Vec::new();
    resp::encode(&mut request, contestant.wait);
    let mut waiters = Vec::new();
    for _ in 0..sizes.throng {
        let mut waiter = server.connect_to_wait(Wait::Sleeping)?;
        waiter.ask(&request)?;
        waiters.push(waiter);
    }
    await_blocked(server, sizes.throng)?;
    let give_all = || {
        for _ in 0..sizes.throng_jobs {
            control.call(contestant.give)?;
            serve_one(&mut waiters, &request)?;
            std::thread::sleep(PAUSE);
        }
        Ok(())
    };
    let ((), readings) = while_probing(server, give_all)?;
    drop(waiters);
    await_blocked(server, 0)?;
    Ok(readings)
}

/// Waits for the waiter that is served, and lets it wait again.
fn serve_one(waiters: &mut [Connection], request: &[u8]) -> Result<()> {
    let served = ready(waiters.iter().map(Connection::socket), DEADLINE)?;
    let &[served] = served.as_slice() else {
        return Err(format!("one job was there and {} waiters were served", served.len()).into());
    };
    let waiter = waiters.get_mut(served).ok_or("a place without a waiter")?;
    if matches!(waiter.answer()?, Reply::Null) {
        return Err("a waiter without a limit was told that its time is over".into());
    }
    waiter.ask(request)
}
