//! Fear: a file that is replayed an hour later, or a clock that steps, moves times that were absolute.
//!
//! The clock is faked with libfaketime; without it, or where the server does not start under it, skipped.

use crate::harness::aof::{self, AOF};
use crate::harness::digest::{digest, shown_jobs};
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::faked_clock::FakedClock;
use crate::harness::queue::{claim, claim_one, drain};
use crate::harness::server::{Server, Setup};

const HOUR_MS: u64 = 3_600_000;

/// A server on a faked clock, or None, with a message.
fn start_on_faked_clock(test: &str, lines: &[&str]) -> Option<(FakedClock, Server)> {
    let clock = FakedClock::find(test)?;
    let Ok(server) = clock.on(Setup::default().lines(lines)).try_start() else {
        eprintln!("{test}: skipped, this server does not start under faketime");
        return None;
    };
    Some((clock, server))
}

fn step(clock: &FakedClock, server: &Server, offset_seconds: i64, reached: impl Fn(u64) -> bool) {
    clock.set(offset_seconds);
    let client = &mut server.connect();
    eventually("the server sees the stepped clock", DEADLINE, || reached(client.now()));
}

#[test]
fn an_aof_replayed_an_hour_later_has_the_times_of_then() {
    for preamble in ["yes", "no"] {
        let lines = [AOF[0], AOF[1], &format!("aof-use-rdb-preamble {preamble}")];
        let Some((clock, mut server)) = start_on_faked_clock("an_aof_replayed_an_hour_later", &lines) else {
            return;
        };
        let client = &mut server.connect();
        client.done("DQ.PUSH q m ID in-half-an-hour DELAY 1800000 TTL 100000000");
        client.done("DQ.PUSH q m ID in-two-hours DELAY 7200000");
        client.done("DQ.MPUSH q DELAY 7200000 in-two-hours-too m");
        client.done("DQ.PUSH q m ID now AT 1600000000000");
        let leased = claim_one(client, "q LEASE 600000");
        assert_eq!(leased.id(), "now");
        let ids = ["in-half-an-hour", "in-two-hours", "in-two-hours-too"];
        let before = (digest(client, "q"), shown_jobs(client, "q", &ids));
        let until = client.ask("DQ.GET q now").field("lease_until").int();
        let then = client.now();
        if preamble == "no" {
            aof::rewrite(&server);
        }
        server.kill();
        clock.set(3600);
        server.start_again();

        let client = &mut server.connect();
        assert!(client.now() >= then + HOUR_MS);
        assert_eq!((digest(client, "q"), shown_jobs(client, "q", &ids)), before);
        let due: Vec<_> = claim(client, "q COUNT 10").iter().map(|job| (job.id(), job.attempt)).collect();
        assert_eq!(due, [("now".to_owned(), 2), ("in-half-an-hour".to_owned(), 1)]);
        assert!(until < then as i64 + HOUR_MS as i64);
    }
}

#[test]
fn a_receipt_from_before_the_clock_stepped_back_never_matches() {
    let Some((clock, server)) = start_on_faked_clock("a_receipt_from_before_the_clock_stepped_back", &[])
    else {
        return;
    };
    let client = &mut server.connect();
    let start = client.now();
    let mut receipts = Vec::new();
    for offset in [0, -HOUR_STEP, -2 * HOUR_STEP, HOUR_STEP, 0] {
        step(&clock, &server, offset, |now| {
            now.abs_diff(start.saturating_add_signed(offset * 1000)) < 600_000
        });
        client.done("DEL q");
        client.done("DQ.PUSH q m ID a");
        let receipt = claim_one(client, "q LEASE 100000000").receipt().to_owned();
        for old in &receipts {
            assert_ne!(*old, receipt);
            assert_eq!(client.ask(&format!("DQ.ACK q {old}")), "[0]", "an old receipt at offset {offset}");
        }
        receipts.push(receipt);
    }
    let last = receipts.last().unwrap();
    assert_eq!(client.ask(&format!("DQ.ACK q {last}")), "[1]");
}

const HOUR_STEP: i64 = 3600;

#[test]
fn a_receipt_from_before_a_restart_on_a_clock_that_stepped_back_never_matches() {
    let Some((clock, mut server)) = start_on_faked_clock("a_receipt_from_before_a_restart", &AOF) else {
        return;
    };
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    let old = claim_one(client, "q LEASE 100000000").receipt().to_owned();
    client.done("DQ.CANCEL q a");
    server.kill();
    clock.set(-HOUR_STEP);
    server.start_again();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    let new = claim_one(client, "q LEASE 100000000").receipt().to_owned();
    assert_ne!(old, new);
    let token = |receipt: &str| receipt.split('-').next().unwrap().parse::<u64>().unwrap();
    assert!(token(&new) > token(&old), "{new} after {old}");
    assert_eq!(client.ask(&format!("DQ.ACK q {old}")), "[0]");
    assert_eq!(client.ask(&format!("DQ.ACK q {new}")), "[1]");
}

#[test]
fn absolute_times_follow_the_wall_clock_when_it_steps() {
    let Some((clock, server)) = start_on_faked_clock("absolute_times_follow_the_wall_clock", &[]) else {
        return;
    };
    let client = &mut server.connect();
    let start = client.now();
    client.done("DQ.PUSH q m ID soon DELAY 1800000");
    client.done("DQ.PUSH q m ID claimed");
    claim_one(client, "q LEASE 1800000");
    assert_eq!(claim(client, "q"), []);
    step(&clock, &server, HOUR_STEP, |now| now >= start + HOUR_MS);
    assert_eq!(drain(client, "q"), ["soon", "claimed"]);
    client.done("DQ.PUSH q m ID pushed-ahead");
    step(&clock, &server, 0, |now| now < start + HOUR_MS / 2);
    assert_eq!(claim(client, "q"), [], "not before its time, though the clock has been there");
    client.done("DQ.PUSH q m ID fresh");
    assert_eq!(drain(client, "q"), ["fresh"]);
    step(&clock, &server, HOUR_STEP + 60, |now| now >= start + HOUR_MS + 50_000);
    assert_eq!(drain(client, "q"), ["pushed-ahead"]);
}
