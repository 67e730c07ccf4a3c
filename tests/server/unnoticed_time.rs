//! Fear: what happens by time alone (a last lease ends, a time to live is over) is seen too late, written too
//! early, written by a replica's own clock, or written all at once.

use crate::harness::aof::{AOF, effects_written_by};
use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::numbers::{counter, info, states};
use crate::harness::queue::{PAST, claim_one, push_many};
use crate::harness::refusal::changes;
use crate::harness::replica::{start_pair, wait_in_step};
use crate::harness::server::Server;

const ENDED: u64 = PAST + 1000;

/// Lets `count` jobs be dead by time alone: their only lease has ended, and nobody wrote it down.
fn exhaust(client: &mut Client, count: usize) {
    client.done("DQ.POLICY q MAXATTEMPTS 1");
    push_many(client, "q", "dead", count, PAST);
    lease_until(client, "dead", count, ENDED);
}

/// Lets `count` jobs be gone by time alone: their time to live is over, and nobody wrote it down.
fn expire(client: &mut Client, count: usize) {
    let jobs: Vec<String> =
        (0..count).map(|number| format!("PUT gone{number} m {PAST} EXPIRES {ENDED}")).collect();
    client.done(&format!("DQ.APPLY q 1 {}", jobs.join(" ")));
}

fn lease_until(client: &mut Client, prefix: &str, count: usize, until: u64) {
    let ids: Vec<String> = (0..count).map(|number| format!("{prefix}{number}")).collect();
    client.done(&format!("DQ.APPLY q 1 LEASE {until} 55 {count} {}", ids.join(" ")));
}

/// Of how many jobs the lines say that `word` happened to them.
fn written_of(lines: &[String], word: &str) -> usize {
    let words: Vec<&str> = lines.iter().flat_map(|line| line.split(' ')).collect();
    if word == "BURY" {
        return words.iter().filter(|other| **other == word).count();
    }
    let counts = words.windows(3).filter(|three| three[0] == "REMOVE" && three[1] == word);
    counts.map(|three| three[2].parse::<usize>().unwrap()).sum()
}

#[test]
fn every_reader_sees_it_at_once_and_writes_nothing() {
    let server = Server::with(&AOF);
    let client = &mut server.connect();
    exhaust(client, 3);
    expire(client, 4);
    let before = (changes(client), digest(client, "q"));
    let written = effects_written_by(&server, |client| {
        assert_eq!(client.ask("DQ.LEN q"), "3");
        assert_eq!(states(client, "q"), "0 waiting, 0 claimed, 3 dead");
        assert!(client.ask("DQ.GET q gone1").is_null());
        let job = client.ask("DQ.GET q dead1");
        assert_eq!(
            job,
            format!(
                "[id dead1 message dead1 state dead due {PAST} priority 0 attempts 1 expires nil \
                 lease_until nil receipt nil error nil died {ENDED} reason \"lease expired\"]"
            )
        );
        assert_eq!(client.ask("DQ.PEEK q"), "[\"0\" []]");
        assert_eq!(client.ask("DQ.PEEK q CLAIMED"), "[\"0\" []]");
        let dead = client.ask("DQ.PEEK q DEAD");
        assert_eq!(dead.items()[1].items().len(), 3);
        assert_eq!(dead.items()[1].items()[1], job);
        let info = info(client, "q");
        assert_eq!((info.field("due").int(), info.field("lag_ms").int()), (0, 0));
        assert!(info.field("next_due").is_null());
    });
    assert!(written.is_empty(), "{written:?}");
    assert_eq!((changes(client), digest(client, "q")), before);
}

