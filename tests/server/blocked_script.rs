//! Fear: a transaction or a script is made to wait, which would stop or end the server, or what it does is not told to those
//! who wait.

use crate::harness::client::Client;
use crate::harness::server::Server;
use crate::harness::waiting::{Waiting, until_waiting};

const WAITS: [&str; 4] = [
    "DQ.CLAIM q BLOCK 0",
    "DQ.CLAIM q LEASE 1000 COUNT 3 BLOCK 100000",
    "DQ.MOVE q list BLOCK 0",
    "DQ.MOVE q list AHEAD 5 BLOCK 100000",
];

fn words(line: &str) -> String {
    line.split(' ').map(|word| format!("'{word}'")).collect::<Vec<_>>().join(",")
}

/// The bytes of the next reply, which must be these.
#[track_caller]
fn next_bytes(client: &mut Client, expected: &[u8]) {
    let mut bytes = vec![0; expected.len()];
    client.read_bytes(&mut bytes);
    assert_eq!(bytes.escape_ascii().to_string(), expected.escape_ascii().to_string());
}

#[test]
fn a_transaction_gets_null_at_once() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in WAITS {
        client.done("MULTI");
        client.done(line);
        client.done("PING");
        client.send_line("EXEC");
        next_bytes(client, b"*2\r\n*-1\r\n+PONG\r\n");
    }
    client.speak_resp3();
    for line in WAITS {
        client.done("MULTI");
        client.done(line);
        client.send_line("EXEC");
        next_bytes(client, b"*1\r\n_\r\n");
    }
    until_waiting(&server, 0);
}

#[test]
fn a_transaction_gets_what_is_due_and_what_it_pushed_itself() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in
        ["MULTI", "DQ.CLAIM q BLOCK 0", "DQ.PUSH q m ID a", "DQ.MOVE q list BLOCK 0", "DQ.CLAIM q BLOCK 0"]
    {
        client.done(line);
    }
    assert_eq!(client.ask("EXEC"), "[nil [a created] 1 nil]");
    assert_eq!(client.ask("LPOP list"), "m");
}

#[test]
fn a_script_gets_null_at_once() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in WAITS {
        let script = format!("return redis.call({})", words(line));
        client.send(&crate::harness::wire::encode(&["EVAL", &script, "2", "q", "list"])).unwrap();
        next_bytes(client, b"$-1\r\n");
        let script = format!("return redis.call({}) == false", words(line));
        assert_eq!(client.call(&["EVAL", &script, "2", "q", "list"]), "1");
    }
    until_waiting(&server, 0);
}

#[test]
fn a_script_in_a_transaction_gets_null_too() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("MULTI");
    client.call(&["EVAL", "return redis.call('DQ.CLAIM', KEYS[1], 'BLOCK', 0)", "1", "q"]);
    assert_eq!(client.ask("EXEC"), "[nil]");
}

#[test]
fn a_function_gets_null_at_once() {
    let server = Server::start();
    let client = &mut server.connect();
    let library = "#!lua name=waits\nredis.register_function('claim', function(keys) \
        return redis.call('DQ.CLAIM', keys[1], 'BLOCK', 0) end)";
    let loaded = client.call(&["FUNCTION", "LOAD", library]);
    if loaded.is_error() && loaded.error().contains("unknown command") {
        eprintln!("a_function_gets_null_at_once: skipped, this server has no functions");
        return;
    }
    assert_eq!(loaded, "waits");
    assert!(client.ask("FCALL claim 1 q").is_null());
    client.done("DQ.PUSH q m");
    assert_eq!(client.ask("FCALL claim 1 q").items()[0].items()[1], "m");
}

/// Runs the lines in one transaction, or each as one call of a script.
fn at_once(client: &mut Client, way: &str, lines: &[&str]) {
    if way == "transaction" {
        client.done("MULTI");
        lines.iter().for_each(|line| drop(client.done(line)));
        let replies = client.done("EXEC");
        assert!(replies.items().iter().all(|reply| !reply.is_error()), "{replies}");
        return;
    }
    let calls: Vec<String> = lines.iter().map(|line| format!("redis.call({})", words(line))).collect();
    let reply = client.call(&["EVAL", &calls.join(" "), "3", "q", "p", "list"]);
    assert!(!reply.is_error(), "{lines:?}: {reply}");
}

const WAYS: [&str; 2] = ["transaction", "script"];

#[test]
fn what_is_pushed_inside_serves_who_waits_afterwards() {
    let server = Server::start();
    let client = &mut server.connect();
    for way in WAYS {
        for delay in [0, 30] {
            let mut first = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
            let mut second = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
            let push = |message: &str| format!("DQ.PUSH q {message} DELAY {delay}");
            at_once(client, way, &[&push("m1"), "DQ.LEN q", &push("m2"), "DQ.LEN q"]);
            assert_eq!(first.message(), "m1", "{way}");
            assert_eq!(second.message(), "m2", "{way}");
        }
    }
}

#[test]
fn what_is_taken_back_inside_serves_nobody_and_costs_no_later_service() {
    let server = Server::start();
    let client = &mut server.connect();
    for way in WAYS {
        for lines in [
            &["DQ.PUSH q x ID a", "DQ.CANCEL q a"][..],
            &["DQ.PUSH q x ID a", "DQ.CLAIM q"],
            &["DQ.PUSH q x ID a", "DEL q"],
            &["DQ.PUSH q x ID a", "DEL q", "SET q string", "DEL q"],
            &["DQ.PUSH q x ID a", "RENAME q p", "DEL p"],
            &["DQ.PUSH q x ID a", "DQ.RESCHEDULE q a DELAY 3600000"],
            &["DQ.PUSH q x ID a", "DQ.PAUSE q"],
            &["DQ.PUSH q x ID a", "DQ.MOVE q list"],
            &["DQ.PUSH q x ID a DELAY 30", "DQ.CANCEL q a"],
        ] {
            let mut waiting = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
            at_once(client, way, lines);
            until_waiting(&server, 1);
            if lines.contains(&"DQ.PAUSE q") {
                client.done("DQ.RESUME q");
                assert_eq!(waiting.message(), "x");
            } else {
                client.done("DQ.PUSH q m DELAY 10");
                assert_eq!(waiting.message(), "m", "{way} {lines:?}");
            }
            client.done("FLUSHALL");
        }
    }
}

#[test]
fn a_job_that_becomes_due_during_a_long_script_is_delivered_after_it() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut waiting = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
    client.done("DQ.PUSH q m DELAY 2");
    let script = "for number = 1, 1000000 do end return redis.call('DQ.LEN', KEYS[1])";
    assert_eq!(client.call(&["EVAL", script, "1", "q"]), "1");
    assert_eq!(waiting.message(), "m");
}

#[test]
fn a_watched_queue_that_serves_who_waits_counts_as_changed() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m DELAY 60");
    let mut waiting = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
    client.done("WATCH q");
    assert_eq!(waiting.message(), "m");
    client.done("MULTI");
    client.done("PING");
    assert!(client.ask("EXEC").is_null());
    client.done("DQ.PUSH q x AT 4102444800000");
    let mut waiting = Waiting::start(&server, "DQ.CLAIM q BLOCK 30");
    client.done("WATCH q");
    assert!(waiting.reply().is_null());
    client.done("MULTI");
    client.done("PING");
    assert_eq!(client.ask("EXEC"), "[PONG]", "a wait that ended in vain is no change");
}
