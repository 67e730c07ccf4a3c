//! Fear: jobs come out in another order than the one promised, now or after a restart or a promotion.

use crate::harness::aof::{self, AOF};
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::queue::{PAST, claim, claim_one, drain, push_many};
use crate::harness::replica::{promote, start_pair, wait_in_step};
use crate::harness::server::Server;

const MANY: usize = 10_000;

fn in_push_order() -> Vec<String> {
    (0..MANY).map(|number| format!("j{number}")).collect()
}

#[test]
fn ten_thousand_jobs_of_one_millisecond_come_out_in_push_order() {
    let server = Server::start();
    let client = &mut server.connect();
    push_many(client, "q", "j", MANY, PAST);
    assert_eq!(drain(client, "q"), in_push_order());
}

#[test]
fn one_millisecond_keeps_its_order_through_rdb_aof_rewrite_and_replay() {
    let mut server = Server::with(&[AOF[0], AOF[1], "aof-use-rdb-preamble no"]);
    push_many(&mut server.connect(), "q", "j", MANY, PAST);
    server.kill();
    server.start_again();
    server.connect().done("COPY q replayed");
    aof::rewrite(&server);
    server.kill();
    server.start_again();
    server.connect().done("COPY q rewritten");
    server.connect().done("SAVE");
    server.shut_down("SAVE");
    server.start_again_with(&["appendonly no"]);
    let client = &mut server.connect();
    for key in ["q", "replayed", "rewritten"] {
        assert_eq!(drain(client, key), in_push_order(), "{key}");
    }
}

#[test]
fn one_millisecond_keeps_its_order_on_a_promoted_replica() {
    let (mut master, replica) = start_pair(&[]);
    push_many(&mut master.connect(), "q", "j", MANY, PAST);
    let claimed: Vec<String> =
        claim(&mut master.connect(), "q COUNT 100").iter().map(|job| job.id()).collect();
    assert_eq!(claimed, in_push_order()[..100]);
    wait_in_step(&replica, &master);
    master.kill();
    promote(&replica);
    assert_eq!(drain(&mut replica.connect(), "q"), in_push_order()[100..]);
}

#[test]
fn a_higher_priority_goes_first_then_the_time_then_the_push() {
    let server = Server::start();
    let client = &mut server.connect();
    for (id, priority, due) in [
        ("low-early", 0, PAST),
        ("high-late", 255, PAST + 9),
        ("middle-b", 5, PAST + 1),
        ("middle-c", 5, PAST + 1),
        ("middle-a", 5, PAST),
        ("high-later", 255, PAST + 10),
        ("low-late", 0, PAST + 1),
    ] {
        client.done(&format!("DQ.PUSH q m ID {id} PRIORITY {priority} AT {due}"));
    }
    client.done("DQ.PUSH q m ID not-due PRIORITY 255 AT 4102444800000");
    let order = ["high-late", "high-later", "middle-a", "middle-b", "middle-c", "low-early", "low-late"];
    assert_eq!(drain(client, "q"), order);
}

#[test]
fn a_past_time_comes_before_later_due_times() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID now");
    client.done("DQ.PUSH q m ID zero DELAY 0");
    client.done("DQ.PUSH q m ID past AT 1600000000000");
    assert_eq!(drain(client, "q"), ["past", "now", "zero"]);
}

#[test]
fn a_lapsed_job_comes_behind_what_was_due_before_its_lease_ended() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID lapsing AT 1600000000000");
    client.done("DQ.PUSH q m ID second AT 1600000000001");
    let lapsing = claim_one(client, "q LEASE 1");
    assert_eq!(lapsing.id(), "lapsing");
    eventually("the lease ends", DEADLINE, || *client.ask("DQ.GET q lapsing").field("state") == *"waiting");
    let until = client.ask("DQ.GET q lapsing").field("due").int();
    let claimed = claim(client, "q COUNT 10 LEASE 1000000");
    let order: Vec<_> = claimed.iter().map(|job| (job.id(), job.attempt, job.due)).collect();
    assert_eq!(order, [("second".to_owned(), 1, PAST as i64 + 1), ("lapsing".to_owned(), 2, until)]);
}

#[test]
fn a_keepdue_replacement_keeps_its_place_or_at_least_its_time() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.MPUSH q AT 1600000000000 a m 1600000000001 b m 1600000000002 c m");
    client.done("DQ.PUSH q new ID b REPLACE KEEPDUE");
    assert_eq!(drain(client, "q"), ["a", "b", "c"]);
}

#[test]
fn a_count_takes_the_earliest_and_leaves_the_rest() {
    let server = Server::start();
    let client = &mut server.connect();
    for number in (0..50).rev() {
        client.done(&format!("DQ.PUSH q m ID j{number} AT {}", PAST + number));
    }
    for part in 0..5 {
        let ids: Vec<String> = claim(client, "q COUNT 10").iter().map(|job| job.id()).collect();
        let expected: Vec<String> = (part * 10..part * 10 + 10).map(|number| format!("j{number}")).collect();
        assert_eq!(ids, expected);
    }
    assert_eq!(client.ask("DQ.LEN q"), "0");
}
