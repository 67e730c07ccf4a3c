//! Fear: dead jobs, errors, pauses, policies or counters are lost, or changed, on the way to another copy.

use crate::harness::aof::{self, AOF};
use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::numbers::counters;
use crate::harness::queue::{PAST, claim, push_many};
use crate::harness::replica::{follow, promote, start_pair, wait_in_step};
use crate::harness::server::{Server, Setup};

const KEYS: [&str; 4] = ["worked", "paused", "policy", "time"];

/// Queues on which every command of this kind has worked, and one on which time alone has.
fn work(client: &mut Client) {
    client.done("DQ.POLICY worked MAXATTEMPTS 3 BACKOFF 60000 2 3600000 50 DEADMAX 30 TTL 900000000");
    push_many(client, "worked", "j", 200, PAST);
    let claimed = claim_fresh(client, 60);
    let receipts = |range: std::ops::Range<usize>| claimed[range].join(" ");
    client.done(&format!("DQ.NACK worked ERROR first {}", receipts(0..5)));
    client.done(&format!("DQ.NACK worked DELAY 0 {}", receipts(5..10)));
    client.done(&format!("DQ.NACK worked DEAD ERROR hopeless {}", receipts(10..50)));
    client.done(&format!("DQ.NACK worked UNUSED {}", receipts(50..53)));
    client.done(&format!("DQ.EXTEND worked LEASE 700000000 {}", receipts(53..55)));
    client.done("DQ.RESCHEDULE worked new0 DELAY 5000000");
    client.done("DQ.REDRIVE worked COUNT 3");
    client.done("DQ.REDRIVE worked DELAY 60000 ID new30 new31");
    client.done("DQ.PURGE worked DEAD COUNT 2");
    client.done("DQ.PURGE worked WAITING COUNT 7");
    client.done("DQ.PUSH paused m ID a");
    client.done("DQ.PAUSE paused 5000000000");
    client.done("DQ.PUSH worked m ID x");
    client.done("DQ.PAUSE worked");
    client.done("DQ.RESUME worked");
    client.done(
        "DQ.POLICY policy LEASE 5 MAXATTEMPTS 65535 BACKOFF 0 100 1000000000000 100 DEADMAX UNLIMITED TTL 1",
    );
    client.done("DQ.PAUSE policy");
    client.done("DQ.POLICY time MAXATTEMPTS 1");
    client.done("DQ.APPLY time 1 PUT gone m 1600000000000 EXPIRES 1600000000001 PUT last m 1600000000000");
    client.done("DQ.APPLY time 1 LEASE 1600000000009 55 1 last");
}

/// Pushes and claims `count` jobs of their own; returns their receipts.
fn claim_fresh(client: &mut Client, count: usize) -> Vec<String> {
    let jobs: Vec<String> = (0..count).map(|number| format!("0 new{number} m")).collect();
    client.done(&format!("DQ.MPUSH worked DELAY PRIORITY 200 TTL 0 {}", jobs.join(" ")));
    let claimed = claim(client, &format!("worked COUNT {count} LEASE 100000000"));
    claimed.iter().map(|job| job.receipt().to_owned()).collect()
}

/// What must be the same on every copy: digests, counters, policies, pauses and all that the pages show.
fn picture(client: &mut Client) -> Vec<String> {
    let mut lines = Vec::new();
    for key in KEYS {
        lines.push(format!("{key} {}", digest(client, key)));
        lines.push(format!("{key} {}", counters(client, key)));
        lines.push(format!("{key} {}", client.done(&format!("DQ.INFO {key}")).field("paused_until")));
        for state in ["WAITING", "CLAIMED", "DEAD"] {
            lines.push(format!("{key} {}", client.done(&format!("DQ.PEEK {key} {state} COUNT 1000"))));
        }
    }
    lines
}

#[track_caller]
fn assert_same(before: &[String], client: &mut Client, copy: &str) {
    for (was, is) in before.iter().zip(picture(client)) {
        assert_eq!(*was, is, "{copy}");
    }
}

