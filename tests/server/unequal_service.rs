//! Fear: what a client got after a wait is written otherwise than what it would have got at once, or a wait in vain is written.

use crate::harness::aof::{AOF, commands, lines_written_by, rewrite};
use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::numbers::counters;
use crate::harness::replica::{start_pair, wait_in_step};
use crate::harness::server::Server;
use crate::harness::waiting::{Waiting, until_past, until_waiting};

/// What `work` adds to the file, without the MULTI and EXEC that some servers put around each single effect.
#[track_caller]
fn written_by(server: &Server, work: impl FnOnce(&mut Client)) -> Vec<String> {
    let mut lines = lines_written_by(server, work);
    while let Some(at) = lines.windows(3).position(|three| three[0] == "MULTI" && three[2] == "EXEC") {
        lines.remove(at + 2);
        lines.remove(at);
    }
    lines
}

/// Waits with `line`, pushes, and returns what the service alone has written.
#[track_caller]
fn written(server: &Server, line: &str) -> Vec<String> {
    let mut waiting = Waiting::start(server, line);
    let mut lines = written_by(server, |client| {
        client.done("DQ.MPUSH q AT 1600000000000 a m1 1600000000001 b m2");
        let reply = waiting.reply();
        assert!(!reply.is_null() && !reply.is_error(), "{line}: {reply}");
    });
    assert_eq!(lines.remove(0), "DQ.APPLY q 1 PUT a m1 1600000000000 PUT b m2 1600000000001", "{line}");
    server.connect().done("FLUSHALL");
    lines
}

#[test]
fn a_served_claim_writes_its_effects() {
    let server = Server::with(&AOF);
    assert_eq!(written(&server, "DQ.CLAIM q BLOCK 0"), ["DQ.APPLY q 1 REMOVE claimed 1 a"]);
    assert_eq!(written(&server, "DQ.CLAIM q COUNT 5 BLOCK 0"), ["DQ.APPLY q 1 REMOVE claimed 2 a b"]);
    let leased = written(&server, "DQ.CLAIM q COUNT 5 LEASE 100000 BLOCK 0");
    assert_eq!(leased.len(), 1);
    let words: Vec<&str> = leased[0].split(' ').collect();
    assert_eq!((&words[..4], &words[6..]), (&["DQ.APPLY", "q", "1", "LEASE"][..], &["2", "a", "b"][..]));
    let until: u64 = words[4].parse().unwrap();
    assert!(until > server.connect().now(), "the lease's end is a time, and no length: {words:?}");
}

#[test]
fn a_served_move_is_written_as_one_transaction() {
    let server = Server::with(&AOF);
    for (verb, written_there) in [
        ("", "RPUSH list m1 m2"),
        ("LPUSH", "LPUSH list m1 m2"),
        ("PUSH", "DQ.APPLY list 1 PUT a m1 1600000000000 PUT b m2 1600000000001"),
    ] {
        let lines = written(&server, &format!("DQ.MOVE q list {verb} BLOCK 0"));
        let moved = "DQ.APPLY q 1 REMOVE moved 2 a b";
        assert_eq!(lines, ["MULTI", written_there, moved, "EXEC"], "{verb}");
    }
    let lines = written(&server, "DQ.MOVE q stream XADD COUNT 1 BLOCK 0");
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[1].starts_with("XADD stream 1") && lines[1].contains("-0 id a msg m1"), "{lines:?}");
}

/// Two who are served in one turn: two effects, each of its own or all in one transaction, but in this order.
#[test]
fn services_of_one_turn_are_written_in_their_order() {
    let server = Server::with(&AOF);
    let mut first = Waiting::start(&server, "DQ.MOVE q list COUNT 1 BLOCK 0");
    let mut second = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
    let mut lines = lines_written_by(&server, |client| {
        client.done("DQ.MPUSH q AT 1600000000000 a m1 1600000000001 b m2");
        assert_eq!(first.reply(), "1");
        assert_eq!(second.message(), "m2");
    });
    lines.retain(|line| line != "MULTI" && line != "EXEC");
    let expected = ["RPUSH list m1", "DQ.APPLY q 1 REMOVE moved 1 a", "DQ.APPLY q 1 REMOVE claimed 1 b"];
    assert_eq!(lines[1..], expected);
}