#[test]
fn every_write_command_writes_down_at_most_a_hundred() {
    for line in [
        "DQ.PUSH q m ID new",
        "DQ.MPUSH q DELAY 0 x m 0 y m",
        "DQ.CLAIM q",
        "DQ.ACK q 1-none",
        "DQ.NACK q 1-none",
        "DQ.EXTEND q LEASE 5 1-none",
        "DQ.CANCEL q none",
        "DQ.RESCHEDULE q none DELAY 5",
        "DQ.REDRIVE q ID none",
        "DQ.MOVE q list",
        "DQ.POLICY q",
        "DQ.PAUSE q 5",
        "DQ.RESUME q",
        "DQ.PURGE q CLAIMED",
    ] {
        let server = Server::with(&AOF);
        let client = &mut server.connect();
        exhaust(client, 150);
        expire(client, 130);
        let mut sums = (0, 0);
        for round in 0..4 {
            let written = effects_written_by(&server, |client| drop(client.done(line)));
            let found = (written_of(&written, "BURY"), written_of(&written, "expired"));
            let expected = [100, 100, 80, 0][round];
            assert_eq!(found.0 + found.1, expected, "{line}, round {round}: {found:?}");
            sums = (sums.0 + found.0, sums.1 + found.1);
        }
        assert_eq!(sums, (150, 130), "{line}");
        assert_eq!(counter(client, "q", "expired"), 130, "{line}");
        assert_eq!(counter(client, "q", "lapsed"), 150, "{line}");
        assert_eq!(counter(client, "q", "died"), 150, "{line}");
    }
}

#[test]
fn what_is_over_is_never_in_the_way_of_what_is_due() {
    let server = Server::start();
    let client = &mut server.connect();
    exhaust(client, 5000);
    expire(client, 5000);
    client.done(&format!("DQ.PUSH q m ID good AT {ENDED}"));
    assert_eq!(claim_one(client, "q").id(), "good");
    assert_eq!(states(client, "q"), "0 waiting, 0 claimed, 5000 dead");
}

#[test]
fn a_replica_never_acts_by_its_own_clock() {
    let (master, replica) = start_pair(&AOF);
    let (on_master, on_replica) = (&mut master.connect(), &mut replica.connect());
    exhaust(on_master, 150);
    expire(on_master, 20);
    on_master.done("DQ.PUSH q m ID there AT 1600000000000 TTL 0");
    wait_in_step(&replica, &master);
    let before = digest(on_master, "q");
    for client in [&mut *on_master, &mut *on_replica] {
        assert_eq!(states(client, "q"), "1 waiting, 0 claimed, 150 dead");
        client.done("DQ.PEEK q DEAD COUNT 200");
        client.done("DQ.GET q gone3");
    }
    assert_eq!(digest(on_replica, "q"), before, "the replica changed its queue by itself");
    for _ in 0..3 {
        on_master.done("DQ.CANCEL q none");
        wait_in_step(&replica, &master);
        assert_eq!(digest(on_replica, "q"), digest(on_master, "q"));
    }
    assert_ne!(digest(on_master, "q"), before);
    assert_eq!(on_replica.ask("DQ.PEEK q DEAD COUNT 200"), on_master.ask("DQ.PEEK q DEAD COUNT 200"));
}

#[test]
fn a_replica_sees_a_lease_end_that_its_master_never_wrote() {
    let (mut master, replica) = start_pair(&[]);
    let client = &mut master.connect();
    client.done("DQ.POLICY q MAXATTEMPTS 1");
    client.done("DQ.PUSH q m ID a");
    let until = {
        claim_one(client, "q LEASE 50");
        client.ask("DQ.GET q a")
    };
    wait_in_step(&replica, &master);
    master.kill();
    let client = &mut replica.connect();
    let before = digest(client, "q");
    eventually("the lease ends on the replica too", DEADLINE, || {
        *client.ask("DQ.GET q a").field("state") == *"dead"
    });
    if !until.field("lease_until").is_null() {
        assert_eq!(client.ask("DQ.GET q a").field("died"), until.field("lease_until"));
    }
    assert_eq!(digest(client, "q"), before);
    crate::harness::replica::promote(&replica);
    assert_eq!(digest(client, "q"), before, "a promotion writes nothing either");
    client.done("DQ.CANCEL q none");
    assert_ne!(digest(client, "q"), before);
    assert_eq!(states(client, "q"), "0 waiting, 0 claimed, 1 dead");
}

