//! Fear: something becomes available, and whoever waits for it is not told.
//!
//! Each case makes its own change of the key `q` in database 0 while a client waits there; that client must then get
//! the message `m`, with nobody else saying anything.

use crate::harness::client::Client;
use crate::harness::server::Server;
use crate::harness::waiting::{Waiting, slowly, until_past, until_waiting};

/// What is there before, and what changes it while somebody waits.
type Case = (&'static [&'static str], &'static [&'static str]);

/// A job `a` with the message `m` under a lease that never ends in a test; its receipt is `7-a`.
const LEASED: [&str; 2] = ["DQ.APPLY q 1 PUT a m 1600000000000", "DQ.APPLY q 1 LEASE 4102444800000 7 1 a"];
const DEAD: [&str; 2] = ["DQ.APPLY q 1 PUT a m 1600000000000", "DQ.APPLY q 1 BURY a nacked 1600000002000"];

const PUSHES: &[Case] = &[
    (&[], &["DQ.PUSH q m"]),
    (&[], &["DQ.PUSH q m DELAY 30"]),
    (&[], &["DQ.MPUSH q DELAY 30 a m"]),
    (&[], &["DQ.APPLY q 1 PUT a m 1600000000000"]),
    (&["DQ.POLICY q"], &["DQ.PUSH q m"]),
    (&["DQ.PUSH q x AT 4102444800000"], &["DQ.PUSH q m"]),
    (&["DQ.PUSH q x AT 4102444800000"], &["DQ.PUSH q m DELAY 30"]),
    (&["DQ.PUSH q x DELAY 70000"], &["DQ.PUSH q m DELAY 30 PRIORITY 9"]),
    (&["DQ.PUSH q x ID a AT 4102444800000"], &["DQ.PUSH q m ID a REPLACE"]),
    (&["DQ.PUSH q x ID a AT 4102444800000"], &["DQ.PUSH q m ID a DELAY 30 REPLACE"]),
    (&["DQ.PUSH p m"], &["DQ.MOVE p q PUSH"]),
    (&["DQ.PUSH p m DELAY 200"], &["DQ.MOVE p q PUSH AHEAD 3600000"]),
];

const CHANGES: &[Case] = &[
    (&["DQ.PUSH q m ID a AT 4102444800000"], &["DQ.RESCHEDULE q a DELAY 0"]),
    (&["DQ.PUSH q m ID a AT 4102444800000"], &["DQ.RESCHEDULE q a DELAY 30"]),
    (&["DQ.PUSH q m ID a AT 4102444800000"], &["DQ.RESCHEDULE q a AT 1600000000000"]),
    (&["DQ.PUSH q m ID a DELAY 500"], &["DQ.RESCHEDULE q a DELAY 600"]),
    (&LEASED, &["DQ.NACK q DELAY 0 7-a"]),
    (&LEASED, &["DQ.NACK q DELAY 30 7-a"]),
    (&LEASED, &["DQ.NACK q UNUSED 7-a"]),
    (&LEASED, &["DQ.EXTEND q LEASE 0 7-a"]),
    (&LEASED, &["DQ.EXTEND q LEASE 30 7-a"]),
    (&LEASED, &["DQ.EXTEND q LEASE 30 7-a", "DQ.ACK q 7-a", "DQ.PUSH q m DELAY 60"]),
    (&DEAD, &["DQ.REDRIVE q COUNT 1"]),
    (&DEAD, &["DQ.REDRIVE q DELAY 30 ID a"]),
    (&["DQ.PUSH q x ID a DELAY 500", "DQ.PUSH q m DELAY 550"], &["DQ.CANCEL q a"]),
    (&["DQ.PUSH q x ID a AT 4102444800000"], &["DQ.CANCEL q a", "DQ.PUSH q m DELAY 30"]),
    (&["DQ.PUSH q x ID a DELAY 500", "DQ.PUSH q m DELAY 550"], &["DQ.PURGE q WAITING COUNT 1"]),
    (&["DQ.PUSH q m", "DQ.PAUSE q"], &["DQ.RESUME q"]),
    (&["DQ.PUSH q m", "DQ.PAUSE q"], &["DQ.PAUSE q 30"]),
    (&["DQ.PUSH q m DELAY 300"], &["DQ.PAUSE q 400"]),
    (&["DQ.POLICY q", "DQ.PAUSE q"], &["DQ.PUSH q m DELAY 30", "DQ.PAUSE q 60"]),
];

