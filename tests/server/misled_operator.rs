//! Fear: who handles jobs by id or by receipt (extends, reschedules, asks) is told one thing and gets another.

use crate::harness::client::Client;
use crate::harness::queue::{FUTURE, PAST, claim, claim_one};
use crate::harness::refusal::{line_refused_naming, refused_naming};
use crate::harness::reply::Reply;
use crate::harness::server::Server;

#[track_caller]
fn get(client: &mut Client, id: &str) -> Reply {
    client.done(&format!("DQ.GET q {id}"))
}

/// Asserts that `line` sets `field` of the job to `length` after the server's now.
#[track_caller]
fn assert_sets(client: &mut Client, line: &str, reply: &str, (id, field): (&str, &str), length: u64) {
    let before = client.now();
    assert_eq!(client.ask(line), reply, "{line}");
    let after = client.now();
    let set = get(client, id).field(field).int() as u64;
    assert!(before + length <= set && set <= after + length, "{line}: {before} {set} {after}");
}

#[test]
fn a_missing_key_answers_what_the_contract_says() {
    let server = Server::start();
    let client = &mut server.connect();
    for (line, reply) in [
        ("DQ.NACK missing 1-a 2-b", "[nil nil]"),
        ("DQ.NACK missing DEAD ERROR text 1-a", "[nil]"),
        ("DQ.EXTEND missing LEASE 5 1-a 2-b", "[0 0]"),
        ("DQ.CANCEL missing a b", "[nil nil]"),
        ("DQ.RESCHEDULE missing a DELAY 5", "nil"),
        ("DQ.RESCHEDULE missing a AT 4102444800000", "nil"),
        ("DQ.REDRIVE missing COUNT 5", "0"),
        ("DQ.REDRIVE missing ID a", "0"),
        ("DQ.PURGE missing WAITING", "0"),
        ("DQ.PEEK missing", "[\"0\" []]"),
        ("DQ.PEEK missing CLAIMED FROM 5-5 COUNT 5", "[\"0\" []]"),
        ("DQ.GET missing a", "nil"),
        ("DQ.INFO missing", "nil"),
        ("DQ.LEN missing", "0"),
    ] {
        assert_eq!(client.ask(line), reply, "{line}");
    }
    assert_eq!(client.ask("DBSIZE"), "0");
}

#[test]
fn an_extension_counts_from_now_longer_or_shorter() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    let receipt = claim_one(client, "q LEASE 5000000").receipt().to_owned();
    for lease in [9_000_000, 1_000_000, 1_000_000_000_000] {
        let line = format!("DQ.EXTEND q LEASE {lease} {receipt}");
        assert_sets(client, &line, "[1]", ("a", "lease_until"), lease);
        let job = get(client, "a");
        assert_eq!((job.field("receipt").string(), job.field("attempts").int()), (receipt.clone(), 1));
    }
    assert_eq!(client.ask(&format!("DQ.EXTEND q LEASE 0 {receipt}")), "[1]");
    assert_eq!(*get(client, "a").field("state"), "waiting", "a lease of nothing has ended");
    assert_eq!(claim_one(client, "q").attempt, 2);
}

#[test]
fn an_ended_lease_is_extended_until_somebody_claims_again() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a AT 1600000000000");
    client.done("DQ.APPLY q 1 LEASE 1600000001000 55 1 a");
    assert_eq!(*get(client, "a").field("state"), "waiting");
    assert_sets(client, "DQ.EXTEND q LEASE 5000000 55-a", "[1]", ("a", "lease_until"), 5_000_000);
    assert_eq!(*get(client, "a").field("state"), "claimed");
    assert_eq!(claim(client, "q"), []);
    client.done("DQ.APPLY q 1 EXTEND 1600000001000 1 a");
    let second = claim_one(client, "q LEASE 1000000");
    assert_eq!(second.attempt, 2);
    let before = get(client, "a");
    assert_eq!(client.ask("DQ.EXTEND q LEASE 9000000 55-a"), "[0]");
    assert_eq!(get(client, "a"), before, "the new owner's lease is untouched");
    let line = format!("DQ.EXTEND q LEASE 7000000 {} 55-a 1-none {}", second.receipt(), second.receipt());
    assert_sets(client, &line, "[1 0 0 1]", ("a", "lease_until"), 7_000_000);
}

