//! Fear: the package claims what the module cannot do. Each capability of module.json is shown here, none is missing.
//!
//! The words and what they stand for are RAMP's.

use crate::contents::Package;
use crate::harness::aof::{AOF, rewrite};
use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::queue::{claim_one, fill_with_every_kind, push_many};
use crate::harness::replica::{follow, promote, wait_in_step};
use crate::harness::server::Server;
use std::fs;

type Proof = fn(&Package);

const PROOFS: [(&str, Proof); 9] = [
    ("types", it_has_a_type_of_its_own),
    ("persistence_rdb", a_restart_from_an_rdb_file_changes_nothing),
    ("persistence_aof", a_restart_from_an_aof_changes_nothing),
    ("backup_restore", another_server_loads_its_rdb_file),
    ("eviction_expiry", its_keys_expire_and_are_evicted),
    ("replica_of", a_replica_follows),
    ("failover_migrate", a_promoted_replica_and_a_migrated_key_go_on),
    ("clustering", each_shard_serves_its_own_slots),
    ("reshard_rebalance", a_queue_moves_with_its_slot),
];

#[ignore = "make test-package builds what it reads"]
#[test]
fn what_the_package_claims_is_what_is_shown_here() {
    let package = Package::unpack();
    let claimed: Vec<&str> =
        package.says["capabilities"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(claimed, PROOFS.map(|(name, _)| name));
    for (name, proof) in PROOFS {
        eprintln!("{name}");
        proof(&package);
    }
}

/// A server with a queue `q` that holds jobs in every state; and the digest of that.
fn filled(package: &Package, lines: &[&str]) -> (Server, String) {
    let server = package.setup(lines).start();
    let client = &mut server.connect();
    fill_with_every_kind(client, "q");
    let digest = digest(client, "q");
    (server, digest)
}

#[track_caller]
fn assert_holds(server: &Server, key: &str, expected: &str) {
    assert_eq!(digest(&mut server.connect(), key), expected);
}

fn it_has_a_type_of_its_own(package: &Package) {
    let (server, _) = filled(package, &[]);
    assert_eq!(server.connect().ask("TYPE q"), "dq-jobset");
}

fn a_restart_from_an_rdb_file_changes_nothing(package: &Package) {
    let (mut server, before) = filled(package, &[]);
    server.shut_down("SAVE");
    server.start_again();
    assert_holds(&server, "q", &before);
}

fn a_restart_from_an_aof_changes_nothing(package: &Package) {
    let (mut server, before) = filled(package, &AOF);
    server.kill();
    server.start_again();
    assert_holds(&server, "q", &before);
    rewrite(&server);
    server.kill();
    server.start_again();
    assert_holds(&server, "q", &before);
}

fn another_server_loads_its_rdb_file(package: &Package) {
    let (mut exporting, before) = filled(package, &[]);
    exporting.shut_down("SAVE");
    let mut importing = package.setup(&[]).start();
    importing.shut_down("NOSAVE");
    let [from, to] = [&exporting, &importing].map(|server| server.directory().join("dump.rdb"));
    fs::copy(from, to).unwrap();
    importing.start_again();
    assert_holds(&importing, "q", &before);
}

fn its_keys_expire_and_are_evicted(package: &Package) {
    let (server, _) = filled(package, &[]);
    let client = &mut server.connect();
    client.done("PEXPIREAT q 1600000000000");
    assert_eq!(client.ask("EXISTS q"), "0");
    for key in 0..20 {
        push_many(client, &format!("q{key}"), "j", 5_000, 1_600_000_000_000);
    }
    let used: u64 = client.info("memory", "used_memory").parse().unwrap();
    client.done("CONFIG SET maxmemory-policy allkeys-lru");
    client.done(&format!("CONFIG SET maxmemory {}", used * 3 / 4));
    client.done("SET a b");
    eventually("queues are evicted", DEADLINE, || client.info("stats", "evicted_keys") != "0");
    eventually("memory is below its limit", DEADLINE, || !client.ask("SET a b").is_error());
    assert!(client.ask("DBSIZE").int() < 21);
}

fn a_replica_follows(package: &Package) {
    let (master, _) = filled(package, &[]);
    let replica = package.setup(&[]).start();
    follow(&replica, &master);
    let client = &mut master.connect();
    client.done("DQ.PUSH q late ID late");
    claim_one(client, "q LEASE 100000000");
    wait_in_step(&replica, &master);
    assert_holds(&replica, "q", &digest(client, "q"));
}

fn a_promoted_replica_and_a_migrated_key_go_on(package: &Package) {
    let mut master = package.setup(&[]).start();
    let replica = package.setup(&[]).start();
    follow(&replica, &master);
    master.connect().done("DQ.PUSH q m ID a");
    let delivery = claim_one(&mut master.connect(), "q LEASE 100000000");
    wait_in_step(&replica, &master);
    master.kill();
    promote(&replica);
    let client = &mut replica.connect();
    assert_eq!(client.ask(&format!("DQ.ACK q {}", delivery.receipt())), "[1]");

    fill_with_every_kind(client, "other");
    let before = digest(client, "other");
    let target = package.setup(&[]).start();
    client.done(&format!("MIGRATE 127.0.0.1 {} other 0 30000", target.port()));
    assert_eq!(client.ask("EXISTS other"), "0");
    assert_holds(&target, "other", &before);
}

/// Two shards: slots up to that of `low` on the first, the rest, `high` among them, on the second.
fn two_shards(package: &Package) -> [Server; 2] {
    let shards = [(); 2].map(|()| package.setup(&["cluster-enabled yes"]).start());
    for (shard, range) in shards.iter().zip(["0 8191", "8192 16383"]) {
        shard.connect().done(&format!("CLUSTER ADDSLOTSRANGE {range}"));
    }
    shards[0].connect().done(&format!("CLUSTER MEET 127.0.0.1 {}", shards[1].port()));
    for shard in &shards {
        let client = &mut shard.connect();
        eventually("the shards know each other", DEADLINE, || {
            let info = client.ask("CLUSTER INFO").string();
            info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:2")
        });
    }
    shards
}

/// A key of the first shard and one of the second.
fn keys_of_both(client: &mut Client) -> [String; 2] {
    let mut slot = |key: &String| client.ask(&format!("CLUSTER KEYSLOT {key}")).int();
    let names: Vec<String> = (0..100).map(|number| format!("q{number}")).collect();
    let low = names.iter().find(|name| slot(name) < 8_192).expect("a key of the first shard");
    let high = names.iter().find(|name| slot(name) >= 8_192).expect("a key of the second shard");
    [low.clone(), high.clone()]
}

fn each_shard_serves_its_own_slots(package: &Package) {
    let [first, second] = two_shards(package);
    let clients = &mut [first.connect(), second.connect()];
    let keys = keys_of_both(&mut clients[0]);
    for own in [0, 1] {
        clients[own].done(&format!("DQ.PUSH {} m ID a", keys[own]));
        assert_eq!(claim_one(&mut clients[own], &keys[own]).id(), "a");
        let refused = clients[own].refused(&format!("DQ.PUSH {} m", keys[1 - own]));
        assert!(refused.starts_with("MOVED "), "{refused}");
        let refused = clients[own].refused(&format!("DQ.MOVE {} {}", keys[own], keys[1 - own]));
        assert!(refused.starts_with("CROSSSLOT "), "{refused}");
    }
}

fn a_queue_moves_with_its_slot(package: &Package) {
    let shards = two_shards(package);
    let [source, target] = &mut shards.each_ref().map(Server::connect);
    let [key, _] = keys_of_both(source);
    fill_with_every_kind(source, &key);
    let before = digest(source, &key);
    let slot = source.ask(&format!("CLUSTER KEYSLOT {key}")).int();
    let [from, to] = [&mut *source, &mut *target].map(|client| client.done("CLUSTER MYID").string());
    target.done(&format!("CLUSTER SETSLOT {slot} IMPORTING {from}"));
    source.done(&format!("CLUSTER SETSLOT {slot} MIGRATING {to}"));
    source.done(&format!("MIGRATE 127.0.0.1 {} {key} 0 30000", shards[1].port()));
    for client in [&mut *target, &mut *source] {
        client.done(&format!("CLUSTER SETSLOT {slot} NODE {to}"));
    }
    assert_eq!(digest(target, &key), before);
    claim_one(target, &key);
    assert!(source.refused(&format!("DQ.CLAIM {key}")).starts_with("MOVED "));
}