const APPEARANCES: &[Case] = &[
    (&["DQ.PUSH p m"], &["RENAME p q"]),
    (&["DQ.PUSH p m DELAY 200"], &["RENAME p q"]),
    (&["DQ.PUSH p m", "DQ.PUSH q x AT 4102444800000"], &["RENAME p q"]),
    (&["DQ.PUSH p m"], &["RENAMENX p q"]),
    (&["DQ.PUSH p m"], &["COPY p q"]),
    (&["DQ.PUSH p m DELAY 200"], &["COPY p q"]),
    (&["DQ.PUSH p m", "DQ.PUSH q x AT 4102444800000"], &["COPY p q REPLACE"]),
    (&["SELECT 1", "DQ.PUSH q m", "SELECT 0"], &["SELECT 1", "COPY q q DB 0"]),
    (&["SELECT 1", "DQ.PUSH q m", "SELECT 0"], &["SELECT 1", "MOVE q 0"]),
    (&["SELECT 1", "DQ.PUSH q m DELAY 200", "SELECT 0"], &["SELECT 1", "MOVE q 0"]),
    (&["SELECT 1", "DQ.PUSH q m", "SELECT 0"], &["SWAPDB 0 1"]),
    (&["SELECT 1", "DQ.PUSH q m", "SELECT 0"], &["SWAPDB 1 0"]),
    (&["SELECT 1", "DQ.PUSH q m DELAY 200", "SELECT 0"], &["SWAPDB 1 0"]),
    (&["SELECT 1", "DQ.PUSH q m", "SELECT 0", "DQ.PUSH q x AT 4102444800000"], &["SWAPDB 0 1"]),
    (&["DQ.PUSH q m", "SAVE", "FLUSHALL"], &["DEBUG RELOAD NOSAVE"]),
    (&["DQ.PUSH q m DELAY 600", "SAVE", "FLUSHALL"], &["DEBUG RELOAD NOSAVE"]),
    (&["DQ.PUSH q m DELAY 600"], &["DEBUG RELOAD"]),
    (&[], &["SET q string", "DEL q", "DQ.PUSH q m"]),
    (&["SADD p x", "DQ.PUSH s m"], &["RENAME p q", "RENAME s q"]),
];

/// What takes away a job that is due soon, and what is there instead until it is taken away too.
const DISAPPEARANCES: &[&[&str]] = &[
    &["DEL q"],
    &["UNLINK q"],
    &["FLUSHDB SYNC"],
    &["FLUSHDB ASYNC"],
    &["FLUSHALL SYNC"],
    &["FLUSHALL ASYNC"],
    &["PEXPIRE q 1"],
    &["PEXPIREAT q 1"],
    &["RENAME q elsewhere"],
    &["SET p string", "RENAME p q"],
    &["DQ.PUSH p x AT 4102444800000", "RENAME p q"],
    &["DQ.PUSH p x AT 4102444800000", "COPY p q REPLACE"],
    &["MOVE q 1"],
    &["SWAPDB 0 1"],
    &["SWAPDB 1 0"],
    &["SET q string"],
    &["DEL q", "ZADD q 4102444800000 m"],
    &["DEL q", "RPUSH q m"],
    &["DQ.CANCEL q a"],
    &["DQ.PURGE q WAITING"],
    &["DQ.PAUSE q"],
    &["DQ.RESCHEDULE q a AT 4102444800000"],
    &["DQ.PUSH q x ID a AT 4102444800000 REPLACE"],
];

/// A client that waits can be told in databases that hold nothing, so each case cleans up behind it.
fn run(client: &mut Client, lines: &[&str]) {
    for line in lines {
        client.done(line);
    }
}

#[track_caller]
fn serve(server: &Server, cases: &[Case]) {
    for (before, change) in cases {
        run(&mut server.connect(), before);
        let mut waiting = Waiting::start(server, "DQ.CLAIM q BLOCK 0");
        run(&mut server.connect(), change);
        assert_eq!(waiting.message(), "m", "{before:?} {change:?}");
        server.connect().done("FLUSHALL");
        until_waiting(server, 0);
    }
}

#[test]
fn every_push_serves_who_waits() {
    serve(&Server::start(), PUSHES);
}

#[test]
fn every_change_of_what_is_first_serves_who_waits() {
    serve(&Server::start(), CHANGES);
}

#[test]
fn every_way_in_which_a_queue_appears_serves_who_waits() {
    serve(&Server::start(), APPEARANCES);
}

#[test]
fn a_restored_queue_serves_who_waits() {
    let server = Server::start();
    let client = &mut server.connect();
    for (delay, replace, before) in [
        (0, "", "PING"),
        (200, "", "PING"),
        (0, "REPLACE", "SET q string"),
        (0, "REPLACE", "DQ.PUSH q x DELAY 70000"),
    ] {
        client.done(&format!("DQ.PUSH p m DELAY {delay}"));
        let payload = client.done("DUMP p");
        let mut waiting = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
        client.done(before);
        let words: Vec<&[u8]> = [&b"RESTORE"[..], b"q", b"0", payload.bytes(), replace.as_bytes()].to_vec();
        let words = &words[..if replace.is_empty() { 4 } else { 5 }];
        assert_eq!(client.call(words), "OK");
        assert_eq!(waiting.message(), "m", "{delay} {replace}");
        client.done("FLUSHALL");
    }
}

