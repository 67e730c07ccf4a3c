//! Fear: two consumers get one job, or a job is got by none.

use crate::harness::client::Client;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::queue::{Delivery, PAST, claim, push_many};
use crate::harness::random::Random;
use crate::harness::server::Server;
use std::collections::HashSet;
use std::thread;

const JOBS: usize = 100_000;
const CONNECTIONS: u64 = 64;

/// Claims until nothing is left, in batches of 1 to 100.
fn consume(client: &mut Client, random: &mut Random, options: &str) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let claimed = claim(client, &format!("q COUNT {} {options}", 1 + random.below(100)));
        if claimed.is_empty() {
            return ids;
        }
        ids.extend(claimed.iter().map(|job| job.id()));
    }
}

fn consume_with_all_connections(server: &Server, options: &str) -> Vec<String> {
    thread::scope(|scope| {
        let consumers: Vec<_> = (0..CONNECTIONS)
            .map(|seed| {
                scope.spawn(move || consume(&mut server.connect(), &mut Random::seeded(seed), options))
            })
            .collect();
        consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect()
    })
}

#[track_caller]
fn assert_each_once(ids: &[String], count: usize) {
    let distinct: HashSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "some job was delivered twice");
    assert_eq!(ids.len(), count, "some job was not delivered");
}

#[test]
fn a_hundred_thousand_jobs_reach_64_connections_once_each() {
    let server = Server::start();
    let client = &mut server.connect();
    push_many(client, "q", "j", JOBS, PAST);
    let ids = consume_with_all_connections(&server, "");
    assert_each_once(&ids, JOBS);
    assert_eq!(client.ask("DQ.LEN q"), "0");
}

#[test]
fn leased_jobs_reach_64_connections_once_each_and_are_acked_once() {
    let server = Server::start();
    push_many(&mut server.connect(), "q", "j", 20_000, PAST);
    let ids = consume_with_all_connections(&server, "LEASE 100000000");
    assert_each_once(&ids, 20_000);
    assert_eq!(server.connect().ask("DQ.LEN q"), "20000");
}

#[test]
fn producers_and_consumers_at_once_lose_and_double_nothing() {
    let server = Server::start();
    let ids: Vec<String> = thread::scope(|scope| {
        for producer in 0..4 {
            let server = &server;
            scope.spawn(move || {
                for part in 0..20 {
                    push_many(&mut server.connect(), "q", &format!("p{producer}-{part}-"), 100, PAST);
                }
            });
        }
        let consumers: Vec<_> = (0..8).map(|_| scope.spawn(|| consume_until(&server, 1000))).collect();
        consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect()
    });
    assert_each_once(&ids, 8000);
}

/// Claims and acks until this consumer has had its share.
fn consume_until(server: &Server, share: usize) -> Vec<String> {
    let client = &mut server.connect();
    let mut ids = Vec::new();
    eventually("the consumer has its share", DEADLINE, || {
        let claimed = claim(client, &format!("q COUNT {} LEASE 100000000", (share - ids.len()).min(7)));
        for job in claimed {
            assert_eq!(job.attempt, 1);
            assert_eq!(client.ask(&format!("DQ.ACK q {}", job.receipt())), "[1]");
            ids.push(job.id());
        }
        ids.len() == share
    });
    ids
}

#[test]
fn movers_and_consumers_at_once_lose_and_double_nothing() {
    let server = Server::start();
    let client = &mut server.connect();
    push_many(client, "q", "j", 20_000, PAST);
    let mut ids: Vec<String> = thread::scope(|scope| {
        for verb in ["RPUSH", "LPUSH"] {
            let server = &server;
            scope.spawn(
                move || while server.connect().ask(&format!("DQ.MOVE q list {verb} COUNT 37")).int() > 0 {},
            );
        }
        let consumers: Vec<_> = (0..4)
            .map(|seed| {
                scope.spawn({
                    let server = &server;
                    move || consume(&mut server.connect(), &mut Random::seeded(seed), "")
                })
            })
            .collect();
        consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect()
    });
    let moved = client.ask("LRANGE list 0 -1");
    ids.extend(moved.items().iter().map(|item| item.string()));
    assert_each_once(&ids, 20_000);
}

/// Work takes three leases. Whose heart stops beating loses the job to the next, and whose does not keeps it.
#[test]
fn a_heartbeat_keeps_a_job_for_as_long_as_it_beats() {
    const LEASE: u64 = 500;
    let server = Server::start();
    let client = &mut server.connect();
    push_many(client, "q", "m", 20, PAST);
    let started = client.now();
    let jobs = claim(client, &format!("q COUNT 20 LEASE {LEASE}"));
    let (dying, living) = jobs.split_at(3);
    let receipts: Vec<&str> = living.iter().map(Delivery::receipt).collect();
    let mut redelivered = Vec::new();
    eventually("the work is done", DEADLINE, || {
        let extended = client.ask(&format!("DQ.EXTEND q LEASE {LEASE} {}", receipts.join(" ")));
        assert_eq!(extended.items().len(), 17);
        redelivered.extend(claim(client, "q COUNT 20 LEASE 100000"));
        client.now() > started + 3 * LEASE
    });
    let ids = |jobs: &[Delivery]| jobs.iter().map(Delivery::id).collect::<Vec<_>>();
    assert_eq!(ids(&redelivered), ids(dying), "of those without a heartbeat, each once");
    for job in living {
        assert_eq!(client.ask(&format!("DQ.ACK q {}", job.receipt())), "[1]");
    }
    for (late, current) in dying.iter().zip(&redelivered) {
        assert_eq!(client.ask(&format!("DQ.ACK q {} {}", late.receipt(), current.receipt())), "[0 1]");
    }
    assert_eq!(client.ask("DQ.LEN q"), "0");
}
