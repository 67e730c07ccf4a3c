//! Events of expired keys: each job is a key whose time to live ends when it is due, and a subscriber hears of its end.
//!
//! The server tells of a key when it removes it, and it removes what nobody asks for when a search that takes samples ten
//! times a second comes across it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use super::crowd::{Consumer, consume};
use super::deliveries::{Deliveries, Row, now_ms, now_us};
use super::queue::decimal;
use super::schedule::DAY_MS;
use super::waking::{GRACE_MS, LEAD_MS};
use super::{Bench, say, schedule};
use crate::client::{Connection, Wait};
use crate::error::Result;
use crate::resp;
use crate::server::{Durability, Server};
use crate::text;

const EVENT: &str = "__keyevent@0__:expired";
/// Keys set in one go.
const CHUNK_KEYS: usize = 1_000;

/// Keys that expire at random times: alone, and beside many that do not.
pub fn run(bench: &Bench<'_>) -> Result<Vec<Row>> {
    [0, bench.options.sizes.keys].into_iter().map(|others| listen(bench, others)).collect()
}

fn listen(bench: &Bench<'_>, others: usize) -> Result<Row> {
    say("events of expired keys");
    let sizes = bench.options.sizes;
    let server = bench.launcher.start(Durability::None)?;
    let mut control = server.connect_to_wait(Wait::Sleeping)?;
    control.call(&[b"CONFIG", b"SET", b"notify-keyspace-events", b"Ex"])?;
    let tomorrow = now_ms()? + DAY_MS;
    let rest = schedule::random(others, tomorrow, DAY_MS);
    set(&mut control, "other:", &rest)?;
    let dues_ms = schedule::random(sizes.random_jobs, now_ms()? + LEAD_MS, sizes.random_ms);
    let mut subscribers = [Subscriber::listen(&server, dues_ms.clone())?];
    set(&mut control, "", &dues_ms)?;
    let mut deliveries = Deliveries::expect(dues_ms.len());
    let end = dues_ms.iter().max().copied().unwrap_or(0) + GRACE_MS;
    consume(&mut subscribers, &mut deliveries, end)?;
    let jobs = text::grouped(sizes.random_jobs as u64);
    let others = text::grouped(others as u64);
    let name = format!("key expiry, {jobs} keys over {} s, {others} others", sizes.random_ms / 1_000);
    Ok(Row::new(name, vec![deliveries.summary()]))
}

fn set(control: &mut Connection, prefix: &str, ends_ms: &[u64]) -> Result<()> {
    let names = (0..).map(|number| format!("{prefix}{number}"));
    let pairs: Vec<(String, String)> = names.zip(ends_ms.iter().map(u64::to_string)).collect();
    for chunk in pairs.chunks(CHUNK_KEYS) {
        let mut requests = Vec::new();
        for (name, end) in chunk {
            resp::encode(&mut requests, &[b"SET", name.as_bytes(), b"", b"PXAT", end.as_bytes()]);
        }
        control.time(&requests, chunk.len())?;
    }
    Ok(())
}

/// One who hears of expired keys, named by the numbers of jobs.
struct Subscriber {
    stream: BufReader<UnixStream>,
    dues_ms: Vec<u64>,
}

impl Subscriber {
    fn listen(server: &Server, dues_ms: Vec<u64>) -> Result<Subscriber> {
        let mut stream = UnixStream::connect(server.socket())?;
        let mut request = Vec::new();
        resp::encode(&mut request, &[b"SUBSCRIBE", EVENT.as_bytes()]);
        stream.write_all(&request)?;
        let mut subscriber = Subscriber { stream: BufReader::new(stream), dues_ms };
        // An array of three: the word, the channel, how many one listens to.
        for _ in 0..6 {
            subscriber.line()?;
        }
        Ok(subscriber)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        Ok(line)
    }
}

impl Consumer for Subscriber {
    fn socket(&self) -> &UnixStream {
        self.stream.get_ref()
    }

    fn receive(&mut self, deliveries: &mut Deliveries) -> Result<()> {
        loop {
            // An array of three texts: the word, the channel, the key; each text has a line with its length.
            let mut key = String::new();
            for _ in 0..7 {
                key = self.line()?;
            }
            let at_us = now_us()?;
            let job = decimal(key.trim_end().as_bytes())?;
            let due_ms = self.dues_ms.get(job).ok_or("a key that nobody set")?;
            deliveries.note(job, due_ms * 1_000, at_us)?;
            if self.stream.buffer().is_empty() {
                return Ok(());
            }
        }
    }
}
