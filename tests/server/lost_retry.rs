//! Fear: a job that failed comes back too early, too late, too often or never again.

use crate::harness::client::Client;
use crate::harness::queue::{PAST, claim, claim_one, push_many};
use crate::harness::replica::{start_pair, wait_in_step};
use crate::harness::reply::Reply;
use crate::harness::server::Server;
use std::collections::HashSet;

const LEASE: &str = "LEASE 100000000";

#[track_caller]
fn get(client: &mut Client, id: &str) -> Reply {
    client.done(&format!("DQ.GET q {id}"))
}

/// Claims the one due job and gives it back; returns the reply and between which times that was.
#[track_caller]
fn fail(client: &mut Client, how: &str) -> (Reply, u64, u64) {
    let receipt = claim_one(client, &format!("q {LEASE}")).receipt().to_owned();
    let before = client.now();
    let reply = client.done(&format!("DQ.NACK q {how} {receipt}"));
    (reply, before, client.now())
}

#[test]
fn one_two_and_four_minutes_and_dead_after_the_fifth() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.POLICY q MAXATTEMPTS 5 BACKOFF 60000 2 3600000 0");
    client.done("DQ.PUSH q m ID a");
    for (attempt, minutes) in [(1, 1), (2, 2), (3, 4), (4, 8)] {
        let (reply, before, after) = fail(client, "");
        assert_eq!(reply, "[waiting]");
        let job = get(client, "a");
        let due = job.field("due").int() as u64;
        let wait = minutes * 60_000;
        assert!(before + wait <= due && due <= after + wait, "attempt {attempt}: {before} {due} {after}");
        assert_eq!(job.field("attempts").int(), attempt);
        assert_eq!(claim(client, "q"), [], "not before its time");
        assert_eq!(client.ask(&format!("DQ.RESCHEDULE q a AT {PAST}")), "waiting");
    }
    let (reply, before, after) = fail(client, "");
    assert_eq!(reply, "[dead]");
    let job = get(client, "a");
    assert_eq!((job.field("attempts").int(), job.field("reason").string()), (5, "nacked".into()));
    let died = job.field("died").int() as u64;
    assert!(before <= died && died <= after, "{before} {died} {after}");
    assert_eq!(claim(client, "q"), []);
}

#[test]
fn the_backoff_stops_at_its_maximum_and_never_overflows() {
    let server = Server::start();
    let client = &mut server.connect();
    for (backoff, waits) in [
        ("60000 2 100000 0", [60_000, 100_000, 100_000]),
        ("5000 1 3600000 0", [5000, 5000, 5000]),
        ("1000000000000 100 1000000000000 0", [1_000_000_000_000; 3]),
        ("0 100 1000000000000 0", [0, 0, 0]),
        ("5000 100 0 0", [0, 0, 0]),
    ] {
        client.done("DEL q");
        client.done(&format!("DQ.POLICY q BACKOFF {backoff}"));
        client.done("DQ.PUSH q m ID a");
        for wait in waits {
            let (_, before, after) = fail(client, "");
            let due = get(client, "a").field("due").int() as u64;
            assert!(before + wait <= due && due <= after + wait, "{backoff}: {before} {due} {after}");
            client.done(&format!("DQ.RESCHEDULE q a AT {PAST}"));
        }
    }
}

#[test]
fn jitter_only_shortens_is_drawn_once_and_is_the_same_on_a_replica() {
    let (master, replica) = start_pair(&[]);
    let client = &mut master.connect();
    client.done("DQ.POLICY q BACKOFF 1000000000 1 1000000000 50");
    push_many(client, "q", "j", 100, PAST);
    let receipts: Vec<String> =
        claim(client, &format!("q COUNT 100 {LEASE}")).iter().map(|job| job.receipt().to_owned()).collect();
    let before = client.now();
    client.done(&format!("DQ.NACK q {}", receipts.join(" ")));
    let after = client.now();
    wait_in_step(&replica, &master);
    let mut dues = HashSet::new();
    for number in 0..100 {
        let line = format!("DQ.GET q j{number}");
        let job = client.ask(&line);
        let due = job.field("due").int() as u64;
        assert!(before + 500_000_000 <= due && due <= after + 1_000_000_000, "{before} {due} {after}");
        assert_eq!(replica.connect().ask(&line), job);
        dues.insert(due);
    }
    assert!(dues.len() > 90, "only {} different times", dues.len());
}

