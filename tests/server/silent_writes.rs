//! Fear: a command that changes nothing still marks the data as changed: it aborts a WATCH, counts towards a
//! save, or is written to the AOF and sent to every replica.

use crate::harness::aof::{AOF, lines_written_by};
use crate::harness::client::Client;
use crate::harness::refusal::changes;
use crate::harness::server::Server;

/// On a queue `q` that holds `later` (not due) and a running delivery of `claimed`; and on a missing key.
const NOTHING_TO_DO: [&str; 33] = [
    "DQ.CLAIM q",
    "DQ.CLAIM q COUNT 100 LEASE 1000",
    "DQ.CLAIM missing LEASE 5",
    "DQ.ACK q 1-claimed",
    "DQ.ACK q 55-unknown 1-later",
    "DQ.ACK missing 1-a",
    "DQ.PUSH q other ID later",
    "DQ.PUSH q other ID claimed",
    "DQ.MPUSH q DELAY 0 later m 0 claimed m",
    "DQ.CANCEL q unknown",
    "DQ.CANCEL missing a",
    "DQ.MOVE q list",
    "DQ.MOVE q stream XADD",
    "DQ.MOVE q zset ZADD",
    "DQ.MOVE q queue PUSH",
    "DQ.MOVE missing list",
    "DQ.NACK q 1-claimed",
    "DQ.NACK missing DEAD ERROR text 1-a",
    "DQ.EXTEND q LEASE 5 1-claimed 55-later",
    "DQ.RESCHEDULE q claimed DELAY 5",
    "DQ.RESCHEDULE q unknown AT 4102444800000",
    "DQ.REDRIVE q COUNT 5",
    "DQ.REDRIVE q ID later claimed unknown",
    "DQ.POLICY q",
    "DQ.POLICY q MAXATTEMPTS UNLIMITED",
    "DQ.RESUME q",
    "DQ.PURGE q DEAD",
    "DQ.PURGE missing WAITING",
    "DQ.PEEK q CLAIMED",
    "DQ.INFO q",
    "DQ.LEN q",
    "DQ.GET q later",
    "DQ.GET q unknown",
];

fn server_with_nothing_to_do() -> Server {
    let server = Server::with(&AOF);
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID later AT 4102444800000");
    client.done("DQ.PUSH q m ID claimed AT 1600000000000");
    client.done("DQ.APPLY q 1 LEASE 4102444800000 55 1 claimed");
    server
}

#[test]
fn nothing_is_written_where_nothing_is_changed() {
    let server = server_with_nothing_to_do();
    for line in NOTHING_TO_DO {
        let written = lines_written_by(&server, |client| drop(client.done(line)));
        assert!(written.is_empty(), "{line} wrote {written:?}");
    }
}

#[test]
fn nothing_is_counted_as_changed_where_nothing_is() {
    let server = server_with_nothing_to_do();
    let client = &mut server.connect();
    for line in NOTHING_TO_DO {
        let before = changes(client);
        client.done(line);
        assert_eq!(changes(client), before, "{line}");
    }
}

#[test]
fn no_watch_is_aborted_where_nothing_is_changed() {
    let server = server_with_nothing_to_do();
    let (watcher, client) = (&mut server.connect(), &mut server.connect());
    for line in NOTHING_TO_DO {
        watcher.done("WATCH q missing list stream zset queue");
        client.done(line);
        watcher.done("MULTI");
        watcher.done("PING");
        assert_eq!(watcher.ask("EXEC"), "[PONG]", "{line} aborted a transaction");
    }
}

#[test]
fn a_watch_is_aborted_where_something_is_changed() {
    let server = server_with_nothing_to_do();
    let (watcher, client) = (&mut server.connect(), &mut server.connect());
    for line in [
        "DQ.PUSH q m ID new",
        "DQ.MPUSH q DELAY 0 newer m",
        "DQ.CLAIM q LEASE 1000000",
        "DQ.CLAIM q",
        "DQ.ACK q 55-claimed",
        "DQ.PUSH q m ID later REPLACE",
        "DQ.MOVE q list",
        "DQ.CANCEL q new",
        "DQ.APPLY q 1 PUT x m 1600000000000",
    ] {
        watcher.done("WATCH q");
        client.done(line);
        watcher.done("MULTI");
        watcher.done("PING");
        let aborted = watcher.ask("EXEC");
        assert!(aborted.is_null(), "{line} did not abort a transaction: {aborted}");
    }
}

#[test]
fn every_change_is_counted_as_one() {
    let server = Server::start();
    let client = &mut server.connect();
    let count = |client: &mut Client| changes(client).0.parse::<u64>().unwrap();
    for line in
        ["DQ.PUSH q m ID a", "DQ.CLAIM q LEASE 1000000", "DQ.CANCEL q a", "DQ.PUSH q m", "DQ.MOVE q list"]
    {
        let before = count(client);
        client.done(line);
        assert!(count(client) > before, "{line} is not counted as a change");
    }
}

#[test]
fn a_caching_client_is_told_of_changes_and_of_nothing_else() {
    let server = server_with_nothing_to_do();
    let (cache, client) = (&mut server.connect(), &mut server.connect());
    cache.speak_resp3();
    cache.done("CLIENT TRACKING ON");
    for line in NOTHING_TO_DO {
        cache.done("DQ.GET q later");
        client.done(line);
        assert_eq!(cache.ask("PING"), "PONG", "{line} invalidated a cache");
    }
    for line in ["DQ.PUSH q m ID new", "DQ.CLAIM q LEASE 1000000", "DQ.CANCEL q new"] {
        cache.done("DQ.GET q later");
        client.done(line);
        assert_eq!(cache.receive().unwrap(), "[invalidate [q]]", "{line}");
    }
}
