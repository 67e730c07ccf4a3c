//! Fear: while a queue's slot moves to another node, jobs get lost or doubled, or leases, times and receipts end.

use crate::harness::client::Client;
use crate::harness::cluster::{Cluster, Node, slot};
use crate::harness::digest::{digest, shown_jobs};
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::migration::{
    Way, begin_to_carry_slot, carry_keys, close, move_slot, open, state, turn, ways,
};
use crate::harness::numbers::{counters, info, states};
use crate::harness::queue::{FUTURE, PAST, RICH_IDS, claim, claim_one, fill_with_every_kind, push_many};
use crate::harness::random::Random;
use crate::harness::shift::{token, work_during};

/// All that must be the same on both sides, with the policy and the pause.
fn picture(client: &mut Client, key: &str) -> Vec<String> {
    let info = info(client, key);
    let settings = ["lease", "maxattempts", "deadmax", "ttl", "backoff", "paused_until"];
    let settings = settings.map(|name| format!("{name} {}", info.field(name)));
    vec![
        digest(client, key),
        shown_jobs(client, key, &RICH_IDS),
        counters(client, key),
        states(client, key),
        settings.join(", "),
    ]
}

#[test]
fn a_moved_queue_is_the_same_queue_on_the_new_node_and_on_its_replica() {
    let cluster = Cluster::shared();
    for way in ways(&cluster, "a_moved_queue_is_the_same_queue_on_the_new_node_and_on_its_replica") {
        let key = format!("{{same {way:?}}}").replace(' ', "-");
        let (source, target) = (cluster.owner(&key), cluster.stranger(&key));
        let client = &mut source.connect();
        fill_with_every_kind(client, &key);
        client.done(&format!(
            "DQ.POLICY {key} MAXATTEMPTS 9 BACKOFF 5 3 70 20 DEADMAX 50 TTL 900000000 LEASE 77"
        ));
        client.done(&format!("DQ.PAUSE {key} 100000000"));
        let before = picture(client, &key);
        move_slot(&cluster, &key, target, way);
        assert_eq!(picture(&mut target.connect(), &key), before, "{way:?}");
        let on_replica = &mut cluster.replica_of(target).connect();
        on_replica.done("READONLY");
        assert_eq!(picture(on_replica, &key), before, "{way:?}, on the replica");
        eventually("the old owner has nothing left of it", DEADLINE, || {
            let slot = slot(client, &key);
            client.done(&format!("CLUSTER COUNTKEYSINSLOT {slot}")) == "0"
        });
    }
}

#[test]
fn a_receipt_from_before_the_move_counts_after_it() {
    let cluster = Cluster::shared();
    for way in ways(&cluster, "a_receipt_from_before_the_move_counts_after_it") {
        let key = format!("{{receipts-{way:?}}}");
        let client = &mut cluster.owner(&key).connect();
        push_many(client, &key, "j", 5, PAST);
        let claimed = claim(client, &format!("{key} COUNT 4 LEASE 100000000"));
        let lease = |client: &mut Client| client.done(&format!("DQ.GET {key} j3")).text();
        let before = lease(client);
        let target = cluster.stranger(&key);
        move_slot(&cluster, &key, target, way);
        let client = &mut target.connect();
        assert_eq!(lease(client), before, "{way:?}");
        let mut answer = |command: &str, number: usize| {
            client.done(&format!("{command} {}", claimed[number].receipt())).text()
        };
        assert_eq!(answer(&format!("DQ.ACK {key}"), 0), "[1]");
        assert_eq!(answer(&format!("DQ.ACK {key}"), 0), "[0]", "acknowledged before");
        assert_eq!(answer(&format!("DQ.EXTEND {key} LEASE 200000000"), 1), "[1]");
        assert_eq!(answer(&format!("DQ.NACK {key} DEAD"), 2), "[dead]");
        let next = claim_one(client, &format!("{key} LEASE 100000000"));
        assert_eq!((next.id().as_str(), next.attempt), ("j4", 1), "{way:?}");
        let number = |token: &str| token.parse::<u64>().expect("a token is a number");
        assert!(number(token(&next)) > number(token(&claimed[0])), "tokens of one queue only grow");
        assert_eq!(claim(client, &format!("{key} LEASE 100000000")), [], "the leases go on");
        assert_eq!(client.ask(&format!("DQ.REDRIVE {key} ID j2")), "1");
    }
}

/// Fills a queue with what nobody is to touch: far jobs, running leases (their receipts come back), dead jobs.
fn park(client: &mut Client, key: &str) -> Vec<String> {
    push_many(client, key, "dead", 30, PAST);
    for delivery in claim(client, &format!("{key} COUNT 30 LEASE 100000000")) {
        client.done(&format!("DQ.NACK {key} DEAD {}", delivery.receipt()));
    }
    push_many(client, key, "leased", 40, PAST);
    let claimed = claim(client, &format!("{key} COUNT 40 LEASE 100000000"));
    push_many(client, key, "far", 3000, FUTURE);
    claimed.iter().map(|delivery| delivery.receipt().to_owned()).collect()
}

