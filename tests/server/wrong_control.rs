//! Fear: a retry, a death, a pause or a policy reaches the AOF and the replicas as a question, not as what was done.
//!
//! Word by word, as `wrong_propagation` does it: alone, in a transaction and in a script.

use crate::harness::aof::{AOF, effects_written_by};
use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::numbers::{counters, info};
use crate::harness::replica::{start_pair, wait_in_step};
use crate::harness::server::Server;
use crate::wrong_propagation::written_in_every_way;

/// Three running deliveries of one claim, the last of which is the last that the policy permits.
const LEASED: &str = "DQ.POLICY q MAXATTEMPTS 3 BACKOFF 60000 2 3600000 0
    DQ.APPLY q 1 PUT a m 1600000000000 PUT b m 1600000000000 ATTEMPTS 1 PUT last m 1600000000000 ATTEMPTS 2
    DQ.APPLY q 1 LEASE 4102444800000 55 3 a b last";

/// Three dead jobs.
const DEAD: &str = "DQ.APPLY q 1 PUT a m 1600000000000 PUT b m 1600000000000 PUT c m 1600000000000
    DQ.APPLY q 1 BURY c nacked 1600000000001 BURY a nacked 1600000000002 BURY b rejected 1600000000003";

fn number(client: &mut Client, id: &str, field: &str) -> i64 {
    client.ask(&format!("DQ.GET q {id}")).field(field).int()
}

#[test]
fn a_nack_is_written_with_the_time_that_came_out() {
    written_in_every_way(LEASED, "DQ.NACK q 55-b 54-a 55-last", |written, client| {
        let (due, died) = (number(client, "b", "due"), number(client, "last", "died"));
        assert_eq!(written, [format!("DQ.APPLY q 1 RELEASE b {due} 2 BURY last nacked {died}")]);
        assert_eq!(due - died, 120_000);
    });
}

#[test]
fn a_drawn_jitter_is_written_as_the_time_that_came_out() {
    let prepare = format!("{LEASED}\nDQ.POLICY q BACKOFF 1000000000 1 1000000000 100");
    written_in_every_way(&prepare, "DQ.NACK q 55-a", |written, client| {
        let due = number(client, "a", "due");
        assert_eq!(written, [format!("DQ.APPLY q 1 RELEASE a {due} 1")]);
    });
}

#[test]
fn a_nack_of_each_kind_is_written_as_what_it_did() {
    written_in_every_way(LEASED, "DQ.NACK q DELAY 5000 ERROR broke 55-a", |written, client| {
        let due = number(client, "a", "due");
        assert_eq!(written, [format!("DQ.APPLY q 1 ERROR a broke RELEASE a {due} 1")]);
    });
    written_in_every_way(LEASED, "DQ.NACK q UNUSED 55-last 55-b", |written, client| {
        let due = number(client, "b", "due");
        assert_eq!(written, [format!("DQ.APPLY q 1 RELEASE last {due} 2 RELEASE b {due} 1")]);
    });
    written_in_every_way(LEASED, "DQ.NACK q ERROR no DEAD 55-a", |written, client| {
        let died = number(client, "a", "died");
        assert_eq!(written, [format!("DQ.APPLY q 1 ERROR a no BURY a rejected {died}")]);
    });
}

#[test]
fn an_extension_is_written_with_the_leases_new_end() {
    written_in_every_way(LEASED, "DQ.EXTEND q LEASE 5000000 55-b 1-last 55-a", |written, client| {
        let until = number(client, "a", "lease_until");
        assert_eq!(written, [format!("DQ.APPLY q 1 EXTEND {until} 2 b a")]);
    });
}

#[test]
fn a_reschedule_is_written_with_absolute_times() {
    let prepare = "DQ.PUSH q m ID a AT 4102444800000 TTL 700\nDQ.PUSH q m ID b AT 4102444800000";
    written_in_every_way(prepare, "DQ.RESCHEDULE q a DELAY 60000", |written, client| {
        let (due, expires) = (number(client, "a", "due"), number(client, "a", "expires"));
        assert_eq!(expires - due, 700);
        assert_eq!(written, [format!("DQ.APPLY q 1 RESCHEDULE a {due} EXPIRES {expires}")]);
    });
    written_in_every_way(prepare, "DQ.RESCHEDULE q b AT 4102444800005", |written, _| {
        assert_eq!(written, ["DQ.APPLY q 1 RESCHEDULE b 4102444800005"]);
    });
}

#[test]
fn a_redrive_is_written_with_ids_and_one_time() {
    written_in_every_way(DEAD, "DQ.REDRIVE q DELAY 60000 COUNT 2", |written, client| {
        let due = number(client, "a", "due");
        assert_eq!(written, [format!("DQ.APPLY q 1 REDRIVE {due} 2 c a")]);
    });
    written_in_every_way(DEAD, "DQ.REDRIVE q ID b none b c", |written, client| {
        let due = number(client, "b", "due");
        assert_eq!(written, [format!("DQ.APPLY q 1 REDRIVE {due} 2 b c")]);
    });
}

#[test]
fn a_redrive_of_one_dead_by_time_alone_is_written_with_its_death_first() {
    let prepare = "DQ.POLICY q MAXATTEMPTS 1\nDQ.PUSH q m ID a AT 1600000000000\nDQ.APPLY q 1 LEASE 1600000001000 55 1 a";
    written_in_every_way(prepare, "DQ.REDRIVE q COUNT 5", |written, client| {
        let due = number(client, "a", "due");
        assert_eq!(written, [format!("DQ.APPLY q 1 BURY a lease-expired 1600000001000 REDRIVE {due} 1 a")]);
    });
}

