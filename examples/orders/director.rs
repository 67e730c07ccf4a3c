//! Plays the whole thing: a server, the shop, four workers, the killing of one; then reads the ledgers.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use redis::Connection;

use crate::Result;
use crate::arguments::{Options, Place};
use crate::clock;
use crate::ledger::{self, Event};
use crate::order::{self, Order};
use crate::report::{Account, Record};
use crate::server::Server;
use crate::staff::{Folder, Process};
use crate::worker::LEASE_MS;

const WORKERS: usize = 4;
/// What the whole may take beyond the longest time-out and a lease, on a busy machine, before the rest is called lost.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(2);

/// Runs the demo and prints it; success when the queue kept its promises.
pub fn run(options: &Options) -> Result<ExitCode> {
    let orders = order::read(&options.orders)?;
    let paid = orders.iter().filter(|order| order.paid_after_ms.is_some()).count();
    println!("{}: {} orders, of which {paid} are paid in time", options.orders.display(), orders.len());

    let folder = Folder::create()?;
    let server = match options.port {
        Some(port) => Server::running(port),
        None => Server::start(folder.path())?,
    };
    let mut queue = server.connect().map_err(|error| format!("no server at {}: {error}", server.url))?;
    greet(&mut queue, &options.key)?;

    let mut play = Play::start(&folder, &server, options)?;
    play.kill_half_way((orders.len() - paid) / 2)?;
    play.wait_until_over(&mut queue, &options.key, deadline(&orders))?;
    let account = Account::of(&ledger::read(&play.shop.ledger)?, &play.records()?);
    println!("\n{account}");
    for fault in account.faults() {
        println!("NOT AS PROMISED: {fault}");
    }
    if !account.faults().is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    redis::cmd("DEL").arg(&options.key).exec(&mut queue)?;
    Ok(ExitCode::SUCCESS)
}

/// Makes sure that the server knows the module and that the queue is ours alone.
fn greet(queue: &mut Connection, key: &str) -> Result<()> {
    let info: String = redis::cmd("INFO").arg("server").query(queue)?;
    println!("server: {}, queue: {key}", version(&info));
    match length(queue, key).map_err(|error| format!("this server has no DQ module? {error}"))? {
        0 => Ok(()),
        length => {
            Err(format!("{key} holds {length} jobs already: DEL it, or choose another with --key").into())
        }
    }
}

/// A Valkey says its own version beside the one of Redis that it is like.
fn version(info: &str) -> String {
    let of = |start| info.lines().find_map(|line: &str| line.strip_prefix(start));
    match (of("valkey_version:"), of("redis_version:")) {
        (Some(version), _) => format!("Valkey {version}"),
        (None, version) => format!("Redis {}", version.unwrap_or("of an unknown version")),
    }
}

fn length(queue: &mut Connection, key: &str) -> Result<usize> {
    Ok(redis::cmd("DQ.LEN").arg(key).query(queue)?)
}

fn deadline(orders: &[Order]) -> Instant {
    let longest = orders.iter().map(|order| order.timeout_ms).max().unwrap_or(0);
    Instant::now() + Duration::from_millis(longest + LEASE_MS) + PATIENCE
}

/// One process and its ledger.
struct Actor {
    process: Process,
    ledger: PathBuf,
    killed_at_us: Option<u64>,
}

impl Actor {
    fn start(role: &str, place: Place, last: &Path) -> Result<Actor> {
        let process = Process::again(role, &place.words(role), last)?;
        Ok(Actor { process, ledger: place.ledger, killed_at_us: None })
    }

    fn events(&self) -> Result<Vec<Event>> {
        ledger::read(&self.ledger)
    }

    /// Whether it has ended, killed or by itself; an end by a fault is an error.
    fn has_ended(&mut self) -> Result<bool> {
        Ok(self.killed_at_us.is_some() || self.process.has_ended()?)
    }
}

/// The processes at work.
struct Play {
    shop: Actor,
    workers: Vec<Actor>,
    /// The file that ends the workers' day.
    stop: PathBuf,
}

impl Play {
    fn start(folder: &Folder, server: &Server, options: &Options) -> Result<Play> {
        let place = |name: &str| Place {
            server: server.url.clone(),
            key: options.key.clone(),
            ledger: folder.file(&format!("{name}.ledger")),
        };
        let stop = folder.file("stop");
        let workers = (1..=WORKERS)
            .map(|number| Actor::start("worker", place(&format!("worker-{number}")), &stop))
            .collect::<Result<_>>()?;
        let shop = Actor::start("shop", place("shop"), &options.orders)?;
        println!("1 shop pushes and cancels, {WORKERS} workers claim with a lease of {LEASE_MS} ms");
        Ok(Play { shop, workers, stop })
    }

    /// Kills one worker when `half` time-outs were delivered and it is at work.
    fn kill_half_way(&mut self, half: usize) -> Result<()> {
        while self.delivered()? < half {
            self.shop.has_ended()?;
            self.rest()?;
        }
        while !self.kill_at_work()? {
            self.rest()?;
        }
        Ok(())
    }

    /// Kills the worker that has the most in hand, if one is at work. It is stopped first, so that it cannot finish
    /// while it is looked at.
    fn kill_at_work(&mut self) -> Result<bool> {
        let Some((number, victim)) = self.busiest()? else { return Ok(false) };
        victim.process.freeze()?;
        let events = victim.events()?;
        if !ledger::is_at_work(&events) {
            victim.process.thaw()?;
            return Ok(false);
        }
        victim.process.kill()?;
        victim.killed_at_us = Some(clock::now_us()?);
        let held = ledger::held(&events);
        println!("worker {number} is killed (SIGKILL) while it holds {}: {}", held.len(), held.join(" "));
        Ok(true)
    }

    /// The worker that holds the most, with its number.
    fn busiest(&mut self) -> Result<Option<(usize, &mut Actor)>> {
        let mut most = (0, None);
        for (number, worker) in (1..).zip(&mut self.workers) {
            let events = worker.events()?;
            let held = ledger::held(&events).len();
            if held > most.0 && ledger::is_at_work(&events) {
                most = (held, Some((number, worker)));
            }
        }
        Ok(most.1)
    }

    /// Waits until the shop has closed and the queue is empty, or the time is over; then sends the workers home.
    fn wait_until_over(&mut self, queue: &mut Connection, key: &str, deadline: Instant) -> Result<()> {
        while Instant::now() < deadline && !(self.shop.has_ended()? && length(queue, key)? == 0) {
            self.rest()?;
        }
        File::create(&self.stop)?;
        for worker in &mut self.workers {
            while !worker.has_ended()? {
                thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// A short pause, in which no worker may go.
    fn rest(&mut self) -> Result<()> {
        for worker in &mut self.workers {
            if worker.has_ended()? && worker.killed_at_us.is_none() {
                return Err("a worker went home too early".into());
            }
        }
        thread::sleep(PAUSE);
        Ok(())
    }

    fn delivered(&self) -> Result<usize> {
        let is_delivery = |event: &Event| matches!(event, Event::Delivered { .. });
        let counts =
            self.workers.iter().map(|worker| Ok(worker.events()?.into_iter().filter(is_delivery).count()));
        counts.sum()
    }

    fn records(&self) -> Result<Vec<Record>> {
        self.workers
            .iter()
            .map(|worker| Ok(Record { events: worker.events()?, killed_at_us: worker.killed_at_us }))
            .collect()
    }
}
