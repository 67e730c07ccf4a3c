//! Fear: a client waits for ever on a node that no longer has its queue, or the node that has it serves nobody.

use crate::harness::client::Client;
use crate::harness::cluster::{Cluster, Node, slot};
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::migration::{
    Way, begin_to_carry_slot, carry_keys, close, move_slot, open, state, turn, ways,
};
use crate::harness::queue::{Delivery, FUTURE, PAST, claim_one, push_many};
use crate::harness::reply::Reply;
use crate::harness::wire::encode;

/// Sends a command and waits until the server has made its client wait.
#[track_caller]
fn wait_for(node: &Node, mut client: Client, line: &str) -> Client {
    let id = client.done("CLIENT ID").int();
    if line.starts_with("ASKING ") {
        client.done("ASKING");
    }
    let words: Vec<&str> = line.trim_start_matches("ASKING ").split(' ').collect();
    client.send(&encode(&words)).expect("the command is sent");
    let watcher = &mut node.connect();
    eventually("the client waits", DEADLINE, || {
        let shown = watcher.done(&format!("CLIENT LIST ID {id}")).string();
        shown.split(' ').any(|field| field.starts_with("flags=") && field.contains('b'))
    });
    client
}

/// The commands that wait, for the key Q.
const WAITING: [&str; 3] =
    ["DQ.CLAIM Q BLOCK 0", "DQ.CLAIM Q COUNT 5 LEASE 1000 BLOCK 1000000", "DQ.MOVE Q {Q}:list BLOCK 0"];

fn lines(key: &str) -> [String; 3] {
    let tag = key.trim_matches(['{', '}']);
    WAITING.map(|line| line.replace("{Q}", &format!("{{{tag}}}")).replace(" Q", &format!(" {key}")))
}

#[test]
fn a_waiting_client_is_sent_to_the_node_to_which_its_slot_has_moved() {
    let cluster = Cluster::shared();
    for way in ways(&cluster, "a_waiting_client_is_sent_to_the_node_to_which_its_slot_has_moved") {
        for (kind, due) in [("missing", None), ("far", Some(FUTURE))] {
            let key = format!("{{waiting-{way:?}-{kind}}}");
            let (source, target) = (cluster.owner(&key), cluster.stranger(&key));
            if let Some(due) = due {
                push_many(&mut source.connect(), &key, "j", 1, due);
            }
            let waiting = lines(&key).map(|line| wait_for(source, source.connect(), &line));
            let slot = slot(&mut source.connect(), &key);
            move_slot(&cluster, &key, target, way);
            let moved = format!("(error) MOVED {slot} 127.0.0.1:{}", target.server.port());
            for mut client in waiting {
                assert_eq!(client.receive().expect("an answer").text(), moved, "{way:?}, {kind}");
                // The connection is still good.
                assert_eq!(client.ask("PING"), "PONG");
            }
        }
    }
}

/// Two jobs that nobody has to touch again for them to become due: one by its time, one by the end of its lease.
#[track_caller]
fn push_two_for_soon(client: &mut Client, key: &str) -> (i64, i64) {
    push_many(client, key, "lapsing", 1, PAST);
    claim_one(client, &format!("{key} LEASE 1500"));
    let lease_end = client.done(&format!("DQ.GET {key} lapsing0")).field("lease_until").int();
    let due = lease_end + 100;
    push_many(client, key, "due", 1, due as u64);
    (lease_end, due)
}

#[track_caller]
fn assert_served_in_time(node: &Node, key: &str, (lease_end, due): (i64, i64)) {
    for (id, attempt, time) in [("lapsing0", 2, lease_end), ("due0", 1, due)] {
        let mut client = node.connect();
        client.send(&encode(&["DQ.CLAIM", key, "BLOCK", "0"])).expect("the command is sent");
        let reply = client.receive().expect("the client is served");
        let delivery = Delivery::of(&reply.items()[0]);
        assert_eq!((delivery.id().as_str(), delivery.attempt, delivery.due), (id, attempt, time));
        assert!(client.now() as i64 >= time, "early: {delivery:?}");
    }
}

