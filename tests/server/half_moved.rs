//! Fear: a move loses a job, doubles it, takes too many or too few, or puts it down in another shape.

use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::queue::{FUTURE, PAST, claim_one, drain, push_many};
use crate::harness::refusal::{changes, line_refused_naming};
use crate::harness::reply::Reply;
use crate::harness::server::Server;

fn due_three(client: &mut Client) {
    client.done("DQ.MPUSH q AT 1600000000001 a m1 1600000000002 b m2 1600000000003 c m3");
}

#[test]
fn a_list_gets_the_messages_in_the_order_of_its_verb() {
    let server = Server::start();
    let client = &mut server.connect();
    for (verb, order) in [("", "[m1 m2 m3]"), ("RPUSH", "[m1 m2 m3]"), ("LPUSH", "[m3 m2 m1]")] {
        due_three(client);
        assert_eq!(client.ask(&format!("DQ.MOVE q list {verb}")), "3");
        assert_eq!(client.ask("LRANGE list 0 -1"), order);
        client.done("DEL list");
        assert_eq!(client.ask("DQ.LEN q"), "0");
    }
    client.done("RPUSH list old");
    due_three(client);
    client.done("DQ.MOVE q list COUNT 2");
    assert_eq!(client.ask("LRANGE list 0 -1"), "[old m1 m2]");
}

#[test]
fn a_stream_gets_one_entry_for_each_job() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.APPLY q 1 PUT a m1 1600000000001 ATTEMPTS 4 PUT b m2 1600000000002");
    assert_eq!(client.ask("DQ.MOVE q stream XADD"), "2");
    let entries = client.ask("XRANGE stream - +");
    let fields: Vec<&Reply> = entries.items().iter().map(|entry| &entry.items()[1]).collect();
    assert_eq!(fields[0], &r#"[id a msg m1 attempt "4" due "1600000000001"]"#);
    assert_eq!(fields[1], &r#"[id b msg m2 attempt "0" due "1600000000002"]"#);
}

#[test]
fn a_streams_maxlen_is_kept_exactly() {
    let server = Server::start();
    let client = &mut server.connect();
    push_many(client, "q", "j", 60, PAST);
    assert_eq!(client.ask("DQ.MOVE q stream XADD COUNT 10 MAXLEN 25"), "10");
    assert_eq!(client.ask("XLEN stream"), "10");
    client.done("DQ.MOVE q stream XADD MAXLEN 25 COUNT 25");
    assert_eq!(client.ask("XLEN stream"), "25");
    client.done("DQ.MOVE q stream XADD MAXLEN 25 COUNT 20");
    assert_eq!(client.ask("XLEN stream"), "25");
    let first = client.ask("XRANGE stream - + COUNT 1");
    assert_eq!(*first.items()[0].items()[1].field("id"), "j30");
}

#[test]
fn a_maxlen_below_the_count_would_lose_jobs_and_is_refused() {
    let server = Server::start();
    let client = &mut server.connect();
    due_three(client);
    line_refused_naming(client, "DQ.MOVE q stream XADD COUNT 10 MAXLEN 9", &["MAXLEN", "9"]);
    line_refused_naming(client, "DQ.MOVE q stream XADD MAXLEN 99", &["MAXLEN", "99", "100"]);
    line_refused_naming(client, "DQ.MOVE q stream XADD MAXLEN 0", &["MAXLEN"]);
    line_refused_naming(client, "DQ.MOVE q stream XADD MAXLEN x", &["MAXLEN", "x"]);
    assert_eq!(client.ask("DQ.MOVE q stream XADD COUNT 3 MAXLEN 3"), "3");
}

#[test]
fn a_stream_whose_last_id_is_the_highest_refuses_and_nothing_is_moved() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("XADD stream 18446744073709551615-18446744073709551615 f v");
    due_three(client);
    let before = (digest(client, "q"), digest(client, "stream"));
    client.refused("DQ.MOVE q stream XADD");
    assert_eq!((digest(client, "q"), digest(client, "stream")), before);
}

#[test]
fn a_stream_from_the_future_still_gets_rising_ids() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("XADD stream 4102444800000-7 f v");
    due_three(client);
    assert_eq!(client.ask("DQ.MOVE q stream XADD"), "3");
    assert_eq!(client.ask("XLEN stream"), "4");
}

#[test]
fn a_sorted_set_gets_the_json_form_with_the_due_time_as_score() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.MPUSH q AT 1600000000001 a same 1600000000002 b same");
    assert_eq!(client.ask("DQ.MOVE q zset ZADD"), "2");
    let members = client.ask("ZRANGE zset 0 -1 WITHSCORES");
    let texts: Vec<String> = members.items().iter().map(Reply::string).collect();
    assert_eq!(
        texts,
        [
            r#"{"id":"a","msg":"same","attempt":0,"due":1600000000001}"#,
            "1600000000001",
            r#"{"id":"b","msg":"same","attempt":0,"due":1600000000002}"#,
            "1600000000002",
        ]
    );
}

#[test]
fn another_queue_gets_everything_that_belongs_to_the_job() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.APPLY q 1 PUT a m 1600000000001 PRIORITY 3 EXPIRES 4102444800000 ATTEMPTS 2");
    let before = client.ask("DQ.GET q a");
    assert_eq!(client.ask("DQ.MOVE q other PUSH"), "1");
    assert_eq!(client.ask("DQ.GET other a"), before);
    assert!(client.ask("DQ.GET q a").is_null());
    assert_eq!(client.ask("TYPE other"), "dq-jobset");
    assert_eq!(claim_one(client, "other LEASE 100000000").attempt, 3);
}

