//! Fear: those who wait for one key want different things (members, jobs, seconds, the native commands), and one of them gets
//! what was another's, keeps another from being served, or never hears that it waits for the wrong thing.

use crate::harness::queue::FUTURE;
use crate::harness::server::Server;
use crate::harness::server_binary::tells_modules_the_protocol;
use crate::harness::waiting::{Waiting, until_waiting};

#[test]
fn a_claim_with_a_lease_stays_blocked_on_a_sorted_set_and_takes_jobs() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut leasing = Waiting::start(&server, "DQ.CLAIM s LEASE 100000 BLOCK 0");
    client.done("ZADD s 1600000000000 m");
    until_waiting(&server, 1);
    assert_eq!(client.ask("ZCARD s"), "1");
    client.done("DEL s");
    client.done("DQ.PUSH s job");
    assert_eq!(leasing.message(), "job");
}

#[test]
fn words_for_sorted_sets_keep_a_claim_blocked_on_a_job_queue() {
    let server = Server::start();
    let client = &mut server.connect();
    for (line, member, served) in [
        ("DQ.CLAIM s SECONDS BLOCK 0", "1600000000.5", "[m]"),
        ("DQ.CLAIM s WITHSCORES BLOCK 0", "1600000000000", r#"[m "1600000000000"]"#),
        ("DQ.MOVE s list SECONDS BLOCK 0", "1600000000.5", "1"),
    ] {
        let mut waiter = Waiting::start(&server, line);
        client.done("DQ.PUSH s job");
        until_waiting(&server, 1);
        assert_eq!(client.ask("DQ.LEN s"), "1", "{line}");
        client.done("DEL s");
        client.done(&format!("ZADD s {member} m"));
        assert_eq!(waiter.reply(), served, "{line}");
    }
}

#[test]
fn a_plain_claim_takes_whichever_kind_comes() {
    let server = Server::start();
    let client = &mut server.connect();
    for _ in 0..2 {
        let mut waiter = Waiting::start(&server, "DQ.CLAIM s BLOCK 0");
        client.done("ZADD s 1600000000000 m");
        assert_eq!(waiter.reply(), "[m]");
        let mut waiter = Waiting::start(&server, "DQ.CLAIM s BLOCK 0");
        client.done("DQ.PUSH s job");
        assert_eq!(waiter.message(), "job");
        client.done("DEL s");
    }
}

#[test]
fn another_type_keeps_everybody_waiting() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut claim = Waiting::start(&server, "DQ.CLAIM s BLOCK 0");
    let mut mover = Waiting::start(&server, "DQ.MOVE s list BLOCK 0");
    for line in ["SET s v", "RPUSH s v", "HSET s f v", "XADD s * f v", "SADD s v"] {
        client.done("DEL s");
        client.done(line);
        until_waiting(&server, 2);
    }
    client.done("DEL s");
    client.done("ZADD s 1 m1 2 m2");
    let (claimed, moved) = (claim.reply(), mover.reply());
    assert!(claimed == "[m1]" && moved == "1", "{claimed} {moved}");
}

#[test]
fn who_forgot_the_word_seconds_is_told_as_soon_as_it_matters() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in ["DQ.CLAIM s BLOCK 0", "DQ.MOVE s list BLOCK 0", "DQ.CLAIM s WITHSCORES BLOCK 0"] {
        for score in ["1600000000", "4102444800"] {
            let mut waiter = Waiting::start(&server, line);
            client.done(&format!("ZADD s {score} m"));
            let reply = waiter.reply();
            assert!(reply.is_error() && reply.error().contains("add SECONDS"), "{line}: {reply}");
            assert_eq!(client.ask("ZCARD s"), "1");
            client.done("DEL s");
        }
    }
    for line in ["DQ.CLAIM s SECONDS BLOCK 0", "DQ.MOVE s list SECONDS BLOCK 0"] {
        let mut waiter = Waiting::start(&server, line);
        client.done(&format!("ZADD s {FUTURE} m"));
        let reply = waiter.reply();
        assert!(reply.is_error() && reply.error().contains("leave out SECONDS"), "{line}: {reply}");
        client.done("DEL s");
    }
}

#[test]
fn an_error_for_one_does_not_keep_the_other_from_being_served() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut wrong = Waiting::start(&server, "DQ.CLAIM s BLOCK 0");
    let mut right = Waiting::start(&server, "DQ.CLAIM s SECONDS BLOCK 0");
    let mut leasing = Waiting::start(&server, "DQ.CLAIM s LEASE 5000 BLOCK 0");
    client.done("ZADD s 1600000000.25 m");
    assert!(wrong.reply().is_error());
    assert_eq!(right.reply(), "[m]");
    client.done("DQ.PUSH s job");
    assert_eq!(leasing.message(), "job");
}

