//! What is looked at when nobody works: replica and master, every queue and every destination, job by job.

use std::collections::HashMap;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use crate::clock::{Span, now, now_ms};
use crate::event::{Event, Outcome, Queue, Seen, Sweep, What};
use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::numbers::{counter, states};
use crate::harness::reply::Reply;
use crate::ledger::{Job, Ledger};
use crate::message;
use crate::mover::{LISTS, SORTED_SET, STREAM};
use crate::rules::{self, Around};
use crate::sentinel::{KEY, Served};
use crate::shared::Shared;

/// How often jobs of `Mail` may be gone without anyone having been told, by the server's own counters.
#[derive(Clone, Copy, Default)]
pub struct Losses {
    counted: i64,
}

/// Every key with the server's digest of its value.
pub fn picture(client: &mut Client) -> Vec<String> {
    let mut keys: Vec<String> = client.done("KEYS *").items().iter().map(Reply::string).collect();
    keys.sort();
    keys.iter().map(|key| format!("{key} {}", digest(client, key))).collect()
}

/// Compares two pictures.
pub fn compare(shared: &Shared, what: &str, before: &[String], after: &[String]) {
    shared.count_many("check digests compared", before.len() as u64);
    if before != after {
        let fault = format!("{what}:\n    {}\n    {}", before.join("\n    "), after.join("\n    "));
        shared.ledger().violations.push(fault);
    }
}

/// Holds what is in the queues and destinations against the ledger, and begins a new page of it.
pub fn take_stock(shared: &Shared, client: &mut Client, losses: &mut Losses) {
    let mut found = Found::default();
    let asked = Span::begin();
    for queue in Queue::ALL {
        list(shared, client, queue, &mut found);
    }
    empty_destinations(shared, client, &mut found);
    let span = Span { end: now(), ..asked };
    let lost = losses_of_mail(client) - losses.counted;
    losses.counted += lost;
    let mut ledger = shared.ledger();
    let unexplained = hold(&mut ledger, &mut found, span);
    let untold: u64 = ledger
        .wholes
        .iter()
        .filter(|whole| whole.is_unresolved_claim())
        .map(|whole| match whole.sweep {
            Sweep::Claim { count, lease_ms: None } => count,
            _ => 0,
        })
        .sum();
    if unexplained.len() as u64 > lost.max(0) as u64 + untold {
        unexplained.iter().take(3).for_each(|serial| ledger.violate(*serial, "it is gone, as are others"));
        let fault = format!(
            "{} jobs of mail and plain are gone; {lost} were dropped or purged, {untold} untold",
            unexplained.len()
        );
        ledger.violations.push(fault);
    }
    ledger.jobs.values_mut().for_each(Job::turn_page);
    shared.count_many("check jobs found where they must be", found.jobs.len() as u64);
    shared.count("check inspections");
    ledger.turn_page();
}

/// Where each job was found.
#[derive(Default)]
struct Found {
    jobs: HashMap<u64, Finding>,
    doubles: Vec<String>,
}

/// A job where it was found.
struct Finding {
    queue: Queue,
    /// How it looked, in a job queue.
    seen: Option<Seen>,
    /// The key.
    place: &'static str,
}

impl Found {
    fn add(&mut self, message: &[u8], queue: Queue, seen: Option<Seen>, place: &'static str) {
        let Some((serial, _)) = message::read(message) else {
            self.doubles.push(format!("{place} holds {}, which nobody pushed", message.escape_ascii()));
            return;
        };
        // An id of mail can be pushed again after its job was moved.
        if place == LISTS[1] && self.jobs.contains_key(&serial) {
            return;
        }
        let other = self.jobs.insert(serial, Finding { queue, seen, place });
        // Within one queue a job can change its state between two listings.
        if let Some(other) = other
            && (other.place != place || other.seen.is_none())
        {
            self.doubles.push(format!("job {serial} is in {place} and in {}", other.place));
        }
    }
}

fn list(shared: &Shared, client: &mut Client, queue: Queue, found: &mut Found) {
    let key = queue.key();
    if queue == Queue::Plain {
        let reply = client.done(&format!("ZRANGE {key} 0 -1"));
        reply.items().iter().for_each(|member| found.add(member.bytes(), queue, None, key));
        return;
    }
    states(client, key);
    // A lease can end meanwhile: then the job is listed twice, and never not at all.
    for state in ["CLAIMED", "WAITING", "DEAD"] {
        let mut cursor = "0".to_owned();
        loop {
            let page = client.done(&format!("DQ.PEEK {key} {state} COUNT 200 FROM {cursor}"));
            for job in page.items()[1].items() {
                let message = job.field("message").bytes().to_vec();
                found.add(&message, queue, Some(seen(job)), key);
            }
            cursor = page.items()[0].string();
            shared.count("check pages listed");
            if cursor == "0" {
                break;
            }
        }
    }
}

