//! Fear: the totals of `INFO dq` are not the sum of what the queues count, or a restart counts anew what it reads.

use crate::harness::aof::AOF;
use crate::harness::client::Client;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::numbers::{COUNTERS, counter};
use crate::harness::queue::{claim, claim_one, push_many};
use crate::harness::replica::{follow, start_pair, wait_in_step};
use crate::harness::server::{Server, Setup};
use crate::harness::wire::encode;
use std::fs;

/// A lease that ends leaves no trace until its job is taken again, and that not as such; so there is no total of it.
const NOT_TOTALLED: &str = "lapsed";

const QUEUES: [&str; 3] = ["q", "other", "crowded"];

fn totalled() -> impl Iterator<Item = &'static str> {
    COUNTERS.into_iter().filter(|name| *name != NOT_TOTALLED)
}

/// The totals of `INFO dq` as one text.
#[track_caller]
fn totals(client: &mut Client) -> String {
    let shown: Vec<String> =
        totalled().map(|name| format!("{name} {}", client.info("dq", &format!("dq_{name}_total")))).collect();
    shown.join(", ")
}

/// The sums of the counters of all queues as one text.
#[track_caller]
fn sums(client: &mut Client) -> String {
    let sum =
        |name: &str, client: &mut Client| QUEUES.map(|key| counter(client, key, name)).iter().sum::<i64>();
    let shown: Vec<String> = totalled().map(|name| format!("{name} {}", sum(name, client))).collect();
    shown.join(", ")
}

/// Lets everything happen that is counted, in three queues.
fn work(client: &mut Client) {
    push_many(client, "q", "j", 20, 1_600_000_000_000);
    claim(client, "q COUNT 2");
    let leased = claim(client, "q COUNT 5 LEASE 1000000000");
    let receipt = |index: usize| leased[index].receipt();
    client.done(&format!("DQ.ACK q {} {}", receipt(0), receipt(1)));
    client.done(&format!("DQ.NACK q DELAY 5 {}", receipt(2)));
    client.done(&format!("DQ.NACK q DEAD ERROR broken {}", receipt(3)));
    client.done("DQ.PUSH q again ID j19 REPLACE");
    client.done("DQ.CANCEL q j18 none");
    client.done("DQ.PUSH other m ID j7");
    client.done("DQ.MOVE q other PUSH COUNT 3");
    client.done("DQ.MOVE q list COUNT 2");
    client.done("DQ.PURGE q WAITING COUNT 2");
    client.done("DQ.REDRIVE q COUNT 1");
    client.done("DQ.PUSH q m ID gone AT 1600000000000 TTL 5");
    client.done("DQ.POLICY crowded DEADMAX 1 MAXATTEMPTS 1");
    client.done("DQ.MPUSH crowded DELAY 0 a m 0 b m 0 c m");
    for _ in 0..2 {
        let receipt = claim_one(client, "crowded LEASE 1000000000").receipt.expect("a lease");
        client.done(&format!("DQ.NACK crowded {receipt}"));
    }
    client.done("DQ.APPLY crowded 1 LEASE 1600000000000 5 1 c");
    client.done("DQ.RESUME crowded");
}

const NOTHING: &str =
    "pushed 0, claimed 0, acked 0, nacked 0, expired 0, died 0, dropped 0, moved 0, cancelled 0, purged 0";

#[test]
fn the_totals_are_the_sums_of_what_the_queues_count() {
    let server = Server::start();
    let client = &mut server.connect();
    assert_eq!(totals(client), NOTHING);
    work(client);
    let totals = totals(client);
    assert_eq!(totals, sums(client));
    assert!(!totals.contains(" 0"), "something did not happen: {totals}");
}

#[test]
fn the_totals_outlive_the_queues() {
    let server = Server::start();
    let client = &mut server.connect();
    work(client);
    let before = totals(client);
    client.done("FLUSHALL");
    client.done("CONFIG RESETSTAT");
    assert_eq!(totals(client), before);
}

