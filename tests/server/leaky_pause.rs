//! Fear: a paused queue delivers, stops more than deliveries, stops time, or stays paused for ever.

use crate::harness::aof::AOF;
use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::numbers::{info, number, states};
use crate::harness::queue::{claim, claim_one, drain, push_many};
use crate::harness::refusal::line_refused_naming;
use crate::harness::replica::{promote, start_pair, wait_in_step};
use crate::harness::server::Server;

const MOVES: [&str; 6] = [
    "DQ.MOVE q list",
    "DQ.MOVE q list LPUSH AHEAD 1000000000000",
    "DQ.MOVE q stream XADD",
    "DQ.MOVE q zset ZADD",
    "DQ.MOVE q other PUSH",
    "DQ.MOVE q list COUNT 5 JSON",
];

#[track_caller]
fn assert_paused(client: &mut Client) {
    assert_eq!(claim(client, "q"), []);
    assert_eq!(claim(client, "q COUNT 10 LEASE 5"), []);
    for line in MOVES {
        assert_eq!(client.ask(line), "0", "{line}");
    }
}

#[track_caller]
fn paused_until(client: &mut Client) -> String {
    info(client, "q").field("paused_until").text()
}

#[test]
fn a_paused_queue_gives_nothing_to_claims_and_moves() {
    let server = Server::start();
    let client = &mut server.connect();
    push_many(client, "q", "j", 3, 1_600_000_000_000);
    assert_eq!(client.ask("DQ.PAUSE q"), "OK");
    assert_eq!(paused_until(client), "forever");
    assert_paused(client);
    assert_eq!(states(client, "q"), "3 waiting, 0 claimed, 0 dead");
    assert_eq!(client.ask("EXISTS list stream zset other"), "0");
    assert_eq!(client.ask("DQ.RESUME q"), "OK");
    assert_eq!(paused_until(client), "nil");
    assert_eq!(drain(client, "q"), ["j0", "j1", "j2"]);
    assert_eq!(client.ask("DQ.RESUME q"), "OK", "a second RESUME does no harm");
}

#[test]
fn a_missing_key_is_no_queue_to_pause() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in ["DQ.PAUSE missing", "DQ.PAUSE missing 5", "DQ.RESUME missing"] {
        let error = client.refused(line);
        assert!(error.starts_with("NOQUEUE "), "{line}: {error}");
    }
    assert_eq!(client.ask("DBSIZE"), "0");
}

#[test]
fn everything_but_delivery_works_while_paused() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.POLICY q MAXATTEMPTS 1");
    push_many(client, "q", "j", 6, 1_600_000_000_000);
    let claimed = claim(client, "q COUNT 4 LEASE 100000000");
    let receipt = |index: usize| claimed[index].receipt();
    client.done("DQ.PAUSE q");
    for (line, reply) in [
        (format!("DQ.ACK q {}", receipt(0)), "[1]"),
        (format!("DQ.NACK q DEAD {}", receipt(1)), "[dead]"),
        (format!("DQ.NACK q UNUSED {}", receipt(2)), "[waiting]"),
        (format!("DQ.EXTEND q LEASE 5000000 {}", receipt(3)), "[1]"),
        ("DQ.REDRIVE q COUNT 1".into(), "1"),
        ("DQ.CANCEL q j4".into(), "[waiting]"),
        ("DQ.RESCHEDULE q j5 AT 1600000000009".into(), "waiting"),
        ("DQ.PUSH q m ID new AT 1600000000010".into(), "[new created]"),
        ("DQ.PURGE q DEAD".into(), "0"),
        ("DQ.LEN q".into(), "5"),
    ] {
        assert_eq!(client.ask(&line), reply, "{line}");
    }
    client.done("DQ.POLICY q LEASE 0");
    client.done("DQ.PUSH source m ID moved-in AT 1600000000011");
    assert_eq!(client.ask("DQ.MOVE source q PUSH"), "1", "a move into a paused queue");
    assert_paused(client);
    assert_eq!(info(client, "q").field("due").int(), 5);
    client.done("DQ.RESUME q");
    assert_eq!(drain(client, "q"), ["j5", "new", "moved-in", "j2", "j1"], "in the order of their times");
}