#[test]
fn each_of_several_gets_its_own_members_the_longest_first() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut first = Waiting::start(&server, "DQ.CLAIM s COUNT 2 BLOCK 0");
    let mut second = Waiting::start(&server, "DQ.CLAIM s COUNT 10 WITHSCORES BLOCK 0");
    let mut third = Waiting::start(&server, "DQ.CLAIM s BLOCK 0");
    client.done(&format!("ZADD s 1 a 2 b 3 c 4 d {FUTURE} later"));
    assert_eq!(first.reply(), "[a b]");
    assert_eq!(second.reply(), r#"[c "3" d "4"]"#);
    until_waiting(&server, 1);
    client.done("ZADD s 5 e");
    assert_eq!(third.reply(), "[e]");
}

#[test]
fn a_wait_that_ends_is_null_in_both_protocols() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done(&format!("ZADD s {FUTURE} later"));
    for _ in 0..2 {
        for line in ["DQ.CLAIM s BLOCK 1", "DQ.CLAIM s WITHSCORES BLOCK 20", "DQ.MOVE s list BLOCK 1"] {
            assert!(client.ask(line).is_null(), "{line}");
        }
        client.speak_resp3();
    }
}

#[test]
fn a_waiter_of_resp3_gets_scores_in_pairs() {
    let server = Server::start();
    let client = &mut server.connect();
    if !tells_modules_the_protocol(client) {
        return eprintln!("skipped: this server tells no module which protocol a client speaks");
    }
    let mut connection = server.connect();
    connection.speak_resp3();
    let mut waiter = Waiting::on(connection, &server, "DQ.CLAIM s COUNT 2 WITHSCORES BLOCK 0");
    client.speak_resp3();
    client.done("ZADD shown 1.5 a 2 b");
    let shown = client.ask("ZRANGE shown 0 -1 WITHSCORES");
    client.done("ZADD s 1.5 a 2 b");
    assert!(waiter.reply() == shown, "{shown}");
}

/// However the server shares out between those who wait in its own way and in ours, every member goes to exactly one.
#[test]
fn native_and_own_waiters_stand_beside_each_other() {
    let server = Server::start();
    let client = &mut server.connect();
    for order in [["BZPOPMIN s 0", "DQ.CLAIM s BLOCK 0"], ["DQ.CLAIM s BLOCK 0", "BZPOPMIN s 0"]] {
        let mut waiters: Vec<Waiting> = order.iter().map(|line| Waiting::start(&server, line)).collect();
        client.done("ZADD s 1 a");
        until_waiting(&server, 1);
        client.done("ZADD s 2 b");
        until_waiting(&server, 0);
        assert_eq!(client.ask("EXISTS s"), "0");
        let mut got: Vec<String> = waiters.iter_mut().map(served_member).collect();
        got.sort();
        assert_eq!(got, ["a", "b"]);
    }
}

/// `[s a 1]` of BZPOPMIN or `[a]` of ours.
fn served_member(waiter: &mut Waiting) -> String {
    let reply = waiter.reply();
    let items = reply.items();
    if items.len() == 3 { items[1].string() } else { items[0].string() }
}

#[test]
fn what_is_not_due_goes_to_the_native_waiter_alone() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut ours = Waiting::start(&server, "DQ.CLAIM s BLOCK 0");
    let mut native = Waiting::start(&server, "BZPOPMIN s 0");
    client.done(&format!("ZADD s {FUTURE} later"));
    assert_eq!(native.reply(), format!("[s later \"{FUTURE}\"]"));
    until_waiting(&server, 1);
    client.done("ZADD s 1 due");
    assert_eq!(ours.reply(), "[due]");
}

#[test]
fn a_move_feeds_one_that_waits_for_its_destination() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut reader = Waiting::start(&server, "DQ.CLAIM near BLOCK 0 COUNT 9");
    let mut list = Waiting::start(&server, "BLPOP list 0");
    let mut mover = Waiting::start(&server, "DQ.MOVE far near ZADD AHEAD 1000000 BLOCK 0");
    let due = client.now() + 50;
    client.done(&format!("ZADD far {due} m"));
    assert_eq!(mover.reply(), "1");
    let mut second = Waiting::start(&server, "DQ.MOVE other list BLOCK 0");
    client.done("ZADD other 1 x");
    assert_eq!((second.reply().text(), list.reply().text()), ("1".to_owned(), "[list x]".to_owned()));
    assert_eq!(reader.reply(), "[m]");
    assert!(client.now() >= due, "the near store was not early either");
}

#[test]
fn a_chain_of_movers_hands_on() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut last = Waiting::start(&server, "DQ.CLAIM d WITHSCORES BLOCK 0");
    let mut movers: Vec<Waiting> = ["c d", "b c", "a b"]
        .iter()
        .map(|keys| Waiting::start(&server, &format!("DQ.MOVE {keys} ZADD SECONDS BLOCK 0")))
        .collect();
    client.done("ZADD a 1.25 m");
    assert_eq!(last.reply(), "[m 1.25]");
    assert!(movers.iter_mut().all(|mover| mover.reply() == "1"));
}
