//! Fear: in a cluster a command reaches across slots, or runs on a node that does not own its key.

use crate::harness::client::Client;
use crate::harness::cluster::{Cluster, slot};
use crate::harness::digest::digest;
use crate::harness::queue::claim_one;
use crate::harness::reply::Reply;
use std::collections::BTreeSet;

/// Every command of the module, each with its keys in front: Q and, for a move, {Q}:list.
const LINES: [&str; 22] = [
    "DQ.PUSH Q m",
    "DQ.PUSH Q m ZSET DELAY 5 ENVELOPE",
    "DQ.MPUSH Q DELAY 0 a m",
    "DQ.CLAIM Q COUNT 2 LEASE 1000",
    "DQ.CLAIM Q WITHSCORES SECONDS BLOCK 5",
    "DQ.ACK Q 1-a",
    "DQ.NACK Q 1-a",
    "DQ.EXTEND Q LEASE 1000 1-a",
    "DQ.CANCEL Q a",
    "DQ.RESCHEDULE Q a DELAY 0",
    "DQ.REDRIVE Q COUNT 1",
    "DQ.MOVE Q {Q}:list",
    "DQ.MOVE Q {Q}:list XADD MAXLEN 1000 COUNT 10 JSON",
    "DQ.POLICY Q LEASE 1000",
    "DQ.PAUSE Q 1",
    "DQ.RESUME Q",
    "DQ.PURGE Q DEAD",
    "DQ.LEN Q",
    "DQ.GET Q a",
    "DQ.PEEK Q WAITING COUNT 5",
    "DQ.INFO Q",
    "DQ.APPLY Q 1 PAUSE 0",
];

fn lines(key: &str) -> Vec<String> {
    LINES.iter().map(|line| line.replace('Q', key).replace(&format!("D{key}."), "DQ.")).collect()
}

/// The names of all commands that the module has registered.
fn registered(client: &mut Client) -> BTreeSet<String> {
    let all = client.done("COMMAND");
    let names = all.items().iter().map(|command| command.items()[0].string().to_uppercase());
    names.filter(|name| name.starts_with("DQ.")).collect()
}

#[test]
fn every_command_on_a_node_that_has_not_the_key_is_sent_to_the_one_that_has() {
    let cluster = Cluster::shared();
    let key = "wanted";
    let (owner, stranger) = (cluster.owner(key), cluster.stranger(key));
    let client = &mut stranger.connect();
    let moved = format!("MOVED {} 127.0.0.1:{}", slot(client, key), owner.server.port());
    let mut seen = BTreeSet::new();
    for line in lines(key) {
        assert_eq!(client.refused(&line), moved, "{line}");
        seen.extend(line.split(' ').next().map(str::to_owned));
    }
    assert_eq!(seen, registered(client), "a command was left out here");
}

#[test]
fn the_server_sees_every_key_of_every_command() {
    let cluster = Cluster::shared();
    let client = &mut cluster.nodes()[0].connect();
    for line in lines("wanted") {
        let keys: Vec<&str> = line.split(' ').filter(|word| word.contains("wanted")).collect();
        let seen = client.done(&format!("COMMAND GETKEYS {line}"));
        assert_eq!(seen.items().iter().map(Reply::string).collect::<Vec<_>>(), keys, "{line}");
    }
}

#[test]
fn a_move_across_slots_is_refused_and_moves_nothing() {
    let cluster = Cluster::shared();
    let (source, other) = ("crossing", "crossing2");
    let client = &mut cluster.owner(source).connect();
    assert_ne!(slot(client, source), slot(client, other));
    client.done(&format!("DQ.PUSH {source} m"));
    let before = digest(client, source);
    for verb in ["RPUSH", "LPUSH", "XADD", "ZADD", "PUSH"] {
        let error = client.refused(&format!("DQ.MOVE {source} {other} {verb}"));
        assert!(error.starts_with("CROSSSLOT "), "{verb}: {error}");
    }
    assert_eq!(digest(client, source), before);
    assert_eq!(cluster.owner(other).connect().ask(&format!("EXISTS {other}")), "0");
}

