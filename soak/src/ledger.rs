//! What all clients together know of every job, and the place where each thing that they learn is held against the rules.
//!
//! A command is entered before it is sent and completed when its reply is there, so that a rule always sees what may be
//! happening at the moment. Called by every client, and by `inspection` when nobody works.

use std::collections::{HashMap, HashSet};

use crate::clock::{Moment, Span, now};
use crate::event::{Event, Outcome, Queue, Sweep, What, Whole};
use crate::message;
use crate::rules::{self, Around};

/// One job, by the serial number in its message.
#[derive(Default)]
pub struct Job {
    /// Its id, as soon as anyone knows it.
    pub id: Option<Vec<u8>>,
    /// Whose messages it has.
    pub home: Option<Queue>,
    /// How many messages were made for it.
    pub versions: u32,
    /// What happened since it was last seen.
    pub events: Vec<Event>,
    /// What happened before.
    pub past: Vec<Event>,
    /// Why it is not in any queue, once that was found.
    pub ended: Option<&'static str>,
}

/// Where an event stands.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub serial: u64,
    index: usize,
}

/// Where a command on a queue as a whole stands.
#[derive(Clone, Copy, Debug)]
pub struct Ticket(usize);

/// A job as a claim delivered it.
pub struct Got {
    pub id: Vec<u8>,
    pub message: Vec<u8>,
    pub attempt: u64,
    pub due: u64,
    pub token: Option<u64>,
}

/// Everything.
#[derive(Default)]
pub struct Ledger {
    pub jobs: HashMap<u64, Job>,
    pub wholes: Vec<Whole>,
    pub pauses: Vec<(Queue, Moment, Moment)>,
    /// Jobs pushed lately, for those who look for one by its id.
    pub recent: Vec<(Queue, u64)>,
    /// The reign: how many masters were killed and succeeded by their replicas.
    pub reign: u64,
    /// Up to when everything was replicated when the last reign ended.
    confirmed: Moment,
    /// Roughly how many jobs there are.
    pub population: i64,
    /// How many things were held against the rules.
    pub checks: u64,
    pub violations: Vec<String>,
    receipts: HashSet<(Queue, u64, u64)>,
    /// Claims with a token since the queues were last inspected.
    tokens: Vec<(Queue, Span, u64)>,
    next_serial: u64,
}

impl Ledger {
    /// A job that is going to be pushed for the first time.
    pub fn new_job(&mut self, queue: Queue) -> u64 {
        self.next_serial += 1;
        let serial = self.next_serial;
        self.jobs.insert(serial, Job { home: Some(queue), ..Job::default() });
        self.recent.push((queue, serial));
        if self.recent.len() > 600 {
            self.recent.drain(..300);
        }
        serial
    }

    /// The next message of a job.
    pub fn next_version(&mut self, serial: u64) -> u32 {
        let job = self.jobs.entry(serial).or_default();
        job.versions += 1;
        job.versions - 1
    }

    /// Enters what is about to be asked for.
    pub fn begin(&mut self, queue: Queue, serial: u64, what: What) -> Entry {
        let job = self.jobs.entry(serial).or_default();
        job.events.push(Event { queue, span: Span::begin(), what, outcome: Outcome::Pending });
        Entry { serial, index: job.events.len() - 1 }
    }

    /// Completes an event with what came back over a connection of this reign.
    pub fn finish(&mut self, entry: Entry, outcome: Outcome, reign: u64) {
        let end = now();
        let outcome = self.judged(outcome, end, reign);
        let around = Around { wholes: &self.wholes, pauses: &self.pauses };
        let Some(job) = self.jobs.get_mut(&entry.serial) else { return };
        let Some(event) = job.events.get_mut(entry.index) else { return };
        (event.span.end, event.outcome) = (end, outcome);
        self.population += match (&event.what, event.is_sure()) {
            (What::Pushed { .. }, true) => 1,
            (What::Acked { .. } | What::Cancelled, true) => -1,
            _ => 0,
        };
        self.checks += 1;
        let fault = rules::of_receipt(&job.events, entry.index, &around);
        let fault = fault.or_else(|| missing(job, entry.index, &around));
        if let Some(fault) = fault {
            self.violate(entry.serial, &fault);
        }
    }

