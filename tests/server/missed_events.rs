//! Fear: who listens for keyspace events is not told what happened, or is told twice, or of what did not happen.

use crate::harness::aof::{AOF, commands, rewrite};
use crate::harness::client::Client;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::listener::Listener;
use crate::harness::queue::{claim, fill_with_every_kind};
use crate::harness::replica::start_pair;
use crate::harness::server::{Server, Setup};
use crate::harness::wire::encode;

/// What is done before, a line each; the command; the events that it fires.
type Case = (&'static str, &'static str, &'static [&'static str]);

const DUE: &str = "DQ.MPUSH q AT 1600000000001 a m1 1600000000002 b m2";
const LEASED: &str = "DQ.APPLY q 1 PUT a m 1600000000001 PUT b m 1600000000002 LEASE 4102444800000 55 2 a b PUT c m 1600000000003";
const DEAD: &str = "DQ.APPLY q 1 PUT a m 1600000000000 PUT b m 1600000000000 BURY a rejected 1600000000009";
/// `last` has died by its last lease's end, and nothing has noted that yet.
const LAPSED: &str =
    "DQ.APPLY q 1 POLICY 0 1 1000 2 3600000 0 10000 0 PUT last m 1600000000001 LEASE 1600000000009 55 1 last";
/// `gone` is over its time to live, and nothing has noted that yet.
const EXPIRED: &str = "DQ.APPLY q 1 PUT gone m 1600000000000 EXPIRES 1600000000005";
/// One dead job more than are kept.
const CROWDED: &str = "DQ.APPLY q 1 PUT a m 1600000000000 PUT b m 1600000000000 BURY a rejected 1600000000001 \
     BURY b rejected 1600000000002 POLICY 0 0 1000 2 3600000 0 1 0";

const ONE_KEY: [Case; 42] = [
    ("", "DQ.PUSH q m", &["q dq.push"]),
    (DUE, "DQ.PUSH q m ID a", &[]),
    (DUE, "DQ.PUSH q m ID a REPLACE", &["q dq.push"]),
    ("", "DQ.MPUSH q DELAY 0 a m 0 b m 0 c m", &["q dq.push"]),
    (DUE, "DQ.MPUSH q DELAY 0 a m 0 b m", &[]),
    (DUE, "DQ.CLAIM q COUNT 2", &["q dq.claim"]),
    (DUE, "DQ.CLAIM q COUNT 2 LEASE 1000000", &["q dq.claim"]),
    ("", "DQ.CLAIM q", &[]),
    (LEASED, "DQ.ACK q 55-a 54-b 55-b", &["q dq.ack"]),
    (LEASED, "DQ.ACK q 54-a", &[]),
    (LEASED, "DQ.NACK q 55-a 55-b", &["q dq.nack"]),
    (LEASED, "DQ.NACK q DELAY 5 ERROR broken 55-a 55-b", &["q dq.nack"]),
    (LEASED, "DQ.NACK q DEAD ERROR broken 55-a 55-b", &["q dq.nack", "q dq.dead"]),
    (LEASED, "DQ.NACK q DEAD 55-a 55-b", &["q dq.nack", "q dq.dead"]),
    (LAPSED, "DQ.NACK q ERROR broken 55-last", &["q dq.nack", "q dq.dead"]),
    (LEASED, "DQ.NACK q 54-a", &[]),
    (LEASED, "DQ.EXTEND q LEASE 1000000 55-a 55-b", &["q dq.extend"]),
    (LEASED, "DQ.CANCEL q a c none", &["q dq.cancel"]),
    (LEASED, "DQ.CANCEL q none", &[]),
    (DUE, "DQ.RESCHEDULE q a DELAY 5", &["q dq.reschedule"]),
    (LEASED, "DQ.RESCHEDULE q a DELAY 5", &[]),
    (DEAD, "DQ.REDRIVE q COUNT 5", &["q dq.redrive"]),
    (DEAD, "DQ.REDRIVE q ID b", &[]),
    (LAPSED, "DQ.REDRIVE q COUNT 5", &["q dq.dead", "q dq.redrive"]),
    ("", "DQ.POLICY q", &["q dq.policy"]),
    (DUE, "DQ.POLICY q LEASE 5", &["q dq.policy"]),
    (DUE, "DQ.POLICY q LEASE 0", &[]),
    (DUE, "DQ.PAUSE q", &["q dq.pause"]),
    ("DQ.POLICY q\nDQ.PAUSE q", "DQ.RESUME q", &["q dq.resume"]),
    (DUE, "DQ.RESUME q", &[]),
    (DUE, "DQ.PURGE q WAITING", &["q dq.purge"]),
    (DEAD, "DQ.PURGE q DEAD", &["q dq.purge"]),
    (DUE, "DQ.PURGE q DEAD", &[]),
    (LAPSED, "DQ.PUSH q m", &["q dq.push", "q dq.dead"]),
    (LAPSED, "DQ.ACK q 55-last", &["q dq.dead", "q dq.ack"]),
    (EXPIRED, "DQ.PUSH q m", &["q dq.push", "q dq.expired"]),
    (EXPIRED, "DQ.ACK q 55-none", &["q dq.expired"]),
    (CROWDED, "DQ.PUSH q m", &["q dq.push", "q dq.dropped"]),
    (DUE, "DQ.LEN q", &[]),
    (DUE, "DQ.GET q a", &[]),
    (DUE, "DQ.PEEK q", &[]),
    (DUE, "DQ.INFO q", &[]),
];