#[test]
fn a_move_within_a_hash_tag_fills_each_kind_of_destination() {
    let cluster = Cluster::shared();
    let client = &mut cluster.owner("{shop}").connect();
    for (verb, kind) in
        [("RPUSH", "list"), ("LPUSH", "list"), ("XADD", "stream"), ("ZADD", "zset"), ("PUSH", "dq-jobset")]
    {
        let destination = format!("{{shop}}:{}", verb.to_lowercase());
        client.done("DQ.PUSH {shop}:delayed m");
        assert_eq!(client.ask(&format!("DQ.MOVE {{shop}}:delayed {destination} {verb}")), "1", "{verb}");
        assert_eq!(client.ask(&format!("TYPE {destination}")), kind, "{verb}");
    }
}

#[test]
fn commands_of_one_key_need_no_hash_tag() {
    let cluster = Cluster::shared();
    for key in ["a", "b", "c", "{tag}q"] {
        let client = &mut cluster.owner(key).connect();
        client.done(&format!("DQ.MPUSH {key} DELAY 0 one m 0 two m 0 three m"));
        let claimed = claim_one(client, &format!("{key} LEASE 100000000"));
        assert_eq!(client.ask(&format!("DQ.ACK {key} {}", claimed.receipt())), "[1]");
        assert_eq!(client.ask(&format!("DQ.CANCEL {key} two")), "[waiting]");
        assert_eq!(client.ask(&format!("DQ.LEN {key}")), "1");
    }
}

#[test]
fn a_replica_reads_after_readonly_and_never_writes() {
    let cluster = Cluster::shared();
    let key = "read-there";
    let master = cluster.owner(key);
    let on_master = &mut master.connect();
    on_master.done(&format!("DQ.PUSH {key} m ID a"));
    let on_replica = &mut cluster.replica_of(master).connect();
    let moved = format!("MOVED {} 127.0.0.1:{}", slot(on_master, key), master.server.port());
    let reads = ["DQ.LEN", "DQ.GET", "DQ.PEEK", "DQ.INFO"];
    let is_read = |line: &str| reads.iter().any(|name| line.starts_with(name));
    for line in lines(key) {
        assert_eq!(on_replica.refused(&line), moved, "{line} without READONLY");
    }
    on_replica.done("READONLY");
    for line in lines(key) {
        if is_read(&line) {
            assert_eq!(without_lag(on_replica.done(&line)), without_lag(on_master.done(&line)), "{line}");
        } else {
            assert_eq!(on_replica.refused(&line), moved, "{line} after READONLY");
        }
    }
}

/// A reply without the one number that differs from moment to moment.
fn without_lag(reply: Reply) -> String {
    let Reply::Array(items) = &reply else { return reply.text() };
    let shown: Vec<String> = items.iter().map(Reply::text).collect();
    let lag = shown.iter().position(|name| name == "lag_ms");
    let kept = shown.iter().enumerate().filter(|(place, _)| lag.is_none_or(|lag| *place != lag + 1));
    kept.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_transaction_across_nodes_is_refused_whole() {
    let cluster = Cluster::shared();
    let key = "in-transaction";
    let client = &mut cluster.owner(key).connect();
    let elsewhere = (0..).map(|number| format!("other{number}"));
    let elsewhere = elsewhere.into_iter().find(|other| cluster.owner(other).id != cluster.owner(key).id);
    client.done("MULTI");
    assert_eq!(client.ask(&format!("DQ.PUSH {key} m")), "QUEUED");
    let error = client.refused(&format!("DQ.PUSH {} m", elsewhere.expect("some key lies elsewhere")));
    assert!(error.starts_with("MOVED "), "{error}");
    assert!(client.refused("EXEC").starts_with("EXECABORT "));
    assert_eq!(client.ask(&format!("EXISTS {key}")), "0");
}
