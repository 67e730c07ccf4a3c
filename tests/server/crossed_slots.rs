//! Fear: in a cluster a command reaches across slots, or runs on a node that does not own its key.

use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::server::{Server, Setup};

/// A cluster of one node that owns all slots but that of the key `unowned`.
fn cluster_of_one() -> Server {
    let lines = ["cluster-enabled yes", "cluster-require-full-coverage no"];
    let server = Setup::default().listening().lines(&lines).start();
    let client = &mut server.connect();
    let unowned = client.ask("CLUSTER KEYSLOT unowned").int();
    let slots: Vec<String> =
        (0..16_384).filter(|slot| *slot != unowned).map(|slot: i64| slot.to_string()).collect();
    client.done(&format!("CLUSTER ADDSLOTS {}", slots.join(" ")));
    eventually("the cluster is ready", DEADLINE, || {
        client.ask("CLUSTER INFO").string().contains("cluster_state:ok")
    });
    server
}

fn slot(client: &mut Client, key: &str) -> i64 {
    client.ask(&format!("CLUSTER KEYSLOT {key}")).int()
}

#[test]
fn a_move_across_slots_is_refused_and_moves_nothing() {
    let server = cluster_of_one();
    let client = &mut server.connect();
    assert_ne!(slot(client, "a"), slot(client, "b"));
    client.done("DQ.PUSH a m");
    let before = digest(client, "a");
    for verb in ["RPUSH", "LPUSH", "XADD", "ZADD", "PUSH"] {
        let error = client.refused(&format!("DQ.MOVE a b {verb}"));
        assert!(error.starts_with("CROSSSLOT "), "{verb}: {error}");
    }
    assert_eq!(digest(client, "a"), before);
    assert_eq!(client.ask("EXISTS b"), "0");
}

#[test]
fn commands_work_on_any_key_and_a_move_within_one_slot() {
    let server = cluster_of_one();
    let client = &mut server.connect();
    for key in ["a", "b", "{tag}q"] {
        client.done(&format!("DQ.MPUSH {key} DELAY 0 one m 0 two m 0 three m"));
        let claimed = crate::harness::queue::claim_one(client, &format!("{key} LEASE 100000000"));
        assert_eq!(client.ask(&format!("DQ.ACK {key} {}", claimed.receipt())), "[1]");
        assert_eq!(client.ask(&format!("DQ.CANCEL {key} two")), "[waiting]");
        assert_eq!(client.ask(&format!("DQ.LEN {key}")), "1");
    }
    assert_eq!(client.ask("DQ.MOVE {tag}q {tag}list"), "1");
}

#[test]
fn a_key_of_a_slot_that_the_node_does_not_own_is_not_served() {
    let server = cluster_of_one();
    let client = &mut server.connect();
    for line in [
        "DQ.PUSH unowned m",
        "DQ.MPUSH unowned DELAY 0 a m",
        "DQ.CLAIM unowned",
        "DQ.ACK unowned 1-a",
        "DQ.CANCEL unowned a",
        "DQ.LEN unowned",
        "DQ.GET unowned a",
        "DQ.MOVE unowned {unowned}l",
        "DQ.APPLY unowned 1 PAUSE 0",
    ] {
        let error = client.refused(line);
        assert!(error.starts_with("CLUSTERDOWN "), "{line}: {error}");
    }
}