#[test]
fn an_aof_brings_back_the_dead_the_paused_and_the_policies() {
    for preamble in ["yes", "no"] {
        let mut server = Server::with(&[AOF[0], AOF[1], &format!("aof-use-rdb-preamble {preamble}")]);
        work(&mut server.connect());
        let before = picture(&mut server.connect());
        for how in ["replayed", "rewritten"] {
            server.kill();
            server.start_again();
            assert_same(&before, &mut server.connect(), &format!("{how}, preamble {preamble}"));
            aof::rewrite(&server);
        }
    }
}

#[test]
fn an_rdb_brings_back_the_dead_the_paused_and_the_policies() {
    let mut server = Server::start();
    work(&mut server.connect());
    let before = picture(&mut server.connect());
    server.shut_down("SAVE");
    server.start_again();
    assert_same(&before, &mut server.connect(), "restarted");
    server.connect().done("DEBUG RELOAD");
    assert_same(&before, &mut server.connect(), "reloaded");
}

#[test]
fn a_replica_has_the_dead_the_paused_and_the_policies() {
    let (mut master, replica) = start_pair(&[]);
    work(&mut master.connect());
    wait_in_step(&replica, &master);
    let before = picture(&mut master.connect());
    assert_same(&before, &mut replica.connect(), "by stream");
    let late = Setup::default().listening().start();
    follow(&late, &master);
    assert_same(&before, &mut late.connect(), "by full sync");
    master.kill();
    promote(&replica);
    assert_same(&before, &mut replica.connect(), "promoted");
}

#[test]
fn a_copy_a_dump_and_a_rename_have_the_dead_the_pause_and_the_policy() {
    let server = Server::start();
    let client = &mut server.connect();
    work(client);
    let before = picture(client);
    for key in KEYS {
        assert_eq!(client.ask(&format!("COPY {key} copied")), "1");
        let payload = client.done(&format!("DUMP {key}")).bytes().to_vec();
        client.done(&format!("DEL {key}"));
        assert_eq!(client.call(&[b"RESTORE".as_slice(), key.as_bytes(), b"0", &payload]), "OK");
        assert_same(&before, client, &format!("{key} restored"));
        client.done(&format!("RENAME copied {key}"));
        assert_same(&before, client, &format!("{key} copied and renamed"));
    }
}

#[test]
fn a_copy_lives_apart_in_everything() {
    let server = Server::start();
    let client = &mut server.connect();
    work(client);
    let before = picture(client);
    client.done("COPY worked copied");
    for line in [
        "DQ.PAUSE copied",
        "DQ.POLICY copied DEADMAX 1 LEASE 9",
        "DQ.REDRIVE copied COUNT 2",
        "DQ.PURGE copied DEAD",
        "DQ.PURGE copied CLAIMED",
        "DQ.RESCHEDULE copied new0 DELAY 1",
    ] {
        client.done(line);
    }
    assert_same(&before, client, "the original");
}

#[test]
fn what_comes_after_a_restart_goes_on_as_if_there_had_been_none() {
    let mut server = Server::with(&AOF);
    let client = &mut server.connect();
    client.done("DQ.POLICY q MAXATTEMPTS 2 BACKOFF 0 1 0 0");
    client.done("DQ.PUSH q m ID a");
    for (attempt, verdict) in [(1, "[waiting]"), (2, "[dead]")] {
        let claimed = claim(&mut server.connect(), "q LEASE 100000000");
        assert_eq!(claimed[0].attempt, attempt);
        server.kill();
        server.start_again();
        let line = format!("DQ.NACK q {}", claimed[0].receipt());
        assert_eq!(server.connect().ask(&line), verdict);
    }
    server.kill();
    server.start_again();
    assert_eq!(*server.connect().ask("DQ.GET q a").field("reason"), "nacked");
}