#[test]
fn a_service_woken_by_time_is_written_like_one_woken_by_a_push() {
    let server = Server::with(&AOF);
    let mut claimer = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
    let mut mover = Waiting::start(&server, "DQ.MOVE p list BLOCK 0");
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a DELAY 200");
    client.done("DQ.PUSH p m ID b DELAY 300");
    let mut lines = written_by(&server, |_| {
        assert_eq!(claimer.message(), "m");
        assert_eq!(mover.reply(), "1");
    });
    // The last may be of a later moment than the first.
    assert_eq!(lines.remove(0), "DQ.APPLY q 1 REMOVE claimed 1 a");
    assert_eq!(lines, ["MULTI", "RPUSH list m", "DQ.APPLY p 1 REMOVE moved 1 b", "EXEC"]);
}

#[test]
fn a_wait_in_vain_writes_nothing() {
    let server = Server::with(&AOF);
    let client = &mut server.connect();
    client.done("DQ.PUSH q x ID a AT 4102444800000");
    let mut kept = Waiting::start(&server, "DQ.CLAIM q LEASE 5 BLOCK 0");
    let mut full = Waiting::start(&server, "DQ.MOVE full list BLOCK 0");
    client.done("DQ.PUSH full m DELAY 100");
    let changes = |client: &mut Client| client.info("persistence", "rdb_changes_since_last_save");
    let before = changes(client);
    let lines = lines_written_by(&server, |client| {
        assert!(client.ask("DQ.CLAIM q BLOCK 5").is_null());
        assert!(client.ask("DQ.MOVE q list BLOCK 5").is_null());
        client.done("CONFIG SET maxmemory 1");
        let due = client.now() + 150;
        until_past(client, due);
        client.done("CONFIG SET maxmemory 0");
    });
    assert_eq!(full.reply(), "1");
    let after: u64 = changes(client).parse().unwrap();
    assert!(lines.is_empty() || lines.last().unwrap() == "EXEC", "{lines:?}");
    let changed = after - before.parse::<u64>().unwrap();
    assert!(changed <= 3, "{changed} changes: only the move is one, in its two keys");
    until_waiting(&server, 1);
    client.done("MULTI");
    client.done("DQ.PUSH q x ID b");
    client.done("DQ.CANCEL q b");
    client.done("EXEC");
    let lines = lines_written_by(&server, |client| drop(client.done("PING")));
    assert_eq!(lines, Vec::<String>::new());
    client.done("DQ.PUSH q m");
    assert_eq!(kept.message(), "m");
}

/// Many services of all kinds; then the copies must be equal.
fn serve_many(server: &Server) {
    let client = &mut server.connect();
    for round in 0..60 {
        let mut claimer = Waiting::start(server, "DQ.CLAIM q LEASE 100000 BLOCK 0");
        let mut mover = Waiting::start(server, "DQ.MOVE q near PUSH COUNT 2 BLOCK 0");
        let mut last = Waiting::start(server, "DQ.CLAIM near COUNT 2 LEASE 100000 BLOCK 0");
        let delay = round % 3 * 4;
        client.done(&format!("DQ.MPUSH q DELAY {delay} * m1 {delay} * m2 {} * m3", delay + 1));
        let served = claimer.reply();
        assert_eq!(served.items().len(), 1);
        assert!(mover.reply().int() >= 1);
        assert!(!last.reply().items().is_empty());
        // What became due too late for the mover.
        client.done("DQ.PURGE q WAITING");
    }
}

#[test]
fn a_replica_and_the_file_hold_what_was_served() {
    let (mut master, replica) = start_pair(&AOF);
    serve_many(&master);
    wait_in_step(&replica, &master);
    let told = |client: &mut Client| ["q", "near"].map(|key| (digest(client, key), counters(client, key)));
    let before = told(&mut master.connect());
    assert_eq!(told(&mut replica.connect()), before, "the replica");
    master.kill();
    master.start_again();
    assert_eq!(told(&mut master.connect()), before, "the file");
    rewrite(&master);
    master.kill();
    master.start_again();
    assert_eq!(told(&mut master.connect()), before, "the rewritten file");
    assert!(commands(&master).len() < 60, "the file was rewritten");
}