#[test]
fn an_id_that_the_other_queue_has_dies_at_home_of_a_conflict() {
    let server = Server::start();
    let client = &mut server.connect();
    due_three(client);
    client.done("DQ.PUSH other theirs ID b AT 4102444800000");
    let theirs = client.ask("DQ.GET other b");
    assert_eq!(client.ask("DQ.MOVE q other PUSH"), "2");
    assert_eq!(client.ask("DQ.GET other b"), theirs);
    let ours = client.ask("DQ.GET q b");
    assert_eq!(*ours.field("state"), "dead");
    assert_eq!(*ours.field("reason"), "conflict");
    assert_eq!(*ours.field("message"), "m2");
    assert_eq!((client.ask("DQ.LEN q").int(), client.ask("DQ.LEN other").int()), (1, 3));
    assert_eq!(client.ask("DQ.MOVE q other PUSH"), "0", "a dead job is not moved");
}

#[test]
fn only_due_jobs_are_moved_bounded_and_in_order() {
    let server = Server::start();
    let client = &mut server.connect();
    for number in 0..100 {
        client.done(&format!("DQ.PUSH q due{number} ID due{number} AT {}", PAST + number));
    }
    push_many(client, "q", "later", 100, FUTURE);
    let moved: Vec<i64> = (0..5).map(|_| client.ask("DQ.MOVE q list COUNT 30").int()).collect();
    assert_eq!(moved, [30, 30, 30, 10, 0]);
    let list = client.ask("LRANGE list 0 -1");
    let expected: Vec<String> = (0..100).map(|number| format!("due{number}")).collect();
    assert_eq!(list.items().iter().map(Reply::string).collect::<Vec<_>>(), expected);
    assert_eq!(client.ask("DQ.LEN q"), "100");
}

#[test]
fn a_move_without_count_takes_a_hundred() {
    let server = Server::start();
    let client = &mut server.connect();
    push_many(client, "q", "j", 150, PAST);
    assert_eq!(client.ask("DQ.MOVE q list"), "100");
    assert_eq!(client.ask("DQ.MOVE q list"), "50");
}

#[test]
fn ahead_takes_what_becomes_due_soon_and_leaves_the_rest() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.MPUSH q DELAY 0 now m 600000 soon m 6000000 later m");
    assert_eq!(client.ask("DQ.MOVE q near PUSH AHEAD 3000000"), "2");
    let due = client.ask("DQ.GET near soon").field("due").int() as u64;
    assert!(due > client.now(), "it keeps its own time");
    assert_eq!(drain(client, "near"), ["now"]);
    assert_eq!(client.ask("DQ.MOVE q near PUSH AHEAD 0"), "0");
    assert_eq!(client.ask("DQ.MOVE q near PUSH AHEAD 1000000000000"), "1");
}

#[test]
fn a_running_lease_and_a_dead_job_are_not_moved() {
    let server = Server::start();
    let client = &mut server.connect();
    due_three(client);
    claim_one(client, "q LEASE 100000000");
    client.done("DQ.APPLY q 1 BURY b nacked 1600000000000");
    client.done("DQ.APPLY q 1 PUT lapsed m 1600000000000 LEASE 1600000000009 5 1 lapsed");
    assert_eq!(client.ask("DQ.MOVE q list AHEAD 1000000000000"), "2");
    assert_eq!(client.ask("LRANGE list 0 -1"), "[m3 m]");
    assert_eq!(client.ask("DQ.ACK q 5-lapsed"), "[0]", "a moved job's receipt ends");
    assert_eq!(client.ask("DQ.LEN q"), "2");
}

#[test]
fn a_queue_is_not_moved_into_itself() {
    let server = Server::start();
    let client = &mut server.connect();
    due_three(client);
    let before = (digest(client, "q"), changes(client));
    for verb in ["", "RPUSH", "LPUSH", "XADD", "ZADD", "PUSH"] {
        line_refused_naming(client, &format!("DQ.MOVE q q {verb}"), &[]);
        line_refused_naming(client, &format!("DQ.MOVE none none {verb}"), &[]);
    }
    assert_eq!((digest(client, "q"), changes(client)), before);
}

#[test]
fn a_move_within_a_transaction_or_script_is_whole() {
    let server = Server::start();
    let client = &mut server.connect();
    due_three(client);
    client.done("MULTI");
    client.done("DQ.MOVE q list COUNT 1");
    client.done("DQ.MOVE q stream XADD COUNT 1");
    client.done("DQ.LEN q");
    assert_eq!(client.ask("EXEC"), "[1 1 1]");
    let script = "return {redis.call('DQ.MOVE', KEYS[1], KEYS[2], 'PUSH'), redis.call('DQ.LEN', KEYS[1])}";
    assert_eq!(client.call(&["EVAL", script, "2", "q", "other"]), "[1 0]");
    assert_eq!(drain(client, "other"), ["c"]);
}

#[test]
fn an_expired_job_is_not_moved() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q gone ID gone AT 1600000000000 TTL 5");
    client.done("DQ.PUSH q there ID there AT 1600000000000");
    assert_eq!(client.ask("DQ.MOVE q list"), "1");
    assert_eq!(client.ask("LRANGE list 0 -1"), "[there]");
}