#[test]
fn a_purge_is_written_as_a_removal_of_what_it_took() {
    written_in_every_way(DEAD, "DQ.PURGE q DEAD COUNT 2", |written, _| {
        assert_eq!(written, ["DQ.APPLY q 1 REMOVE purged 2 c a"]);
    });
    written_in_every_way(LEASED, "DQ.PURGE q CLAIMED", |written, _| {
        assert_eq!(written, ["DQ.APPLY q 1 REMOVE purged 3 a b last"]);
    });
}

#[test]
fn a_pause_is_written_with_its_end() {
    let prepare = "DQ.PUSH q m ID a AT 1600000000000";
    written_in_every_way(prepare, "DQ.PAUSE q 5000000", |written, client| {
        let until = info(client, "q").field("paused_until").int();
        assert_eq!(written, [format!("DQ.APPLY q 1 PAUSE {until}")]);
    });
    written_in_every_way(prepare, "DQ.PAUSE q", |written, _| {
        assert_eq!(written, ["DQ.APPLY q 1 PAUSE 9007199254740992"]);
    });
    written_in_every_way(&format!("{prepare}\nDQ.PAUSE q"), "DQ.RESUME q", |written, _| {
        assert_eq!(written, ["DQ.APPLY q 1 PAUSE 0"]);
    });
}

#[test]
fn a_policy_is_written_whole() {
    written_in_every_way("DQ.PUSH q m AT 1600000000000", "DQ.POLICY q LEASE 5 DEADMAX 7", |written, _| {
        assert_eq!(written, ["DQ.APPLY q 1 POLICY 5 0 1000 2 3600000 0 8 0"]);
    });
}

#[test]
fn a_death_by_time_alone_is_written_with_the_leases_end_whenever_it_is_found() {
    let prepare = format!("{LEASED}\nDQ.APPLY q 1 EXTEND 1600000001000 1 last");
    for (line, first) in [("DQ.CANCEL q none", ""), ("DQ.PAUSE q", "PAUSE 9007199254740992 ")] {
        written_in_every_way(&prepare, line, |written, _| {
            assert_eq!(written, [format!("DQ.APPLY q 1 {first}BURY last lease-expired 1600000001000")]);
        });
    }
}

#[test]
fn what_changes_nothing_is_not_written_and_what_is_refused_neither() {
    let server = Server::with(&AOF);
    let client = &mut server.connect();
    for line in LEASED.lines() {
        client.done(line.trim());
    }
    for line in [
        "DQ.NACK q 1-a 55-none",
        "DQ.NACK missing DEAD 1-a",
        "DQ.EXTEND q LEASE 5 1-a",
        "DQ.RESCHEDULE q a DELAY 5",
        "DQ.RESCHEDULE q none DELAY 5",
        "DQ.REDRIVE q COUNT 5",
        "DQ.REDRIVE q ID a none",
        "DQ.PURGE q WAITING",
        "DQ.PURGE q DEAD",
        "DQ.RESUME q",
        "DQ.POLICY q MAXATTEMPTS 3",
        "DQ.PEEK q CLAIMED",
        "DQ.INFO q",
        "DQ.NACK q x 55-a",
        "DQ.PAUSE missing",
        "DQ.POLICY q LEASE x",
    ] {
        let before = (crate::harness::refusal::changes(client), digest(client, "q"));
        let written = effects_written_by(&server, |client| drop(client.ask(line)));
        assert!(written.is_empty(), "{line} wrote {written:?}");
        assert_eq!((crate::harness::refusal::changes(client), digest(client, "q")), before, "{line}");
        client.done("WATCH q missing");
        server.connect().ask(line);
        client.done("MULTI");
        client.done("PING");
        assert_eq!(client.ask("EXEC"), "[PONG]", "{line} aborted a transaction");
    }
}

#[test]
fn commands_in_one_transaction_or_script_come_out_alike_on_a_replica() {
    let (master, replica) = start_pair(&[]);
    let client = &mut master.connect();
    for line in LEASED.lines() {
        client.done(line.trim());
    }
    let lines = [
        "DQ.NACK q DELAY 0 ERROR e 55-a",
        "DQ.EXTEND q LEASE 5000000 55-b",
        "DQ.NACK q DEAD 55-last",
        "DQ.CLAIM q COUNT 1 LEASE 100000000",
        "DQ.REDRIVE q COUNT 1",
        "DQ.RESCHEDULE q last DELAY 777",
        "DQ.POLICY q DEADMAX 5",
        "DQ.PAUSE q 100000",
    ];
    client.done("MULTI");
    lines.iter().for_each(|line| drop(client.done(line)));
    assert_eq!(client.ask("EXEC").items().len(), lines.len());
    let script = "for _, line in ipairs(ARGV) do local words = {} for word in line:gmatch('%S+') do \
                  words[#words + 1] = word end redis.call(unpack(words)) end";
    let more = ["DQ.RESUME q", "DQ.PUSH q m ID late", "DQ.PURGE q CLAIMED", "DQ.RESCHEDULE q late DELAY 5"];
    let reply = client.call(&[&["EVAL", script, "0"], more.as_slice()].concat());
    assert!(reply.is_null(), "{reply}");
    wait_in_step(&replica, &master);
    let other = &mut replica.connect();
    assert_eq!(digest(other, "q"), digest(client, "q"));
    assert_eq!(counters(other, "q"), counters(client, "q"));
    assert_eq!(other.ask("DQ.PEEK q COUNT 50"), client.ask("DQ.PEEK q COUNT 50"));
}