fn seen(job: &Reply) -> Seen {
    let number = |name: &str| (!job.field(name).is_null()).then(|| job.field(name).int() as u64);
    let receipt = job.field("receipt");
    let token = (!receipt.is_null()).then(|| receipt.bytes().to_vec());
    let token = token.and_then(|text| {
        let digits = text.split(|byte| *byte == b'-').next()?.to_vec();
        String::from_utf8(digits).ok()?.parse().ok()
    });
    Seen {
        state: job.field("state").string(),
        due: number("due").unwrap_or(0),
        attempts: number("attempts").unwrap_or(0),
        token,
        lease_until: number("lease_until"),
        expires: number("expires"),
        version: message::read(job.field("message").bytes()).map_or(0, |(_, version)| version),
    }
}

fn empty_destinations(shared: &Shared, client: &mut Client, found: &mut Found) {
    let mut moved = Vec::new();
    for list in LISTS {
        let reply = client.done(&format!("LRANGE {list} 0 -1"));
        moved.extend(reply.items().iter().map(|item| (item.bytes().to_vec(), list)));
    }
    for entry in client.done(&format!("XRANGE {STREAM} - +")).items() {
        moved.push((entry.items()[1].field("msg").bytes().to_vec(), STREAM));
    }
    let reply = client.done(&format!("ZRANGE {SORTED_SET} 0 -1"));
    moved.extend(reply.items().iter().map(|item| (item.bytes().to_vec(), SORTED_SET)));
    let count = moved.len();
    for (message, place) in moved {
        found.add(&message, Queue::Orders, None, place);
    }
    shared.count_many("check moved jobs found", count as u64);
    client.done(&format!("DEL {} {STREAM} {SORTED_SET}", LISTS.join(" ")));
}

fn losses_of_mail(client: &mut Client) -> i64 {
    counter(client, Queue::Mail.key(), "dropped") + counter(client, Queue::Mail.key(), "purged")
}

/// Holds each job against its history; returns those that are gone without a reason of their own where that can be.
fn hold(ledger: &mut Ledger, found: &mut Found, span: Span) -> Vec<u64> {
    ledger.violations.append(&mut found.doubles);
    let mut unexplained = Vec::new();
    let mut faults = Vec::new();
    let around = Around { wholes: &ledger.wholes, pauses: &ledger.pauses };
    for (serial, job) in &mut ledger.jobs {
        ledger.checks += u64::from(job.ended.is_none());
        match found.jobs.get(serial) {
            Some(finding) => {
                faults.extend(held(job, finding, span, &around).map(|fault| (*serial, fault)));
            }
            None if job.ended.is_some() => {}
            None => match absence(job) {
                Absence::Explained(why) => end(job, why),
                Absence::ByDesign => {
                    unexplained.push(*serial);
                    end(job, "gone by design");
                }
                Absence::Lost => {
                    faults.push((*serial, "it is gone, and nobody took it".into()));
                    end(job, "lost");
                }
            },
        }
    }
    let unknown: Vec<u64> =
        found.jobs.keys().filter(|serial| !ledger.jobs.contains_key(serial)).copied().collect();
    for (serial, fault) in faults {
        ledger.violate(serial, &fault);
    }
    for serial in unknown {
        ledger.violations.push(format!("job {serial} was found, and nobody pushed it"));
    }
    unexplained
}

