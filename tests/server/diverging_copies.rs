//! Fear: a copy of a queue (replayed, restarted, replicated, reloaded, restored) is not the queue.
//!
//! Compared by the server's digest of each key and by what DQ.GET shows of each job.

use crate::harness::aof::{self, AOF};
use crate::harness::client::Client;
use crate::harness::digest::{digest, shown_jobs};
use crate::harness::queue::{RICH_IDS, claim, fill_with_every_kind, push_many};
use crate::harness::replica::{follow, promote, start_pair, wait_in_step};
use crate::harness::server::{Server, Setup};
use crate::harness::waiting::Waiting;

const KEYS: [&str; 6] = ["rich", "worked", "moved", "list", "stream", "zset"];

/// Jobs in every state, and a queue that every command has worked on.
fn work(client: &mut Client) {
    fill_with_every_kind(client, "rich");
    push_many(client, "worked", "j", 300, 1_600_000_000_000);
    client.done(
        "DQ.MPUSH worked AT PRIORITY 9 TTL 60000 4102444800000 x m 1600000000005 y m 4102444800000 z m",
    );
    client.done("DQ.PUSH worked m DELAY 100000");
    client.done("DQ.PUSH worked new ID j7 REPLACE");
    let claimed = claim(client, "worked COUNT 20 LEASE 100000000");
    client.done(&format!("DQ.ACK worked {} {}", claimed[0].receipt(), claimed[1].receipt()));
    claim(client, "worked COUNT 10");
    client.done("DQ.APPLY worked 1 LEASE 1600000000009 77 2 j100 j101");
    client.done("DQ.CANCEL worked x j200 j201");
    client.done("DQ.PUSH moved m ID j60");
    client.done("DQ.MOVE worked list COUNT 10");
    client.done("DQ.MOVE worked stream XADD COUNT 10 MAXLEN 15");
    client.done("DQ.MOVE worked stream XADD COUNT 10 MAXLEN 15 JSON");
    client.done("DQ.MOVE worked zset ZADD COUNT 10");
    client.done("DQ.MOVE worked moved PUSH COUNT 10");
    client.done("DQ.MOVE worked moved PUSH COUNT 5 AHEAD 1000000000000");
    client.done("MULTI");
    client.done("DQ.PUSH worked m ID in-multi");
    client.done("DQ.CLAIM worked COUNT 2 LEASE 100000000");
    client.done("EXEC");
    client.call(&[
        "EVAL",
        "redis.call('DQ.PUSH',KEYS[1],'m'); return redis.call('DQ.CLAIM',KEYS[1])",
        "1",
        "worked",
    ]);
}

/// All that must be equal on every copy.
fn picture(client: &mut Client) -> Vec<String> {
    let mut lines: Vec<String> = KEYS.iter().map(|key| format!("{key} {}", digest(client, key))).collect();
    lines.push(shown_jobs(client, "rich", &RICH_IDS));
    let ids: Vec<String> =
        (0..300).map(|number| format!("j{number}")).chain(["y".into(), "in-multi".into()]).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    lines.extend(["worked", "moved"].map(|key| shown_jobs(client, key, &ids)));
    lines
}

#[track_caller]
fn assert_same(before: &[String], client: &mut Client, copy: &str) {
    for (was, is) in before.iter().zip(picture(client)) {
        assert_eq!(*was, is, "{copy}");
    }
}

#[test]
fn an_aof_replay_is_the_queue_before_and_after_a_rewrite() {
    for preamble in ["yes", "no"] {
        let mut server = Server::with(&[AOF[0], AOF[1], &format!("aof-use-rdb-preamble {preamble}")]);
        work(&mut server.connect());
        let before = picture(&mut server.connect());
        server.kill();
        server.start_again();
        assert_same(&before, &mut server.connect(), &format!("replayed, preamble {preamble}"));
        aof::rewrite(&server);
        assert_same(&before, &mut server.connect(), &format!("after rewriting, preamble {preamble}"));
        server.kill();
        server.start_again();
        assert_same(&before, &mut server.connect(), &format!("rewritten, preamble {preamble}"));
        push_many(&mut server.connect(), "rich", "more", 10, 1_600_000_000_000);
        let before = picture(&mut server.connect());
        server.kill();
        server.start_again();
        assert_same(&before, &mut server.connect(), &format!("rewritten and added to, preamble {preamble}"));
    }
}