#[test]
fn an_extension_does_not_touch_what_was_given_back_or_is_done() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.MPUSH q AT 1600000000000 a m 1600000000001 b m 1600000000002 c m");
    let claimed = claim(client, "q COUNT 3 LEASE 100000000");
    let [a, b, c] = [0, 1, 2].map(|index| claimed[index].receipt());
    client.done(&format!("DQ.ACK q {a}"));
    client.done(&format!("DQ.NACK q DELAY 0 {b}"));
    client.done(&format!("DQ.NACK q DEAD {c}"));
    assert_eq!(client.ask(&format!("DQ.EXTEND q LEASE 5000000 {a} {b} {c}")), "[0 0 0]");
    assert_eq!(claim_one(client, "q").id(), "b");
}

#[test]
fn a_waiting_job_is_rescheduled_to_the_given_time() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a AT 4102444800000 PRIORITY 3");
    assert_sets(client, "DQ.RESCHEDULE q a DELAY 60000", "waiting", ("a", "due"), 60_000);
    assert_sets(client, "DQ.RESCHEDULE q a DELAY 1000000000000", "waiting", ("a", "due"), 1_000_000_000_000);
    assert_eq!(client.ask("DQ.RESCHEDULE q a AT 9007199254740991"), "waiting");
    assert_eq!(*get(client, "a").field("due"), "9007199254740991");
    assert_eq!(claim(client, "q"), []);
    assert_eq!(client.ask("dq.reschedule q a at 1600000000000"), "waiting");
    let job = claim_one(client, "q");
    assert_eq!((job.due, job.attempt), (1_600_000_000_000, 1));
    assert_eq!(client.ask("DQ.RESCHEDULE q a DELAY 0"), "nil");
}

#[test]
fn a_job_put_farther_does_not_come_at_its_old_time() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.MPUSH q AT 1600000000000 far m 1600000000001 near m");
    client.done(&format!("DQ.RESCHEDULE q far AT {FUTURE}"));
    assert_eq!(claim_one(client, "q").id(), "near");
    assert_eq!(claim(client, "q"), []);
    assert_eq!(client.ask("DQ.MOVE q list"), "0");
}

#[test]
fn what_does_not_wait_is_not_rescheduled_and_says_what_it_is() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.MPUSH q AT 1600000000000 claimed m 1600000000001 dead m 1600000000002 lapsed m");
    client.done("DQ.POLICY q MAXATTEMPTS 2");
    client.done("DQ.APPLY q 1 PUT last m 1600000000000 ATTEMPTS 1");
    client.done("DQ.APPLY q 1 LEASE 4102444800000 55 1 claimed LEASE 1600000001000 56 2 lapsed last");
    client.done("DQ.APPLY q 1 BURY dead nacked 1600000000000");
    for (id, state) in [("claimed", "claimed"), ("dead", "dead"), ("last", "dead")] {
        let before = get(client, id);
        assert_eq!(client.ask(&format!("DQ.RESCHEDULE q {id} DELAY 5000")), state);
        assert_eq!(get(client, id), before, "{id}");
    }
    assert_sets(client, "DQ.RESCHEDULE q lapsed DELAY 60000", "waiting", ("lapsed", "due"), 60_000);
    assert_eq!(get(client, "lapsed").field("attempts").int(), 1, "its attempts stay");
    assert_eq!(client.ask("DQ.ACK q 56-lapsed"), "[0]", "its receipt has ended");
    assert_eq!(client.ask("DQ.RESCHEDULE q none DELAY 5"), "nil");
}

#[test]
fn a_time_to_live_moves_along_with_the_due_time() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a AT 4102444800000 TTL 5000");
    for due in [FUTURE + 7_000_000, FUTURE - 999, FUTURE] {
        assert_eq!(client.ask(&format!("DQ.RESCHEDULE q a AT {due}")), "waiting");
        let job = get(client, "a");
        assert_eq!((job.field("due").int() as u64, job.field("expires").int() as u64), (due, due + 5000));
    }
    line_refused_naming(client, "DQ.RESCHEDULE q a AT 9007199254740991", &["TTL"]);
    assert_eq!(*get(client, "a").field("due"), FUTURE.to_string());
    client.done(&format!("DQ.RESCHEDULE q a AT {PAST}"));
    assert_eq!(client.ask("DQ.LEN q"), "0", "its time to live is over");
}