#[test]
fn a_job_that_nobody_took_in_its_time_to_live_is_expired_and_its_memory_freed() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID first");
    client.done("DQ.CLAIM q");
    let empty = info(client, "q").field("bytes").int();
    // Due after 20 ms, gone 20 ms later; a time to live shorter than the delay is no mistake.
    client.call(&["DQ.PUSH", "q", &"x".repeat(100_000), "ID", "a", "DELAY", "20", "TTL", "20"]);
    assert!(info(client, "q").field("bytes").int() > 100_000);
    eventually("the time to live is over", DEADLINE, || client.ask("DQ.LEN q") == "0");
    assert_eq!(client.ask("DQ.CLAIM q"), "[]");
    assert_eq!(counter(client, "q", "expired"), 1);
    assert!(info(client, "q").field("bytes").int() <= empty + 1000);
}

#[test]
fn a_running_lease_outlives_the_time_to_live_and_its_ack_counts() {
    let server = Server::start();
    let client = &mut server.connect();
    for (lease, ack) in [("4102444800000", "[1]"), ("1600000002000", "[0]")] {
        client.done("DEL q");
        client.done(&format!("DQ.APPLY q 1 PUT a m {PAST} EXPIRES {ENDED} LEASE {lease} 55 1 a"));
        let is_claimed = ack == "[1]";
        assert_eq!(client.ask("DQ.LEN q"), if is_claimed { "1" } else { "0" });
        assert_eq!(client.ask("DQ.ACK q 55-a"), ack, "a lease until {lease}");
        assert_eq!(counter(client, "q", "acked"), i64::from(is_claimed));
        assert_eq!(counter(client, "q", "expired"), i64::from(!is_claimed));
    }
}

#[test]
fn a_job_given_back_after_its_time_to_live_is_gone() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done(&format!("DQ.APPLY q 1 PUT a m {PAST} EXPIRES {ENDED} LEASE 4102444800000 55 1 a"));
    assert_eq!(client.ask("DQ.NACK q DELAY 5 55-a"), "[waiting]");
    assert!(client.ask("DQ.GET q a").is_null());
    assert_eq!(client.ask("DQ.LEN q"), "0");
    assert_eq!(counter(client, "q", "expired"), 1);
}

#[test]
fn a_policys_ttl_is_for_pushes_that_name_none() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.POLICY q TTL 5000");
    client.done("DQ.MPUSH q AT 4102444800000 by-policy m");
    client.done("DQ.PUSH q m ID own AT 4102444800000 TTL 7");
    client.done("DQ.PUSH q m ID none AT 4102444800000 TTL 0");
    client.done("DQ.POLICY q TTL 0");
    client.done("DQ.PUSH q m ID later AT 4102444800000");
    let expires = ["by-policy", "own", "none", "later"]
        .map(|id| client.ask(&format!("DQ.GET q {id}")).field("expires").text());
    assert_eq!(expires, ["4102444805000", "4102444800007", "nil", "nil"]);
}

#[test]
fn a_job_dead_by_time_may_be_acked_but_not_extended_or_given_back() {
    let server = Server::start();
    let client = &mut server.connect();
    exhaust(client, 2);
    for _ in 0..2 {
        assert_eq!(client.ask("DQ.EXTEND q LEASE 100000 55-dead0"), "[0]");
        assert_eq!(client.ask("DQ.NACK q DELAY 0 ERROR late 55-dead0"), "[dead]");
        let job = client.ask("DQ.GET q dead0");
        assert_eq!(
            (job.field("reason").text(), job.field("error").text()),
            ("\"lease expired\"".into(), "late".into())
        );
    }
    assert_eq!(client.ask("DQ.ACK q 55-dead0 55-dead1"), "[1 1]");
    assert_eq!(client.ask("DQ.LEN q"), "0");
    assert_eq!(counter(client, "q", "acked"), 2);
}
