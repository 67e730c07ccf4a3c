//! A producer and a worker on the DQ queue `mail`, with redis-rs.
//!
//!     worker push ID MESSAGE [DELAY_MS]     MESSAGE is JSON: {"to": "ada", "takes_ms": 200, "failures": 1}
//!     worker work                           works until SIGTERM or Ctrl-C
//!
//! The environment may set REDIS_PORT, RESP (2 or 3), LEASE_MS and BLOCK_MS.

use redis::{Client, Connection, RedisResult, cmd};
use serde_json::Value;
use signal_hook::{consts::TERM_SIGNALS, iterator::Signals};
use std::env;
use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

const QUEUE: &str = "mail";
/// Jobs taken at once.
const COUNT: u32 = 4;

/// What DQ.CLAIM delivers: id, message, attempt, due, receipt.
type Job = (String, String, u64, u64, String);

fn setting(name: &str, default: u64) -> u64 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The jobs are ours for so long, or until the next heartbeat.
fn lease_ms() -> u64 {
    setting("LEASE_MS", 30_000)
}

/// Such a connection waits for a reply without limit, as a blocking claim needs it. An asynchronous connection of
/// redis-rs gives up after half a second, unless its configuration says otherwise.
fn connect() -> RedisResult<Connection> {
    let (port, resp) = (setting("REDIS_PORT", 6379), setting("RESP", 3));
    Client::open(format!("redis://127.0.0.1:{port}/?protocol=resp{resp}"))?.get_connection()
}

fn push(id: &str, message: &str, delay_ms: &str) -> RedisResult<()> {
    let mut command = cmd("DQ.PUSH");
    command.arg(QUEUE).arg(message).arg("ID").arg(id).arg("DELAY").arg(delay_ms);
    let (id, outcome): (String, String) = command.query(&mut connect()?)?;
    println!("pushed {id} {outcome}");
    Ok(())
}

/// The work. This letter says itself how long it takes and how often it fails.
fn send(message: &str, attempt: u64) -> Result<(), Box<dyn Error>> {
    let letter: Value = serde_json::from_str(message)?;
    let number = |name| letter.get(name).and_then(Value::as_u64).unwrap_or(0);
    thread::sleep(Duration::from_millis(number("takes_ms")));
    if attempt <= number("failures") { Err("the mail server is away".into()) } else { Ok(()) }
}

/// What the threads of a worker share.
#[derive(Default)]
struct Worker {
    /// Receipts of the jobs that are neither done nor given back.
    held: Mutex<Vec<String>>,
    stopping: AtomicBool,
    claims_id: AtomicU64,
}

impl Worker {
    fn run(&self) -> Result<(), Box<dyn Error>> {
        let mut signals = Signals::new(TERM_SIGNALS)?;
        let handle = signals.handle();
        let (finished, when_finished) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(|| self.wake_when_stopping(&mut signals));
            scope.spawn(|| self.extend_leases(when_finished));
            let outcome = self.work();
            handle.close();
            drop(finished);
            outcome
        })?;
        println!("stopped");
        Ok(())
    }

    fn work(&self) -> RedisResult<()> {
        // The first waits inside the server, and does nothing else.
        let (mut claims, mut control) = (connect()?, connect()?);
        while !self.stopping.load(SeqCst) {
            self.claims_id.store(cmd("CLIENT").arg("ID").query(&mut claims)?, SeqCst);
            let mut command = cmd("DQ.CLAIM");
            command.arg(QUEUE).arg("COUNT").arg(COUNT).arg("LEASE").arg(lease_ms());
            command.arg("BLOCK").arg(setting("BLOCK_MS", 5_000)); // an idle worker asks anew after this
            let jobs: Option<Vec<Job>> = command.query(&mut claims)?; // None: nothing was due
            let mut jobs = jobs.unwrap_or_default();
            while !jobs.is_empty() {
                self.hold(jobs.iter().map(|job| job.4.clone()).collect());
                self.work_on(&jobs.remove(0), &mut control)?;
            }
            self.hold(Vec::new());
        }
        Ok(())
    }

    fn work_on(&self, job: &Job, control: &mut Connection) -> RedisResult<()> {
        let (id, message, attempt, _due, receipt) = job;
        if self.stopping.load(SeqCst) {
            // Not begun: the next worker may have it at once, and it does not count as an attempt.
            cmd("DQ.NACK").arg(QUEUE).arg("UNUSED").arg(receipt).exec(control)?;
            println!("unused {id}");
            return Ok(());
        }
        println!("start {id} attempt {attempt}");
        if let Err(error) = send(message, *attempt) {
            // It comes back after the queue's backoff, or is dead when its attempts are used up: see DQ.POLICY.
            let mut command = cmd("DQ.NACK");
            command.arg(QUEUE).arg("ERROR").arg(error.to_string()).arg(receipt);
            let (state,): (Option<String>,) = command.query(control)?;
            println!("failed {id} attempt {attempt} {}", state.unwrap_or_default());
        } else {
            let (acknowledged,): (bool,) = cmd("DQ.ACK").arg(QUEUE).arg(receipt).query(control)?;
            // False: the lease had ended, and somebody else has the job by now.
            println!("{} {id} attempt {attempt}", if acknowledged { "done" } else { "lost" });
        }
        Ok(())
    }

    fn hold(&self, receipts: Vec<String>) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = receipts;
    }

    /// The heartbeat, until the other end of the channel is gone.
    fn extend_leases(&self, finished: mpsc::Receiver<()>) {
        let pause = Duration::from_millis(lease_ms() / 4);
        while finished.recv_timeout(pause) == Err(mpsc::RecvTimeoutError::Timeout) {
            if let Err(error) = self.extend_once() {
                eprintln!("heartbeat: {error}");
            }
        }
    }

    fn extend_once(&self) -> RedisResult<()> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if held.is_empty() {
            return Ok(());
        }
        cmd("DQ.EXTEND").arg(QUEUE).arg("LEASE").arg(lease_ms()).arg(held).exec(&mut connect()?)
    }

    fn wake_when_stopping(&self, signals: &mut Signals) -> RedisResult<()> {
        if signals.forever().next().is_some() {
            self.stopping.store(true, SeqCst);
            // A waiting claim then ends as if its time were over. One that has just got jobs is not disturbed.
            cmd("CLIENT").arg("UNBLOCK").arg(self.claims_id.load(SeqCst)).exec(&mut connect()?)?;
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["push", id, message] => push(id, message, "0")?,
        ["push", id, message, delay_ms] => push(id, message, delay_ms)?,
        ["work"] => Worker::default().run()?,
        _ => return Err("worker push ID MESSAGE [DELAY_MS], or worker work".into()),
    }
    Ok(())
}
