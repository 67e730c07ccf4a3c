//! Fear: a client that waits for a sorted set does not hear of what native commands, which know nothing of it, do to the key.

use crate::harness::client::Client;
use crate::harness::queue::FUTURE;
use crate::harness::server::Server;
use crate::harness::waiting::{Waiting, until_past, until_waiting};

/// A native way by which something due gets into `s`, and what must be there before.
struct Way {
    before: &'static str,
    write: &'static str,
}

const fn way(before: &'static str, write: &'static str) -> Way {
    Way { before, write }
}

/// In each of them the member is `m` and its score is in the past.
const WAYS: [Way; 20] = [
    way("", "ZADD s 1600000000000 m"),
    way("ZADD s 4102444800000 later", "ZADD s 1600000000000 m"),
    way("ZADD s 4102444800000 m", "ZADD s 1600000000000 m"),
    way("ZADD s 4102444800000 m", "ZADD s XX 1600000000000 m"),
    way("ZADD s 4102444800000 m", "ZADD s LT 1600000000000 m"),
    way("ZADD s 4102444800000 m", "ZADD s CH 1600000000000 m"),
    way("ZADD s 4102444800000 later", "ZADD s NX 1600000000000 m"),
    way("ZADD s 4102444800000 m", "ZADD s INCR -3000000000000 m"),
    way("ZADD s 4102444800000 m", "ZINCRBY s -3000000000000 m"),
    way("", "ZINCRBY s 1600000000000 m"),
    way("ZADD other 1600000000000 m", "ZUNIONSTORE s 1 other"),
    way("ZADD s 4102444800000 later; ZADD other 1600000000000 m", "ZUNIONSTORE s 1 other"),
    way("ZADD other 1600000000000 m", "ZINTERSTORE s 1 other"),
    way("ZADD other 1600000000000 m", "ZDIFFSTORE s 1 other"),
    way("ZADD other 1600000000000 m", "ZRANGESTORE s other 0 -1"),
    way("ZADD other 1600000000000 m", "RENAME other s"),
    way("ZADD s 4102444800000 later; ZADD other 1600000000000 m", "RENAME other s"),
    way("ZADD other 1600000000000 m", "RENAMENX other s"),
    way("ZADD other 1600000000000 m", "COPY other s"),
    way("ZADD s 4102444800000 later; ZADD other 1600000000000 m", "COPY other s REPLACE"),
];

fn prepare(client: &mut Client, lines: &str) {
    client.done("FLUSHALL");
    for line in lines.split("; ").filter(|line| !line.is_empty()) {
        client.done(line);
    }
}

/// Writes in one of the ways in which a client can.
fn write(client: &mut Client, how: &str, line: &str) {
    match how {
        "plain" => drop(client.done(line)),
        "MULTI" => {
            client.done("MULTI");
            client.done(line);
            assert!(!client.done("EXEC").items()[0].is_error(), "{line}");
        }
        _ => {
            let words: Vec<&str> = line.split(' ').collect();
            let reply =
                client.call(&[&["EVAL", "return redis.call(unpack(ARGV))", "0"], words.as_slice()].concat());
            assert!(!reply.is_error(), "{line}: {reply}");
        }
    }
}

#[test]
fn every_native_way_in_wakes_a_claim_and_a_move() {
    let server = Server::start();
    let client = &mut server.connect();
    for Way { before, write: line } in &WAYS {
        for how in ["plain", "MULTI", "script"] {
            for (waiting, served) in [("DQ.CLAIM s BLOCK 0", "[m]"), ("DQ.MOVE s list BLOCK 0", "1")] {
                prepare(client, before);
                let mut waiter = Waiting::start(&server, waiting);
                write(client, how, line);
                assert_eq!(waiter.reply(), served, "{before}, {line}, {how}, {waiting}");
            }
        }
    }
}

#[test]
fn every_native_way_in_sets_the_timer_for_what_is_not_due_yet() {
    let server = Server::start();
    let client = &mut server.connect();
    for Way { before, write: line } in &WAYS {
        if line.contains("ZINCRBY") || line.contains("INCR") {
            continue;
        }
        let due = client.now() + 40;
        let soon = |text: &str| text.replace("1600000000000", &due.to_string());
        prepare(client, &soon(before));
        let mut waiter = Waiting::start(&server, "DQ.CLAIM s BLOCK 0 WITHSCORES");
        // Where the machine was slow it is due by now, and no worse for the test.
        client.done(&soon(line));
        assert_eq!(waiter.reply(), format!("[m \"{due}\"]"), "{before}, {line}");
        assert!(client.now() >= due, "{before}, {line}");
    }
}

#[test]
fn a_restored_a_moved_and_a_swapped_in_set_wake_a_claim() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("ZADD other 1600000000000 m");
    let dump = client.done("DUMP other");
    let mut waiter = Waiting::start(&server, "DQ.CLAIM s BLOCK 0");
    assert_eq!(client.call(&[b"RESTORE".as_slice(), b"s", b"0", dump.bytes()]), "OK");
    assert_eq!(waiter.reply(), "[m]");

    let mut waiter = Waiting::start(&server, "DQ.CLAIM s BLOCK 0");
    let second = &mut server.connect();
    second.done("SELECT 1");
    second.done("ZADD s 1600000000000 m");
    assert_eq!(second.ask("MOVE s 0"), "1");
    assert_eq!(waiter.reply(), "[m]");

    let mut waiter = Waiting::start(&server, "DQ.CLAIM s BLOCK 0");
    second.done("ZADD s 1600000000000 m");
    client.done("SWAPDB 0 1");
    assert_eq!(waiter.reply(), "[m]");

    client.done("FLUSHALL");
    client.done("ZADD s 4102444800000 later");
    let mut waiter = Waiting::start(&server, "DQ.CLAIM s BLOCK 0");
    let reply = client.call(&[b"RESTORE".as_slice(), b"s", b"0", dump.bytes(), b"REPLACE"]);
    assert_eq!(reply, "OK");
    assert_eq!(waiter.reply(), "[m]");
}

