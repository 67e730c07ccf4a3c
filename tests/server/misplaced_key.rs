//! Fear: a queue behaves unlike other keys when it is renamed, copied, swapped, expired, deleted or measured.

use crate::harness::aof::{self, AOF};
use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::queue::{PAST, claim, claim_one, drain, push_many};
use crate::harness::server::Server;

#[test]
fn a_queue_has_a_type_and_an_encoding_and_is_listed() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m");
    assert_eq!(client.ask("TYPE q"), "dq-jobset");
    assert!(!client.ask("OBJECT ENCODING q").is_error());
    assert_eq!(client.ask("SCAN 0 TYPE dq-jobset COUNT 100"), "[\"0\" [q]]");
    let module = client.ask("MODULE LIST");
    assert!(module.items().iter().any(|entry| *entry.field("name") == *"dq"), "{module}");
}

#[test]
fn an_empty_queue_lives_until_it_is_deleted() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    client.done("DQ.CLAIM q");
    assert_eq!((client.ask("EXISTS q").int(), client.ask("DQ.LEN q").int()), (1, 0));
    assert_eq!(client.ask("DEL q"), "1");
    client.done("DQ.PUSH q m ID a");
    assert_eq!(client.ask("UNLINK q"), "1");
    assert_eq!(client.ask("DQ.LEN q"), "0");
}

#[test]
fn a_renamed_queue_keeps_jobs_and_receipts() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.MPUSH q AT 1600000000000 a m 1600000000001 b m");
    let claimed = claim_one(client, "q LEASE 100000000");
    let before = digest(client, "q");
    client.done("RENAME q renamed");
    assert_eq!(digest(client, "renamed"), before);
    assert_eq!(client.ask("EXISTS q"), "0");
    assert_eq!(client.ask(&format!("DQ.ACK renamed {}", claimed.receipt())), "[1]");
    assert_eq!(drain(client, "renamed"), ["b"]);
}

#[test]
fn a_queue_goes_with_its_database() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID zero AT 1600000000000");
    client.done("SELECT 1");
    client.done("DQ.PUSH q m ID one AT 1600000000000");
    client.done("SWAPDB 0 1");
    assert_eq!(drain(client, "q"), ["zero"]);
    client.done("DQ.PUSH moving m ID a AT 1600000000000");
    assert_eq!(client.ask("MOVE moving 0"), "1");
    assert_eq!(client.ask("DQ.LEN moving"), "0");
    client.done("SELECT 0");
    assert_eq!(drain(client, "moving"), ["a"]);
    assert_eq!(drain(client, "q"), ["one"]);
}

#[test]
fn an_expired_queue_is_a_missing_key() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a AT 1600000000000");
    assert_eq!(client.ask("PEXPIRE q 100000"), "1");
    assert!(client.ask("PTTL q").int() > 0);
    client.done("DQ.PUSH q m ID b AT 1600000000000");
    assert!(client.ask("PTTL q").int() > 0, "a push keeps the key's own expiry");
    client.done("PEXPIRE q 1");
    eventually("the key expires", DEADLINE, || client.ask("DQ.LEN q") == "0");
    assert_eq!(client.ask("DQ.CLAIM q"), "[]");
    assert_eq!(client.ask("EXISTS q"), "0");
    assert_eq!(client.ask("DQ.PUSH q m ID a"), "[a created]");
    assert_eq!(client.ask("PTTL q"), "-1");
}

#[test]
fn the_memory_of_a_queue_is_measured_sanely() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m");
    let empty = client.ask("MEMORY USAGE q SAMPLES 0").int();
    assert!(empty > 0 && empty < 100_000, "{empty}");
    push_many(client, "q", "j", 10_000, PAST);
    let small = client.ask("MEMORY USAGE q SAMPLES 0").int();
    let per_job = (small - empty) / 10_000;
    assert!((20..400).contains(&per_job), "{per_job} bytes a job");
    for _ in 0..100 {
        client.call(&["DQ.PUSH", "q", &"x".repeat(10_000)]);
    }
    let large = client.ask("MEMORY USAGE q SAMPLES 0").int();
    assert!((1_000_000..2_000_000).contains(&(large - small)), "{} bytes for a million", large - small);
    drain(client, "q");
    let drained = client.ask("MEMORY USAGE q SAMPLES 0").int();
    assert!(drained < large / 2, "{drained} bytes of {large} are left when it is empty");
}

#[test]
fn a_big_queue_is_freed_by_every_way_of_deleting_it() {
    let server = Server::start();
    let client = &mut server.connect();
    for way in ["DEL q", "UNLINK q", "FLUSHALL", "FLUSHALL ASYNC", "SET q overwritten", "RENAME small q"] {
        client.done("DEL q");
        push_many(client, "q", "j", 20_000, PAST);
        client.done("DQ.PUSH small m");
        client.done(way);
    }
    assert_eq!(client.ask("PING"), "PONG");
}

