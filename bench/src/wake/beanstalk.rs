//! Beanstalkd: a queue server of its own, whose `reserve` waits and whose delays are whole seconds.
//!
//! So a job cannot be put for a given time. It is put some whole seconds before the time at which it is to be due: all of
//! them within the second before the first is due. When it really is due is so many seconds after the server read its put;
//! the time at which the put was sent is taken for that, so the lateness told is longer by that one way to the server.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::crowd::{Consumer, consume};
use super::deliveries::{Deliveries, Lateness, Row, now_ms, now_us, until_ms};
use super::queue::decimal;
use super::waking::{GRACE_MS, random_jobs};
use super::{Bench, say, schedule};
use crate::error::Result;
use crate::process::Process;

const START_DEADLINE: Duration = Duration::from_secs(10);
/// From the beginning to the first put.
const LEAD_MS: u64 = 200;
const SECOND_MS: u64 = 1_000;

/// What was found, or why nothing was measured.
pub type Outcome = std::result::Result<Vec<Row>, String>;

/// One waiter and jobs one by one, then many waiters and jobs at random times; if beanstalkd is here.
pub fn run(bench: &Bench<'_>) -> Result<Outcome> {
    say("beanstalkd");
    let found = Command::new("beanstalkd").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_err() {
        let message = "beanstalkd is not here (Debian package `beanstalkd`), so it was not measured";
        eprintln!("wake: {message}");
        return Ok(Err(message.into()));
    }
    let server = start(bench)?;
    let socket = server.path("socket");
    let sizes = bench.options.sizes;
    let first_ms = now_ms()? + LEAD_MS + SECOND_MS;
    let one = wake(&socket, &schedule::one_by_one(sizes.wakes, first_ms), 1)?;
    let first_ms = now_ms()? + LEAD_MS + SECOND_MS;
    let many = wake(&socket, &schedule::random(sizes.random_jobs, first_ms, sizes.random_ms), sizes.waiters)?;
    Ok(Ok(vec![
        Row::new("beanstalkd, 1 waiter, idle".into(), vec![one]),
        Row::new(format!("beanstalkd, {}", random_jobs(bench, "waiters")), vec![many]),
    ]))
}

fn start(bench: &Bench<'_>) -> Result<Process> {
    let words = ["beanstalkd", "-l", "unix:socket"].map(str::to_string).to_vec();
    let mut process = Process::start(words, bench.cores.server)?;
    let start = Instant::now();
    while UnixStream::connect(process.path("socket")).is_err() {
        process.check()?;
        if start.elapsed() > START_DEADLINE {
            return Err("beanstalkd does not answer".into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(process)
}

fn wake(socket: &Path, dues_ms: &[u64], waiters: usize) -> Result<Lateness> {
    let reservers: Result<Vec<Reserver>> = (0..waiters).map(|_| Reserver::wait(socket)).collect();
    let mut reservers = reservers?;
    let mut deliveries = Deliveries::expect(dues_ms.len());
    let end = dues_ms.iter().max().copied().unwrap_or(0) + GRACE_MS;
    std::thread::scope(|scope| {
        let putter = scope.spawn(|| put_all(socket, dues_ms).map_err(|error| error.to_string()));
        consume(&mut reservers, &mut deliveries, end)?;
        Ok::<_, Box<dyn std::error::Error>>(putter.join().map_err(|_| "the putter panicked")??)
    })?;
    Ok(deliveries.summary())
}

/// Puts the jobs, each with the delay that brings its put into the second before the first of them is due.
fn put_all(socket: &Path, dues_ms: &[u64]) -> Result<()> {
    let mut stream = BufReader::new(UnixStream::connect(socket)?);
    let first_ms = dues_ms.iter().min().copied().unwrap_or(0);
    let mut puts: Vec<(u64, u64, usize)> = dues_ms
        .iter()
        .zip(0..)
        .map(|(due_ms, job)| {
            let delay_s = 1 + (due_ms - first_ms) / SECOND_MS;
            (due_ms - delay_s * SECOND_MS, delay_s, job)
        })
        .collect();
    puts.sort_unstable();
    for (put_ms, delay_s, job) in puts {
        std::thread::sleep(until_ms(put_ms)?);
        let due_us = now_us()? + delay_s * 1_000_000;
        let body = format!("{job} {due_us}");
        let request = format!("put 0 {delay_s} 600 {}\r\n{body}\r\n", body.len());
        stream.get_mut().write_all(request.as_bytes())?;
        let answer = line(&mut stream)?;
        if !answer.starts_with("INSERTED") {
            return Err(format!("beanstalkd answers a put with {answer:?}").into());
        }
    }
    Ok(())
}

/// One who reserves jobs, deletes them, and waits for the next.
struct Reserver {
    stream: BufReader<UnixStream>,
}

impl Reserver {
    fn wait(socket: &Path) -> Result<Reserver> {
        let mut stream = BufReader::new(UnixStream::connect(socket)?);
        stream.get_mut().write_all(b"reserve\r\n")?;
        Ok(Reserver { stream })
    }
}

impl Consumer for Reserver {
    fn socket(&self) -> &UnixStream {
        self.stream.get_ref()
    }

    fn receive(&mut self, deliveries: &mut Deliveries) -> Result<()> {
        loop {
            let answer = line(&mut self.stream)?;
            if let Some(reserved) = answer.strip_prefix("RESERVED ") {
                let body = line(&mut self.stream)?;
                let at_us = now_us()?;
                let (job, due_us) = body.split_once(' ').ok_or("a job that nobody put")?;
                deliveries.note(decimal(job.as_bytes())?, due_us.parse()?, at_us)?;
                let id = reserved.split(' ').next().unwrap_or_default();
                self.stream.get_mut().write_all(format!("delete {id}\r\nreserve\r\n").as_bytes())?;
            } else if answer != "DELETED" {
                return Err(format!("beanstalkd answers {answer:?}").into());
            }
            if self.stream.buffer().is_empty() {
                return Ok(());
            }
        }
    }
}

fn line(stream: &mut BufReader<UnixStream>) -> Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    Ok(line.trim_end().to_string())
}