const OTHER_HAS_A: &str = "DQ.MPUSH q AT 1600000000001 a m1 1600000000002 b m2\nDQ.PUSH to m ID a";
const TO_HAS_BOTH: &str =
    "DQ.MPUSH q AT 1600000000001 a m1 1600000000002 b m2\nDQ.MPUSH to DELAY 0 a m 0 b m";

const MOVES: [Case; 10] = [
    (DUE, "DQ.MOVE q to", &["to rpush", "q dq.move"]),
    (DUE, "DQ.MOVE q to LPUSH COUNT 1", &["to lpush", "q dq.move"]),
    (DUE, "DQ.MOVE q to XADD", &["to xadd", "to xadd", "q dq.move"]),
    (
        "DQ.PUSH q m\nXADD to 1-1 f v",
        "DQ.MOVE q to XADD COUNT 1 MAXLEN 1",
        &["to xadd", "to xtrim", "q dq.move"],
    ),
    (DUE, "DQ.MOVE q to ZADD", &["to zadd", "q dq.move"]),
    (DUE, "DQ.MOVE q to PUSH", &["to dq.push", "q dq.move"]),
    (OTHER_HAS_A, "DQ.MOVE q to PUSH", &["to dq.push", "q dq.dead", "q dq.move"]),
    (TO_HAS_BOTH, "DQ.MOVE q to PUSH", &["q dq.dead"]),
    (EXPIRED, "DQ.MOVE q to", &["q dq.expired"]),
    ("", "DQ.MOVE q to", &[]),
];

const PLAIN: &str = "ZADD q 1600000000001 m1 1600000000002 m2";
const PLAIN_AND_LATER: &str = "ZADD q 1600000000001 m1 4102444800000 m2";

/// On plain sorted sets, the native events.
const SORTED_SETS: [Case; 9] = [
    ("", "DQ.PUSH q m ZSET", &["q zadd"]),
    (PLAIN, "DQ.PUSH q m1 ZSET", &[]),
    ("", "DQ.MPUSH q ZSET DELAY 0 * m1 0 * m2", &["q zadd", "q zadd"]),
    (PLAIN, "DQ.CLAIM q COUNT 2", &["q zrem", "q del"]),
    (PLAIN_AND_LATER, "DQ.CLAIM q COUNT 2", &["q zrem"]),
    ("ZADD q 4102444800000 m", "DQ.CLAIM q", &[]),
    (PLAIN, "DQ.MOVE q to COUNT 1", &["to rpush", "q zrem"]),
    (PLAIN, "DQ.MOVE q to PUSH", &["to dq.push", "q zrem", "q del"]),
    ("ZADD q 4102444800000 m", "DQ.MOVE q to", &[]),
];

