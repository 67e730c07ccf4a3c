//! Fear: a worker that was too slow, or a receipt from another life, ends the delivery of someone else.

use crate::harness::aof::AOF;
use crate::harness::client::Client;
use crate::harness::eventually::{DEADLINE, eventually_some};
use crate::harness::queue::{Delivery, claim, claim_one};
use crate::harness::replica::{promote, start_pair, wait_in_step};
use crate::harness::server::Server;

/// Claims what becomes due again when a short lease ends.
#[track_caller]
fn claim_again(client: &mut Client, words: &str) -> Delivery {
    eventually_some("the lease ends and the job is due again", DEADLINE, || claim(client, words).pop())
}

#[track_caller]
fn ack(client: &mut Client, receipt: &str) -> String {
    client.done(&format!("DQ.ACK q {receipt}")).text()
}

#[test]
fn a_late_ack_after_a_second_claim_is_refused_and_the_new_owner_untouched() {
    let server = Server::start();
    let (slow, fast) = (&mut server.connect(), &mut server.connect());
    slow.done("DQ.PUSH q m ID a");
    let first = claim_one(slow, "q LEASE 1");
    let second = claim_again(fast, "q LEASE 100000000");
    assert_eq!((second.id.as_slice(), second.attempt), (b"a".as_slice(), 2));
    assert_ne!(first.receipt(), second.receipt());
    let before = fast.ask("DQ.GET q a");
    assert_eq!(ack(slow, first.receipt()), "[0]");
    assert_eq!(fast.ask("DQ.GET q a"), before);
    assert_eq!(ack(fast, second.receipt()), "[1]");
    assert_eq!(ack(fast, second.receipt()), "[0]", "a second ack of the same delivery");
    assert_eq!(fast.ask("DQ.LEN q"), "0");
}

#[test]
fn a_late_ack_before_a_second_claim_counts() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    let claimed = claim_one(client, "q LEASE 1");
    eventually_some("the lease ends", DEADLINE, || {
        (*client.ask("DQ.GET q a").field("state") == *"waiting").then_some(())
    });
    assert_eq!(ack(client, claimed.receipt()), "[1]");
    assert_eq!(claim(client, "q"), []);
    assert_eq!(client.ask("DQ.LEN q"), "0");
}

#[test]
fn an_ended_lease_redelivers_with_a_higher_attempt_each_time() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a AT 1600000000000");
    let mut due = 1_600_000_000_000;
    for attempt in 1..=4 {
        let claimed = claim_again(client, "q LEASE 1");
        assert_eq!((claimed.attempt, claimed.due), (attempt, due));
        due = lease_end(client, "a");
    }
}

/// When the job's lease ends, or ended: what it shows as due once it has lapsed.
fn lease_end(client: &mut Client, id: &str) -> i64 {
    eventually_some("the lease ends", DEADLINE, || {
        let job = client.ask(&format!("DQ.GET q {id}"));
        (*job.field("state") == *"waiting").then(|| job.field("due").int())
    })
}

#[test]
fn a_running_lease_is_not_shortened_by_other_claims() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    claim_one(client, "q LEASE 100000000");
    let before = client.ask("DQ.GET q a");
    for _ in 0..20 {
        assert_eq!(claim(client, "q LEASE 1"), []);
    }
    assert_eq!(client.ask("DQ.GET q a"), before);
}

#[test]
fn a_lost_connection_changes_nothing_about_the_lease() {
    let server = Server::start();
    server.connect().done("DQ.PUSH q m ID a");
    let claimed = claim_one(&mut server.connect(), "q LEASE 100000000");
    let client = &mut server.connect();
    assert_eq!(*client.ask("DQ.GET q a").field("receipt"), claimed.receipt());
    assert_eq!(ack(client, claimed.receipt()), "[1]");
}