#[test]
fn who_waits_on_the_new_node_is_served_when_a_moved_job_becomes_due() {
    let cluster = Cluster::shared();
    for way in ways(&cluster, "who_waits_on_the_new_node_is_served_when_a_moved_job_becomes_due") {
        let key = format!("{{soon-{way:?}}}");
        let (source, target) = (cluster.owner(&key), cluster.stranger(&key));
        let times = push_two_for_soon(&mut source.connect(), &key);
        move_slot(&cluster, &key, target, way);
        assert_served_in_time(target, &key, times);
    }
}

#[test]
fn who_waits_on_the_new_node_before_the_queue_is_there_is_served_when_it_comes() {
    let cluster = Cluster::shared();
    let _turn = turn();
    let key = "{arriving}";
    let (source, target) = (cluster.owner(key), cluster.stranger(key));
    let client = &mut source.connect();
    push_many(client, key, "j", 1, PAST);
    let slot = slot(client, key);
    open(source, target, slot);
    let mut early = wait_for(target, target.connect(), &format!("ASKING DQ.CLAIM {key} BLOCK 0"));
    carry_keys(source, target, slot);
    let reply = early.receive().expect("the client is served");
    assert_eq!(Delivery::of(&reply.items()[0]).id(), "j0");
    close(&cluster, source, target, slot);
}

#[test]
fn a_job_that_becomes_due_while_its_slot_is_handed_over_is_delivered_by_the_new_node_alone() {
    let test = "a_job_that_becomes_due_while_its_slot_is_handed_over_is_delivered_by_the_new_node_alone";
    let cluster = Cluster::shared();
    if !ways(&cluster, test).contains(&Way::Whole) {
        return;
    }
    let _turn = turn();
    let key = "{handed-over}";
    let (source, target) = (cluster.owner(key), cluster.stranger(key));
    let client = &mut source.connect();
    // All has been sent to the new owner, and the old one may no longer write: what it delivered now would be
    // delivered twice.
    target.connect().done("DEBUG SLOTMIGRATION PREVENT-FAILOVER 1");
    let mut waiting = wait_for(source, source.connect(), &format!("DQ.CLAIM {key} LEASE 100000000 BLOCK 0"));
    let due = client.now() + 1000;
    push_many(client, key, "j", 1, due);
    let slot = slot(client, key);
    begin_to_carry_slot(source, target, slot);
    eventually("the source has stopped", DEADLINE, || state(source, slot) == "failover-granted");
    eventually("the job has been due for a while", DEADLINE, || client.now() > due + 100);
    assert_eq!(client.done(&format!("DQ.GET {key} j0")).field("attempts"), &Reply::Int(0));
    target.connect().done("DEBUG SLOTMIGRATION PREVENT-FAILOVER 0");
    let error = waiting.receive().expect("an answer").error();
    assert!(error.starts_with("MOVED "), "{error}");
    let delivery = claim_one(&mut target.connect(), &format!("{key} LEASE 100000000"));
    assert_eq!((delivery.id().as_str(), delivery.attempt, delivery.due), ("j0", 1, due as i64));
}

#[test]
fn a_waiting_client_is_told_when_its_master_becomes_a_replica_and_the_new_master_serves() {
    let cluster = Cluster::start();
    let (key, soon) = ("{q}", "{q}:soon");
    let master = cluster.owner(key);
    let heir = cluster.replica_of(master);
    let waiting = lines(key).map(|line| wait_for(master, master.connect(), &line));
    let times = push_two_for_soon(&mut master.connect(), soon);
    cluster.fail_over(key);
    for mut client in waiting {
        // Redis says that it has let the client go, and hangs up; Valkey says where to go.
        let error = client.receive().expect("an answer").error();
        assert!(error.starts_with("UNBLOCKED ") || error.starts_with("MOVED "), "{error}");
    }
    assert_served_in_time(heir, soon, times);
}
