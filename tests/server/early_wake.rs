//! Fear: a job is delivered, or a wait is over, before its time.

use crate::harness::client::Client;
use crate::harness::queue::{Delivery, claim_one};
use crate::harness::random::Random;
use crate::harness::server::Server;
use crate::harness::waiting::{Waiting, rounds, until_past, until_waiting};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// This machine's clock, which is also the server's.
fn clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// The server's clock at a claim: the token of its receipt is made of it, microseconds before twelve random bits.
fn claimed_at(delivery: &Delivery) -> u64 {
    let (token, _) = delivery.receipt().split_once('-').unwrap();
    (token.parse::<u64>().unwrap() >> 12) / 1000
}

#[test]
fn a_waiting_consumer_is_never_served_early() {
    let server = Server::start();
    let client = &mut server.connect();
    let random = &mut Random::announced("a_waiting_consumer_is_never_served_early");
    let mut consumer = server.connect();
    for _ in 0..rounds(500) {
        let delay = random.below(12);
        consumer.send_line("DQ.CLAIM q LEASE 1000000 BLOCK 0");
        let pushed = clock();
        client.done(&format!("DQ.PUSH q m DELAY {delay}"));
        let reply = consumer.receive_within(Duration::from_secs(30)).unwrap();
        let now = clock();
        let delivery = Delivery::of(&reply.items()[0]);
        let due = delivery.due as u64;
        assert!(due >= pushed + delay, "due {due}, pushed {pushed} with a delay of {delay}");
        assert!(claimed_at(&delivery) >= due && now >= due, "due {due}, now {now}: {delivery:?}");
        client.done(&format!("DQ.ACK q {}", delivery.receipt()));
    }
}

#[test]
fn a_polling_consumer_is_never_served_early() {
    let server = Server::start();
    let client = &mut server.connect();
    let random = &mut Random::announced("a_polling_consumer_is_never_served_early");
    let poll = ["MULTI", "DQ.CLAIM q", "TIME", "EXEC"].map(String::from);
    for _ in 0..rounds(300) {
        client.done(&format!("DQ.PUSH q m DELAY {}", random.below(8)));
        let (due, now) = loop {
            let replies = client.pipeline(&poll);
            let [claimed, time] = replies[3].items() else { panic!("{}", replies[3]) };
            if let [job] = claimed.items() {
                let part = |index: usize| time.items()[index].string().parse::<u64>().unwrap();
                break (Delivery::of(job).due as u64, part(0) * 1000 + part(1) / 1000);
            }
        };
        assert!(now >= due, "due {due}, delivered at {now}");
    }
}

#[test]
fn a_wait_is_never_over_early() {
    let server = Server::start();
    let client = &mut server.connect();
    for limit in [1, 2, 10, 33] {
        for _ in 0..rounds(200) / limit as usize {
            for line in [format!("DQ.CLAIM q BLOCK {limit}"), format!("DQ.MOVE q list BLOCK {limit}")] {
                let start = Instant::now();
                let reply = client.ask(&line);
                let took = start.elapsed();
                assert!(reply.is_null(), "{line}: {reply}");
                assert!(took >= Duration::from_millis(limit), "{line} took {took:?}");
            }
        }
    }
}

#[test]
fn a_wait_without_limit_outlasts_every_other() {
    let server = Server::start();
    let mut endless = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
    let mut longest = Waiting::start(&server, "DQ.CLAIM q BLOCK 1000000000000");
    let client = &mut server.connect();
    for limit in [1, 5, 20, 150] {
        assert!(client.ask(&format!("DQ.CLAIM q BLOCK {limit}")).is_null());
    }
    until_waiting(&server, 2);
    client.done("DQ.MPUSH q DELAY 0 a m1 0 b m2");
    assert_eq!(endless.message(), "m1");
    assert_eq!(longest.message(), "m2");
}

#[test]
fn a_job_put_off_is_not_delivered_at_its_old_time() {
    let server = Server::start();
    let client = &mut server.connect();
    for put_off in
        ["DQ.RESCHEDULE q a DELAY 60000", "DQ.PUSH q m ID a DELAY 60000 REPLACE", "DQ.PAUSE q 60000"]
    {
        client.done("DQ.PUSH q m ID a DELAY 400");
        let old = client.now() + 400;
        let mut waiting = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
        client.done(put_off);
        until_past(client, old + 30);
        until_waiting(&server, 1);
        client.done("DEL q");
        client.done("DQ.PUSH q next");
        assert_eq!(waiting.message(), "next", "{put_off}");
    }
}

#[test]
fn an_extended_lease_ends_at_its_new_time() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    let lent = claim_one(client, "q LEASE 600");
    let mut waiting = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
    let before = client.now();
    assert_eq!(client.ask(&format!("DQ.EXTEND q LEASE 1000 {}", lent.receipt())), "[1]");
    let reply = waiting.reply();
    let delivery = Delivery::of(&reply.items()[0]);
    assert_eq!(delivery.attempt, 2);
    assert!(delivery.due as u64 >= before + 1000 && clock() >= delivery.due as u64, "{reply}");
}

/// A client that sends its commands while it waits has them run after the wait.
fn pipelined(client: &mut Client, lines: &[&str]) {
    for line in lines {
        client.send_line(line);
    }
}

#[test]
fn what_a_client_sends_while_it_waits_comes_after_the_wait() {
    let server = Server::start();
    let mut client = server.connect();
    pipelined(&mut client, &["DQ.CLAIM q BLOCK 0", "DQ.LEN q", "DQ.CLAIM q BLOCK 5", "PING"]);
    until_waiting(&server, 1);
    server.connect().done("DQ.PUSH q m DELAY 20");
    let replies: Vec<String> = (0..4).map(|_| client.receive().unwrap().text()).collect();
    assert!(replies[0].contains(" m 1 "), "{replies:?}");
    assert_eq!(replies[1..], ["0", "nil", "PONG"]);
}