    /// Whether what was answered over a connection can have been lost since.
    fn judged(&self, outcome: Outcome, end: Moment, reign: u64) -> Outcome {
        let lost = reign < self.reign && end > self.confirmed && outcome.is_possible();
        if lost { Outcome::Unknown } else { outcome }
    }

    /// Enters a command on a queue as a whole.
    pub fn begin_whole(&mut self, queue: Queue, sweep: Sweep) -> Ticket {
        self.wholes.push(Whole { queue, span: Span::begin(), sweep, outcome: Outcome::Pending });
        Ticket(self.wholes.len() - 1)
    }

    /// Completes it.
    pub fn finish_whole(&mut self, ticket: Ticket, outcome: Outcome, reign: u64) {
        let end = now();
        let outcome = self.judged(outcome, end, reign);
        if let Some(whole) = self.wholes.get_mut(ticket.0) {
            (whole.span.end, whole.outcome) = (end, outcome);
        }
    }

    /// Completes a claim that was answered; returns the serials of what it delivered.
    pub fn deliver(&mut self, ticket: Ticket, given: &[Got], reign: u64) -> Vec<u64> {
        self.finish_whole(ticket, Outcome::Done, reign);
        let Some(whole) = self.wholes.get(ticket.0).copied() else { return Vec::new() };
        let Sweep::Claim { lease_ms, .. } = whole.sweep else { return Vec::new() };
        if let Some(token) = given.first().and_then(|got| got.token) {
            self.note_token(whole, token);
        }
        given.iter().filter_map(|got| self.note_delivery(whole, got, lease_ms)).collect()
    }

    /// Tokens of a queue only grow.
    fn note_token(&mut self, whole: Whole, token: u64) {
        let earlier = self.tokens.iter().find(|(queue, span, other)| {
            *queue == whole.queue && *other >= token && span.end < whole.span.start
        });
        if let Some((_, _, other)) = earlier {
            let fault = format!("{}: token {token} after token {other}", whole.queue.key());
            self.violations.push(fault);
        }
        self.tokens.push((whole.queue, whole.span, token));
    }

    fn note_delivery(&mut self, whole: Whole, got: &Got, lease_ms: Option<u64>) -> Option<u64> {
        let known = message::read(&got.message).filter(|(serial, _)| self.jobs.contains_key(serial));
        let Some((serial, version)) = known else {
            let shown = got.message.escape_ascii();
            self.violations.push(format!("{}: delivered {shown}, which nobody pushed", whole.queue.key()));
            return None;
        };
        let (token, attempt, due) = (got.token, got.attempt, got.due);
        let what = What::Delivered { token, attempt, due, lease_ms, version };
        self.checks += 1;
        let around = Around { wholes: &self.wholes, pauses: &self.pauses };
        let job = self.jobs.entry(serial).or_default();
        job.events.push(Event { queue: whole.queue, span: whole.span, what, outcome: whole.outcome });
        if lease_ms.is_none() {
            self.population -= 1;
        }
        let mut faults = vec![identity(job, serial, version, got), ended(job)];
        faults.push(rules::of_delivery(&job.events, job.events.len() - 1, &around));
        if token.is_some_and(|token| !self.receipts.insert((whole.queue, token, serial))) {
            faults.push(Some("the same receipt twice".into()));
        }
        for fault in faults.into_iter().flatten() {
            self.violate(serial, &fault);
        }
        Some(serial)
    }

    /// A master was killed and its replica took its place: what was answered after `confirmed` may not have happened.
    pub fn begin_reign(&mut self, confirmed: Moment) {
        self.reign += 1;
        self.confirmed = self.confirmed.max(confirmed);
        let confirmed = self.confirmed;
        let lost = |span: Span, outcome: Outcome| span.end > confirmed && outcome.is_possible();
        for event in self.jobs.values_mut().flat_map(|job| &mut job.events) {
            if lost(event.span, event.outcome) && event.outcome != Outcome::Pending {
                event.outcome = Outcome::Unknown;
            }
        }
        for whole in &mut self.wholes {
            if lost(whole.span, whole.outcome) && whole.outcome != Outcome::Pending {
                whole.outcome = Outcome::Unknown;
            }
        }
    }

