//! Fear: what the server has answered is gone, or done twice, after it was killed at a bad moment.
//!
//! With `appendfsync always`, each of several clients works on a queue of its own, so that its history is a
//! line; the server is killed in the middle of it. What was answered must be there after the restart, and the
//! one command without an answer is there as a whole or not at all.

use crate::harness::aof::AOF;
use crate::harness::client::Client;
use crate::harness::queue::{Delivery, PAST};
use crate::harness::random::Random;
use crate::harness::server::{Server, Setup};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread;

const ROUNDS: usize = 12;
const CLIENTS: usize = 3;

/// What a client knows of one queue and its list.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Known {
    waiting: VecDeque<String>,
    claimed: BTreeMap<String, String>,
    list: Vec<String>,
    next: usize,
}

impl Known {
    /// Takes up to `count` of the earliest waiting jobs.
    fn take(&mut self, count: usize) -> Vec<String> {
        self.waiting.drain(..count.min(self.waiting.len())).collect()
    }
}

/// One command, drawn at random.
#[derive(Debug)]
enum Step {
    Push,
    PushMany(usize),
    Claim(usize),
    Lease(usize),
    Ack(usize),
    Cancel,
    Move(usize),
}

impl Step {
    fn draw(random: &mut Random) -> Step {
        let count = 1 + random.below(4) as usize;
        match random.below(10) {
            0..3 => Step::Push,
            3 => Step::PushMany(count),
            4 => Step::Claim(count),
            5..7 => Step::Lease(count),
            7 => Step::Ack(count),
            8 => Step::Cancel,
            _ => Step::Move(count),
        }
    }

    /// The command's words, and what will be known when it has been done; receipts are filled in later.
    fn plan(&self, queue: &str, known: &Known) -> (String, Known) {
        let mut after = known.clone();
        let line = match self {
            Step::Push => plan_push(queue, &mut after, 1),
            Step::PushMany(count) => plan_push(queue, &mut after, *count),
            Step::Claim(count) => {
                after.take(*count);
                format!("DQ.CLAIM {queue} COUNT {count}")
            }
            Step::Lease(count) => {
                let taken = after.take(*count);
                after.claimed.extend(taken.into_iter().map(|id| (id, String::new())));
                format!("DQ.CLAIM {queue} COUNT {count} LEASE 100000000")
            }
            Step::Ack(count) => {
                let acked: Vec<_> = known.claimed.iter().take(*count).collect();
                let receipts: Vec<&str> = acked.iter().map(|(_, receipt)| receipt.as_str()).collect();
                let line = format!("DQ.ACK {queue} {}", receipts.join(" "));
                after.claimed.retain(|id, _| !acked.iter().any(|(other, _)| *other == id));
                // Without anything to ack there is still a command to send: one that changes nothing.
                if receipts.is_empty() { format!("DQ.LEN {queue}") } else { line }
            }
            Step::Cancel => {
                let id = after.waiting.pop_back().unwrap_or_else(|| "none".into());
                format!("DQ.CANCEL {queue} {id}")
            }
            Step::Move(count) => {
                let moved = after.take(*count);
                after.list.extend(moved);
                format!("DQ.MOVE {queue} {queue}-list COUNT {count}")
            }
        };
        (line, after)
    }
}

fn plan_push(queue: &str, after: &mut Known, count: usize) -> String {
    let mut line = format!("DQ.MPUSH {queue} AT");
    for _ in 0..count {
        let id = format!("j{}", after.next);
        after.next += 1;
        line += &format!(" {PAST} {id} {id}");
        after.waiting.push_back(id);
    }
    line
}

/// Works until the server is gone; returns what is known, and what the command without an answer would make.
fn work(
    client: &mut Client,
    queue: &str,
    mut known: Known,
    random: &mut Random,
    done: &Sender<()>,
) -> (Known, Known) {
    loop {
        let (line, after) = Step::draw(random).plan(queue, &known);
        match answered(client, &line) {
            Err(_) => return (known, after),
            Ok(deliveries) => {
                known = after;
                for job in deliveries.iter().filter(|job| job.receipt.is_some()) {
                    let receipt = known.claimed.get_mut(&job.id()).expect("only the earliest are delivered");
                    receipt.push_str(job.receipt());
                }
                let _ = done.send(());
            }
        }
    }
}

