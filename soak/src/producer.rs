//! Those who push: one job or many, now or later, again when they do not know, over what is there already.

use crate::clock::now_ms;
use crate::event::{Due, Outcome, Queue, What};
use crate::harness::reply::Reply;
use crate::ledger::Entry;
use crate::message;
use crate::worker::{Said, Worker};

/// So many jobs at once are enough.
const POPULATION_MAX: i64 = 1200;

/// One push.
pub fn act(worker: &mut Worker<'_>) {
    if worker.shared.ledger().population > POPULATION_MAX || !worker.connected() {
        return;
    }
    match worker.random.below(100) {
        0..55 => push_new(worker),
        55..70 => push_many(worker),
        70..82 => push_plain(worker),
        82..92 => replace(worker),
        _ => push_again(worker),
    }
}

fn job_queue(worker: &mut Worker<'_>) -> Queue {
    [Queue::Orders, Queue::Orders, Queue::Orders, Queue::Overflow, Queue::Mail, Queue::Mail]
        [worker.random.below(6) as usize]
}

/// The words for a due time, and the time.
fn time(worker: &mut Worker<'_>) -> (Vec<String>, Due) {
    let ms = worker.random.below(1500);
    match worker.random.below(10) {
        0..4 => (Vec::new(), Due::after(0)),
        4..7 => (vec!["DELAY".into(), ms.to_string()], Due::after(ms)),
        7..9 => {
            let at = now_ms() + ms - 400;
            (vec!["AT".into(), at.to_string()], Due::At(at))
        }
        _ => (vec!["DELAY".into(), (60_000 + ms).to_string()], Due::after(60_000 + ms)),
    }
}

fn extras(worker: &mut Worker<'_>, queue: Queue) -> (Vec<String>, Option<u64>) {
    let mut words = Vec::new();
    if worker.one_in(3) {
        words.extend(["PRIORITY".into(), [0, 1, 9, 255][worker.random.below(4) as usize].to_string()]);
    }
    let ttl = (queue == Queue::Mail && worker.one_in(3)).then(|| 200 + worker.random.below(3000));
    if let Some(ttl) = ttl {
        words.extend(["TTL".into(), ttl.to_string()]);
    }
    (words, ttl)
}

/// The id that a producer gives to a job.
pub fn own_id(serial: u64) -> Vec<u8> {
    let tail = if serial.is_multiple_of(7) { "-with-hyphens" } else { "" };
    format!("j{serial}{tail}").into_bytes()
}

fn push_new(worker: &mut Worker<'_>) {
    let queue = job_queue(worker);
    let serial = worker.shared.ledger().new_job(queue);
    let named = !worker.one_in(4);
    if named && let Some(job) = worker.shared.ledger().jobs.get_mut(&serial) {
        job.id = Some(own_id(serial));
    }
    let (mut words, due) = time(worker);
    let (more, ttl) = extras(worker, queue);
    words.extend(more);
    if named {
        words.extend(["ID".into(), String::from_utf8_lossy(&own_id(serial)).into_owned()]);
    }
    let mut lost = Vec::new();
    for _ in 0..4 {
        if !worker.connected() {
            return;
        }
        match push(worker, queue, serial, (&words, due, ttl)) {
            // A push that has an id can be sent again by someone who does not know.
            (entry, Outcome::Unknown) if named => lost.push(entry),
            (_, Outcome::Refused) if !lost.is_empty() => return confirm(worker, &lost),
            _ => return,
        }
    }
}

/// A job that has the id was there: one of the pushes without a reply was done.
fn confirm(worker: &mut Worker<'_>, lost: &[Entry]) {
    let reign = worker.reign();
    if let [only] = lost {
        worker.shared.ledger().finish(*only, Outcome::Done, reign);
        worker.shared.count("pushes confirmed by pushing again");
    }
}

fn push(
    worker: &mut Worker<'_>,
    queue: Queue,
    serial: u64,
    (words, due, ttl): (&[String], Due, Option<u64>),
) -> (Entry, Outcome) {
    let (entry, message) = begin(worker, queue, serial, due, ttl);
    let mut command: Vec<Vec<u8>> = vec![b"DQ.PUSH".to_vec(), queue.key().into(), message];
    command.extend(words.iter().map(|word| word.clone().into_bytes()));
    let said = worker.ask(&command);
    let outcome = said.outcome(outcome_of);
    if let (Said::Reply(reply), Outcome::Done) = (&said, outcome) {
        learn_id(worker, serial, &reply.items()[0]);
    }
    let reign = worker.reign();
    worker.shared.ledger().finish(entry, outcome, reign);
    (entry, outcome)
}

