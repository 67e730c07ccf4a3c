//! Fear: a client that waits is served while the server must not write, or not served after that, or twice.

use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::queue::Delivery;
use crate::harness::replica::{follow, promote, start_pair, wait_in_step};
use crate::harness::server::{Server, Setup};
use crate::harness::waiting::{Waiting, slowly, until_past, until_waiting, waiting};

/// Pauses the server while a job becomes due, and ends the pause later; some servers hold up all commands in a pause of
/// everything, also the one that ends it.
fn due_in_pause(client: &mut Client, pause: &str, waiters: u64) {
    let delay = slowly(100);
    client.done(&format!("DQ.PUSH q m1 ID a DELAY {delay}"));
    let due = client.now() + delay;
    if pause == "ALL" {
        client.done(&format!("CLIENT PAUSE {} ALL", delay + 300));
        return;
    }
    client.done("CLIENT PAUSE 100000 WRITE");
    until_past(client, due + 50);
    assert_eq!(waiting(client), waiters);
    assert_eq!(client.ask("DQ.LEN q"), "1");
    client.done("CLIENT UNPAUSE");
}

#[test]
fn nobody_is_served_in_a_pause_and_everybody_after_it() {
    let server = Server::start();
    for pause in ["WRITE", "ALL"] {
        let client = &mut server.connect();
        let mut claimer = Waiting::start(&server, "DQ.CLAIM q LEASE 100000 BLOCK 0");
        let mut mover = Waiting::start(&server, "DQ.MOVE q list BLOCK 0");
        due_in_pause(client, pause, 2);
        let served = claimer.reply();
        let delivery = Delivery::of(&served.items()[0]);
        let now = delivery.receipt().split_once('-').unwrap().0.parse::<u64>().unwrap() >> 12;
        assert!(now / 1000 > delivery.due as u64 + 50, "{pause}: served in the pause: {served}");
        assert_eq!(client.ask("DQ.LEN q"), "1");
        client.done("DQ.PUSH q m2");
        assert_eq!(mover.reply(), "1");
        assert_eq!(client.ask("LPOP list"), "m2");
        client.done("DEL q");
    }
}

#[test]
fn a_pause_that_ends_by_itself_serves_who_waits() {
    let server = Server::start();
    let client = &mut server.connect();
    for pause in ["WRITE", "ALL"] {
        let mut claimer = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
        client.done("DQ.PUSH q m DELAY 20");
        client.done(&format!("CLIENT PAUSE 150 {pause}"));
        assert_eq!(claimer.message(), "m", "{pause}");
        assert_eq!(client.ask("DQ.LEN q"), "0");
    }
}

#[test]
fn a_wait_that_begins_before_a_pause_may_end_in_it() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut claimer = Waiting::start(&server, "DQ.CLAIM q BLOCK 150");
    client.done("DQ.PUSH q m ID a DELAY 20");
    client.done("CLIENT PAUSE 500 WRITE");
    let reply = claimer.reply();
    let left = client.ask("DQ.LEN q").int();
    assert!(reply.is_null() && left == 1 || reply.items().len() == 1 && left == 0, "{reply}, {left} left");
    assert_eq!(claimer.into_client().ask("PING"), "PONG");
}

#[test]
fn what_was_due_in_a_pause_is_served_in_order_and_once() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut claimers: Vec<Waiting> = (0..20).map(|_| Waiting::start(&server, "DQ.CLAIM q BLOCK 0")).collect();
    let items: Vec<String> =
        (0..20).map(|number| format!("{} id{number} m{number}", 20 + number * 4)).collect();
    client.done(&format!("DQ.MPUSH q DELAY {}", items.join(" ")));
    client.done("CLIENT PAUSE 60 WRITE");
    for (number, claimer) in claimers.iter_mut().enumerate() {
        assert_eq!(claimer.message(), format!("m{number}"));
    }
    assert_eq!(client.ask("DQ.LEN q"), "0");
}

#[test]
fn a_promoted_replica_serves_who_waits_on_it_at_the_right_time() {
    let (master, replica) = start_pair(&[]);
    let old = &mut master.connect();
    old.done("DQ.PUSH q m1 ID a DELAY 1500");
    old.done("DQ.PUSH q m2 ID b DELAY 1700");
    let mut waiting_there = Waiting::start(&master, "DQ.CLAIM q LEASE 100000 BLOCK 0");
    wait_in_step(&replica, &master);
    promote(&replica);
    follow(&master, &replica);
    let reply = waiting_there.reply();
    assert!(reply.error().starts_with("UNBLOCKED"), "{reply}");
    let mut first = Waiting::start(&replica, "DQ.CLAIM q LEASE 100000 BLOCK 0");
    let mut second = Waiting::start(&replica, "DQ.CLAIM q LEASE 100000 BLOCK 0");
    let served = Delivery::of(&first.reply().items()[0]);
    let new = &mut replica.connect();
    assert!(new.now() >= served.due as u64 && served.message == b"m1", "{served:?}");
    assert_eq!(second.message(), "m2");
    wait_in_step(&master, &replica);
    assert_eq!(digest(&mut master.connect(), "q"), digest(new, "q"));
    let refused = master.connect().refused("DQ.CLAIM q BLOCK 0");
    assert!(refused.starts_with("READONLY"), "{refused}");
}