    /// Begins a new page of history: nobody works, and master and replica are equal.
    pub fn turn_page(&mut self) {
        self.wholes.clear();
        self.pauses.clear();
        self.tokens.clear();
        self.confirmed = now();
        self.population = self.jobs.values().filter(|job| job.ended.is_none()).count() as i64;
        let jobs = &self.jobs;
        self.recent.retain(|(_, serial)| jobs.get(serial).is_some_and(|job| job.ended.is_none()));
    }

    /// Writes down what is wrong, with the history of the job.
    pub fn violate(&mut self, serial: u64, fault: &str) {
        let Some(job) = self.jobs.get(&serial) else { return };
        let all: Vec<&Event> = job.past.iter().chain(&job.events).collect();
        let origin = all.first().map_or(0, |event| event.span.start);
        let id = job.id.as_deref().unwrap_or_default().escape_ascii();
        let mut text = format!("job {serial} ({id}): {fault}; its history, in ms since {origin} us:");
        for event in all {
            text += &format!("\n    {}", event.line(origin));
        }
        if let Some(ended) = job.ended {
            text += &format!("\n    found to have ended: {ended}");
        }
        let from = job.events.first().map_or(0, |event| event.span.start);
        let about = |whole: &&Whole| {
            let mine = job.events.iter().any(|event| event.queue == whole.queue);
            let unclear = whole.is_unresolved_claim() || !matches!(whole.sweep, Sweep::Claim { .. });
            mine && unclear && whole.outcome.is_possible() && whole.span.end >= from
        };
        for whole in self.wholes.iter().filter(about).take(12) {
            text += &format!("\n    of the whole queue: {}", whole.line(origin));
        }
        self.violations.push(text);
    }

    /// A queue was certainly paused from `from` to `to`.
    pub fn paused(&mut self, queue: Queue, from: Moment, to: Moment) {
        self.pauses.push((queue, from, to));
    }
}

/// A message and an id are what was pushed.
fn identity(job: &mut Job, serial: u64, version: u32, got: &Got) -> Option<String> {
    let home = job.home?;
    if got.message != message::of(home, serial, version) {
        return Some(format!("its message was altered: {}", got.message.escape_ascii()));
    }
    match &job.id {
        Some(id) if !got.id.is_empty() && *id != got.id && home != Queue::Plain => {
            Some(format!("it has the id {}", got.id.escape_ascii()))
        }
        Some(_) => None,
        None => {
            job.id = (!got.id.is_empty()).then(|| got.id.clone());
            None
        }
    }
}

/// What was found to have ended stays so, unless it was pushed again.
fn ended(job: &Job) -> Option<String> {
    let pushed =
        job.events.iter().any(|event| matches!(event.what, What::Pushed { .. }) && event.is_possible());
    (!pushed).then(|| job.ended.map(|why| format!("delivered, though it had ended: {why}"))).flatten()
}

/// A command by id that found no job was right to.
fn missing(job: &Job, at: usize, around: &Around<'_>) -> Option<String> {
    let asked = &job.events[at];
    let missed = asked.outcome == Outcome::Refused && matches!(asked.what, What::Cancelled);
    let recreated = asked.outcome == Outcome::Done
        && matches!(asked.what, What::Pushed { .. })
        && asked.queue.is_strict();
    if !(missed && asked.queue.is_strict() || recreated) {
        return None;
    }
    let others: Vec<Event> = job
        .events
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != at)
        .map(|(_, event)| event.clone())
        .collect();
    let there = rules::is_certainly_there(&others, around, asked.queue, asked.span.start, asked.span.end);
    there.then(|| format!("it was there, and {:?} did not find it", asked.what))
}