fn begin(worker: &mut Worker<'_>, queue: Queue, serial: u64, due: Due, ttl: Option<u64>) -> (Entry, Vec<u8>) {
    let mut ledger = worker.shared.ledger();
    let version = ledger.next_version(serial);
    let home = ledger.jobs.get(&serial).and_then(|job| job.home).unwrap_or(queue);
    (ledger.begin(queue, serial, What::Pushed { version, due, ttl }), message::of(home, serial, version))
}

fn outcome_of(reply: &Reply) -> Outcome {
    match reply.items()[1].string().as_str() {
        "created" | "replaced" => Outcome::Done,
        _ => Outcome::Refused,
    }
}

fn learn_id(worker: &mut Worker<'_>, serial: u64, id: &Reply) {
    if let Some(job) = worker.shared.ledger().jobs.get_mut(&serial) {
        job.id.get_or_insert_with(|| id.bytes().to_vec());
    }
}

fn push_many(worker: &mut Worker<'_>) {
    let queue = job_queue(worker);
    let (more, ttl) = extras(worker, queue);
    let mut command: Vec<Vec<u8>> = vec![b"DQ.MPUSH".to_vec(), queue.key().into(), b"DELAY".to_vec()];
    command.extend(more.into_iter().map(String::into_bytes));
    let mut begun = Vec::new();
    for _ in 0..2 + worker.random.below(4) {
        let serial = worker.shared.ledger().new_job(queue);
        let ms = worker.random.below(1000);
        let named = worker.one_in(2);
        let id = if named { own_id(serial) } else { b"*".to_vec() };
        if named && let Some(job) = worker.shared.ledger().jobs.get_mut(&serial) {
            job.id = Some(id.clone());
        }
        let (entry, message) = begin(worker, queue, serial, Due::after(ms), ttl);
        command.extend([ms.to_string().into_bytes(), id, message]);
        begun.push(entry);
    }
    let said = worker.ask(&command);
    let reign = worker.reign();
    for (index, entry) in begun.into_iter().enumerate() {
        let outcome = said.outcome(|reply| outcome_of(&reply.items()[index]));
        if let (Said::Reply(reply), Outcome::Done) = (&said, outcome) {
            learn_id(worker, entry.serial, &reply.items()[index].items()[0]);
        }
        worker.shared.ledger().finish(entry, outcome, reign);
    }
}

/// Into the plain sorted set: by the module, or as everyone else would.
fn push_plain(worker: &mut Worker<'_>) {
    let serial = worker.shared.ledger().new_job(Queue::Plain);
    let ms = worker.random.below(1500);
    let at = now_ms() + ms;
    let natively = worker.one_in(2);
    let due = if natively { Due::At(at) } else { Due::after(ms) };
    let (entry, message) = begin(worker, Queue::Plain, serial, due, None);
    let key = Queue::Plain.key().as_bytes();
    let (at, ms) = (at.to_string(), ms.to_string());
    let said = if natively {
        worker.ask(&[b"ZADD".as_slice(), key, at.as_bytes(), &message])
    } else {
        worker.ask(&[b"DQ.PUSH".as_slice(), key, &message, b"ZSET", b"DELAY", ms.as_bytes()])
    };
    let reign = worker.reign();
    worker.shared.ledger().finish(entry, said.outcome(|_| Outcome::Done), reign);
}

/// A job of this queue that has an id of its own.
pub fn known_job(worker: &mut Worker<'_>, queue: Queue) -> Option<(u64, Vec<u8>)> {
    let draw = worker.random.next();
    let ledger = worker.shared.ledger();
    let mine: Vec<u64> =
        ledger.recent.iter().filter(|(home, _)| *home == queue).map(|(_, serial)| *serial).collect();
    let serial = *mine.get((draw % mine.len().max(1) as u64) as usize)?;
    Some((serial, ledger.jobs.get(&serial)?.id.clone()?))
}

fn replace(worker: &mut Worker<'_>) {
    let Some((serial, id)) = known_job(worker, Queue::Mail) else { return };
    let (mut words, due) = time(worker);
    let (more, ttl) = extras(worker, Queue::Mail);
    words.extend(more);
    words.extend(["ID".into(), String::from_utf8_lossy(&id).into_owned(), "REPLACE".into()]);
    if worker.one_in(2) {
        words.push("KEEPDUE".into());
    }
    push(worker, Queue::Mail, serial, (&words, due, ttl));
}

/// The id of a job that is there: nothing must change. Not where jobs are moved: there the id may be free again, and the
/// job would be in two places.
fn push_again(worker: &mut Worker<'_>) {
    let queue = if worker.one_in(2) { Queue::Overflow } else { Queue::Mail };
    let Some((serial, id)) = known_job(worker, queue) else { return };
    let (mut words, due) = time(worker);
    words.extend(["ID".into(), String::from_utf8_lossy(&id).into_owned()]);
    push(worker, queue, serial, (&words, due, None));
}
