//! Fear: a client that waits for a list or stream in the native way is not served by a move.

use crate::harness::server::Server;
use crate::harness::waiting::Waiting;

#[test]
fn a_move_feeds_clients_that_wait_for_a_list() {
    let server = Server::start();
    let client = &mut server.connect();
    for (waiting, served) in [
        ("BLPOP list 0", "[list m1]"),
        ("BRPOP list 0", "[list m1]"),
        ("BLMOVE list taken LEFT RIGHT 0", "m1"),
    ] {
        for verb in ["RPUSH", "LPUSH"] {
            let mut waiter = Waiting::start(&server, waiting);
            client.done("DQ.PUSH q m1");
            assert_eq!(client.ask(&format!("DQ.MOVE q list {verb}")), "1");
            assert_eq!(waiter.reply(), served, "{waiting} {verb}");
            assert_eq!(client.ask("EXISTS list"), "0");
        }
    }
}

#[test]
fn a_move_of_many_feeds_several_waiting_clients() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut waiters: Vec<Waiting> = (0..3).map(|_| Waiting::start(&server, "BLPOP list 0")).collect();
    client.done("DQ.MPUSH q AT 1600000000001 a m1 1600000000002 b m2 1600000000003 c m3 1600000000004 d m4");
    assert_eq!(client.ask("DQ.MOVE q list"), "4");
    let served: Vec<String> = waiters.iter_mut().map(|waiter| waiter.reply().text()).collect();
    assert_eq!(served, ["[list m1]", "[list m2]", "[list m3]"]);
    assert_eq!(client.ask("LRANGE list 0 -1"), "[m4]");
}

#[test]
fn a_move_feeds_a_consumer_group_that_waits() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("XGROUP CREATE stream group $ MKSTREAM");
    let mut waiter = Waiting::start(&server, "XREADGROUP GROUP group me BLOCK 0 COUNT 10 STREAMS stream >");
    client.done("DQ.PUSH q m ID a AT 1600000000000");
    assert_eq!(client.ask("DQ.MOVE q stream XADD"), "1");
    let served = waiter.reply();
    let entry = &served.items()[0].items()[1].items()[0];
    assert_eq!(entry.items()[1], r#"[id a msg m attempt "0" due "1600000000000"]"#);
    let acked = client.ask(&format!("XACK stream group {}", entry.items()[0].string()));
    assert_eq!(acked, "1");
}

#[test]
fn a_move_feeds_a_client_that_waits_for_a_sorted_set() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut waiter = Waiting::start(&server, "BZPOPMIN zset 0");
    client.done("DQ.PUSH q m ID a AT 1600000000000");
    assert_eq!(client.ask("DQ.MOVE q zset ZADD"), "1");
    assert_eq!(waiter.reply().items()[2], "\"1600000000000\"");
}

#[test]
fn a_move_in_a_transaction_or_script_feeds_waiters_too() {
    let server = Server::start();
    let client = &mut server.connect();
    for way in ["MULTI", "script"] {
        let mut waiter = Waiting::start(&server, "BLPOP list 0");
        client.done("DQ.PUSH q m1");
        if way == "MULTI" {
            client.done("MULTI");
            client.done("DQ.MOVE q list");
            assert_eq!(client.ask("EXEC"), "[1]");
        } else {
            client.call(&["EVAL", "return redis.call('DQ.MOVE', KEYS[1], KEYS[2])", "2", "q", "list"]);
        }
        assert_eq!(waiter.reply(), "[list m1]", "{way}");
    }
}
