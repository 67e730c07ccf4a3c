//! Those who claim and work: some acknowledge, some give back, some ask for more time, some are never heard of again.

use crate::clock::now;
use crate::event::{Due, Outcome, Queue, Sweep, What};
use crate::harness::reply::Reply;
use crate::ledger::Got;
use crate::worker::{Held, Said, Worker};

/// The lease of claims that name none, as the policies of `Orders` and `Overflow` say.
pub const POLICY_LEASE_MS: u64 = 300;
/// The backoff in the policies: base, factor, maximum in ms, jitter in percent.
pub const BACKOFF: [u64; 4] = [40, 2, 400, 25];

/// Ends something that is ready to be ended, else claims.
pub fn act(worker: &mut Worker<'_>) {
    if !worker.connected() {
        return;
    }
    let time = now();
    match worker.held.iter().position(|held| held.ready <= time) {
        Some(index) => {
            let held = worker.held.swap_remove(index);
            settle(worker, held);
        }
        None => claim(worker),
    }
}

fn claim(worker: &mut Worker<'_>) {
    let queue = [
        Queue::Orders,
        Queue::Orders,
        Queue::Orders,
        Queue::Overflow,
        Queue::Overflow,
        Queue::Mail,
        Queue::Mail,
        Queue::Plain,
    ][worker.random.below(8) as usize];
    let count = 1 + worker.random.below(6);
    let mut words = vec!["DQ.CLAIM".to_owned(), queue.key().into(), "COUNT".into(), count.to_string()];
    let lease_ms = lease(worker, queue, &mut words);
    if queue == Queue::Plain {
        words.push("WITHSCORES".into());
    }
    // Who has work in hand does not wait for long.
    if worker.one_in(2) {
        let idle = worker.held.is_empty();
        let ms =
            if idle && worker.one_in(8) { 0 } else { 1 + worker.random.below(if idle { 1500 } else { 60 }) };
        words.extend(["BLOCK".into(), ms.to_string()]);
        worker.shared.count("claims that wait");
    }
    let ticket = worker.shared.ledger().begin_whole(queue, Sweep::Claim { count, lease_ms });
    let said = worker.ask(&words);
    let reign = worker.reign();
    match said {
        Said::Reply(reply) => {
            let given = if queue == Queue::Plain { members(&reply) } else { deliveries(&reply) };
            worker.shared.count_many("deliveries", given.len() as u64);
            let serials = worker.shared.ledger().deliver(ticket, &given, reign);
            keep(worker, queue, &given, &serials);
        }
        other => {
            let outcome = other.outcome(|_| Outcome::Done);
            worker.shared.ledger().finish_whole(ticket, outcome, reign);
        }
    }
}

fn lease(worker: &mut Worker<'_>, queue: Queue, words: &mut Vec<String>) -> Option<u64> {
    let named = match queue {
        Queue::Orders | Queue::Overflow => !worker.one_in(4),
        Queue::Mail => worker.one_in(2),
        Queue::Plain => false,
    };
    if named {
        let ms = 30 + worker.random.below(900);
        words.extend(["LEASE".into(), ms.to_string()]);
        return Some(ms);
    }
    queue.is_strict().then_some(POLICY_LEASE_MS)
}

fn deliveries(reply: &Reply) -> Vec<Got> {
    let items = if reply.is_null() { &[] } else { reply.items() };
    let token = |receipt: &Reply| {
        let text = (!receipt.is_null()).then(|| receipt.bytes().to_vec())?;
        let digits = text.split(|byte| *byte == b'-').next()?.to_vec();
        String::from_utf8(digits).ok()?.parse().ok()
    };
    let got = items.iter().map(|item| {
        let parts = item.items();
        Got {
            id: parts[0].bytes().to_vec(),
            message: parts[1].bytes().to_vec(),
            attempt: parts[2].int() as u64,
            due: parts[3].int() as u64,
            token: token(&parts[4]),
        }
    });
    got.collect()
}

/// Members and scores in turn; a score is a due time.
fn members(reply: &Reply) -> Vec<Got> {
    let items = if reply.is_null() { &[] } else { reply.items() };
    let score = |score: &Reply| score.string().parse::<f64>().map_or(0, |ms| ms as u64);
    let got = items.chunks_exact(2).map(|pair| Got {
        id: Vec::new(),
        message: pair[0].bytes().to_vec(),
        attempt: 1,
        due: score(&pair[1]),
        token: None,
    });
    got.collect()
}

