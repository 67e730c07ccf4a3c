//! Fear: a command takes another type's key for a queue, or a native command takes a queue for its own.

use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::refusal::changes;
use crate::harness::server::Server;

const MAKE: [&str; 6] = [
    "SET string v",
    "RPUSH list v",
    "ZADD zset 4102444800000 v",
    "HSET hash f v",
    "SADD set v",
    "XADD stream 1-1 f v",
];

/// What needs a job queue; `KEY` stands for the key.
const OF_JOB_QUEUES: [&str; 20] = [
    "DQ.PUSH KEY m",
    "DQ.PUSH KEY m ID a REPLACE",
    "DQ.MPUSH KEY DELAY 0 a m",
    "DQ.CLAIM KEY COUNT 5 LEASE 5",
    "DQ.ACK KEY 1-a",
    "DQ.CANCEL KEY a",
    "DQ.NACK KEY DEAD 1-a",
    "DQ.EXTEND KEY LEASE 5 1-a",
    "DQ.RESCHEDULE KEY a DELAY 5",
    "DQ.REDRIVE KEY COUNT 5",
    "DQ.REDRIVE KEY ID a",
    "DQ.POLICY KEY",
    "DQ.POLICY KEY LEASE 5",
    "DQ.PAUSE KEY",
    "DQ.RESUME KEY",
    "DQ.PURGE KEY WAITING",
    "DQ.PEEK KEY",
    "DQ.INFO KEY",
    "DQ.GET KEY a",
    "DQ.APPLY KEY 1 PUT a m 1600000000000",
];

/// What takes a sorted set as well.
const OF_BOTH_KINDS: [&str; 8] = [
    "DQ.CLAIM KEY",
    "DQ.CLAIM KEY COUNT 5 WITHSCORES",
    "DQ.LEN KEY",
    "DQ.MOVE KEY somewhere",
    "DQ.MOVE KEY q PUSH",
    "DQ.PUSH KEY v ZSET",
    "DQ.PUSH KEY v ZSET DELAY 5",
    "DQ.MPUSH KEY DELAY ZSET 5 * v",
];

fn on(line: &str, key: &str) -> String {
    line.replace("KEY", key)
}

/// Sends each of `lines` on `key`, each of which must be WRONGTYPE, saying `hint`, and change nothing.
#[track_caller]
fn assert_all_wrong(client: &mut Client, lines: &[&str], key: &str, hint: &str) {
    let before = (changes(client), digest(client, key), digest(client, "q"));
    for line in lines {
        let error = client.refused(&on(line, key));
        assert!(error.starts_with("WRONGTYPE ") && error.contains(hint), "{line} on {key}: {error}");
    }
    assert_eq!((changes(client), digest(client, key), digest(client, "q")), before, "{key}");
}

fn server_with_every_type() -> Server {
    let server = Server::start();
    let client = &mut server.connect();
    for line in MAKE {
        client.done(line);
    }
    client.done("DQ.PUSH q m ID a");
    server
}

#[test]
fn every_command_on_another_type_is_wrongtype_and_changes_nothing() {
    let server = server_with_every_type();
    let client = &mut server.connect();
    for key in ["string", "list", "hash", "set", "stream"] {
        assert_all_wrong(client, &OF_JOB_QUEUES, key, "wrong kind of value");
        assert_all_wrong(client, &OF_BOTH_KINDS, key, "wrong kind of value");
    }
}

#[test]
fn what_needs_a_job_queue_tells_how_to_import_a_sorted_set() {
    let server = server_with_every_type();
    let client = &mut server.connect();
    assert_all_wrong(client, &OF_JOB_QUEUES, "zset", "sorted set");
    assert_all_wrong(client, &OF_JOB_QUEUES, "zset", "DQ.MOVE");
    assert_all_wrong(client, &["DQ.CLAIM KEY LEASE 0", "DQ.CLAIM KEY BLOCK 1 LEASE 5"], "zset", "DQ.MOVE");
}

#[test]
fn what_takes_both_kinds_is_no_wrongtype_on_a_sorted_set() {
    let server = server_with_every_type();
    let client = &mut server.connect();
    let before = (changes(client), digest(client, "zset"));
    for (line, reply) in OF_BOTH_KINDS.iter().zip([
        "[]",
        "[]",
        "1",
        "0",
        "0",
        "[nil waiting]",
        "[nil waiting]",
        "[[nil waiting]]",
    ]) {
        assert_eq!(client.ask(&on(line, "zset")), reply, "{line}");
    }
    assert_eq!((changes(client), digest(client, "zset")), before);
}

#[test]
fn words_for_sorted_sets_on_a_job_queue_are_wrongtype_and_change_nothing() {
    let server = server_with_every_type();
    let client = &mut server.connect();
    let lines = [
        "DQ.CLAIM KEY SECONDS",
        "DQ.CLAIM KEY WITHSCORES",
        "DQ.CLAIM KEY SECONDS BLOCK 1",
        "DQ.MOVE KEY list SECONDS",
        "DQ.MOVE KEY list SECONDS BLOCK 1",
        "DQ.PUSH KEY m ZSET",
        "DQ.PUSH KEY m ZSET SECONDS REPLACE",
        "DQ.MPUSH KEY DELAY ZSET 0 * m",
    ];
    assert_all_wrong(client, &lines, "q", "job queue");
}

#[test]
fn native_commands_on_a_queue_are_wrongtype_and_change_nothing() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    let before = (changes(client), digest(client, "q"));
    for line in [
        "LPUSH q v",
        "RPOP q",
        "GET q",
        "APPEND q v",
        "ZADD q 1 v",
        "ZRANGE q 0 -1",
        "HSET q f v",
        "SADD q v",
        "XADD q * f v",
        "INCR q",
    ] {
        let error = client.refused(line);
        assert!(error.starts_with("WRONGTYPE "), "{line}: {error}");
    }
    assert_eq!((changes(client), digest(client, "q")), before);
}

#[test]
fn a_move_into_another_type_moves_nothing() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in MAKE {
        client.done(line);
    }
    client.done("DQ.PUSH q m ID a");
    client.done("DQ.PUSH other m ID b");
    let before = (changes(client), digest(client, "q"), digest(client, "other"));
    for (verb, fitting) in
        [("RPUSH", "list"), ("LPUSH", "list"), ("XADD", "stream"), ("ZADD", "zset"), ("PUSH", "q")]
    {
        for key in ["string", "list", "zset", "hash", "set", "stream", "other"] {
            if key == fitting || (verb, key) == ("PUSH", "other") {
                continue;
            }
            let error = client.refused(&format!("DQ.MOVE q {key} {verb}"));
            assert!(error.starts_with("WRONGTYPE "), "{verb} {key}: {error}");
        }
    }
    assert_eq!((changes(client), digest(client, "q"), digest(client, "other")), before);
}

#[test]
fn a_wrong_type_is_told_before_nothing_is_found_to_move() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("SET string v");
    client.done("DQ.PUSH q m ID a AT 4102444800000");
    let error = client.refused("DQ.MOVE q string");
    assert!(error.starts_with("WRONGTYPE "), "{error}");
    assert_eq!(client.ask("DQ.MOVE q list"), "0");
    assert_eq!(client.ask("EXISTS list"), "0");
}
