//! `dq-soak`: random clients of every command against a master and its replica, while both are killed, promoted, filled,
//! paused, reloaded and rewritten; and a ledger that says when a promise was broken.
//!
//! # What is promised
//!
//! Clients write down what they ask for before they send it, and what came back. So of every command it is known from when
//! to when it happened, and of most whether it did. A rule (`rules.rs`) speaks only if no order and no outcome that is
//! possible would make things right. Checked with every reply:
//!
//! - a job is not delivered before its due time, and that is a time that a push, a retry or a lease gave to it;
//! - nobody else is delivered a job while a lease on it certainly runs, unless it was given back, replaced or withdrawn;
//! - a message is as it was pushed, the newest one if it was replaced, and its attempt is one more than at the last claim;
//! - what was acknowledged, cancelled, moved, given away, found dead or expired is not delivered again;
//! - no receipt comes twice, tokens only grow, a receipt is taken as long as it is current and not after;
//! - a job that is there is found by its id; nothing is delivered by a paused queue, or written while writes are paused;
//! - with memory full, only what grows is refused.
//!
//! And whenever nobody works (`inspection.rs`): the replica has the same digests as its master; each job that was pushed is
//! in exactly one queue, list, stream or sorted set, or somebody ended it; none is there that nobody pushed, or that was
//! ended; a restart or a promotion at that moment changes nothing; who waits without end is still served.
//!
//! # What a disaster may take with it
//!
//! - **kill -9 and restart**: nothing that was answered, since the AOF is synced before every reply. A command without an
//!   answer may have been done or not, once.
//! - **kill -9 of the master and promotion**: replication is asynchronous, so what was answered but had not reached the
//!   replica is lost. A client (`pulse.rs`) measures with WAIT up to when everything has. What was answered later counts
//!   as a command without an answer; all before must hold.
//! - **FAILOVER, a promotion when nobody works, everything else**: nothing that was answered.
//! - While `appendonly` is off nothing is killed.
//!
//! In the queues `orders` and `overflow` every single job is accounted for. In `mail` jobs may go unseen (a bound of dead
//! jobs, PURGE, a TTL, a claim without lease whose reply is lost), in `plain` by the last: there the number of those that are
//! gone without a reason of their own is not larger than the servers' counters and the lost replies allow.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "it stops at once when something is not as it must be"
)]

mod clock;
mod consumer;
mod director;
mod event;
#[allow(dead_code, reason = "the server tests use more of it")]
#[path = "../../tests/server/harness/mod.rs"]
mod harness;
mod inspection;
mod ledger;
mod message;
mod mover;
mod operator;
mod options;
mod producer;
mod pulse;
mod reader;
mod rules;
mod sentinel;
mod shared;
mod worker;

use std::process::ExitCode;
use std::sync::mpsc::channel;

use clock::now;
use consumer::{BACKOFF, POLICY_LEASE_MS};
use director::Director;
use harness::client::Client;
use harness::random::Random;
use harness::replica::start_pair;
use options::Options;
use shared::{Shared, StopsOnPanic};
use worker::{Role, live};

/// How both servers are set up.
const SETUP: [&str; 5] = [
    "appendonly yes",
    "appendfsync always",
    "maxmemory-policy noeviction",
    "repl-ping-replica-period 1",
    "maxclients 500",
];

/// Who works.
const CREW: [(Role, usize); 5] =
    [(Role::Producer, 4), (Role::Consumer, 9), (Role::Mover, 2), (Role::Operator, 2), (Role::Reader, 1)];

fn main() -> ExitCode {
    let options = match Options::from_arguments(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(text) => {
            eprint!("{text}");
            return ExitCode::FAILURE;
        }
    };
    println!("dq-soak: {} seconds, --seed {}", options.seconds, options.seed);
    let (master, replica) = start_pair(&SETUP);
    begin(&mut master.connect());
    println!("{}", master.connect().info("server", "redis_version"));
    let sockets = [&master, &replica].map(|server| server.directory().join("socket"));
    let shared = Shared::new(sockets);
    let held = run(&shared, [master, replica], &options);
    report(&shared);
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The queues and their policies.
fn begin(client: &mut Client) {
    let backoff = BACKOFF.map(|number| number.to_string()).join(" ");
    for policy in [
        format!("orders LEASE {POLICY_LEASE_MS} MAXATTEMPTS 4 BACKOFF {backoff} DEADMAX UNLIMITED"),
        format!("overflow LEASE {POLICY_LEASE_MS} BACKOFF {backoff} DEADMAX UNLIMITED"),
        format!("mail MAXATTEMPTS 3 BACKOFF {backoff} DEADMAX 15"),
        "sentinel".to_owned(),
    ] {
        client.done(&format!("DQ.POLICY {policy}"));
    }
}

/// Everyone works until the time is over or something is wrong; true if nothing was.
fn run(shared: &Shared, servers: [harness::server::Server; 2], options: &Options) -> bool {
    let mut random = Random::seeded(options.seed);
    let (sender, served) = channel();
    let end = now() + options.seconds * 1_000_000;
    let finished = std::thread::scope(|scope| {
        let mut crew = Vec::new();
        for (role, count) in CREW {
            for _ in 0..count {
                let seed = random.next();
                crew.push(scope.spawn(move || live(shared, role, seed)));
            }
        }
        crew.push(scope.spawn(|| pulse::live(shared)));
        crew.push(scope.spawn(move || sentinel::live(shared, &sender)));
        let seed = random.next();
        let directed = scope.spawn(move || {
            let _stops = StopsOnPanic(shared);
            let random = Random::seeded(seed);
            let losses = Default::default();
            let mut director = Director { shared, servers, random, served, losses };
            director.direct(end, options.only.as_deref());
        });
        // The servers go with the director, and with them whatever the others wait for.
        let directed = directed.join().is_ok();
        crew.into_iter().map(|thread| thread.join().is_ok()).fold(directed, |all, one| all && one)
    });
    finished && shared.ledger().violations.is_empty()
}

/// What was done, and what was wrong.
fn report(shared: &Shared) {
    let ledger = shared.ledger();
    println!("\n{} jobs, {} facts held against the rules", ledger.jobs.len(), ledger.checks);
    let headings = [
        ("events", "event "),
        ("commands", "command "),
        ("reads of the replica", "replica "),
        ("checks", "check "),
        ("refused", "refused "),
    ];
    for (heading, beginning) in headings {
        println!("\n{heading}:");
        for (name, count) in shared.counted(beginning) {
            println!("{count:>9}  {name}");
        }
    }
    println!("\nalso:");
    let listed = |name: &String| headings.iter().any(|(_, beginning)| name.starts_with(beginning));
    for (name, count) in shared.counted("").into_iter().filter(|(name, _)| !listed(name)) {
        println!("{count:>9}  {name}");
    }
    println!("\n{} violations", ledger.violations.len());
    if !ledger.violations.is_empty() {
        let chronicle = shared.chronicle.lock().expect("no one panics here");
        println!("\nthe last disasters, in ms before now:");
        for (moment, what) in chronicle.iter().rev().take(8) {
            println!("{:>9}  {what}, at {moment} us", (now() - moment) / 1000);
        }
    }
    for violation in ledger.violations.iter().take(10) {
        println!("\nVIOLATION: {violation}");
    }
}