#[test]
fn what_has_gone_serves_nobody_and_what_comes_after_it_does() {
    let server = Server::start();
    let client = &mut server.connect();
    for change in DISAPPEARANCES {
        client.done("FLUSHALL");
        let delay = slowly(300);
        client.done(&format!("DQ.PUSH q x ID a DELAY {delay}"));
        let due = client.now() + delay;
        let mut waiting = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
        run(client, change);
        assert!(client.now() < due, "{change:?}: the machine is too slow for this test");
        until_past(client, due + 20);
        until_waiting(&server, 1);
        run(client, &["FLUSHALL", "DQ.PUSH q m DELAY 20"]);
        assert_eq!(waiting.message(), "m", "{change:?}");
    }
}

#[test]
fn a_farther_time_is_kept_too() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done(&format!("DQ.PUSH q m ID a DELAY {}", slowly(400)));
    let mut waiting = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
    let before = client.now();
    client.done(&format!("DQ.RESCHEDULE q a DELAY {}", slowly(900)));
    let reply = waiting.reply();
    let due = reply.items()[0].items()[3].int() as u64;
    assert!(due >= before + slowly(900) && client.now() >= due, "{reply}");
}

#[test]
fn a_key_of_this_name_in_another_database_serves_nobody_here() {
    let server = Server::start();
    let mut waiting: Vec<Waiting> = [0, 1, 15]
        .map(|database| {
            let mut client = server.connect();
            client.done(&format!("SELECT {database}"));
            Waiting::on(client, &server, "DQ.CLAIM q BLOCK 0")
        })
        .into();
    for (left, database) in [(2, 15), (1, 0), (0, 1)] {
        let client = &mut server.connect();
        client.done(&format!("SELECT {database}"));
        client.done(&format!("DQ.PUSH q m{database} DELAY 20"));
        let index = [0, 1, 15].iter().position(|known| *known == database).unwrap();
        assert_eq!(waiting[index].message(), format!("m{database}"));
        until_waiting(&server, left);
    }
}

#[test]
fn exchanged_databases_keep_their_waiters_and_exchange_their_jobs() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut here = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
    let mut other = server.connect();
    other.done("SELECT 3");
    let mut there = Waiting::on(other, &server, "DQ.CLAIM q BLOCK 0");
    run(client, &["DQ.PUSH q first DELAY 400", "SELECT 3", "DQ.PUSH q second DELAY 500", "SWAPDB 0 3"]);
    assert_eq!(there.message(), "first");
    assert_eq!(here.message(), "second");
}

#[test]
fn every_waiting_key_has_its_own_time() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut waiting: Vec<Waiting> =
        (0..20).map(|number| Waiting::start(&server, &format!("DQ.CLAIM q{number} BLOCK 0"))).collect();
    for number in 0..20 {
        let delay = (number * 7) % 20 * 5;
        client.done(&format!("DQ.PUSH q{number} m{number} DELAY {delay}"));
    }
    for (number, waiting) in waiting.iter_mut().enumerate() {
        assert_eq!(waiting.message(), format!("m{number}"));
    }
}

#[test]
fn a_mover_is_woken_like_a_consumer() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut waiting = Waiting::start(&server, "DQ.MOVE q list BLOCK 0");
    client.done("DQ.PUSH q m DELAY 60");
    assert_eq!(waiting.reply(), "1");
    assert_eq!(client.ask("LRANGE list 0 -1"), "[m]");
    let mut ahead = Waiting::start(&server, "DQ.MOVE q list AHEAD 3600000 BLOCK 0");
    client.done("DQ.PUSH q far AT 4102444800000");
    client.done("DQ.PUSH q near DELAY 3600040");
    assert_eq!(ahead.reply(), "1");
    assert_eq!(client.ask("LRANGE list 0 -1"), "[m near]");
    assert_eq!(client.ask("DQ.LEN q"), "1");
}

#[test]
fn whoever_waits_gets_the_job_of_a_mover_that_waits_too() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut mover = Waiting::start(&server, "DQ.MOVE far near PUSH BLOCK 0");
    let mut consumer = Waiting::start(&server, "DQ.CLAIM near BLOCK 0");
    let mut reader = Waiting::start(&server, "BLPOP list 0");
    client.done("DQ.PUSH far m1 DELAY 40");
    assert_eq!(mover.reply(), "1");
    assert_eq!(consumer.message(), "m1");
    let mut mover = Waiting::start(&server, "DQ.MOVE far list BLOCK 0");
    client.done("DQ.PUSH far m2 DELAY 40");
    assert_eq!(mover.reply(), "1");
    assert_eq!(reader.reply(), "[list m2]");
}

/// What a push in a transaction has shown is gone when the transaction is over: the next job must be waited for.
#[test]
fn a_job_that_expires_in_the_transaction_that_pushed_it_does_not_hide_the_next() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut waiting = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
    for line in ["MULTI", "DQ.PUSH q x TTL 20", "DQ.PUSH q m DELAY 300", "DEBUG SLEEP 0.1"] {
        client.done(line);
    }
    client.done("EXEC");
    assert_eq!(waiting.message(), "m");
}