/// What `DQ.APPLY` can be told on [`LEASED`], a word or two each.
const APPLIED: [(&str, &[&str]); 14] = [
    ("PUT d m 1600000000000 PUT e m 1600000000000", &["q dq.push"]),
    ("LEASE 4102444800000 56 1 c", &["q dq.claim"]),
    ("REMOVE claimed 1 c", &["q dq.claim"]),
    ("REMOVE acked 1 a REMOVE cancelled 1 b REMOVE moved 1 c", &["q dq.ack", "q dq.cancel", "q dq.move"]),
    (
        "REMOVE purged 1 a REMOVE expired 1 b REMOVE dropped 1 c",
        &["q dq.purge", "q dq.expired", "q dq.dropped"],
    ),
    ("EXTEND 4102444800001 1 a", &["q dq.extend"]),
    ("RELEASE a 4102444800000 1", &["q dq.nack"]),
    ("ERROR a broken RELEASE a 4102444800000 1", &["q dq.nack"]),
    ("BURY a nacked 1600000000000", &["q dq.nack", "q dq.dead"]),
    ("BURY a conflict 1600000000000 REDRIVE 1600000000000 1 a", &["q dq.dead", "q dq.redrive"]),
    ("RESCHEDULE c 4102444800000", &["q dq.reschedule"]),
    ("POLICY 5 0 1000 2 3600000 0 10000 0", &["q dq.policy"]),
    ("PAUSE 4102444800000", &["q dq.pause"]),
    ("PAUSE 0", &["q dq.resume"]),
];

/// All cases, those of `DQ.APPLY` as commands.
fn cases() -> Vec<(String, String, Vec<String>)> {
    let owned = |events: &[&str]| events.iter().map(|event| (*event).to_owned()).collect();
    let plain = ONE_KEY.iter().chain(&MOVES).chain(&SORTED_SETS);
    let plain = plain.map(|(before, line, events)| ((*before).into(), (*line).into(), owned(events)));
    let applied = APPLIED
        .iter()
        .map(|(effects, events)| (LEASED.into(), format!("DQ.APPLY q 1 {effects}"), owned(events)));
    plain.chain(applied).collect()
}

fn prepare(client: &mut Client, before: &str) {
    client.done("FLUSHALL");
    before.lines().for_each(|step| drop(client.done(step)));
}

/// Runs all cases on `client`'s server; the listener may be on its replica.
#[track_caller]
fn assert_each_fires(client: &mut Client, listener: &mut Listener) {
    for (before, line, expected) in cases() {
        prepare(client, &before);
        listener.events(client);
        client.done(&line);
        assert_eq!(listener.events(client), expected, "{line}, after {before}");
    }
}

#[test]
fn each_command_fires_its_events_once_and_in_order() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut listener = Listener::start(&server, "KA");
    assert_each_fires(client, &mut listener);
}

#[test]
fn a_replica_fires_the_events_of_its_master() {
    let (master, replica) = start_pair(&[]);
    let client = &mut master.connect();
    let mut listener = Listener::start(&replica, "KA");
    assert_each_fires(client, &mut listener);
}

#[test]
fn a_transaction_and_a_script_fire_the_events_of_their_commands() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut listener = Listener::start(&server, "KA");
    client.done("MULTI");
    ["DQ.PUSH q m", "DQ.CLAIM q", "DQ.PUSH q m"].iter().for_each(|line| drop(client.done(line)));
    assert_eq!(listener.events(&mut server.connect()), [""; 0], "before EXEC");
    client.done("EXEC");
    assert_eq!(listener.events(client), ["q dq.push", "q dq.claim", "q dq.push"]);
    let script = "redis.call('DQ.CLAIM', KEYS[1]); return redis.call('DQ.PAUSE', KEYS[1])";
    assert_eq!(client.call(&["EVAL", script, "1", "q"]), "OK");
    assert_eq!(listener.events(client), ["q dq.claim", "q dq.pause"]);
}