fn answered(client: &mut Client, line: &str) -> io::Result<Vec<Delivery>> {
    let words: Vec<&str> = line.split(' ').collect();
    let reply = client.try_call(&words)?;
    assert!(!reply.is_error(), "{line}: {reply}");
    let claims = line.starts_with("DQ.CLAIM");
    Ok(if claims { reply.items().iter().map(Delivery::of).collect() } else { Vec::new() })
}

/// What the restarted server knows, in the shape of what the client knew.
fn found(client: &mut Client, queue: &str, next: usize) -> Known {
    let mut found = Known { next, ..Known::default() };
    for number in 0..next {
        let id = format!("j{number}");
        let job = client.ask(&format!("DQ.GET {queue} {id}"));
        if job.is_null() {
            continue;
        }
        match job.field("state").string().as_str() {
            "waiting" => found.waiting.push_back(id),
            "claimed" => drop(found.claimed.insert(id, job.field("receipt").string())),
            other => panic!("{id} is {other}"),
        }
    }
    let list = client.ask(&format!("LRANGE {queue}-list 0 -1"));
    found.list = list.items().iter().map(|item| item.string()).collect();
    let length = client.ask(&format!("DQ.LEN {queue}")).int() as usize;
    assert_eq!(length, found.waiting.len() + found.claimed.len(), "the queue holds jobs that nobody pushed");
    found
}

/// A lease without an answer gave receipts that nobody was told.
fn without_unknown_receipts(found: &Known, after: &Known) -> Known {
    let mut same = found.clone();
    for (id, receipt) in &mut same.claimed {
        if after.claimed.get(id).is_some_and(String::is_empty) {
            receipt.clear();
        }
    }
    same
}

#[track_caller]
fn check(client: &mut Client, queue: &str, (known, after): &(Known, Known)) -> Known {
    let found = found(client, queue, after.next);
    let mut same_as_known = found.clone();
    same_as_known.next = known.next;
    assert!(
        same_as_known == *known || without_unknown_receipts(&found, after) == *after,
        "{queue}: found {found:?}\nanswered {known:?}\nor with the last command {after:?}"
    );
    found
}

fn kill_in_the_middle(mut server: Server, random: &mut Random) {
    let mut known = vec![Known::default(); CLIENTS];
    for round in 0..ROUNDS {
        let (sender, receiver) = channel();
        let histories: Vec<_> = thread::scope(|scope| {
            let workers: Vec<_> = known
                .drain(..)
                .enumerate()
                .map(|(number, known)| {
                    let (mut client, sender, seed) = (server.connect(), sender.clone(), random.next());
                    scope.spawn(move || {
                        work(&mut client, &format!("q{number}"), known, &mut Random::seeded(seed), &sender)
                    })
                })
                .collect();
            // The clients do not wait for this one, so the kill hits whatever they are at by then.
            let answers = 30 + random.below(300) as usize;
            assert_eq!(receiver.iter().take(answers).count(), answers);
            server.kill();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        server.start_again();
        let client = &mut server.connect();
        for (number, history) in histories.iter().enumerate() {
            known.push(check(client, &format!("q{number}"), history));
        }
        if round % 4 == 3 {
            crate::harness::aof::rewrite(&server);
        }
    }
}

#[test]
fn nothing_answered_is_lost_or_doubled_when_the_server_is_killed() {
    let random = &mut Random::announced("nothing_answered_is_lost_or_doubled");
    kill_in_the_middle(Server::with(&AOF), random);
}

#[test]
fn nothing_answered_is_lost_or_doubled_without_rdb_in_the_aof() {
    let random = &mut Random::announced("nothing_answered_is_lost_or_doubled_without_rdb");
    kill_in_the_middle(Setup::default().lines(&AOF).lines(&["aof-use-rdb-preamble no"]).start(), random);
}

#[test]
fn a_job_answered_once_is_never_delivered_again_after_a_kill() {
    let mut server = Server::with(&AOF);
    let mut delivered = Vec::new();
    for round in 0..10 {
        let client = &mut server.connect();
        client.done(&format!("DQ.MPUSH q AT {PAST} a{round} m {PAST} b{round} m"));
        let claimed = client.done("DQ.CLAIM q");
        delivered.push(claimed.items()[0].items()[0].string());
        server.kill();
        server.start_again();
    }
    let client = &mut server.connect();
    assert_eq!(client.ask("DQ.LEN q"), "10");
    delivered.extend(crate::harness::queue::drain(client, "q"));
    delivered.sort();
    delivered.dedup();
    assert_eq!(delivered.len(), 20);
}
