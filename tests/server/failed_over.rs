//! Fear: when a replica takes over, an acknowledged push or a running lease is gone, or a token comes twice.

use crate::harness::cluster::{Cluster, Node};
use crate::harness::digest::digest;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::numbers::{counters, states};
use crate::harness::queue::{PAST, claim, claim_one, push_many};
use crate::harness::shift::{token, work_during};

fn number(token: &str) -> u64 {
    token.parse().expect("a token is a number")
}

#[test]
fn workers_lose_nothing_and_get_nothing_twice_when_replicas_take_over() {
    let cluster = Cluster::start();
    let key = "q";
    let client = &mut cluster.owner(key).connect();
    push_many(client, key, "leased", 20, PAST);
    let claimed = claim(client, &format!("{key} COUNT 20 LEASE 100000000"));
    let ledger = work_during(&cluster, key, |progress| {
        for _ in 0..2 {
            progress.wait_for_more(50);
            cluster.fail_over(key);
        }
        progress.wait_for_more(50);
    });
    ledger.assert_nothing_lost_or_doubled();
    let master = cluster.owner(key);
    let client = &mut master.connect();
    assert_eq!(states(client, key), "0 waiting, 20 claimed, 0 dead");
    let on_replica = &mut cluster.replica_of(master).connect();
    on_replica.done("READONLY");
    assert_eq!(digest(on_replica, key), digest(client, key));
    assert_eq!(counters(on_replica, key), counters(client, key));
    let receipts: Vec<&str> = claimed.iter().map(|delivery| delivery.receipt()).collect();
    let acked = client.done(&format!("DQ.ACK {key} {}", receipts.join(" ")));
    assert!(acked.items().iter().all(|reply| *reply == "1"), "{acked}");
}

/// Ends the key's owner as a power cut would, and makes its replica the owner by order.
#[track_caller]
fn kill_and_replace<'a>(cluster: &'a mut Cluster, key: &str) -> &'a Node {
    let master = cluster.owner(key).id.clone();
    let replica = cluster.replica_of(cluster.owner(key)).id.clone();
    cluster.kill(&master);
    let heir = cluster.nodes().iter().find(|node| node.id == replica).expect("the replica lives");
    heir.connect().done("CLUSTER FAILOVER TAKEOVER");
    eventually("the replica has taken over", DEADLINE, || cluster.owner(key).id == replica);
    cluster.owner(key)
}

#[test]
fn what_a_replica_has_confirmed_survives_its_masters_death() {
    let mut cluster = Cluster::start();
    let key = "q";
    let client = &mut cluster.owner(key).connect();
    push_many(client, key, "j", 4, PAST);
    let claimed = claim(client, &format!("{key} COUNT 3 LEASE 100000000"));
    client.done(&format!("DQ.ACK {key} {}", claimed[0].receipt()));
    assert_eq!(client.ask("WAIT 1 60000"), "1");
    let shown = client.done(&format!("DQ.GET {key} j1")).text();
    let client = &mut kill_and_replace(&mut cluster, key).connect();
    assert_eq!(states(client, key), "1 waiting, 2 claimed, 0 dead");
    assert_eq!(client.done(&format!("DQ.GET {key} j1")).text(), shown, "the lease goes on as it was");
    let next = claim_one(client, &format!("{key} COUNT 9 LEASE 100000000"));
    assert_eq!((next.id().as_str(), next.attempt), ("j3", 1));
    assert!(number(token(&next)) > number(token(&claimed[0])), "tokens only grow");
    for (delivery, reply) in [(&claimed[0], "[0]"), (&claimed[1], "[1]"), (&claimed[2], "[1]")] {
        assert_eq!(client.ask(&format!("DQ.ACK {key} {}", delivery.receipt())), reply, "{delivery:?}");
    }
}
