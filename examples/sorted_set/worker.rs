//! The consumers and movers of the four ways, and what each of them writes down.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use redis::{Cmd, Connection, FromRedisValue, cmd};

use crate::Result;
use crate::arguments::Options;
use crate::timetable::{Message, READY, SCHEDULE, now_us};

/// How many messages a consumer takes at once.
const BATCH: u32 = 10;
/// How many messages are moved at once.
const MOVED: u32 = 100;
/// How long the work on one message takes.
const WORK: Duration = Duration::from_millis(1);
/// How long those who wait do so before they look whether the demo is over.
const WAIT_MS: u32 = 500;

/// How far a scene has come, for all its workers.
#[derive(Default)]
pub struct Progress {
    delivered: AtomicUsize,
    is_over: AtomicBool,
}

impl Progress {
    /// How many messages were delivered so far.
    pub fn delivered(&self) -> usize {
        self.delivered.load(Ordering::SeqCst)
    }

    /// Lets all workers stop.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}

/// What one worker did.
#[derive(Default)]
pub struct Work {
    /// Commands that it sent.
    pub commands: u64,
    /// Messages that it found and another one had first.
    pub lost_races: u64,
    /// The numbers of the messages on which it began to work, and how late that was, in microseconds.
    pub deliveries: Vec<(usize, i64)>,
}

/// One of the consumers or movers, on a connection of its own.
pub struct Worker<'a> {
    pub connection: Connection,
    pub options: &'a Options,
    pub progress: &'a Progress,
    pub work: Work,
}

/// What a worker does until the scene is over.
pub type Role = fn(&mut Worker<'_>) -> Result<()>;

impl Worker<'_> {
    fn goes_on(&self) -> bool {
        !self.progress.is_over.load(Ordering::SeqCst)
    }

    fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T> {
        self.work.commands += 1;
        Ok(command.query(&mut self.connection)?)
    }

    fn deliver(&mut self, text: &str) -> Result<()> {
        let message = Message::read(text)?;
        let late_us = i64::try_from(now_us()?)? - i64::try_from(message.due_ms * 1000)?;
        self.work.deliveries.push((message.number, late_us));
        self.progress.delivered.fetch_add(1, Ordering::SeqCst);
        thread::sleep(WORK);
        Ok(())
    }

    /// Looks for what is due. By the time of the reply another one may have it.
    fn look(&mut self, count: u32) -> Result<Vec<String>> {
        let now_ms = now_us()? / 1000;
        self.ask(cmd("ZRANGEBYSCORE").arg(SCHEDULE).arg("-inf").arg(now_ms).arg("LIMIT").arg(0).arg(count))
    }

    /// Takes a message that was found, if nobody else was faster.
    fn win(&mut self, message: &str) -> Result<bool> {
        let is_won: bool = self.ask(cmd("ZREM").arg(SCHEDULE).arg(message))?;
        self.work.lost_races += u64::from(!is_won);
        Ok(is_won)
    }
}

/// A consumer that polls.
pub fn poll(worker: &mut Worker<'_>) -> Result<()> {
    while worker.goes_on() {
        let found = worker.look(BATCH)?;
        if found.is_empty() {
            thread::sleep(worker.options.poll);
        }
        for message in found {
            if worker.win(&message)? {
                worker.deliver(&message)?;
            }
        }
    }
    Ok(())
}

/// A consumer that waits for the sorted set.
pub fn claim(worker: &mut Worker<'_>) -> Result<()> {
    while worker.goes_on() {
        let command = &mut cmd("DQ.CLAIM");
        command.arg(SCHEDULE).arg("COUNT").arg(BATCH).arg("BLOCK").arg(WAIT_MS);
        let claimed: Option<Vec<String>> = worker.ask(command)?;
        for message in claimed.unwrap_or_default() {
            worker.deliver(&message)?;
        }
    }
    Ok(())
}

/// A consumer that waits for the list.
pub fn pop(worker: &mut Worker<'_>) -> Result<()> {
    while worker.goes_on() {
        let seconds = f64::from(WAIT_MS) / 1000.0;
        let popped: Option<(String, String)> = worker.ask(cmd("BRPOP").arg(READY).arg(seconds))?;
        if let Some((_, message)) = popped {
            worker.deliver(&message)?;
        }
    }
    Ok(())
}

/// The scheduled job: at each full period it moves what is due. It removes first, so that a message which another machine has
/// moved is not moved twice; one that is removed when the machine dies is lost.
pub fn move_every_period(worker: &mut Worker<'_>) -> Result<()> {
    let period_us = u64::try_from(worker.options.period.as_micros())?;
    let mut next_us = now_us()?.next_multiple_of(period_us);
    while worker.goes_on() {
        if now_us()? < next_us {
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        next_us += period_us;
        move_all_due(worker)?;
    }
    Ok(())
}

fn move_all_due(worker: &mut Worker<'_>) -> Result<()> {
    loop {
        let found = worker.look(MOVED)?;
        if found.is_empty() {
            return Ok(());
        }
        for message in found {
            if worker.win(&message)? {
                worker.ask::<u64>(cmd("LPUSH").arg(READY).arg(&message))?;
            }
        }
    }
}

/// A mover that waits for the sorted set.
pub fn move_when_due(worker: &mut Worker<'_>) -> Result<()> {
    while worker.goes_on() {
        let command = &mut cmd("DQ.MOVE");
        command.arg(SCHEDULE).arg(READY).arg("LPUSH").arg("COUNT").arg(MOVED).arg("BLOCK").arg(WAIT_MS);
        worker.ask::<Option<u64>>(command)?;
    }
    Ok(())
}