#[test]
fn a_queue_survives_debug_reload_and_active_defragmentation_settings() {
    let server = Server::start();
    let client = &mut server.connect();
    push_many(client, "q", "j", 1000, PAST);
    let before = digest(client, "q");
    for _ in 0..3 {
        client.done("DEBUG RELOAD");
    }
    // Not every server is built with a defragmenting allocator; where it is, the queue must not be touched.
    client.ask("CONFIG SET activedefrag yes");
    client.done("DEBUG RELOAD");
    assert_eq!(digest(client, "q"), before);
}

/// What the server's allocator has given out, as the server counts it.
fn used_memory(client: &mut Client) -> i64 {
    client.info("memory", "used_memory").parse().unwrap()
}

#[test]
fn a_deleted_queue_gives_its_memory_back() {
    let server = Server::start();
    let client = &mut server.connect();
    let before = used_memory(client);
    for _ in 0..3 {
        push_many(client, "q", "j", 20_000, PAST);
        claim(client, "q COUNT 5000 LEASE 100000000");
        claim(client, "q COUNT 5000");
        client.done("DEL q");
    }
    let grown = used_memory(client) - before;
    assert!(grown < 3_000_000, "{grown} bytes are left of 3 queues of some 4,000,000 each");
}

#[test]
fn no_command_leaks_what_it_was_given() {
    let server = Server::start();
    let client = &mut server.connect();
    let long = "x".repeat(500);
    let lines: Vec<String> = [
        "DQ.PUSH q LONG ID a PRIORITY 3 TTL 100000",
        "DQ.PUSH q LONG ID a REPLACE",
        "DQ.PUSH q LONG ID a BOGUS-LONG",
        "DQ.PUSH q LONG DELAY LONG",
        "DQ.MPUSH q DELAY 0 b LONG 0 b LONG 0 c LONG x d LONG",
        "DQ.GET q a",
        "DQ.CLAIM q LEASE 100000000",
        "DQ.ACK q 5-LONG",
        "DQ.ACK q bad-LONG",
        "DQ.CANCEL q a LONG",
        "DQ.PUSH q LONG ID b",
        "DQ.MOVE q list JSON",
        "DEL list",
        "DQ.PUSH q LONG ID b",
        "DQ.MOVE q stream XADD COUNT 5 MAXLEN 5",
        "DQ.PUSH q LONG ID b",
        "DQ.MOVE q zset ZADD",
        "DEL zset",
        "DQ.APPLY q 1 PUT z LONG 1600000000000 ERROR z LONG LEASE 4102444800000 5 1 z",
        "DQ.EXTEND q LEASE 5000000 5-z 5-LONG",
        "DQ.NACK q DELAY 5 ERROR LONG 5-z 5-LONG",
        "DQ.RESCHEDULE q z DELAY 5",
        "DQ.RESCHEDULE q LONG AT LONG",
        "DQ.PEEK q COUNT 5",
        "DQ.APPLY q 1 BURY z nacked 5",
        "DQ.REDRIVE q ID z LONG",
        "DQ.POLICY q LEASE 5 MAXATTEMPTS 3",
        "DQ.POLICY q LEASE 0 MAXATTEMPTS UNLIMITED TTL LONG",
        "DQ.POLICY q LEASE 0 MAXATTEMPTS UNLIMITED",
        "DQ.PAUSE q 0",
        "DQ.RESUME q",
        "DQ.INFO q",
        "DQ.PURGE q WAITING",
        "DQ.APPLY q 1 PUT z LONG 1600000000000 ERROR z LONG REMOVE acked 1 z",
        "DQ.APPLY q 1 PUT z LONG 1600000000000 BOGUS LONG",
        "DQ.APPLY q 1 LOAD LONG",
    ]
    .iter()
    .map(|line| line.replace("LONG", &long))
    .collect();
    let mut measured = Vec::new();
    for _ in 0..3 {
        for _ in 0..1000 {
            client.pipeline(&lines);
        }
        measured.push(used_memory(client));
    }
    let grown = measured[2] - measured[1];
    assert!(grown < 200_000, "{grown} bytes more after 1000 more rounds: {measured:?}");
}

#[test]
fn a_module_whose_data_may_be_there_is_not_unloaded() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    client.refused("MODULE UNLOAD dq");
    assert_eq!(drain(client, "q"), ["a"]);
}

#[test]
fn an_empty_queue_and_its_policy_survive_every_kind_of_restart() {
    for preamble in ["yes", "no"] {
        let mut server = Server::with(&[AOF[0], AOF[1], &format!("aof-use-rdb-preamble {preamble}")]);
        let client = &mut server.connect();
        client.done("DQ.PUSH empty m");
        client.done("DQ.CLAIM empty");
        client.done("DQ.APPLY policy 1 POLICY 5000 3 1000 2 3600000 0 10000 0");
        let before = (digest(client, "empty"), digest(client, "policy"));
        for _ in 0..2 {
            server.kill();
            server.start_again();
            let client = &mut server.connect();
            assert_eq!((digest(client, "empty"), digest(client, "policy")), before);
            assert_eq!(client.ask("TYPE empty"), "dq-jobset");
            aof::rewrite(&server);
        }
    }
}
