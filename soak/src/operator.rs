//! Those who look after queues: withdraw, reschedule, redrive, purge, look.

use crate::event::{Due, Outcome, Queue, Sweep, What};
use crate::message;
use crate::producer::known_job;
use crate::worker::{Said, Worker};

/// One thing.
pub fn act(worker: &mut Worker<'_>) {
    if !worker.connected() {
        return;
    }
    let queue = [Queue::Orders, Queue::Overflow, Queue::Mail][worker.random.below(3) as usize];
    match worker.random.below(12) {
        0..3 => cancel(worker, queue),
        3..5 => reschedule(worker, queue),
        5 => redrive_some(worker, queue),
        6 => redrive_one(worker, queue),
        7 => purge(worker),
        8..10 => see_to_the_dead(worker, queue),
        10 => look(worker, queue),
        _ => in_one_transaction(worker),
    }
}

fn cancel(worker: &mut Worker<'_>, queue: Queue) {
    if let Some((serial, id)) = known_job(worker, queue) {
        cancel_job(worker, queue, serial, &id);
    }
}

fn cancel_job(worker: &mut Worker<'_>, queue: Queue, serial: u64, id: &[u8]) {
    let entry = worker.shared.ledger().begin(queue, serial, What::Cancelled);
    let said = worker.ask(&[b"DQ.CANCEL".as_slice(), queue.key().as_bytes(), id]);
    let outcome = said.outcome(|reply| match reply.items()[0].is_null() {
        true => Outcome::Refused,
        false => Outcome::Done,
    });
    let reign = worker.reign();
    worker.shared.ledger().finish(entry, outcome, reign);
}

fn reschedule(worker: &mut Worker<'_>, queue: Queue) {
    let Some((serial, id)) = known_job(worker, queue) else { return };
    let ms = worker.random.below(800);
    let entry = worker.shared.ledger().begin(queue, serial, What::Rescheduled { due: Due::after(ms) });
    let delay = ms.to_string();
    let key = queue.key().as_bytes();
    let said = worker.ask(&[b"DQ.RESCHEDULE".as_slice(), key, &id, b"DELAY", delay.as_bytes()]);
    let outcome = said.outcome(|reply| match *reply == "waiting" {
        true => Outcome::Done,
        false => Outcome::Refused,
    });
    let reign = worker.reign();
    worker.shared.ledger().finish(entry, outcome, reign);
}

fn redrive_some(worker: &mut Worker<'_>, queue: Queue) {
    let delay_ms = worker.random.below(200);
    let ticket = worker.shared.ledger().begin_whole(queue, Sweep::Redrive { delay_ms });
    let count = (1 + worker.random.below(10)).to_string();
    let said = worker.ask(&["DQ.REDRIVE", queue.key(), "DELAY", &delay_ms.to_string(), "COUNT", &count]);
    let outcome = said.outcome(|reply| if reply.int() > 0 { Outcome::Done } else { Outcome::Refused });
    let reign = worker.reign();
    worker.shared.ledger().finish_whole(ticket, outcome, reign);
}

fn redrive_one(worker: &mut Worker<'_>, queue: Queue) {
    if let Some((serial, id)) = known_job(worker, queue) {
        redrive_job(worker, queue, serial, &id);
    }
}

fn redrive_job(worker: &mut Worker<'_>, queue: Queue, serial: u64, id: &[u8]) {
    let entry = worker.shared.ledger().begin(queue, serial, What::Redriven { due: Due::after(0) });
    let said = worker.ask(&[b"DQ.REDRIVE".as_slice(), queue.key().as_bytes(), b"ID", id]);
    let outcome = said.outcome(|reply| if reply.int() == 1 { Outcome::Done } else { Outcome::Refused });
    let reign = worker.reign();
    worker.shared.ledger().finish(entry, outcome, reign);
}

/// Only of `Mail`: which jobs it takes nobody is told.
fn purge(worker: &mut Worker<'_>) {
    let state = ["WAITING", "CLAIMED", "DEAD"][worker.random.below(3) as usize];
    let count = 1 + worker.random.below(3);
    let ticket = worker.shared.ledger().begin_whole(Queue::Mail, Sweep::Purge { count });
    let said = worker.ask(&["DQ.PURGE", Queue::Mail.key(), state, "COUNT", &count.to_string()]);
    let outcome = said.outcome(|reply| if reply.int() > 0 { Outcome::Done } else { Outcome::Refused });
    let reign = worker.reign();
    worker.shared.ledger().finish_whole(ticket, outcome, reign);
}

/// Looks at some dead jobs; each is redriven or withdrawn.
fn see_to_the_dead(worker: &mut Worker<'_>, queue: Queue) {
    let Said::Reply(page) = worker.ask(&["DQ.PEEK", queue.key(), "DEAD", "COUNT", "5"]) else { return };
    for job in page.items()[1].items() {
        let Some((serial, _)) = message::read(job.field("message").bytes()) else { continue };
        let id = job.field("id").bytes().to_vec();
        if !worker.connected() {
            return;
        }
        if worker.one_in(2) {
            redrive_job(worker, queue, serial, &id);
        } else {
            cancel_job(worker, queue, serial, &id);
        }
    }
}

fn look(worker: &mut Worker<'_>, queue: Queue) {
    worker.ask(&["DQ.POLICY", queue.key()]);
    if worker.connected() {
        worker.ask(&["DQ.INFO", queue.key()]);
    }
    if worker.connected() {
        worker.ask(&["INFO", "dq"]);
    }
}

/// Commands that would wait do not in MULTI. In a queue of its own, so that the reply is known.
fn in_one_transaction(worker: &mut Worker<'_>) {
    worker.is_queueing = true;
    let replies = transact(worker);
    worker.is_queueing = false;
    let Some(text) = replies else { return worker.hang_up() };
    let right = text.starts_with("[nil [only created] [[only m 1 ") && text.ends_with(" nil]] 1]");
    if !right {
        worker.shared.ledger().violations.push(format!("a transaction of its own replied {text}"));
    }
}

/// What EXEC replied; None if it did not come to that.
fn transact(worker: &mut Worker<'_>) -> Option<String> {
    let key = format!("desk:{}", worker.random.next());
    for words in [
        vec!["MULTI"],
        vec!["DQ.CLAIM", &key, "BLOCK", "0"],
        vec!["DQ.PUSH", &key, "m", "ID", "only"],
        vec!["DQ.CLAIM", &key, "BLOCK", "0"],
        vec!["DEL", &key],
    ] {
        let Said::Reply(_) = worker.ask(&words) else { return None };
    }
    match worker.ask(&["EXEC"]) {
        Said::Reply(replies) => Some(replies.text()),
        _ => None,
    }
}
