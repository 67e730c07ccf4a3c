//! Fear: a job becomes due in the moment in which a wait ends, and the client gets two replies or none, or the job goes to
//! nobody.
//!
//! Each round tries the chance once; DQ_LARGE=1 makes it ten thousand rounds.

use crate::harness::client::Client;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::queue::claim;
use crate::harness::random::Random;
use crate::harness::reply::Reply;
use crate::harness::server::Server;
use crate::harness::waiting::{rounds, until_waiting};

/// Reads the reply of a wait and of the PING sent after it; returns the message of the one job, if there was one.
#[track_caller]
fn one_reply(client: &mut Client, round: usize) -> Option<String> {
    let reply = client.receive_within(DEADLINE).unwrap();
    let after = client.receive_within(DEADLINE).unwrap();
    assert_eq!(after, "PONG", "round {round}: two replies of one wait: {reply}, then {after}");
    match &reply {
        Reply::NullArray => None,
        served => {
            assert_eq!(served.items().len(), 1, "round {round}: {reply}");
            Some(served.items()[0].items()[1].string())
        }
    }
}

/// What is left in the queue, once it is due.
#[track_caller]
fn left(client: &mut Client, round: usize) -> Vec<String> {
    eventually("what is left is due", DEADLINE, || {
        client.ask("DQ.LEN q") == "0" || client.done("DQ.INFO q").field("due").int() > 0
    });
    let left = claim(client, "q COUNT 10");
    assert!(left.len() <= 1, "round {round}: {left:?}");
    left.iter().map(|job| job.message.escape_ascii().to_string()).collect()
}

#[test]
fn a_job_due_at_the_end_of_a_wait_is_delivered_once_or_stays() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut consumer = server.connect();
    let (mut served, count) = (0, rounds(500));
    for round in 0..count {
        let limit = 1 + round % 5;
        consumer.send_line(&format!("DQ.CLAIM q BLOCK {limit}"));
        consumer.send_line("PING");
        client.done(&format!("DQ.PUSH q m{round} DELAY {limit}"));
        let got = one_reply(&mut consumer, round);
        served += usize::from(got.is_some());
        let all: Vec<String> = got.into_iter().chain(left(client, round)).collect();
        assert_eq!(all, [format!("m{round}")], "round {round}");
    }
    eprintln!("{served} of {count} jobs came before the end of the wait");
}

#[test]
fn a_wait_whose_end_passes_while_it_is_served_has_one_reply() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut consumer = server.connect();
    for round in 0..rounds(200) {
        consumer.send_line("DQ.CLAIM q BLOCK 3");
        consumer.send_line("PING");
        client.send_line(&format!("DQ.PUSH q m{round}"));
        // The wait's end passes before its reply is sent.
        client.send_line("DEBUG SLEEP 0.004");
        assert!(!client.receive().unwrap().is_error());
        assert!(!client.receive().unwrap().is_error());
        let got = one_reply(&mut consumer, round);
        let all: Vec<String> = got.into_iter().chain(left(client, round)).collect();
        assert_eq!(all, [format!("m{round}")], "round {round}");
    }
}

#[test]
fn a_mover_whose_wait_ends_with_the_due_time_moves_once_or_not() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut mover = server.connect();
    for round in 0..rounds(200) {
        mover.send_line("DQ.MOVE q list BLOCK 2");
        client.done("DQ.PUSH q m DELAY 2");
        let reply = mover.receive_within(DEADLINE).unwrap();
        let moved = if reply.is_null() { 0 } else { reply.int() };
        assert_eq!(client.ask("LLEN list").int(), moved, "round {round}: {reply}");
        client.done("DEL list");
        assert_eq!(left(client, round).len() as i64, 1 - moved, "round {round}: {reply}");
    }
}

/// Ends the connection of `id` in the turn in which the job becomes due, in one of several ways.
fn kill(client: &mut Client, second: &mut Client, id: i64, round: usize, delay: u64) {
    let push = format!("DQ.PUSH q m{round} DELAY {delay}");
    let kill = format!("CLIENT KILL ID {id}");
    match round % 4 {
        0 => drop(client.pipeline(&[push, kill])),
        1 => drop(client.pipeline(&["MULTI".into(), push, kill, "EXEC".into()])),
        2 => {
            client.send_line(&push);
            second.send_line(&kill);
            client.receive().unwrap();
            second.receive().unwrap();
        }
        _ => {
            client.done(&push);
            let due = client.now() + delay;
            while client.now() < due {}
            client.done(&kill);
        }
    }
}

#[test]
fn a_client_killed_as_its_job_becomes_due_loses_no_job() {
    let server = Server::start();
    let client = &mut server.connect();
    let second = &mut server.connect();
    let random = &mut Random::announced("a_client_killed_as_its_job_becomes_due_loses_no_job");
    for round in 0..rounds(500) {
        let mut killed = server.connect();
        let id = killed.done("CLIENT ID").int();
        killed.send_line("DQ.CLAIM q LEASE 1 BLOCK 0");
        killed.send_line("PING");
        client.done("PING");
        kill(client, second, id, round, random.below(3));
        // Delivered to the dead or not, the job is there: due, or leased for a millisecond more.
        let mut again = server.connect();
        again.send_line("DQ.CLAIM q BLOCK 0");
        let reply =
            again.receive_within(DEADLINE).unwrap_or_else(|error| panic!("round {round}: lost: {error}"));
        assert_eq!(reply.items()[0].items()[1], format!("m{round}"));
        assert_eq!(client.ask("DQ.LEN q"), "0");
    }
    until_waiting(&server, 0);
}

#[test]
fn a_client_that_goes_as_its_job_becomes_due_loses_no_job() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut next = server.connect();
    for round in 0..rounds(300) {
        let mut gone = server.connect();
        gone.send_line("DQ.CLAIM q LEASE 1 BLOCK 0");
        client.done("PING");
        next.send_line("DQ.CLAIM q BLOCK 0");
        client.done("PING");
        client.send_line(&format!("DQ.PUSH q m{round} DELAY {}", round % 2));
        drop(gone);
        client.receive().unwrap();
        let reply =
            next.receive_within(DEADLINE).unwrap_or_else(|error| panic!("round {round}: lost: {error}"));
        assert_eq!(reply.items()[0].items()[1], format!("m{round}"));
        assert_eq!(client.ask("DQ.LEN q"), "0");
    }
    until_waiting(&server, 0);
}