#[test]
fn roles_exchanged_to_and_fro_lose_and_double_nothing() {
    let (first, second) = start_pair(&[]);
    first.connect().done("DQ.POLICY q");
    let mut served = Vec::new();
    for round in 0..6 {
        let (master, replica) = if round % 2 == 0 { (&first, &second) } else { (&second, &first) };
        let client = &mut master.connect();
        let items: Vec<String> =
            (0..6).map(|number| format!("{} * m{round}-{number}", number * 40)).collect();
        let mut claimers: Vec<Waiting> =
            (0..8).map(|_| Waiting::start(master, "DQ.CLAIM q BLOCK 0")).collect();
        client.done(&format!("DQ.MPUSH q DELAY {}", items.join(" ")));
        eventually("somebody is served", DEADLINE, || waiting(client) < 7);
        // Writes are held up while the replica catches up; what becomes due meanwhile is for the new master.
        client.done("CLIENT PAUSE 100000 WRITE");
        wait_in_step(replica, master);
        promote(replica);
        // The old master must be none any more when its pause ends, or it serves what the new one serves too.
        client.done(&format!("REPLICAOF 127.0.0.1 {}", replica.port()));
        client.done("CLIENT UNPAUSE");
        wait_in_step(master, replica);
        let replies = claimers.iter_mut().map(Waiting::reply).filter(|reply| !reply.is_error());
        served.extend(replies.map(|reply| reply.items()[0].items()[1].string()));
        let next = &mut replica.connect();
        while next.ask("DQ.LEN q").int() > 0 {
            let reply = next.ask("DQ.CLAIM q COUNT 10 BLOCK 0");
            served.extend(reply.items().iter().map(|job| job.items()[1].string()));
        }
    }
    served.sort_unstable();
    let pushed: Vec<String> =
        (0..6).flat_map(|round| (0..6).map(move |number| format!("m{round}-{number}"))).collect();
    assert_eq!(served, pushed);
}

#[test]
fn an_ordered_failover_serves_nobody_twice() {
    let (master, replica) = start_pair(&[]);
    let client = &mut master.connect();
    let mut claimers: Vec<Waiting> =
        (0..4).map(|_| Waiting::start(&master, "DQ.CLAIM q LEASE 100000 BLOCK 0")).collect();
    client.done("DQ.MPUSH q DELAY 0 a m1 1 b m2 2 c m3 3 d m4 4 e m5");
    let failover = format!("FAILOVER TO 127.0.0.1 {}", replica.port());
    eventually("the master takes the replica for online", DEADLINE, || client.ask(&failover) == "OK");
    eventually("the roles are exchanged", DEADLINE, || {
        replica.connect().info("replication", "role") == "master"
    });
    eventually("the old master follows", DEADLINE, || client.info("replication", "role") == "slave");
    until_waiting(&master, 0);
    let mut served = Vec::new();
    for reply in claimers.iter_mut().map(Waiting::reply).filter(|reply| !reply.is_error()) {
        served.push(reply.items()[0].items()[1].string());
    }
    let new = &mut replica.connect();
    while served.len() < 5 {
        served.push(new.done("DQ.CLAIM q LEASE 100000 BLOCK 0").items()[0].items()[1].string());
    }
    served.sort_unstable();
    assert_eq!(served, ["m1", "m2", "m3", "m4", "m5"]);
    wait_in_step(&master, &replica);
    assert_eq!(digest(client, "q"), digest(new, "q"));
}

#[test]
fn a_master_that_waits_for_its_replicas_to_stop_serves_nobody() {
    let (mut master, replica) = start_pair(&["appendonly yes", "appendfsync always"]);
    if master.connect().ask("CONFIG GET shutdown-timeout").items().is_empty() {
        eprintln!(
            "a_master_that_waits_for_its_replicas_to_stop_serves_nobody: skipped, this server does not wait"
        );
        return;
    }
    let client = &mut master.connect();
    client.done(&format!("DQ.PUSH q m ID a DELAY {}", slowly(300)));
    let mut claimer = Waiting::start(&master, "DQ.CLAIM q BLOCK 0");
    replica.connect().send_line(&format!("DEBUG SLEEP {}", slowly(1500) as f64 / 1000.0));
    // The replica lags by this, so the master waits for it, and pauses writes.
    client.done("SET lag 1");
    master.shut_down("NOSAVE");
    assert!(claimer.is_closed(), "served while the server stopped");
    master.start_again();
    assert_eq!(master.connect().ask("DQ.LEN q"), "1");
}

#[test]
fn a_writable_replica_that_loads_its_masters_data_serves_who_waits() {
    let master = Setup::default().listening().start();
    master.connect().done("DQ.PUSH q m DELAY 1000");
    for loading in ["disabled", "swapdb"] {
        let load = format!("repl-diskless-load {loading}");
        let replica = Setup::default().listening().lines(&["replica-read-only no", &load]).start();
        replica.connect().done(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
        let mut claimer = Waiting::start(&replica, "DQ.CLAIM q BLOCK 0");
        let reply = claimer.reply();
        assert_eq!(reply.items()[0].items()[1], "m", "{loading}");
    }
}
