//! Moving a slot to another master of a cluster, in each way that the server under test has.

use crate::harness::cluster::{Cluster, Node, slot};
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::reply::Reply;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How a slot is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Key by key, with MIGRATE; every server has it.
    Keys,
    /// As one piece, with CLUSTER MIGRATESLOTS of Valkey 9.
    Whole,
}

/// The ways that this server has; the missing one is named, for the test's output.
pub fn ways(cluster: &Cluster, test: &str) -> Vec<Way> {
    let help = cluster.nodes()[0].connect().done("CLUSTER HELP").text();
    if help.contains("MIGRATESLOTS") {
        return vec![Way::Keys, Way::Whole];
    }
    eprintln!("{test}: skipped as to whole slots, this server has no CLUSTER MIGRATESLOTS");
    vec![Way::Keys]
}

/// One migration at a time: a server refuses a second one, or loses sight of who has which slot.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Moves the slot of `key` to `target`, and returns when the whole cluster knows.
#[track_caller]
pub fn move_slot(cluster: &Cluster, key: &str, target: &Node, way: Way) {
    let _turn = turn();
    let source = cluster.owner(key);
    let slot = slot(&mut source.connect(), key);
    match way {
        Way::Keys => {
            open(source, target, slot);
            carry_keys(source, target, slot);
            close(cluster, source, target, slot);
        }
        Way::Whole => carry_slot(source, target, slot),
    }
    let moved = Reply::Error(format!("MOVED {slot} 127.0.0.1:{}", target.server.port()).into_bytes());
    cluster.spread_news("every other node sends clients to the slot's new owner", || {
        let others = cluster.nodes().iter().filter(|node| node.id != target.id);
        others.into_iter().all(|node| node.connect().call(&["EXISTS", key]) == moved)
    });
}

/// From here on the source sends clients that look for keys it has no longer to the target.
#[track_caller]
pub fn open(source: &Node, target: &Node, slot: i64) {
    target.connect().done(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", source.id));
    source.connect().done(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", target.id));
}

/// Carries each key in a MIGRATE of its own: between two of them the slot's keys are on both sides.
#[track_caller]
pub fn carry_keys(source: &Node, target: &Node, slot: i64) {
    let client = &mut source.connect();
    let port = target.server.port().to_string();
    loop {
        let keys = client.done(&format!("CLUSTER GETKEYSINSLOT {slot} 1"));
        let [key] = keys.items() else { return };
        let key = key.string();
        let moved = client.call(&["MIGRATE", "127.0.0.1", &port, "", "0", "60000", "KEYS", &key]);
        assert_eq!(moved, "OK", "MIGRATE {key}");
    }
}

/// Gives the slot to the target; the target has to hear of it first.
#[track_caller]
pub fn close(cluster: &Cluster, source: &Node, target: &Node, slot: i64) {
    let others = cluster.masters().into_iter().filter(|node| node.id != source.id && node.id != target.id);
    for node in [target, source].into_iter().chain(others) {
        node.connect().done(&format!("CLUSTER SETSLOT {slot} NODE {}", target.id));
    }
}

#[track_caller]
fn carry_slot(source: &Node, target: &Node, slot: i64) {
    begin_to_carry_slot(source, target, slot);
    eventually("the slot has been carried over", DEADLINE, || {
        let state = state(source, slot);
        assert_ne!(state, "failed");
        state == "success"
    });
}

/// Begins to move a slot as one piece.
#[track_caller]
pub fn begin_to_carry_slot(source: &Node, target: &Node, slot: i64) {
    source.connect().done(&format!("CLUSTER MIGRATESLOTS SLOTSRANGE {slot} {slot} NODE {}", target.id));
}

/// How far the newest move of a slot as one piece has come.
#[track_caller]
pub fn state(source: &Node, slot: i64) -> String {
    let all = source.connect().done("CLUSTER GETSLOTMIGRATIONS");
    // The newest comes first.
    let range = format!("{slot}-{slot}");
    let latest = all.items().iter().find(|one| *one.field("slot_ranges") == range);
    let latest = latest.unwrap_or_else(|| panic!("no move of slot {slot} is known: {all}"));
    latest.field("state").string()
}