#[test]
fn a_delay_overrules_the_backoff() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.POLICY q BACKOFF 60000 2 3600000 0");
    client.done("DQ.PUSH q m ID a");
    for delay in [0, 1, 5_000_000, 1_000_000_000_000] {
        let (reply, before, after) = fail(client, &format!("DELAY {delay}"));
        assert_eq!(reply, "[waiting]");
        let due = get(client, "a").field("due").int() as u64;
        assert!(before + delay <= due && due <= after + delay, "{before} {due} {after}");
        client.done(&format!("DQ.RESCHEDULE q a AT {PAST}"));
    }
}

#[test]
fn unused_gives_the_attempt_back_and_never_kills() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.POLICY q MAXATTEMPTS 1");
    client.done("DQ.PUSH q m ID a");
    for _ in 0..3 {
        let (reply, before, after) = fail(client, "UNUSED");
        assert_eq!(reply, "[waiting]");
        let job = get(client, "a");
        let due = job.field("due").int() as u64;
        assert!(before <= due && due <= after, "due at once: {before} {due} {after}");
        assert_eq!(job.field("attempts").int(), 0);
    }
    assert_eq!(claim_one(client, "q").attempt, 1);
}

#[test]
fn dead_kills_at_once_however_many_attempts_are_left() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a PRIORITY 3");
    let (reply, before, after) = fail(client, "DEAD ERROR hopeless");
    assert_eq!(reply, "[dead]");
    let job = get(client, "a");
    let died = job.field("died").int() as u64;
    assert!(before <= died && died <= after, "{before} {died} {after}");
    assert_eq!(*job.field("state"), "dead");
    assert_eq!((job.field("attempts").int(), job.field("priority").int()), (1, 3));
    assert_eq!(
        (job.field("reason").string(), job.field("error").string()),
        ("rejected".into(), "hopeless".into())
    );
    assert!(job.field("receipt").is_null() && job.field("lease_until").is_null());
}

#[test]
fn an_error_text_is_kept_to_1024_bytes_and_stays_until_the_next() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    let mut nack = |text: &[u8]| {
        let receipt = claim_one(client, &format!("q {LEASE}")).receipt().to_owned();
        let words: [&[u8]; 7] = [b"DQ.NACK", b"q", b"ERROR", text, b"DELAY", b"0", receipt.as_bytes()];
        assert_eq!(client.call(&words), "[waiting]");
        get(client, "a").field("error").clone()
    };
    assert_eq!(nack(b"first\r\n\0%s\xff").bytes(), b"first\r\n\0%s\xff");
    assert_eq!(nack(&[b'x'; 1024]).bytes(), [b'x'; 1024]);
    let long: Vec<u8> = (0..5000).map(|number| (number % 251) as u8).collect();
    assert_eq!(nack(&long).bytes(), &long[..1024]);
    fail(client, "DELAY 0");
    assert_eq!(get(client, "a").field("error").bytes(), &long[..1024], "without ERROR the last text stays");
    assert_eq!(claim_one(client, &format!("q {LEASE}")).attempt, 5);
    assert_eq!(get(client, "a").field("error").bytes(), &long[..1024], "a claim keeps the text too");
}

#[test]
fn options_stand_in_any_order_before_the_receipts() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    for options in
        ["DELAY 0 ERROR e", "ERROR e DELAY 0", "error e delay 0", "UNUSED ERROR e", "error e unused"]
    {
        let (reply, ..) = fail(client, options);
        assert_eq!(reply, "[waiting]", "{options}");
        assert_eq!(*get(client, "a").field("error"), "e");
    }
    let (reply, ..) = fail(client, "ERROR e dead");
    assert_eq!(reply, "[dead]");
}

