//! Fear: who listens to a sorted set (keyspace events, WATCH, a caching client) hears something else than a native command
//! would tell, hears nothing, or is disturbed for nothing.

use crate::harness::client::Client;
use crate::harness::listener::Listener;
use crate::harness::queue::FUTURE;
use crate::harness::server::Server;

/// The events, as `key name`, that `lines` fire.
#[track_caller]
fn events_of(server: &Server, lines: &[&str]) -> Vec<String> {
    let client = &mut server.connect();
    let mut listener = Listener::start(server, "KA");
    for line in lines {
        client.done(line);
    }
    listener.events(client)
}

const THREE: &str = "ZADD s 1600000000001 m1 1600000000002 m2 1600000000003 m3";

/// Runs our line and the native ones, each on the three members; both must fire the same.
#[track_caller]
fn assert_fires_like(ours: &str, native: &[&str]) {
    let server = Server::start();
    let mut heard = Vec::new();
    for lines in [&[ours][..], native] {
        server.connect().done("FLUSHALL");
        server.connect().done(THREE);
        heard.push(events_of(&server, lines));
    }
    assert!(!heard[1].is_empty());
    assert_eq!(heard[0], heard[1], "{ours}");
}

#[test]
fn a_claim_fires_what_a_zrem_fires() {
    assert_fires_like("DQ.CLAIM s", &["ZREM s m1"]);
    assert_fires_like("DQ.CLAIM s COUNT 2", &["ZREM s m1 m2"]);
    assert_fires_like("DQ.CLAIM s COUNT 3", &["ZREM s m1 m2 m3"]);
    assert_fires_like("DQ.CLAIM s COUNT 99 BLOCK 0", &["ZREM s m1 m2 m3"]);
}

#[test]
fn a_move_fires_what_the_native_commands_fire() {
    assert_fires_like("DQ.MOVE s list COUNT 2", &["RPUSH list m1 m2", "ZREM s m1 m2"]);
    assert_fires_like("DQ.MOVE s list LPUSH", &["LPUSH list m1 m2 m3", "ZREM s m1 m2 m3"]);
    assert_fires_like("DQ.MOVE s zset ZADD COUNT 1", &["ZADD zset 1600000000001 m1", "ZREM s m1"]);
    let xadds = ["XADD x MAXLEN 2 1-1 msg m1", "XADD x MAXLEN 2 1-2 msg m2", "ZREM s m1 m2"];
    assert_fires_like("DQ.MOVE s x XADD COUNT 2 MAXLEN 2", &xadds);
    let trimming = ["XADD x MAXLEN 1 1-1 msg m1", "ZREM s m1", "XADD x MAXLEN 1 1-2 msg m2", "ZREM s m2"];
    let server = Server::start();
    server.connect().done(THREE);
    let native = events_of(&server, &trimming);
    server.connect().done("FLUSHALL");
    server.connect().done(THREE);
    let moves = ["DQ.MOVE s x XADD COUNT 1 MAXLEN 1", "DQ.MOVE s x XADD COUNT 1 MAXLEN 1"];
    assert_eq!(events_of(&server, &moves), native);
}

#[test]
fn a_push_fires_what_a_zadd_fires() {
    assert_fires_like("DQ.PUSH s m ZSET AT 1600000000000", &["ZADD s NX 1600000000000 m"]);
    assert_fires_like("DQ.PUSH s m1 ZSET AT 1600000000000 REPLACE", &["ZADD s 1600000000000 m1"]);
    assert_fires_like("DQ.PUSH new m ZSET AT 1600000000000", &["ZADD new NX 1600000000000 m"]);
}

#[test]
fn what_changes_nothing_fires_nothing() {
    let server = Server::start();
    server.connect().done(&format!("ZADD s {FUTURE} m"));
    let lines = [
        "DQ.CLAIM s",
        "DQ.CLAIM s BLOCK 1",
        "DQ.MOVE s list",
        "DQ.MOVE s queue PUSH",
        "DQ.PUSH s m ZSET",
        "DQ.LEN s",
    ];
    assert_eq!(events_of(&server, &lines), [""; 0]);
}

/// What changes a set, and what only looks at it; run in this order.
const CHANGES: [&str; 5] = [
    "DQ.CLAIM s",
    "DQ.MOVE s list COUNT 1",
    "DQ.PUSH s m3 ZSET REPLACE",
    "DQ.PUSH s m4 ZSET",
    "DQ.CLAIM s COUNT 100",
];
const LOOKS: [&str; 7] = [
    "DQ.CLAIM s",
    "DQ.CLAIM s COUNT 5 WITHSCORES BLOCK 1",
    "DQ.MOVE s list",
    "DQ.MOVE s queue PUSH BLOCK 1",
    "DQ.PUSH s later ZSET",
    "DQ.MPUSH s DELAY ZSET 5 * later",
    "DQ.LEN s",
];

fn transaction_is_aborted_by(watcher: &mut Client, client: &mut Client, line: &str) -> bool {
    watcher.done("WATCH s list queue");
    client.done(line);
    watcher.done("MULTI");
    watcher.done("PING");
    watcher.ask("EXEC").is_null()
}

#[test]
fn a_watch_is_aborted_by_a_change_and_by_nothing_else() {
    let server = Server::start();
    let (watcher, client) = (&mut server.connect(), &mut server.connect());
    client.done(THREE);
    for line in CHANGES {
        assert!(transaction_is_aborted_by(watcher, client, line), "{line} did not abort a transaction");
    }
    client.done(&format!("ZADD s {FUTURE} later"));
    for line in LOOKS {
        assert!(!transaction_is_aborted_by(watcher, client, line), "{line} aborted a transaction");
    }
}

#[test]
fn a_caching_client_is_told_of_a_change_and_of_nothing_else() {
    let server = Server::start();
    let (cache, client) = (&mut server.connect(), &mut server.connect());
    cache.speak_resp3();
    cache.done("CLIENT TRACKING ON");
    client.done(THREE);
    for line in CHANGES {
        cache.done("ZRANGE s 0 -1");
        client.done(line);
        assert_eq!(cache.receive().unwrap(), "[invalidate [s]]", "{line}");
    }
    client.done(&format!("ZADD s {FUTURE} later"));
    for line in LOOKS {
        cache.done("ZRANGE s 0 -1");
        client.done(line);
        assert_eq!(cache.ask("PING"), "PONG", "{line} invalidated a cache");
    }
}

#[test]
fn a_caching_client_is_told_of_a_destinations_change() {
    let server = Server::start();
    let (cache, client) = (&mut server.connect(), &mut server.connect());
    cache.speak_resp3();
    cache.done("CLIENT TRACKING ON");
    for (verb, look) in
        [("RPUSH", "LLEN to"), ("XADD", "XLEN to"), ("ZADD", "ZCARD to"), ("PUSH", "DQ.LEN to")]
    {
        client.done("DEL to s");
        client.done(THREE);
        client.done(&format!("DQ.MOVE s to {verb} COUNT 1"));
        cache.done(look);
        client.done(&format!("DQ.MOVE s to {verb} COUNT 1"));
        assert_eq!(cache.receive().unwrap(), "[invalidate [to]]", "{verb}");
    }
}