#[test]
fn wrong_options_are_refused_naming_them_and_change_nothing() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a AT 1600000000000");
    client.done("DQ.APPLY q 1 LEASE 4102444800000 55 1 a");
    for (line, facts) in [
        ("DQ.NACK q DELAY -1 55-a", ["DELAY", "1000000000000", "'-1'"]),
        ("DQ.NACK q DELAY 1700000000000 55-a", ["DELAY", "use AT", "'1700000000000'"]),
        ("DQ.NACK q DELAY 5 UNUSED 55-a", ["syntax error", "near", "'UNUSED'"]),
        ("DQ.NACK q DEAD UNUSED 55-a", ["syntax error", "near", "'UNUSED'"]),
        ("DQ.NACK q ERROR a ERROR b 55-a", ["syntax error", "near", "'ERROR'"]),
        ("DQ.NACK q DELAY 5 DELAY 5 55-a", ["syntax error", "near", "'DELAY'"]),
        ("DQ.NACK q ERROR", ["syntax error", "ERROR", "needs a value"]),
        ("DQ.NACK q DEAD", ["syntax error", "receipt", "missing"]),
        ("DQ.NACK q BOGUS 55-a", ["receipt", "<token>-<id>", "'BOGUS'"]),
        ("DQ.NACK q 55-a DEAD", ["receipt", "<token>-<id>", "'DEAD'"]),
        ("DQ.NACK q 55-a x-a", ["receipt", "<token>-<id>", "'x-a'"]),
        ("DQ.EXTEND q LEASE 1000000000001 55-a", ["LEASE", "1000000000000", "'1000000000001'"]),
        ("DQ.EXTEND q LEASE 1.5 55-a", ["LEASE", "1000000000000", "'1.5'"]),
        ("DQ.EXTEND q LEASE 5 55-a 5", ["receipt", "<token>-<id>", "'5'"]),
        ("DQ.EXTEND q DELAY 5 55-a", ["syntax error", "near", "'DELAY'"]),
        ("DQ.EXTEND q 55-a LEASE 5", ["syntax error", "near", "'55-a'"]),
        ("DQ.RESCHEDULE q a DELAY 1.5", ["DELAY", "1000000000000", "'1.5'"]),
        ("DQ.RESCHEDULE q a DELAY 1700000000000", ["DELAY", "use AT", "'1700000000000'"]),
        ("DQ.RESCHEDULE q a AT 1700000000", ["AT", "looks like seconds", "'1700000000'"]),
        ("DQ.RESCHEDULE q a AT 9007199254740992", ["AT", "9007199254740991", "'9007199254740992'"]),
        ("DQ.RESCHEDULE q a IN 5", ["syntax error", "near", "'IN'"]),
        ("DQ.RESCHEDULE q * DELAY 5", ["id", "1 to 1024", "'*'"]),
        ("DQ.REDRIVE q COUNT 0", ["COUNT", "from 1 to 10000", "'0'"]),
        ("DQ.REDRIVE q COUNT 10001", ["COUNT", "from 1 to 10000", "'10001'"]),
        ("DQ.REDRIVE q DELAY x COUNT 5", ["DELAY", "1000000000000", "'x'"]),
        ("DQ.REDRIVE q COUNT 5 ID a", ["syntax error", "near", "'ID'"]),
        ("DQ.REDRIVE q DELAY 5", ["syntax error", "COUNT", "ID"]),
        ("DQ.REDRIVE q DELAY 5 ID", ["syntax error", "ID", "needs a value"]),
        ("DQ.REDRIVE q a b", ["syntax error", "near", "'a'"]),
    ] {
        line_refused_naming(client, line, &facts);
    }
    assert_eq!(*get(client, "a").field("lease_until"), "4102444800000");
    assert!(get(client, "a").field("error").is_null());
}

#[test]
fn too_few_and_too_many_words_are_refused() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in [
        "DQ.NACK",
        "DQ.NACK q",
        "DQ.EXTEND q",
        "DQ.EXTEND q LEASE 5",
        "DQ.RESCHEDULE q a",
        "DQ.RESCHEDULE q a DELAY",
        "DQ.RESCHEDULE q a DELAY 5 AT",
        "DQ.REDRIVE q",
        "DQ.REDRIVE q COUNT",
        "DQ.POLICY",
        "DQ.PAUSE",
        "DQ.RESUME",
        "DQ.PURGE q",
        "DQ.PEEK",
        "DQ.INFO",
    ] {
        line_refused_naming(client, line, &["wrong number of arguments"]);
    }
    let long = "x".repeat(1025);
    refused_naming(client, &["DQ.RESCHEDULE", "q", &long, "DELAY", "5"], &["id", "1024"]);
    refused_naming(client, &["DQ.REDRIVE", "q", "ID", "a", ""], &["id", "1024"]);
    assert_eq!(client.ask("DBSIZE"), "0");
}
