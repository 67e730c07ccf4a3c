//! Fear: a command takes another type's key for a queue, or a native command takes a queue for its own.

use crate::harness::digest::digest;
use crate::harness::refusal::changes;
use crate::harness::server::Server;

const MAKE: [&str; 6] =
    ["SET string v", "RPUSH list v", "ZADD zset 1 v", "HSET hash f v", "SADD set v", "XADD stream 1-1 f v"];

#[test]
fn every_command_on_another_type_is_wrongtype_and_changes_nothing() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in MAKE {
        client.done(line);
    }
    client.done("DQ.PUSH q m ID a");
    for key in ["string", "list", "zset", "hash", "set", "stream"] {
        let before = (changes(client), digest(client, key), digest(client, "q"));
        for line in [
            format!("DQ.PUSH {key} m"),
            format!("DQ.PUSH {key} m ID a REPLACE"),
            format!("DQ.MPUSH {key} DELAY 0 a m"),
            format!("DQ.CLAIM {key}"),
            format!("DQ.CLAIM {key} COUNT 5 LEASE 5"),
            format!("DQ.ACK {key} 1-a"),
            format!("DQ.CANCEL {key} a"),
            format!("DQ.NACK {key} DEAD 1-a"),
            format!("DQ.EXTEND {key} LEASE 5 1-a"),
            format!("DQ.RESCHEDULE {key} a DELAY 5"),
            format!("DQ.REDRIVE {key} COUNT 5"),
            format!("DQ.REDRIVE {key} ID a"),
            format!("DQ.POLICY {key}"),
            format!("DQ.POLICY {key} LEASE 5"),
            format!("DQ.PAUSE {key}"),
            format!("DQ.RESUME {key}"),
            format!("DQ.PURGE {key} WAITING"),
            format!("DQ.PEEK {key}"),
            format!("DQ.INFO {key}"),
            format!("DQ.LEN {key}"),
            format!("DQ.GET {key} a"),
            format!("DQ.MOVE {key} somewhere"),
            format!("DQ.MOVE {key} q PUSH"),
            format!("DQ.APPLY {key} 1 PUT a m 1600000000000"),
        ] {
            let error = client.refused(&line);
            assert!(error.starts_with("WRONGTYPE "), "{line}: {error}");
        }
        assert_eq!((changes(client), digest(client, key), digest(client, "q")), before, "{key}");
    }
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