/// Moves the slot of a queue back and forth while workers work on it, and looks whether all is as it must be.
#[track_caller]
fn move_under_work(cluster: &Cluster, way: Way) {
    let (busy, parked) = (format!("{{busy-{way:?}}}:work"), format!("{{busy-{way:?}}}:parked"));
    let (first, second) = (cluster.owner(&busy), cluster.stranger(&busy));
    let receipts = park(&mut first.connect(), &busy);
    fill_with_every_kind(&mut first.connect(), &parked);
    let before = picture(&mut first.connect(), &parked);
    let ledger = work_during(cluster, &busy, |progress| {
        progress.wait_for_more(50);
        move_slot(cluster, &busy, second, way);
        progress.wait_for_more(50);
        move_slot(cluster, &busy, first, way);
        progress.wait_for_more(50);
    });
    ledger.assert_nothing_lost_or_doubled();
    assert!(ledger.jobs() >= 150, "{}", ledger.jobs());
    let client = &mut first.connect();
    assert_eq!(states(client, &busy), "3000 waiting, 40 claimed, 30 dead");
    let acked = client.done(&format!("DQ.ACK {busy} {}", receipts.join(" ")));
    assert!(acked.items().iter().all(|reply| *reply == "1"), "{acked}");
    assert_eq!(picture(client, &parked), before);
    let after = digest(client, &busy);
    assert_eq!(digest(&mut cluster.replica_of(first).connect(), &busy), after);
}

#[test]
fn workers_go_on_while_a_slot_moves_key_by_key() {
    move_under_work(&Cluster::shared(), Way::Keys);
}

#[test]
fn workers_go_on_while_a_slot_moves_as_one_piece() {
    let cluster = Cluster::shared();
    if ways(&cluster, "workers_go_on_while_a_slot_moves_as_one_piece").contains(&Way::Whole) {
        move_under_work(&cluster, Way::Whole);
    }
}

#[test]
fn between_two_keys_of_a_slot_each_queue_works_on_the_side_where_it_is() {
    let cluster = Cluster::shared();
    let _turn = turn();
    let (gone, left) = ("{split}:gone", "{split}:left");
    let (source, target) = (cluster.owner(gone), cluster.stranger(gone));
    let (here, there) = (&mut source.connect(), &mut target.connect());
    here.done(&format!("DQ.PUSH {gone} m ID a"));
    let number = slot(here, gone);
    open(source, target, number);
    carry_keys(source, target, number);
    asked_elsewhere(here, source, target, &format!("DQ.PUSH {left} m ID b"));
    asked_elsewhere(here, source, target, &format!("DQ.CLAIM {gone}"));
    there.done("ASKING");
    assert_eq!(there.ask(&format!("DQ.CLAIM {gone}")).items().len(), 1);
    // A move needs both queues, and one of them is nowhere yet: nothing may be half done.
    there.done("ASKING");
    let error = there.refused(&format!("DQ.MOVE {gone} {left} PUSH"));
    assert!(error.starts_with("TRYAGAIN "), "{error}");
    close(&cluster, source, target, number);
    assert_eq!(there.ask(&format!("DQ.MOVE {gone} {left} PUSH")), "0");
}

#[track_caller]
fn asked_elsewhere(client: &mut Client, source: &Node, target: &Node, line: &str) {
    let error = client.refused(line);
    let port = target.server.port();
    assert!(error.starts_with("ASK ") && error.ends_with(&format!(":{port}")), "{line}: {error}");
    assert_ne!(source.server.port(), port);
}

#[test]
fn a_queue_too_big_for_one_string_stays_where_it_is_unless_its_slot_moves_as_one_piece() {
    let test = "a_queue_too_big_for_one_string_stays_where_it_is_unless_its_slot_moves_as_one_piece";
    let cluster = Cluster::shared();
    let key = "{big}";
    let (source, target) = (cluster.owner(key), cluster.stranger(key));
    let client = &mut source.connect();
    let mut random = Random::seeded(1);
    for _ in 0..30 {
        client.call(&[b"DQ.PUSH".as_slice(), key.as_bytes(), &random.bytes(100_000)]);
    }
    let before = digest(client, key);
    let limit = |size: &str| target.connect().done(&format!("CONFIG SET proto-max-bulk-len {size}"));
    limit("1mb");
    {
        let _turn = turn();
        let slot = slot(client, key);
        open(source, target, slot);
        let port = target.server.port();
        let error = client.refused(&format!("MIGRATE 127.0.0.1 {port} {key} 0 60000"));
        assert!(error.starts_with("ERR ") || error.starts_with("IOERR "), "{error}");
        assert_eq!(digest(client, key), before);
        for node in [source, target] {
            node.connect().done(&format!("CLUSTER SETSLOT {slot} STABLE"));
        }
    }
    if ways(&cluster, test).contains(&Way::Whole) {
        move_slot(&cluster, key, target, Way::Whole);
        assert_eq!(digest(&mut target.connect(), key), before);
    }
    limit("512mb");
}

#[test]
fn a_slot_stays_whole_where_it_is_if_its_carrier_may_not_do_what_is_needed() {
    let test = "a_slot_stays_whole_where_it_is_if_its_carrier_may_not_do_what_is_needed";
    let cluster = Cluster::shared();
    if !ways(&cluster, test).contains(&Way::Whole) {
        return;
    }
    let _turn = turn();
    let key = "{carried}";
    let (source, target) = (cluster.owner(key), cluster.stranger(key));
    let client = &mut source.connect();
    fill_with_every_kind(client, key);
    let (slot, before) = (slot(client, key), digest(client, key));
    client.done("CONFIG SET primaryuser carrier primaryauth secret");
    for (permission, outcome) in [("-dq.apply", "failed"), ("+dq.apply", "success")] {
        let rules = format!("reset on >secret ~* +cluster|syncslots +select {permission}");
        target.connect().done(&format!("ACL SETUSER carrier {rules}"));
        begin_to_carry_slot(source, target, slot);
        eventually("the migration has come to its end", DEADLINE, || state(source, slot) == outcome);
        let owner = if outcome == "success" { target } else { source };
        assert_eq!(digest(&mut owner.connect(), key), before, "{permission}");
    }
    // An empty string stands for none.
    client.call(&["CONFIG", "SET", "primaryuser", "", "primaryauth", ""]);
}