fn keep(worker: &mut Worker<'_>, queue: Queue, given: &[Got], serials: &[u64]) {
    for (got, serial) in given.iter().zip(serials) {
        let Some(token) = got.token else { continue };
        // One in twelve consumers dies at work.
        if worker.one_in(12) {
            continue;
        }
        let work = if worker.one_in(5) { worker.random.below(600_000) } else { worker.random.below(20_000) };
        let receipt = [token.to_string().as_bytes(), b"-", &got.id].concat();
        let (serial, attempt, ready) = (*serial, got.attempt, now() + work);
        worker.held.push(Held { queue, serial, token, receipt, ready, attempt });
    }
}

fn settle(worker: &mut Worker<'_>, held: Held) {
    match worker.random.below(20) {
        0..13 => ack(worker, held),
        13..17 => nack(worker, &held),
        _ => extend(worker, held),
    }
}

/// Acknowledges it, and perhaps others of its queue in the same command.
fn ack(worker: &mut Worker<'_>, held: Held) {
    let (queue, mut all) = (held.queue, vec![held]);
    while all.len() < 3 && worker.one_in(2) {
        let time = now();
        let Some(index) = worker.held.iter().position(|other| other.queue == queue && other.ready <= time)
        else {
            break;
        };
        all.push(worker.held.swap_remove(index));
    }
    let begin =
        |held: &Held| worker.shared.ledger().begin(queue, held.serial, What::Acked { token: held.token });
    let entries: Vec<_> = all.iter().map(begin).collect();
    let mut command: Vec<&[u8]> = vec![b"DQ.ACK", queue.key().as_bytes()];
    command.extend(all.iter().map(|held| held.receipt.as_slice()));
    let said = worker.ask(&command);
    let reign = worker.reign();
    for (index, entry) in entries.into_iter().enumerate() {
        let outcome = said.outcome(|reply| taken(reply.items()[index].int()));
        worker.shared.ledger().finish(entry, outcome, reign);
    }
    if matches!(said, Said::Lost) && worker.connected() && worker.one_in(2) {
        let again = all.swap_remove(0);
        ack(worker, again);
    }
}

fn taken(number: i64) -> Outcome {
    if number == 1 { Outcome::Done } else { Outcome::Refused }
}

fn nack(worker: &mut Worker<'_>, held: &Held) {
    let delay = worker.random.below(500).to_string();
    let how = worker.random.below(5);
    let (words, due, unused): (Vec<&[u8]>, Due, bool) = match how {
        0 | 1 => (vec![b"DELAY", delay.as_bytes()], Due::after(delay.parse().unwrap_or(0)), false),
        2 => (vec![b"UNUSED"], Due::after(0), true),
        3 => (vec![b"DEAD"], Due::after(0), false),
        _ => (Vec::new(), backoff(held.attempt), false),
    };
    let what = What::Nacked { token: held.token, due, unused };
    let entry = worker.shared.ledger().begin(held.queue, held.serial, what);
    let mut command: Vec<&[u8]> = vec![b"DQ.NACK", held.queue.key().as_bytes()];
    command.extend(words);
    if worker.one_in(3) {
        command.extend([b"ERROR".as_slice(), b"it did not work\r\n\0"]);
    }
    command.push(&held.receipt);
    let said = worker.ask(&command);
    let outcome = said.outcome(|reply| match &reply.items()[0] {
        state if state.is_null() => Outcome::Refused,
        state if *state == "dead" => Outcome::Died,
        _ => Outcome::Done,
    });
    let reign = worker.reign();
    worker.shared.ledger().finish(entry, outcome, reign);
}

/// The wait of the policies' backoff. One attempt may not have counted, if it was lost with its server.
fn backoff(attempt: u64) -> Due {
    let [base, factor, max, jitter] = BACKOFF;
    let wait = |attempt: u64| (base * factor.pow(attempt.clamp(1, 10) as u32 - 1)).min(max);
    let least = wait(attempt.saturating_sub(1));
    Due::After { least: least - least * jitter / 100, most: wait(attempt) }
}

/// Asks for more time, and goes on working.
fn extend(worker: &mut Worker<'_>, mut held: Held) {
    let lease_ms = 20 + worker.random.below(700);
    let what = What::Extended { token: held.token, lease_ms };
    let entry = worker.shared.ledger().begin(held.queue, held.serial, what);
    let ms = lease_ms.to_string();
    let key = held.queue.key().as_bytes();
    let said = worker.ask(&[b"DQ.EXTEND".as_slice(), key, b"LEASE", ms.as_bytes(), &held.receipt]);
    let outcome = said.outcome(|reply| taken(reply.items()[0].int()));
    let reign = worker.reign();
    worker.shared.ledger().finish(entry, outcome, reign);
    if outcome != Outcome::Refused {
        held.ready = now() + worker.random.below(300_000);
        worker.held.push(held);
    }
}
