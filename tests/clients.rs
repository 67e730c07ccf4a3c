//! The examples in examples/clients, each run as a process against a real server, under RESP2 and RESP3: every job is
//! worked once, a failing one is retried and then dead, a long one keeps its lease, and a worker that is told to stop
//! finishes its job and leaves nothing leased. And a queue library whose schedule DQ drains: `schedule`.
//!
//! `make test-clients` fetches the libraries and runs these tests; DQ_CLIENTS names the folder in which each example has
//! its `run`. A plain `cargo test` lists them as ignored.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "server/harness/mod.rs"]
#[allow(dead_code, reason = "it is made for the server tests; these need a part of it")]
mod harness;

#[path = "clients/example.rs"]
mod example;
#[path = "clients/schedule.rs"]
mod schedule;

use crate::example::{Example, Worker};
use crate::harness::client::Client;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::server::{Server, Setup};

const QUEUE: &str = "mail";
/// Shorter than the long letters take, so that only heartbeats keep their leases.
const LEASE_MS: &str = "1500";
const LONG: &str = r#"{"to":"bob","takes_ms":2500}"#;

#[track_caller]
fn counter(client: &mut Client, name: &str) -> i64 {
    client.done(&format!("DQ.INFO {QUEUE}")).field(name).int()
}

/// Runs the whole story of one example under one protocol.
#[track_caller]
fn work_through(name: &str, resp: u8) {
    let server = Setup::default().listening().start();
    let client = &mut server.connect();
    client.done(&format!("DQ.POLICY {QUEUE} MAXATTEMPTS 2 BACKOFF 100 1 100 0"));
    let example = Example::new(name, resp, server.port());
    push_letters(&example, client);
    work_and_stop_in_the_middle(&example, &server);
    take_over_and_stop_while_waiting(&example, &server);
}

