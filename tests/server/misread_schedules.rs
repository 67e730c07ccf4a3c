//! Fear: a schedule as other queue libraries keep it (Sidekiq: JSON under float seconds) is read in another way than they mean.

use crate::harness::client::Client;
use crate::harness::members::members;
use crate::harness::reply::Reply;
use crate::harness::server::Server;
use crate::harness::waiting::Waiting;

/// A job as Sidekiq writes it into `schedule`.
fn job(number: u64) -> String {
    format!(
        r#"{{"retry":true,"queue":"default","class":"Greeter","args":["user {number}",{number}],"jid":"{number:024x}","created_at":1700000000.123456}}"#
    )
}

/// Schedules a job as Sidekiq does: its time is a float of seconds.
#[track_caller]
fn schedule(client: &mut Client, number: u64, at: &str) {
    assert_eq!(client.call(&["ZADD", "schedule", at, &job(number)]), "1");
}

fn pop(client: &mut Client) -> Reply {
    client.done("BRPOP queue:default 1")
}

#[test]
fn what_is_due_reaches_the_queue_in_the_order_of_its_times() {
    let server = Server::start();
    let client = &mut server.connect();
    schedule(client, 3, "1700000000.1234571");
    schedule(client, 1, "1699999999.9999999");
    schedule(client, 2, "1700000000.123457");
    schedule(client, 9, "4102444800.5");
    assert_eq!(client.ask("DQ.MOVE schedule queue:default LPUSH SECONDS"), "3");
    for number in 1..=3 {
        assert_eq!(pop(client).items()[1].string(), job(number), "byte for byte");
    }
    assert!(client.ask("BRPOP queue:default 0.01").is_null());
    assert_eq!(client.ask("ZCARD schedule"), "1");
}

#[test]
fn the_word_that_is_forgotten_fires_nothing() {
    let server = Server::start();
    let client = &mut server.connect();
    schedule(client, 1, "4102444800.123456");
    let error = client.refused("DQ.MOVE schedule queue:default LPUSH");
    assert!(error.contains("add SECONDS"), "{error}");
    assert_eq!(client.ask("ZCARD schedule"), "1");
    assert_eq!(client.ask("EXISTS queue:default"), "0");
}

/// The consumers block on the list, the mover on the schedule, and no job is early.
#[test]
fn a_blocked_mover_hands_each_job_to_a_blocked_consumer_in_time() {
    let server = Server::start();
    let client = &mut server.connect();
    let mover = || Waiting::start(&server, "DQ.MOVE schedule queue:default LPUSH SECONDS BLOCK 0");
    for (number, ahead) in [(1, 30), (2, 1), (3, 75)] {
        let mut consumer = Waiting::start(&server, "BRPOP queue:default 0");
        let mut moving = mover();
        let due_us = (client.now() + ahead) * 1000 + 123;
        schedule(client, number, &format!("{}.{:06}", due_us / 1_000_000, due_us % 1_000_000));
        assert_eq!(consumer.reply().items()[1].string(), job(number));
        let time = client.done("TIME");
        let part = |index: usize| time.items()[index].string().parse::<u64>().unwrap();
        assert!(part(0) * 1_000_000 + part(1) >= due_us, "the job {number} was early");
        assert_eq!(moving.reply(), "1");
    }
}

/// Sidekiq's own poller may go on beside DQ: it takes with ZRANGEBYSCORE and ZREM, and leaves what another was faster at.
#[test]
fn the_librarys_own_poller_may_go_on_beside_it() {
    let server = Server::start();
    let client = &mut server.connect();
    for number in 1..=200 {
        schedule(client, number, &format!("17000{number:05}.5"));
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while server.connect().ask("DQ.MOVE schedule queue:default LPUSH SECONDS COUNT 3") != "0" {}
        });
        scope.spawn(|| poll(&mut server.connect()));
    });
    assert_eq!(members(client, "schedule"), "[]");
    let mut got: Vec<String> =
        client.done("LRANGE queue:default 0 -1").items().iter().map(Reply::string).collect();
    let mut expected: Vec<String> = (1..=200).map(job).collect();
    got.sort();
    expected.sort();
    assert_eq!(got, expected);
}

fn poll(client: &mut Client) {
    loop {
        let found = client.done("ZRANGEBYSCORE schedule -inf 1800000000 LIMIT 0 1");
        let Some(member) = found.items().first() else { return };
        if client.call(&[b"ZREM".as_slice(), b"schedule", member.bytes()]) == "1" {
            client.call(&[b"LPUSH".as_slice(), b"queue:default", member.bytes()]);
        }
    }
}
