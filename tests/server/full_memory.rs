//! Fear: a server whose memory is full cannot be drained, or grows all the same.

use crate::harness::digest::digest;
use crate::harness::queue::{claim_one, drain, push_many};
use crate::harness::server::Server;

#[test]
fn only_what_grows_the_data_is_refused_when_memory_is_full() {
    let server = Server::with(&["maxmemory-policy noeviction"]);
    let client = &mut server.connect();
    push_many(client, "q", "j", 10, 1_600_000_000_000);
    client.done("CONFIG SET maxmemory 1");
    let before = digest(client, "q");
    for line in [
        "DQ.PUSH q m",
        "DQ.PUSH new m",
        "DQ.PUSH q m ID j1 REPLACE",
        "DQ.MPUSH q DELAY 0 a m",
        "DQ.POLICY q LEASE 5",
        "DQ.POLICY q",
        "DQ.MOVE q list",
        "DQ.MOVE q stream XADD",
        "DQ.MOVE q zset ZADD",
        "DQ.MOVE q other PUSH",
    ] {
        let error = client.refused(line);
        assert!(error.starts_with("OOM "), "{line}: {error}");
    }
    assert_eq!(digest(client, "q"), before);

    let claimed = claim_one(client, "q LEASE 100000000");
    for (line, reply) in [
        (format!("DQ.EXTEND q LEASE 5000000 {}", claimed.receipt()), "[1]"),
        (format!("DQ.NACK q ERROR text DEAD {}", claimed.receipt()), "[dead]"),
        ("DQ.REDRIVE q COUNT 1".into(), "1"),
        ("DQ.RESCHEDULE q j0 AT 1500000000000".into(), "waiting"),
        ("DQ.PAUSE q 5000000".into(), "OK"),
        ("DQ.RESUME q".into(), "OK"),
        ("DQ.PURGE q DEAD".into(), "0"),
    ] {
        assert_eq!(client.ask(&line), reply, "{line}");
    }
    assert!(!client.ask("DQ.INFO q").is_error() && !client.ask("DQ.PEEK q").is_error());
    let claimed = claim_one(client, "q LEASE 100000000");
    assert_eq!(client.ask(&format!("DQ.ACK q {}", claimed.receipt())), "[1]");
    assert_eq!(client.ask("DQ.CANCEL q j1"), "[waiting]");
    assert_eq!(client.ask("DQ.LEN q"), "8");
    assert!(!client.ask("DQ.GET q j2").is_null());
    assert_eq!(drain(client, "q").len(), 8);

    client.done("CONFIG SET maxmemory 0");
    client.done("DQ.PUSH q m");
}

#[test]
fn an_evicted_queue_goes_as_a_whole_and_quietly() {
    let server = Server::with(&["maxmemory-policy allkeys-random"]);
    let client = &mut server.connect();
    push_many(client, "q", "j", 1000, 1_600_000_000_000);
    client.done("CONFIG SET maxmemory 1");
    // Any command makes the server evict; it then has nothing left to keep.
    client.ask("DQ.PUSH other m");
    assert_eq!(client.ask("DQ.LEN q"), "0");
    client.done("CONFIG SET maxmemory 0");
    client.done("DQ.PUSH q m");
    assert_eq!(client.ask("DQ.LEN q"), "1");
}