#[test]
fn who_is_served_after_waiting_fires_the_event_after_that_of_the_push() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut listener = Listener::start(&server, "KA");
    for (wait, served) in [
        ("DQ.CLAIM q LEASE 1000 BLOCK 0", &["q dq.claim"][..]),
        ("DQ.MOVE q to BLOCK 0", &["to rpush", "q dq.move"]),
    ] {
        let waiter = &mut server.connect();
        waiter.send(&encode(&wait.split(' ').collect::<Vec<_>>())).expect("it is sent");
        eventually("a client waits", DEADLINE, || client.info("clients", "blocked_clients") == "1");
        client.done("DQ.PUSH q m");
        assert!(!waiter.receive().expect("it is served").is_null());
        assert_eq!(listener.events(client), [&["q dq.push"], served].concat(), "{wait}");
    }
}

#[test]
fn a_refused_command_fires_nothing() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("RPUSH list element");
    client.done("DQ.PUSH q m");
    let mut listener = Listener::start(&server, "KA");
    for line in [
        "DQ.PUSH list m",
        "DQ.PUSH q m DELAY x",
        "DQ.MOVE q list ZADD",
        "DQ.PAUSE none",
        "DQ.APPLY q 1 BURY none nacked 5",
    ] {
        client.refused(line);
        assert_eq!(listener.events(client), [""; 0], "{line}");
    }
}

#[test]
fn the_event_of_a_new_key_is_the_servers() {
    let server = Server::start();
    let client = &mut server.connect();
    let refusal = client.ask("CONFIG SET notify-keyspace-events KAn");
    if refusal.is_error() {
        eprintln!("the_event_of_a_new_key_is_the_servers: skipped, this server tells of no new keys");
        return;
    }
    let mut listener = Listener::start(&server, "KAn");
    client.done("DQ.PUSH q m AT 1600000000000");
    assert_eq!(listener.events(client), ["q new", "q dq.push"]);
    client.done("DQ.MOVE q to PUSH");
    assert_eq!(listener.events(client), ["to new", "to dq.push", "q dq.move"]);
    client.done("DQ.POLICY policy");
    assert_eq!(listener.events(client), ["policy new", "policy dq.policy"]);
}

#[test]
fn a_queue_that_is_made_with_a_policy_of_the_settings_tells_of_it_first() {
    let server = Setup::default().module_arguments("policy-lease 5").start();
    let client = &mut server.connect();
    let mut listener = Listener::start(&server, "KA");
    client.done("DQ.PUSH q m");
    assert_eq!(listener.events(client), ["q dq.policy", "q dq.push"]);
}

#[test]
fn the_class_is_that_of_modules() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut listener = Listener::start(&server, "Kd");
    client.done("DQ.PUSH q m");
    assert_eq!(listener.events(client), ["q dq.push"]);
    client.done("CONFIG SET notify-keyspace-events Kg$lshzxetm");
    client.done("DQ.PUSH q m");
    assert_eq!(listener.events(client), [""; 0]);
}

#[test]
fn an_event_has_a_channel_of_its_own_and_its_database() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut listener = Listener::start(&server, "KEA");
    let by_event = &mut server.connect();
    by_event.done("SUBSCRIBE __keyevent@3__:dq.push");
    client.done("SELECT 3");
    client.done("DQ.PUSH q m");
    assert_eq!(listener.events(client), ["3:q dq.push"]);
    assert_eq!(by_event.receive().unwrap(), "[message __keyevent@3__:dq.push q]");
}

#[test]
fn a_chunk_of_a_rewritten_file_is_a_load() {
    let server = Server::with(&[&AOF[..], &["aof-use-rdb-preamble no"]].concat());
    let client = &mut server.connect();
    fill_with_every_kind(client, "q");
    rewrite(&server);
    let chunks = commands(&server);
    client.done("FLUSHALL");
    let mut listener = Listener::start(&server, "KA");
    for chunk in &chunks {
        assert_eq!(chunk[3], b"LOAD");
        assert_eq!(client.call(chunk), "OK");
        assert_eq!(listener.events(client), ["q dq.load"]);
    }
    assert!(chunks.len() >= 2, "a header and jobs");
    claim(client, "q");
    assert_eq!(listener.events(client), ["q dq.claim"]);
}