#[test]
fn a_receipt_from_before_del_never_matches() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut receipts: Vec<String> = Vec::new();
    for removal in ["DEL q", "UNLINK q", "FLUSHALL", "RENAME q elsewhere", "DQ.CANCEL q a"] {
        client.done("DQ.PUSH q m ID a");
        let receipt = claim_one(client, "q LEASE 100000000").receipt().to_owned();
        for old in &receipts {
            assert_eq!(ack(client, old), "[0]", "{old} after {removal}");
        }
        assert_eq!(*client.ask("DQ.GET q a").field("receipt"), *receipt);
        receipts.push(receipt);
        client.done(removal);
    }
}

#[test]
fn a_receipt_from_before_a_restart_never_matches() {
    let mut server = Server::with(&AOF);
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    let old = claim_one(client, "q LEASE 100000000").receipt().to_owned();
    client.done("DEL q");
    server.kill();
    server.start_again();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    let new = claim_one(client, "q LEASE 100000000").receipt().to_owned();
    assert_eq!(ack(client, &old), "[0]");
    assert_eq!(ack(client, &new), "[1]");
}

#[test]
fn a_receipt_outlives_a_restart_as_long_as_its_delivery() {
    let mut server = Server::with(&AOF);
    server.connect().done("DQ.PUSH q m ID a");
    let receipt = claim_one(&mut server.connect(), "q LEASE 100000000").receipt().to_owned();
    server.kill();
    server.start_again();
    assert_eq!(claim(&mut server.connect(), "q"), []);
    assert_eq!(ack(&mut server.connect(), &receipt), "[1]");
}

#[test]
fn a_receipt_from_before_a_failover_never_matches_a_new_delivery() {
    let (mut master, replica) = start_pair(&[]);
    let client = &mut master.connect();
    client.done("DQ.MPUSH q DELAY 0 kept m 0 deleted m");
    let claimed = claim(client, "q COUNT 2 LEASE 100000000");
    client.done("DQ.CANCEL q deleted");
    wait_in_step(&replica, &master);
    // These claims never reach the replica: its promotion must not make their tokens again.
    let lost: Vec<String> = {
        client.done("DQ.PUSH q m ID deleted");
        claim(client, "q LEASE 100000000").iter().map(|job| job.receipt().to_owned()).collect()
    };
    master.kill();
    promote(&replica);
    let client = &mut replica.connect();
    client.done("DQ.CANCEL q deleted");
    client.done("DQ.PUSH q m ID deleted");
    let new = claim_one(client, "q LEASE 100000000");
    assert_eq!(ack(client, claimed[1].receipt()), "[0]");
    for receipt in lost {
        assert_eq!(ack(client, &receipt), "[0]");
    }
    assert_eq!(ack(client, new.receipt()), "[1]");
    assert_eq!(ack(client, claimed[0].receipt()), "[1]", "a delivery that goes on keeps its receipt");
}

#[test]
fn one_claim_has_one_token_and_no_two_claims_share_it() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut last = 0;
    for round in 0..200 {
        client.done(&format!("DQ.MPUSH q DELAY 0 a{round} m 0 b{round} m"));
        let claimed = claim(client, "q COUNT 2 LEASE 100000000");
        let tokens: Vec<u64> = claimed.iter().map(token).collect();
        assert_eq!(tokens[0], tokens[1]);
        assert!(tokens[0] > last, "{} after {last}", tokens[0]);
        last = tokens[0];
    }
}

fn token(delivery: &Delivery) -> u64 {
    delivery.receipt().split('-').next().unwrap().parse().unwrap()
}

#[test]
fn a_receipt_of_another_queue_or_with_another_id_does_not_match() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    client.done("DQ.PUSH p m ID a");
    let receipt = claim_one(client, "q LEASE 100000000").receipt().to_owned();
    claim_one(client, "p LEASE 100000000");
    assert_eq!(client.ask(&format!("DQ.ACK p {receipt}")), "[0]");
    assert_eq!(ack(client, &format!("{receipt}b")), "[0]");
    assert_eq!(ack(client, &receipt), "[1]");
}