#[test]
fn time_goes_on_while_paused() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.MPUSH q AT 1600000000000 leased m 1600000000001 last m");
    client.done("DQ.POLICY q MAXATTEMPTS 2");
    client.done("DQ.APPLY q 1 PUT tried m 1600000000002 ATTEMPTS 1");
    claim(client, "q COUNT 3 LEASE 30");
    client.done("DQ.PUSH q m ID due DELAY 30");
    client.done("DQ.PUSH q m ID expiring DELAY 0 TTL 30");
    client.done("DQ.PAUSE q");
    eventually("time has done all it can", DEADLINE, || {
        let info = info(client, "q");
        ["waiting", "due", "claimed", "dead"].map(|name| number(&info, name)) == [3, 3, 0, 1]
    });
    assert!(client.ask("DQ.GET q expiring").is_null());
    assert_eq!(*client.ask("DQ.GET q tried").field("reason"), "\"lease expired\"");
    assert!(info(client, "q").field("lag_ms").int() >= 0);
    assert_paused(client);
}

#[test]
fn a_second_pause_replaces_the_first() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    client.done("DQ.PAUSE q");
    let before = client.now();
    assert_eq!(client.ask("DQ.PAUSE q 1000000"), "OK");
    let until = info(client, "q").field("paused_until").int() as u64;
    assert!(before + 1_000_000 <= until && until <= client.now() + 1_000_000);
    client.done("DQ.PAUSE q 5000000000");
    assert!(info(client, "q").field("paused_until").int() as u64 >= before + 5_000_000_000);
    client.done("DQ.PAUSE q 1");
    eventually("the shorter pause is over", DEADLINE, || claim(client, "q").len() == 1);
    assert_eq!(paused_until(client), "nil");
    client.done("DQ.PUSH q m ID b");
    client.done("DQ.PAUSE q 0");
    assert_eq!(claim_one(client, "q").id(), "b", "a pause of nothing is over at once");
}

#[test]
fn a_pause_ends_by_itself_and_writes_nothing_then() {
    let server = Server::with(&AOF);
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    client.done("DQ.PAUSE q 20");
    let before = digest(client, "q");
    eventually("the pause is over", DEADLINE, || paused_until(client) == "nil");
    assert_eq!(digest(client, "q"), before);
    assert_eq!(claim_one(client, "q").id(), "a");
    client.done("DQ.PUSH q m ID b AT 1600000000000");
    client.done("DQ.APPLY q 1 PAUSE 1600000000000");
    assert_eq!(paused_until(client), "nil", "a pause that ended long ago");
    assert_eq!(claim_one(client, "q").id(), "b");
}

#[test]
fn a_pause_survives_restart_and_failover_to_the_millisecond() {
    let (mut master, mut replica) = start_pair(&AOF);
    let client = &mut master.connect();
    client.done("DQ.PUSH q m ID a");
    client.done("DQ.PUSH forever m ID a");
    client.done("DQ.PAUSE q 1000000000");
    client.done("DQ.PAUSE forever");
    let before = paused_until(client);
    wait_in_step(&replica, &master);
    assert_eq!(paused_until(&mut replica.connect()), before);
    crate::harness::aof::wait_until_rewritten(&replica);
    for how in ["after a kill", "after a rewrite"] {
        master.kill();
        master.start_again();
        let client = &mut master.connect();
        assert_eq!(paused_until(client), before, "{how}");
        assert_eq!(claim(client, "forever"), [], "{how}");
        crate::harness::aof::rewrite(&master);
    }
    promote(&replica);
    replica.kill();
    replica.start_again();
    let client = &mut replica.connect();
    assert_eq!(paused_until(client), before);
    assert_paused(client);
    assert_eq!(claim(client, "forever"), []);
    client.done("DQ.RESUME forever");
    assert_eq!(claim_one(client, "forever").id(), "a");
}

#[test]
fn a_pause_that_is_no_duration_is_refused_and_pauses_nothing() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    for bad in ["-1", "1.5", "forever", "1000000000001", "0x1"] {
        line_refused_naming(client, &format!("DQ.PAUSE q {bad}"), &["pause", "1000000000000", bad]);
        line_refused_naming(client, &format!("DQ.PAUSE missing {bad}"), &["pause", bad]);
    }
    line_refused_naming(client, "DQ.PAUSE q 5 6", &["syntax error near '6'"]);
    line_refused_naming(client, "DQ.RESUME q 5", &["wrong number of arguments"]);
    assert_eq!(claim_one(client, "q").id(), "a");
}