#[test]
fn receipts_are_answered_from_left_to_right_and_a_stale_one_is_null() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.POLICY q MAXATTEMPTS 2 BACKOFF 0 1 0 0");
    client.done("DQ.MPUSH q AT 1600000000000 a m 1600000000001 b m");
    client.done("DQ.APPLY q 1 PUT tried m 1600000000002 ATTEMPTS 1");
    let claimed = claim(client, &format!("q COUNT 3 {LEASE}"));
    let [a, b, tried] = [0, 1, 2].map(|index| claimed[index].receipt());
    let reply = client.ask(&format!("DQ.NACK q DELAY 0 {a} 1-b {a} {tried} 7-none {b} {tried}"));
    assert_eq!(reply, "[waiting nil nil dead nil waiting nil]");
    assert_eq!(client.ask(&format!("DQ.ACK q {a} {b} {tried}")), "[0 0 0]");
    assert_eq!(client.ask("DQ.NACK missing UNUSED 1-a 2-b"), "[nil nil]");
    assert_eq!(client.ask("EXISTS missing"), "0");
}

#[test]
fn a_stale_receipt_gives_back_nothing_of_the_current_owner() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    let old = claim_one(client, &format!("q {LEASE}")).receipt().to_owned();
    client.done(&format!("DQ.NACK q DELAY 0 {old}"));
    claim_one(client, &format!("q {LEASE}"));
    let before = get(client, "a");
    for how in ["", "DELAY 5", "UNUSED", "DEAD", "ERROR text"] {
        assert_eq!(client.ask(&format!("DQ.NACK q {how} {old}")), "[nil]", "{how}");
    }
    assert_eq!(get(client, "a"), before);
}

#[test]
fn a_lapsed_delivery_may_still_be_given_back() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.MPUSH q AT 1600000000000 a m 1600000000001 b m");
    client.done("DQ.APPLY q 1 LEASE 1600000001000 55 2 a b");
    assert_eq!(client.ask("DQ.NACK q DELAY 60000 55-a"), "[waiting]");
    assert_eq!(client.ask("DQ.NACK q UNUSED 55-b"), "[waiting]");
    assert_eq!(client.ask("DQ.NACK q 55-a 55-b"), "[nil nil]");
    assert_eq!(get(client, "a").field("attempts").int(), 1);
    assert_eq!(get(client, "b").field("attempts").int(), 0);
    assert_eq!(claim_one(client, "q").id(), "b");
}

#[test]
fn a_job_given_back_comes_behind_what_was_due_before() {
    let server = Server::start();
    let client = &mut server.connect();
    push_many(client, "q", "j", 3, PAST);
    let first = claim_one(client, &format!("q {LEASE}"));
    client.done(&format!("DQ.NACK q DELAY 0 {}", first.receipt()));
    let ids: Vec<String> = claim(client, "q COUNT 3").iter().map(|job| job.id()).collect();
    assert_eq!(ids, ["j1", "j2", "j0"]);
}

#[test]
fn a_poison_job_given_back_at_once_does_not_keep_good_ones_from_being_claimed() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q poison ID poison AT 1600000000000");
    push_many(client, "q", "good", 1000, PAST);
    let mut done = HashSet::new();
    // Each claim of the poison may cost one; a poison that went to the head again would take them all.
    for _ in 0..1100 {
        let job = claim_one(client, &format!("q {LEASE}"));
        if job.id == b"poison" {
            client.done(&format!("DQ.NACK q DELAY 0 {}", job.receipt()));
        } else {
            client.done(&format!("DQ.ACK q {}", job.receipt()));
            done.insert(job.id());
        }
        if done.len() == 1000 {
            return;
        }
    }
    panic!("only {} good jobs were claimed", done.len());
}

#[test]
fn a_retry_continues_at_the_same_time_after_a_restart_and_a_failover() {
    let (mut master, mut replica) = start_pair(&crate::harness::aof::AOF);
    let client = &mut master.connect();
    client.done("DQ.POLICY q MAXATTEMPTS 2 BACKOFF 60000 2 3600000 100");
    client.done("DQ.PUSH q m ID a");
    fail(client, "ERROR e");
    let before = get(client, "a");
    wait_in_step(&replica, &master);
    crate::harness::aof::wait_until_rewritten(&replica);
    master.kill();
    crate::harness::replica::promote(&replica);
    assert_eq!(get(&mut replica.connect(), "a"), before);
    replica.kill();
    replica.start_again();
    let client = &mut replica.connect();
    assert_eq!(get(client, "a"), before);
    client.done(&format!("DQ.RESCHEDULE q a AT {PAST}"));
    assert_eq!(fail(client, "").0, "[dead]", "the policy went along");
}