#[test]
fn a_set_of_another_database_does_not_wake_a_claim() {
    let server = Server::start();
    let (first, second) = (&mut server.connect(), &mut server.connect());
    second.done("SELECT 1");
    let mut waiter = Waiting::start(&server, "DQ.CLAIM s BLOCK 0");
    second.done("ZADD s 1600000000000 other");
    until_waiting(&server, 1);
    first.done("ZADD s 1600000000000 m");
    assert_eq!(waiter.reply(), "[m]");
    assert_eq!(second.ask("ZCARD s"), "1");
}

#[test]
fn what_brings_nothing_due_wakes_nobody() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut waiter = Waiting::start(&server, "DQ.CLAIM s BLOCK 0");
    for line in [
        "ZADD s 4102444800000 m",
        "ZADD s GT 1600000000000 m",
        "ZADD s NX 1600000000000 m",
        "ZADD s XX 1600000000000 other",
        "ZADD s inf never",
        "GEOADD s 13.4 52.5 place",
        "ZREM s place",
        "ZINCRBY s 1000 m",
        "EXPIRE s 1000",
        "PERSIST s",
        "COPY s copy",
        "RENAME s away",
        "SET s text",
        "DEL s",
        "RPUSH s text",
        "DEL s",
        "RENAME away s",
        "DQ.LEN s",
    ] {
        client.done(line);
        until_waiting(&server, 1);
    }
    client.done("ZADD s 5 due");
    assert_eq!(waiter.reply(), "[due]");
    let rest = client.ask("ZRANGE s 0 -1");
    assert_eq!(rest, "[m never]");
}

#[test]
fn places_on_a_map_are_no_schedule() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("GEOADD map 13.4 52.5 berlin 2.35 48.85 paris");
    assert_eq!(client.ask("DQ.CLAIM map COUNT 10"), "[]");
    client.refused("DQ.CLAIM map SECONDS");
}

/// The head that the timer was set for goes away; what comes then must still come in time, and nothing too early.
#[test]
fn a_removed_head_gives_way_to_the_next() {
    let server = Server::start();
    let client = &mut server.connect();
    for removal in [
        "ZREM s head",
        "ZREMRANGEBYRANK s 0 0",
        "ZREMRANGEBYSCORE s -inf (NEXT",
        "ZPOPMIN s",
        "ZADD s 4102444800000 head",
        "ZADD s GT CH 4102444800000 head",
        "ZINCRBY s 1000000000 head",
        "DEL s",
        "UNLINK s",
        "RENAME s away",
        "FLUSHALL",
        "PEXPIREAT s 1",
    ] {
        client.done("FLUSHALL");
        let (near, next) = (client.now() + 60, client.now() + 150);
        client.done(&format!("ZADD s {near} head"));
        let mut waiter = Waiting::start(&server, "DQ.CLAIM s BLOCK 0 COUNT 5 WITHSCORES");
        client.done(&format!("ZADD s {next} next"));
        client.done(&removal.replace("NEXT", &next.to_string()));
        // Whether it was there before or not, it is there now.
        client.done(&format!("ZADD s {next} next {FUTURE} later"));
        let reply = waiter.reply();
        // A slow machine may have let the head become due before it was removed.
        let came_first = reply.items()[0].string() == "head";
        assert!(came_first || reply == format!("[next \"{next}\"]"), "{removal}: {reply}");
        assert!(client.now() >= if came_first { near } else { next }, "{removal}");
    }
}

#[test]
fn a_set_that_expires_is_waited_for_in_vain_and_no_harm_done() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut waiter = Waiting::start(&server, "DQ.CLAIM s BLOCK 0");
    let mut mover = Waiting::start(&server, "DQ.MOVE s list BLOCK 0");
    // It is gone by the time that the server calls those who wait.
    client.done("MULTI");
    client.done("ZADD s 1600000000000 m");
    client.done("PEXPIREAT s 1600000000000");
    client.done("EXEC");
    client.done("MULTI");
    client.done("ZADD s 1600000000000 m");
    client.done("PEXPIRE s 1");
    client.done("DEBUG SLEEP 0.01");
    client.done("EXEC");
    let due = client.now() + 60;
    client.done(&format!("ZADD t {due} m"));
    client.done(&format!("PEXPIREAT t {}", due - 30));
    let mut third = Waiting::start(&server, "DQ.CLAIM t BLOCK 0");
    until_past(client, due + 5);
    client.done("ZADD t 5 other");
    assert_eq!(third.reply(), "[other]");
    client.done("ZADD s 1600000000000 m");
    client.done("ZADD s 1600000000000 m");
    let served = (waiter.reply(), mover.reply());
    assert!(served.0 == "[m]" && served.1 == "1", "{served:?}");
}