#[track_caller]
fn push_letters(example: &Example, client: &mut Client) {
    let letters = [
        ["short", r#"{"to":"ada"}"#, "0"],
        ["long", LONG, "0"],
        ["flaky", r#"{"to":"eve","failures":1}"#, "0"],
        ["hopeless", r#"{"to":"mallory","failures":9}"#, "0"],
        ["later", r#"{"to":"ada"}"#, "300"],
    ];
    for [id, message, delay] in letters {
        assert_eq!(example.push(id, message, delay), format!("pushed {id} created\n"));
        assert_eq!(client.done(&format!("DQ.GET {QUEUE} {id}")).field("message").string(), message);
    }
    assert_eq!(example.push("short", "{}", "0"), "pushed short waiting\n", "a push that is repeated");
}

#[track_caller]
fn work_and_stop_in_the_middle(example: &Example, server: &Server) {
    let client = &mut server.connect();
    // Longer than the time after which redis-py and go-redis would give up reading by themselves.
    let mut worker = example.work(&[("LEASE_MS", LEASE_MS), ("BLOCK_MS", "6000")]);
    assert_keeps_its_lease(client, &mut worker, "long");
    eventually("four letters are done and one is dead", DEADLINE, || {
        worker.assert_runs();
        worker.said().iter().filter(|line| line.starts_with("done ") || line.ends_with(" dead")).count() == 5
    });
    assert_eq!((counter(client, "acked_total"), counter(client, "dead")), (4, 1));
    assert_worked_as_pushed(&worker, client);
    assert_speaks(client, example.resp);
    outlast_one_claim(client, &mut worker);

    client.call(&[
        "DQ.MPUSH", QUEUE, "DELAY", "0", "current", LONG, "0", "left-1", "{}", "0", "left-2", "{}", "0",
        "left-3", "{}",
    ]);
    eventually("a letter is begun", DEADLINE, || worker.has_said("start current attempt 1"));
    worker.terminate();
    let ids = ["left-1", "left-2", "left-3"];
    let said = worker.said();
    assert!(
        said.ends_with(&lines(&[
            "done current attempt 1",
            "unused left-1",
            "unused left-2",
            "unused left-3",
            "stopped"
        ])),
        "{said:?}"
    );
    for id in ids {
        let job = client.done(&format!("DQ.GET {QUEUE} {id}"));
        assert_eq!((job.field("state").string(), job.field("attempts").int()), ("waiting".into(), 0), "{id}");
    }
    assert_eq!(counter(client, "claimed"), 0, "something is still leased");
    assert_eq!(counter(client, "lapsed_total"), 0, "a lease ended although the worker lived");
}

fn lines(text: &[&str]) -> Vec<String> {
    text.iter().map(|line| (*line).to_owned()).collect()
}

/// From its beginning to its end nobody else could have claimed the letter, although that took longer than a lease.
#[track_caller]
fn assert_keeps_its_lease(client: &mut Client, worker: &mut Worker, id: &str) {
    let [begun, done] = ["start", "done"].map(|word| format!("{word} {id} attempt 1"));
    eventually("the letter is begun", DEADLINE, || worker.has_said(&begun));
    eventually("the letter is done", DEADLINE, || {
        worker.assert_runs();
        let job = client.done(&format!("DQ.GET {QUEUE} {id}"));
        assert!(job.is_null() || *job.field("state") == "claimed", "its lease has ended: {job}");
        worker.has_said(&done)
    });
}

/// Each letter came out as often as it had to, no more.
#[track_caller]
fn assert_worked_as_pushed(worker: &Worker, client: &mut Client) {
    let mut ends: Vec<String> = worker.said();
    ends.retain(|line| !line.starts_with("start "));
    ends.sort();
    let expected = [
        "done flaky attempt 2",
        "done later attempt 1",
        "done long attempt 1",
        "done short attempt 1",
        "failed flaky attempt 1 waiting",
        "failed hopeless attempt 1 waiting",
        "failed hopeless attempt 2 dead",
    ];
    assert_eq!(ends, expected);
    let dead = client.done(&format!("DQ.GET {QUEUE} hopeless"));
    assert_eq!(dead.field("error").string(), "the mail server is away");
    assert_eq!(dead.field("reason").string(), "nacked");
    assert_eq!(counter(client, "lapsed_total"), 0, "the long letter lost its lease");
}

/// The worker's connections speak the protocol that the test is about, where the server tells it.
#[track_caller]
fn assert_speaks(client: &mut Client, resp: u8) {
    eventually("the worker waits", DEADLINE, || client.info("clients", "blocked_clients") == "1");
    let list = client.done("CLIENT LIST TYPE normal").string();
    let theirs: Vec<&str> = list.lines().filter(|line| line.contains("addr=127.0.0.1:")).collect();
    let speaks = |line: &&&str| !line.contains(" resp=") || line.contains(&format!(" resp={resp}"));
    assert!(theirs.len() >= 2 && theirs.iter().all(|line| speaks(&line)), "{list}");
}

/// A claim that gets nothing until its time is over is followed by another one, which then gets a letter.
#[track_caller]
fn outlast_one_claim(client: &mut Client, worker: &mut Worker) {
    let connections = client.info("stats", "total_connections_received");
    let mut asked = || {
        let calls = client.info("commandstats", "cmdstat_DQ.CLAIM");
        let calls = calls.trim_start_matches("calls=").split(',').next().unwrap().to_owned();
        calls.parse::<u64>().unwrap()
    };
    let before = asked();
    eventually("a claim has waited in vain", DEADLINE, || {
        worker.assert_runs();
        asked() > before
    });
    assert_eq!(
        client.info("stats", "total_connections_received"),
        connections,
        "it gave up reading and came anew"
    );
    client.call(&["DQ.PUSH", QUEUE, "{}", "ID", "after-idle"]);
    eventually("the idle worker has it", DEADLINE, || worker.has_said("done after-idle attempt 1"));
}

/// Another worker does what was given back, as a first attempt; then it waits, and SIGTERM wakes it.
#[track_caller]
fn take_over_and_stop_while_waiting(example: &Example, server: &Server) {
    let client = &mut server.connect();
    let mut worker = example.work(&[("LEASE_MS", LEASE_MS), ("BLOCK_MS", "600000")]);
    eventually("the letters left over are done", DEADLINE, || {
        worker.assert_runs();
        worker.has_said("done left-3 attempt 1")
    });
    assert_eq!(counter(client, "acked_total"), 9);
    eventually("the worker waits", DEADLINE, || client.info("clients", "blocked_clients") == "1");
    worker.terminate();
    let expected = ["left-1", "left-2", "left-3"]
        .map(|id| [format!("start {id} attempt 1"), format!("done {id} attempt 1")])
        .concat();
    assert_eq!(worker.said(), [expected, lines(&["stopped"])].concat());
    for (state, count) in [("waiting", 0), ("claimed", 0), ("dead", 1)] {
        assert_eq!(counter(client, state), count, "{state}");
    }
}

#[ignore = "make test-clients fetches the library"]
#[test]
fn redis_py_works_under_resp2() {
    work_through("redis-py", 2);
}

#[ignore = "make test-clients fetches the library"]
#[test]
fn redis_py_works_under_resp3() {
    work_through("redis-py", 3);
}

#[ignore = "make test-clients fetches the library"]
#[test]
fn ioredis_works_under_resp2() {
    work_through("ioredis", 2);
}

#[ignore = "make test-clients fetches the library"]
#[test]
fn ioredis_works_under_resp3() {
    work_through("ioredis", 3);
}

#[ignore = "make test-clients fetches the library"]
#[test]
fn node_redis_works_under_resp2() {
    work_through("node-redis", 2);
}

#[ignore = "make test-clients fetches the library"]
#[test]
fn node_redis_works_under_resp3() {
    work_through("node-redis", 3);
}

#[ignore = "make test-clients fetches the library"]
#[test]
fn redis_rs_works_under_resp2() {
    work_through("redis-rs", 2);
}

#[ignore = "make test-clients fetches the library"]
#[test]
fn redis_rs_works_under_resp3() {
    work_through("redis-rs", 3);
}

/// The version that Debian has speaks nothing newer.
#[ignore = "make test-clients fetches the library"]
#[test]
fn go_redis_works_under_resp2() {
    work_through("go-redis", 2);
}
