//! What operators do to a large store, and how long others wait meanwhile.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::population::Population;
use super::{Bench, say};
use crate::client::{Connection, Wait};
use crate::error::Result;
use crate::field::Store;
use crate::machine::info;
use crate::server::Server;
use crate::wake::probe::{Readings, while_probing};

/// From one command to the next: the probe sees each alone.
const PAUSE: Duration = Duration::from_millis(20);
/// Memory counts as given back when this share of it is left.
const LEFT: f64 = 0.2;
const DEADLINE: Duration = Duration::from_secs(120);

/// One command, as often as it was given.
pub struct Operation {
    /// On which store.
    pub store: Store,
    /// The command, without its key.
    pub command: String,
    /// The round trip of each.
    pub lengths: Vec<Duration>,
    /// Until the memory was given back, of a command that removes everything.
    pub freed_after: Option<Duration>,
    /// What the probe saw meanwhile.
    pub probe: Readings,
}

/// What is done to a queue that stays.
pub fn everyday(bench: &Bench<'_>, server: &Server, population: &mut Population) -> Result<Vec<Operation>> {
    say(population.requests.store, "commands of operators");
    let key = population.requests.field.queue.as_slice();
    let commands: [&[&[u8]]; 5] = [
        &[b"DQ.INFO", key],
        &[b"MEMORY", b"USAGE", key],
        &[b"DQ.PEEK", key],
        &[b"DQ.PEEK", key, b"COUNT", b"1000"],
        &[b"DQ.PURGE", key, b"WAITING", b"COUNT", b"1000"],
    ];
    commands.iter().map(|words| repeat(server, words, key, bench.options.repeats)).collect()
}

fn repeat(server: &Server, words: &[&[u8]], key: &[u8], times: usize) -> Result<Operation> {
    let mut operator = server.connect_to_wait(Wait::Sleeping)?;
    let work = || {
        let mut lengths = Vec::new();
        for _ in 0..times {
            sleep(PAUSE);
            let start = Instant::now();
            operator.call(words)?;
            lengths.push(start.elapsed());
        }
        Ok(lengths)
    };
    let (lengths, probe) = while_probing(server, work)?;
    Ok(Operation { store: Store::Queue, command: named(words, key), lengths, freed_after: None, probe })
}

fn named(words: &[&[u8]], key: &[u8]) -> String {
    let words = words.iter().filter(|word| **word != key).map(|word| String::from_utf8_lossy(word));
    words.collect::<Vec<_>>().join(" ")
}

/// Removes the whole store by this command, and waits until its memory is given back.
pub fn remove(server: &Server, population: &Population, command: &str) -> Result<Operation> {
    say(population.requests.store, command);
    let mut operator = server.connect_to_wait(Wait::Sleeping)?;
    let mut words = vec![command.as_bytes()];
    words.extend(population.requests.keys());
    let goal = population.empty_bytes + LEFT * population.bytes_per_job * population.present as f64;
    let work = || {
        sleep(PAUSE);
        let start = Instant::now();
        operator.call(&words)?;
        let length = start.elapsed();
        await_memory(&mut operator, goal)?;
        Ok((length, start.elapsed()))
    };
    let ((length, freed_after), probe) = while_probing(server, work)?;
    let store = population.requests.store;
    let lengths = vec![length];
    Ok(Operation { store, command: command.into(), lengths, freed_after: Some(freed_after), probe })
}

fn await_memory(operator: &mut Connection, goal: f64) -> Result<()> {
    let start = Instant::now();
    while used(operator)? > goal {
        if start.elapsed() > DEADLINE {
            return Err("the memory is not given back".into());
        }
        sleep(PAUSE);
    }
    Ok(())
}

fn used(operator: &mut Connection) -> Result<f64> {
    Ok(info(operator, "used_memory")?.ok_or("INFO has no used_memory")?.parse()?)
}