#[test]
fn an_aof_rewrite_of_a_big_queue_is_the_queue_and_comes_in_bounded_chunks() {
    let mut server = Server::with(&[AOF[0], AOF[1], "aof-use-rdb-preamble no"]);
    push_many(&mut server.connect(), "q", "j", 50_000, 1_600_000_000_000);
    let big = "x".repeat(1 << 20);
    for _ in 0..8 {
        server.connect().call(&["DQ.PUSH", "q", &big]);
    }
    let before = digest(&mut server.connect(), "q");
    aof::rewrite(&server);
    let chunks = aof::commands(&server);
    assert!(chunks.len() > 1, "one chunk of {} bytes", chunks[0].concat().len());
    for chunk in &chunks {
        let bytes: usize = chunk.iter().map(Vec::len).sum();
        assert_eq!(chunk[3], b"LOAD");
        assert!(bytes < 4 << 20, "a chunk of {bytes} bytes");
    }
    server.kill();
    server.start_again();
    assert_eq!(digest(&mut server.connect(), "q"), before);
}

#[test]
fn an_rdb_restart_is_the_queue() {
    let mut server = Server::start();
    work(&mut server.connect());
    let before = picture(&mut server.connect());
    server.shut_down("SAVE");
    server.start_again();
    assert_same(&before, &mut server.connect(), "restarted from RDB");
    server.connect().done("DEBUG RELOAD");
    assert_same(&before, &mut server.connect(), "reloaded");
}

#[test]
fn a_replica_is_the_queue_and_stays_it_when_promoted() {
    let (mut master, replica) = start_pair(&[]);
    work(&mut master.connect());
    wait_in_step(&replica, &master);
    let before = picture(&mut master.connect());
    assert_same(&before, &mut replica.connect(), "replica by stream");
    promote(&replica);
    assert_same(&before, &mut replica.connect(), "promoted");
    work_on(&mut replica.connect());
    follow(&master, &replica);
    let after = picture(&mut replica.connect());
    assert_same(&after, &mut master.connect(), "old master, following");
    master.kill();
}

fn work_on(client: &mut Client) {
    let claimed = claim(client, "worked COUNT 5 LEASE 100000000");
    client.done(&format!("DQ.ACK worked {}", claimed[0].receipt()));
    client.done("DQ.CANCEL worked in-multi");
    client.done("DQ.CLAIM rich COUNT 2");
}

#[test]
fn a_replica_by_full_sync_is_the_queue() {
    let master = Setup::default().listening().start();
    work(&mut master.connect());
    let replica = Setup::default().listening().start();
    follow(&replica, &master);
    let before = picture(&mut master.connect());
    assert_same(&before, &mut replica.connect(), "replica by full sync");
}

#[test]
fn a_replicas_own_aof_is_the_queue() {
    let (master, mut replica) = start_pair(&AOF);
    work(&mut master.connect());
    wait_in_step(&replica, &master);
    let before = picture(&mut master.connect());
    // A replica begins its AOF anew after the full sync.
    aof::wait_until_rewritten(&replica);
    replica.kill();
    replica.start_again();
    assert_same(&before, &mut replica.connect(), "replica's AOF");
}

#[test]
fn a_copy_and_a_restored_dump_are_the_queue_and_live_apart_from_it() {
    let server = Server::start();
    let client = &mut server.connect();
    work(client);
    for key in ["rich", "worked", "moved"] {
        let before = digest(client, key);
        assert_eq!(client.ask(&format!("COPY {key} copied")), "1");
        assert_eq!(client.ask(&format!("COPY {key} copied DB 1")), "1");
        let payload = client.done(&format!("DUMP {key}")).bytes().to_vec();
        assert_eq!(client.call(&[b"RESTORE".as_slice(), b"restored", b"0", &payload]), "OK");
        for copy in ["copied", "restored"] {
            assert_eq!(digest(client, copy), before, "{copy} of {key}");
            client.done(&format!("DQ.PUSH {copy} m ID only-here"));
            assert_ne!(digest(client, copy), before, "a push changes the digest");
            client.done(&format!("DEL {copy}"));
        }
        client.done("SELECT 1");
        assert_eq!(digest(client, "copied"), before);
        client.done("DEL copied");
        client.done("SELECT 0");
        assert_eq!(digest(client, key), before, "{key} is what it was");
    }
}