#[test]
fn a_restart_begins_at_zero() {
    for lines in [&AOF[..], &[]] {
        let mut server = Server::with(lines);
        work(&mut server.connect());
        server.shut_down("SAVE");
        server.start_again();
        let client = &mut server.connect();
        assert!(counter(client, "q", "pushed") > 0, "the queue is back");
        assert_eq!(totals(client), NOTHING, "{lines:?}");
        client.done("DQ.PUSH q m");
        assert!(totals(client).starts_with("pushed 1, "), "{lines:?}");
    }
}

#[test]
fn a_replica_counts_what_its_master_does_and_not_what_it_gets_as_a_whole() {
    let (master, replica) = start_pair(&[]);
    work(&mut master.connect());
    wait_in_step(&replica, &master);
    assert_eq!(totals(&mut replica.connect()), totals(&mut master.connect()));
    let late = Setup::default().listening().start();
    follow(&late, &master);
    assert!(counter(&mut late.connect(), "q", "pushed") > 0, "the queue has come");
    assert_eq!(totals(&mut late.connect()), NOTHING);
}

#[test]
fn who_waits_is_counted_while_he_waits() {
    let server = Server::start();
    let client = &mut server.connect();
    let numbers = |client: &mut Client| {
        ["waited_keys", "waiters", "timers"].map(|name| client.info("dq", &format!("dq_{name}")))
    };
    assert_eq!(numbers(client), ["0", "0", "0"]);
    client.done("DQ.PUSH far m DELAY 1000000000");
    let mut waiters = Vec::new();
    for line in [
        "DQ.CLAIM q BLOCK 0",
        "DQ.CLAIM q BLOCK 0",
        "DQ.MOVE far list BLOCK 0",
        "DQ.CLAIM other BLOCK 1000000000",
    ] {
        let mut waiter = server.connect();
        waiter.send(&encode(&line.split(' ').collect::<Vec<_>>())).expect("it is sent");
        waiters.push(waiter);
    }
    eventually("four clients wait", DEADLINE, || numbers(client) == ["3", "4", "2"]);
    client.done("DQ.PUSH q m");
    eventually("one was served", DEADLINE, || numbers(client) == ["3", "3", "2"]);
    client.done("DQ.MPUSH q DELAY 0 * m");
    eventually("another was served", DEADLINE, || numbers(client) == ["2", "2", "2"]);
    waiters.clear();
    eventually("the others have gone", DEADLINE, || numbers(client) == ["0", "0", "0"]);
}

#[test]
fn the_section_is_shown_to_who_asks_for_it_or_for_all() {
    let server = Server::start();
    let client = &mut server.connect();
    for section in ["dq", "DQ", "modules", "everything"] {
        assert_eq!(client.info(section, "dq_pushed_total"), "0", "INFO {section}");
    }
    for section in ["default", "all", "server", "dq_other"] {
        assert_eq!(client.info_if_present(section, "dq_pushed_total"), None, "INFO {section}");
    }
}

#[test]
fn the_version_is_that_of_the_module() {
    let server = Server::start();
    let client = &mut server.connect();
    let version = client.info("dq", "dq_version");
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    let parts: Vec<i64> = version.split('.').map(|part| part.parse().expect("a number")).collect();
    let [major, minor, patch] = parts[..] else { panic!("{version}") };
    let listed = client.done("MODULE LIST");
    let listed = listed.items().iter().find(|module| *module.field("name") == "dq").expect("it is loaded");
    assert_eq!(listed.field("ver").int(), major * 10_000 + minor * 100 + patch);
}

/// The file of the log is taken away at the end: a server that has crashed on purpose is no fault of the module.
#[test]
fn the_report_of_a_crash_has_the_section() {
    let mut server = Server::start();
    let client = &mut server.connect();
    work(client);
    let before = totals(client);
    assert!(client.try_call(&["DEBUG", "SEGFAULT"]).is_err(), "the server survived");
    eventually("the server is gone", DEADLINE, || !server.is_alive());
    let log = server.log();
    for pair in before.split(", ") {
        let (name, number) = pair.split_once(' ').expect("a name and a number");
        let line = format!("dq_{name}_total:{number}");
        assert!(log.contains(&line), "no {line} in the report:\n{log}");
    }
    server.kill();
    fs::remove_file(server.directory().join("server.log")).expect("the log is there");
}