/// A job that is there: it must not have ended, and must look as its history says.
fn held(job: &mut Job, finding: &Finding, span: Span, around: &Around<'_>) -> Option<String> {
    let Finding { queue, seen, place } = finding;
    let (queue, place) = (*queue, *place);
    let over = job
        .events
        .iter()
        .find(|event| event.is_sure() && event.ends_job() && !rules::may_begin_after(&job.events, event));
    // An id of mail can have been pushed again, and that job ended, after the first one was moved.
    let over = over.filter(|_| place != LISTS[1] || job.versions == 1);
    let mut fault = over.map(|event| format!("it is in {place}, though {:?}", event.what));
    fault = fault.or_else(|| job.ended.map(|why| format!("it is in {place}, though it had ended: {why}")));
    let Some(seen) = seen else {
        if place != Queue::Plain.key() {
            job.events.push(Event { queue, span, what: What::Moved { to: place }, outcome: Outcome::Done });
            job.ended = Some(place);
        }
        return fault;
    };
    let due_is_right = seen.state != "waiting" || rules::gave_due(job.events.iter(), around, seen.due);
    if !due_is_right {
        fault =
            fault.or_else(|| Some(format!("it waits until {}, a time that nothing gave to it", seen.due)));
    }
    if seen.state == "waiting" && seen.expires.is_some_and(|expires| expires < span.start / 1000) {
        fault = fault.or_else(|| Some(format!("it is shown after its TTL: {seen:?}")));
    }
    let attempts = seen.attempts;
    job.events.push(Event { queue, span, what: What::Seen(seen.clone()), outcome: Outcome::Done });
    // Seen as many times as claimed, so as it would be by the next claim.
    fault.or_else(|| rules::miscount(&job.events, job.events.len() - 1, around, attempts + 1))
}

enum Absence {
    /// Somebody ended it, or it never arrived.
    Explained(&'static str),
    /// It is one of those that nobody is told of.
    ByDesign,
    Lost,
}

fn absence(job: &Job) -> Absence {
    let possible = || job.events.iter().filter(|event| event.is_possible());
    if let Some(end) = possible().rfind(|event| event.ends_job()) {
        return Absence::Explained(match end.what {
            What::Acked { .. } => "acknowledged",
            What::Cancelled => "cancelled",
            What::Moved { to } => to,
            _ => "claimed without a lease",
        });
    }
    let arrived =
        possible().any(|event| event.is_sure() && matches!(event.what, What::Pushed { .. } | What::Seen(_)));
    let delivered = possible().any(|event| event.is_sure() && matches!(event.what, What::Delivered { .. }));
    if !arrived && !delivered {
        return Absence::Explained("never arrived");
    }
    if may_have_expired(job) {
        return Absence::Explained("expired");
    }
    match job.home {
        Some(Queue::Mail | Queue::Plain) => Absence::ByDesign,
        _ => Absence::Lost,
    }
}

/// Whether the earliest end that the job's TTL can have is over: of the shortest TTL, from the earliest due time on. A push
/// with KEEPDUE may have left the job with any time that it had.
fn may_have_expired(job: &Job) -> bool {
    let (mut ttls, mut dues) = (Vec::new(), Vec::new());
    for event in job.events.iter().filter(|event| event.is_possible()) {
        match &event.what {
            What::Pushed { due, ttl, .. } => {
                ttls.extend(*ttl);
                dues.push(due.bounds(event.span).0);
            }
            What::Rescheduled { due } => dues.push(due.bounds(event.span).0),
            What::Seen(seen) => {
                ttls.extend(seen.expires.map(|expires| expires.saturating_sub(seen.due)));
                dues.push(seen.due);
            }
            _ => {}
        }
    }
    let earliest = dues.iter().min().zip(ttls.iter().min()).map(|(due, ttl)| due + ttl);
    earliest.is_some_and(|end| end <= now_ms())
}

fn end(job: &mut Job, why: &'static str) {
    job.ended = Some(why);
}

impl Job {
    /// Keeps what was seen last as the beginning of what is to come.
    fn turn_page(&mut self) {
        let last = if self.ended.is_none() { self.events.pop() } else { None };
        self.past.append(&mut self.events);
        match last {
            Some(event) if matches!(event.what, What::Seen(_)) => self.events.push(event),
            // A member of a plain set has nothing but its score.
            Some(event) => {
                self.past.push(event.clone());
                let first = self.past.iter().find(|event| matches!(event.what, What::Pushed { .. }));
                self.events.extend(first.cloned());
            }
            None => {}
        }
    }
}

/// Pushes for the sentinel, who must get it; not before its time.
pub fn wake_sentinel(shared: &Shared, client: &mut Client, served: &Receiver<Served>, delay: u64) {
    while served.try_recv().is_ok() {}
    let message = format!("wake-{}", now());
    let due = now_ms() + delay;
    client.done(&format!("DQ.PUSH {KEY} {message} DELAY {delay}"));
    match served.recv_timeout(Duration::from_secs(30)) {
        Ok((text, time)) if text == message && time >= due => shared.count("check sentinels served"),
        Ok((text, time)) => {
            let fault = format!("the sentinel got {text} at {time}, not {message} from {due} on");
            shared.ledger().violations.push(fault);
        }
        Err(_) => shared.ledger().violations.push("the sentinel was not served: a wake-up is lost".into()),
    }
}