#[test]
fn a_digest_tells_every_difference() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut seen = Vec::new();
    for line in [
        "PUT a m 1600000000000",
        "PUT b m 1600000000000",
        "PUT a n 1600000000000",
        "PUT a m 1600000000001",
        "PUT a m 1600000000000 PRIORITY 1",
        "PUT a m 1600000000000 EXPIRES 4102444800000",
        "PUT a m 1600000000000 ATTEMPTS 1",
        "PUT a m 1600000000000 LEASE 4102444800000 5 1 a",
        "PUT a m 1600000000000 LEASE 4102444800000 6 1 a",
        "PUT a m 1600000000000 LEASE 4102444800001 5 1 a",
        "PUT a m 1600000000000 ERROR a text",
        "PUT a m 1600000000000 BURY a nacked 1600000000000",
        "PUT a m 1600000000000 BURY a rejected 1600000000000",
        "PUT a m 1600000000000 BURY a nacked 1600000000001",
        "PUT a m 1600000000000 POLICY 5 0 1000 2 3600000 0 10000 0",
        "PUT a m 1600000000000 PAUSE 4102444800000",
        "PUT a m 1600000000000 PUT b m 1600000000000",
        "PUT b m 1600000000000 PUT a m 1600000000000",
    ] {
        client.done("DEL q");
        client.done(&format!("DQ.APPLY q 1 {line}"));
        let sum = digest(client, "q");
        assert!(!seen.contains(&sum), "{line} has the digest of an earlier one");
        seen.push(sum);
    }
}

#[test]
fn a_replica_shows_what_time_alone_has_done_and_changes_nothing_by_it() {
    let (master, replica) = start_pair(&[]);
    let (on_master, on_replica) = (&mut master.connect(), &mut replica.connect());
    on_master.done("DQ.APPLY q 1 PUT gone m 1600000000000 EXPIRES 1600000000005 PUT there m 1600000000000");
    on_master.done("DQ.APPLY q 1 PUT last m 1600000000000 POLICY 0 1 1000 2 3600000 0 10000 0");
    on_master.done("DQ.APPLY q 1 LEASE 1600000000009 5 1 last");
    wait_in_step(&replica, &master);
    let before = digest(on_master, "q");
    for client in [on_master, on_replica] {
        assert!(client.ask("DQ.GET q gone").is_null());
        assert_eq!(*client.ask("DQ.GET q last").field("state"), "dead");
        assert_eq!(client.ask("DQ.LEN q"), "2");
        assert_eq!(digest(client, "q"), before, "reading changed the queue");
    }
    master.connect().done("DQ.CLAIM q");
    wait_in_step(&replica, &master);
    let after = digest(&mut master.connect(), "q");
    assert_ne!(after, before);
    assert_eq!(digest(&mut replica.connect(), "q"), after);
}

#[test]
fn dead_jobs_above_the_limit_are_dropped_everywhere_alike() {
    let (master, replica) = start_pair(&AOF);
    let client = &mut master.connect();
    // The effect has 0 for no limit, so that a limit of 2 is written as 3.
    client.done("DQ.APPLY q 1 POLICY 0 0 1000 2 3600000 0 3 0");
    for number in 0..5 {
        client.done(&format!("DQ.PUSH q m ID j{number} AT 160000000000{number}"));
        client.done(&format!("DQ.PUSH other m ID j{number}"));
    }
    let written =
        aof::effects_written_by(&master, |client| assert_eq!(client.ask("DQ.MOVE q other PUSH"), "0"));
    assert_eq!(client.ask("DQ.LEN q"), "2");
    let kept: Vec<bool> =
        (0..5).map(|number| !client.ask(&format!("DQ.GET q j{number}")).is_null()).collect();
    assert_eq!(kept, [false, false, false, true, true], "the oldest deaths are dropped");
    assert!(written.join(" ").contains("REMOVE dropped"), "{written:?}");
    wait_in_step(&replica, &master);
    assert_eq!(digest(&mut replica.connect(), "q"), digest(client, "q"));
}

#[test]
fn a_replica_acknowledges_what_the_commands_have_written() {
    let (master, _replica) = start_pair(&[]);
    let client = &mut master.connect();
    for line in ["DQ.PUSH q m ID a", "DQ.CLAIM q LEASE 100000000", "DQ.CANCEL q a"] {
        client.done(line);
        assert_eq!(client.ask("WAIT 1 60000"), "1", "{line}");
    }
    let mut waiting = Waiting::start(&master, "DQ.CLAIM q LEASE 100000000 BLOCK 0");
    client.done("DQ.PUSH q m DELAY 50");
    assert_eq!(waiting.message(), "m");
    let mut consumer = waiting.into_client();
    assert_eq!(consumer.ask("WAIT 1 60000"), "1", "a claim that has waited");
}

/// Servers since Redis 7.2 can be asked whether the AOF has it.
#[test]
fn the_aof_acknowledges_what_the_commands_have_written() {
    let server = Server::with(&AOF);
    let client = &mut server.connect();
    if client.ask("WAITAOF 0 0 1").is_error() {
        return;
    }
    for line in ["DQ.PUSH q m ID a", "DQ.CLAIM q LEASE 100000000", "DQ.CANCEL q a"] {
        client.done(line);
        assert_eq!(client.ask("WAITAOF 1 0 60000"), "[1 0]", "{line}");
    }
}
