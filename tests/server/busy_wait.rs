//! Fear: waiting costs: something polls, a timer rings for nothing, or a bad BLOCK is taken for none.

use crate::harness::client::Client;
use crate::harness::refusal::line_refused_naming;
use crate::harness::server::Server;
use crate::harness::waiting::{Waiting, until_waiting};
use std::time::Duration;

fn commands_processed(client: &mut Client) -> u64 {
    client.info("stats", "total_commands_processed").parse().unwrap()
}

#[test]
fn nobody_says_anything_while_a_client_waits() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in ["DQ.CLAIM q BLOCK 0", "DQ.MOVE q list BLOCK 0"] {
        let mut waiting = Waiting::start(&server, line);
        client.done("DQ.PUSH q m DELAY 700");
        let before = commands_processed(client);
        assert!(!waiting.reply().is_null());
        // The second INFO, and on some servers the command that has waited and what it calls; nothing else.
        let between = commands_processed(client) - before;
        assert!((1..=4).contains(&between), "{line}: {between} commands while it waited");
    }
}

/// The milliseconds of processor time that the server has used.
fn processor_time(client: &mut Client) -> u64 {
    let part = |client: &mut Client, name: &str| client.info("cpu", name).parse::<f64>().unwrap();
    let seconds = part(client, "used_cpu_user") + part(client, "used_cpu_sys");
    Duration::from_secs_f64(seconds).as_millis() as u64
}

/// The processor time that a server uses in a second in which nobody asks anything.
fn idle_cost(client: &mut Client) -> u64 {
    let before = processor_time(client);
    assert!(client.ask("BLPOP nothing 1").is_null());
    processor_time(client) - before
}

#[test]
fn many_who_wait_for_tomorrow_cost_nothing() {
    let server = Server::start();
    let client = &mut server.connect();
    let idle = idle_cost(client);
    for number in 0..1000 {
        client.done(&format!("DQ.PUSH q{number} m DELAY 86400000"));
    }
    let mut clients: Vec<Client> = (0..500).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send_line(&format!("DQ.CLAIM q{} BLOCK 0", number * 2));
    }
    until_waiting(&server, 500);
    let waiting = idle_cost(client);
    eprintln!("processor time in a second: {idle} ms idle, {waiting} ms while 500 wait");
    // Polling each key every 10 ms would be 50,000 look-ups a second.
    assert!(waiting <= idle + 50, "{idle} ms idle, {waiting} ms while 500 wait");
}

/// A module that listens to what happens to keys has made a server lead clients into the database of the key.
#[test]
fn nobody_is_led_into_another_database_because_somebody_waits() {
    let server = Server::start();
    let _waiting = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
    let client = &mut server.connect();
    for line in ["MOVE key 1", "COPY key key DB 1 REPLACE", "SWAPDB 0 1", "SWAPDB 0 1"] {
        client.done("SET key value");
        client.done(line);
        client.done("SET here value");
        client.done("SELECT 0");
        assert_eq!(client.ask("DEL here"), "1", "{line}");
    }
    let script = "redis.call('SELECT', '1') return redis.call('ZADD', 'scores', '1', 'member')";
    assert_eq!(client.call(&["EVAL", script, "0"]), "1");
    assert_eq!(client.ask("EXISTS scores"), "0", "a script's database is its own");
}

#[test]
fn a_bad_block_is_refused_by_name() {
    let server = Server::start();
    let client = &mut server.connect();
    for start in ["DQ.CLAIM q", "DQ.MOVE q list"] {
        for bad in ["-1", "1.5", "1e3", "abc", "+10", "0x10", "1000000000001", "18446744073709551616"] {
            line_refused_naming(client, &format!("{start} BLOCK {bad}"), &["BLOCK", bad]);
        }
        for bad in ["BLOCK", "COUNT 5 BLOCK", "BLOCK 5 BLOCK 5", "BLOCK 5 BLOCK"] {
            line_refused_naming(client, &format!("{start} {bad}"), &["BLOCK"]);
        }
        let reply = client.call(&[&start.split(' ').collect::<Vec<_>>()[..], &["BLOCK", ""]].concat());
        assert!(reply.error().contains("BLOCK"), "{reply}");
    }
    until_waiting(&server, 0);
}

#[test]
fn the_largest_and_the_smallest_block_are_taken() {
    let server = Server::start();
    let client = &mut server.connect();
    assert!(client.ask("DQ.CLAIM q BLOCK 1").is_null());
    assert!(client.ask("dq.claim q block 1 count 5 lease 1").is_null());
    let mut longest = Waiting::start(&server, "DQ.CLAIM q BLOCK 1000000000000 COUNT 2");
    client.done("DQ.PUSH q m");
    assert_eq!(longest.message(), "m");
    client.done("DQ.MPUSH q DELAY 0 a m1 0 b m2 0 c m3");
    assert_eq!(client.ask("DQ.CLAIM q COUNT 10 BLOCK 86400000").items().len(), 3);
}
