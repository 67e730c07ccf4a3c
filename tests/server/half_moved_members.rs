//! Fear: a move out of a plain sorted set loses a member, doubles it, puts it down in another shape, or moves it although
//! the destination cannot take it.

use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::members::{fill, member, members, scored};
use crate::harness::queue::{FUTURE, PAST, drain};
use crate::harness::refusal::{changes, line_refused_naming};
use crate::harness::reply::Reply;
use crate::harness::server::{Server, Setup};

fn due_three(client: &mut Client, key: &str) {
    client.done(&format!("ZADD {key} {} m1 {} m2 {} m3", PAST + 1, PAST + 2, PAST + 3));
}

#[test]
fn a_list_gets_the_members_in_the_order_of_its_verb() {
    let server = Server::start();
    let client = &mut server.connect();
    for (verb, order) in [("", "[m1 m2 m3]"), ("RPUSH", "[m1 m2 m3]"), ("LPUSH", "[m3 m2 m1]")] {
        due_three(client, "s");
        assert_eq!(client.ask(&format!("DQ.MOVE s list {verb}")), "3");
        assert_eq!(client.ask("LRANGE list 0 -1"), order);
        assert_eq!(client.ask("EXISTS s"), "0");
        client.done("DEL list");
    }
    client.done("RPUSH list old");
    due_three(client, "s");
    assert_eq!(client.ask("DQ.MOVE s list COUNT 2"), "2");
    assert_eq!(client.ask("LRANGE list 0 -1"), "[old m1 m2]");
    assert_eq!(members(client, "s"), "[m3]");
}

#[test]
fn a_stream_gets_message_and_due_time_in_whole_milliseconds() {
    let server = Server::start();
    let client = &mut server.connect();
    for (unit, scores) in [("", "-5 a 0.25 b 1600000000000 c"), ("SECONDS", "-5 a 0.0000001 b 1600000000 c")]
    {
        client.done(&format!("ZADD s {scores}"));
        assert_eq!(client.ask(&format!("DQ.MOVE s stream XADD {unit}")), "3");
        let entries = client.ask("XRANGE stream - +");
        let fields: Vec<String> = entries.items().iter().map(|entry| entry.items()[1].text()).collect();
        assert_eq!(
            fields,
            [r#"[msg a due "0"]"#, r#"[msg b due "1"]"#, r#"[msg c due "1600000000000"]"#],
            "{unit}"
        );
        client.done("DEL stream");
    }
}

#[test]
fn a_streams_maxlen_is_kept() {
    let server = Server::start();
    let client = &mut server.connect();
    fill(client, "s", 60, PAST);
    assert_eq!(client.ask("DQ.MOVE s stream XADD COUNT 10 MAXLEN 25"), "10");
    assert_eq!(client.ask("DQ.MOVE s stream XADD COUNT 25 MAXLEN 25"), "25");
    assert_eq!(client.ask("XLEN stream"), "25");
    line_refused_naming(client, "DQ.MOVE s stream XADD COUNT 26 MAXLEN 25", &["MAXLEN", "26", "25"]);
    assert_eq!(client.ask("ZCARD s"), "25");
}

#[test]
fn a_sorted_set_gets_the_member_as_it_is_under_its_own_score() {
    let server = Server::start();
    let client = &mut server.connect();
    for (unit, scores) in [
        ("", r#"[lowest -inf negative "-1.5" small 0.1 late "1600000000000.25"]"#),
        ("SECONDS", r#"[lowest -inf negative "-1.5" small 0.1 late "1600000000.123"]"#),
    ] {
        let late = if unit.is_empty() { "1600000000000.25" } else { "1600000000.123" };
        client.done(&format!("ZADD s -inf lowest -1.5 negative 0.1 small {late} late"));
        let before = client.ask("ZRANGE s 0 -1 WITHSCORES");
        assert_eq!(client.ask(&format!("DQ.MOVE s other ZADD {unit}")), "4");
        assert_eq!(client.ask("ZRANGE other 0 -1 WITHSCORES"), before, "{scores}");
        client.done("DEL other");
    }
}

#[test]
fn a_member_that_the_other_set_has_gets_the_score_it_came_with() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("ZADD other 5 m1");
    due_three(client, "s");
    assert_eq!(client.ask("DQ.MOVE s other ZADD COUNT 2"), "2");
    assert_eq!(scored(client, "other"), r#"[m1 "1600000000001" m2 "1600000000002"]"#);
}

#[test]
fn a_job_queue_gets_a_new_job_for_each_member() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("ZADD s 1600000000000.5 same 1600000000000.75 other -5 old");
    assert_eq!(client.ask("DQ.MOVE s q PUSH"), "3");
    client.done("ZADD s 1600000000002 same");
    assert_eq!(client.ask("DQ.MOVE s q PUSH"), "1");
    assert_eq!(client.ask("TYPE q"), "dq-jobset");
    let page = client.ask("DQ.PEEK q COUNT 10");
    let jobs = page.items()[1].items();
    let shown: Vec<String> =
        jobs.iter().map(|job| format!("{} {}", job.field("message"), job.field("due"))).collect();
    assert_eq!(
        shown,
        ["old 0", "same 1600000000001", "other 1600000000001", "same 1600000000002"],
        "equal messages stay two"
    );
    for job in jobs {
        for (field, value) in [("state", "waiting"), ("priority", "0"), ("attempts", "0"), ("expires", "nil")]
        {
            assert_eq!(*job.field(field), value, "{field}");
        }
        assert_uuid_7(&job.field("id").string());
    }
}

#[track_caller]
fn assert_uuid_7(id: &str) {
    let parts: Vec<&str> = id.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
    assert!(parts[2].starts_with('7'), "{id} is of version 7");
}

#[test]
fn an_import_keeps_the_order_of_equal_times() {
    let server = Server::start();
    let client = &mut server.connect();
    let words: Vec<String> = (0..300).map(|number| format!("{PAST} {}", member(number))).collect();
    client.done(&format!("ZADD s {}", words.join(" ")));
    assert_eq!(client.ask("DQ.MOVE s q PUSH COUNT 1000"), "300");
    let mut messages = Vec::new();
    for job in client.ask("DQ.CLAIM q COUNT 1000").items() {
        messages.push(job.items()[1].string());
    }
    assert_eq!(messages, (0..300).map(member).collect::<Vec<_>>());
    assert!(drain(client, "q").is_empty());
}

#[test]
fn json_holds_message_and_due_time_and_no_more() {
    let server = Server::start();
    let client = &mut server.connect();
    for (message, shown) in [
        (b"text".as_slice(), r#""msg":"text""#),
        (br#"{"class":"Job","args":[1, 2]}"#, r#""msg":{"class":"Job","args":[1, 2]}"#),
        (b"[1,2]", r#""msg":[1,2]"#),
        (b"17", r#""msg":"17""#),
        (b"", r#""msg":"""#),
        (b"\xff\x00", r#""msg_base64":"/wA=""#),
    ] {
        for verb in ["RPUSH", "LPUSH"] {
            client.call(&[b"ZADD".as_slice(), b"s", b"1600000000000.5", message]);
            assert_eq!(client.ask(&format!("DQ.MOVE s list {verb} JSON")), "1");
            assert_eq!(client.ask("LPOP list").string(), format!(r#"{{{shown},"due":1600000000001}}"#));
        }
        client.call(&[b"ZADD".as_slice(), b"s", b"1600000000", message]);
        assert_eq!(client.ask("DQ.MOVE s stream XADD JSON SECONDS"), "1");
        let entries = client.ask("XRANGE stream - +");
        let field = entries.items()[0].items()[1].field("msg").string();
        assert_eq!(field, format!(r#"{{{shown},"due":1600000000000}}"#));
        client.done("DEL stream");
    }
}

#[test]
fn messages_of_any_bytes_arrive_unchanged() {
    let server = Server::start();
    let client = &mut server.connect();
    let every_byte: Vec<u8> = (0..=255).collect();
    for message in [every_byte.as_slice(), b"", b"NX", b"100", b"list", b"s"] {
        for (verb, take) in [("RPUSH", "LPOP list"), ("LPUSH", "LPOP list"), ("ZADD", "ZPOPMIN list")] {
            client.call(&[b"ZADD".as_slice(), b"s", b"1600000000000", message]);
            assert_eq!(client.ask(&format!("DQ.MOVE s list {verb} COUNT 100")), "1");
            let taken = client.ask(take);
            let got = if verb == "ZADD" { taken.items()[0].clone() } else { taken };
            assert_eq!(got.bytes(), message, "{verb}");
        }
        client.call(&[b"ZADD".as_slice(), b"s", b"1600000000000", message]);
        client.done("DQ.MOVE s q PUSH COUNT 100");
        assert_eq!(client.ask("DQ.CLAIM q").items()[0].items()[1].bytes(), message);
    }
}

#[test]
fn what_is_due_within_the_time_ahead_goes_along() {
    let server = Server::start();
    let client = &mut server.connect();
    let now = client.now();
    client.done(&format!("ZADD s {} soon {} later {} never", now + 50_000, now + 500_000, FUTURE));
    assert_eq!(client.ask("DQ.MOVE s list"), "0");
    assert_eq!(client.ask("DQ.MOVE s list AHEAD 50000"), "1");
    assert_eq!(client.ask("DQ.MOVE s near ZADD AHEAD 500000"), "1");
    assert_eq!(scored(client, "near"), format!("[later \"{}\"]", now + 500_000));
    assert_eq!(members(client, "s"), "[never]");
}

#[test]
fn a_destination_of_another_type_gets_nothing_and_nothing_leaves() {
    let server = Server::start();
    let client = &mut server.connect();
    due_three(client, "s");
    client.done("ZADD later 4102444800000 m");
    for line in [
        "SET string v",
        "RPUSH list v",
        "ZADD zset 1 v",
        "HSET hash f v",
        "XADD stream 1-1 f v",
        "DQ.PUSH q m",
    ] {
        client.done(line);
    }
    let keys = ["string", "list", "zset", "hash", "stream", "q"];
    let state = |client: &mut Client| -> Vec<String> {
        let digests = keys.iter().map(|key| digest(client, key)).collect::<Vec<_>>();
        [digests, vec![changes(client).0, scored(client, "s")]].concat()
    };
    let before = state(client);
    for (verb, fitting) in
        [("RPUSH", "list"), ("LPUSH", "list"), ("XADD", "stream"), ("ZADD", "zset"), ("PUSH", "q")]
    {
        for key in keys.iter().filter(|key| **key != fitting) {
            for source in ["s", "later", "missing"] {
                let error = client.refused(&format!("DQ.MOVE {source} {key} {verb}"));
                assert!(error.starts_with("WRONGTYPE "), "{source} {key} {verb}: {error}");
            }
        }
    }
    assert_eq!(state(client), before);
}

#[test]
fn a_set_is_not_moved_into_itself() {
    let server = Server::start();
    let client = &mut server.connect();
    due_three(client, "s");
    for verb in ["", "ZADD", "RPUSH", "PUSH"] {
        line_refused_naming(client, &format!("DQ.MOVE s s {verb}"), &["different"]);
    }
    assert_eq!(members(client, "s"), "[m1 m2 m3]");
}

#[test]
fn a_stream_that_takes_no_more_entries_gets_none_and_all_stay() {
    let server = Server::start();
    let client = &mut server.connect();
    due_three(client, "s");
    client.done("XADD stream 18446744073709551615-18446744073709551615 f v");
    let before = (changes(client), scored(client, "s"));
    client.refused("DQ.MOVE s stream XADD");
    assert_eq!((changes(client), scored(client, "s")), before);
}

#[test]
fn a_stream_that_takes_one_more_entry_gets_it_and_the_others_stay() {
    let server = Server::start();
    let client = &mut server.connect();
    due_three(client, "s");
    client.done("XADD stream 18446744073709551615-18446744073709551613 f v");
    assert_eq!(client.ask("DQ.MOVE s stream XADD"), "2");
    assert_eq!(members(client, "s"), "[m3]");
    assert_eq!(client.ask("XLEN stream"), "3");
}

#[test]
fn a_move_across_slots_of_a_cluster_is_refused() {
    let server = Setup::default().lines(&["cluster-enabled yes"]).listening().start();
    let client = &mut server.connect();
    client.done(&format!(
        "CLUSTER ADDSLOTS {}",
        (0..16384).map(|slot| slot.to_string()).collect::<Vec<_>>().join(" ")
    ));
    eventually("the cluster is up", DEADLINE, || {
        client.ask("CLUSTER INFO").string().contains("cluster_state:ok")
    });
    client.done("ZADD {a}s 1600000000000 m");
    let error = client.refused("DQ.MOVE {a}s {b}list");
    assert!(error.starts_with("CROSSSLOT"), "{error}");
    assert_eq!(client.ask("ZCARD {a}s"), "1");
    assert_eq!(client.ask("DQ.MOVE {a}s {a}list"), "1");
}

#[test]
fn every_member_is_in_exactly_one_place_at_every_moment() {
    let server = Server::start();
    let size = 500;
    fill(&mut server.connect(), "s", size, PAST);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| while server.connect().ask("DQ.MOVE s list COUNT 3") != "0" {});
        }
        let client = &mut server.connect();
        loop {
            client.done("MULTI");
            client.done("ZCARD s");
            client.done("LLEN list");
            let both = client.done("EXEC");
            let counts: Vec<i64> = both.items().iter().map(Reply::int).collect();
            assert_eq!(counts[0] + counts[1], size as i64);
            if counts[0] == 0 {
                return;
            }
        }
    });
}

#[test]
fn jobs_are_not_moved_into_a_set_of_the_other_unit() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("ZADD schedule 4102444800 other");
    client.done("DQ.PUSH q m");
    assert!(client.refused("DQ.MOVE q schedule ZADD").contains("looks like Unix seconds"));
    assert_eq!(client.ask("DQ.LEN q"), "1");
    assert_eq!(client.ask("ZCARD schedule"), "1");
}

/// Without ZREM nothing could be told to replicas and the AOF.
#[test]
fn a_server_without_zrem_takes_nothing_out_of_sets() {
    let server = Server::with(&["rename-command ZREM \"\""]);
    let client = &mut server.connect();
    client.done("ZADD z 1 a 2 b");
    for line in ["DQ.CLAIM z COUNT 10", "DQ.MOVE z list"] {
        assert!(client.refused(line).contains("ZREM"), "{line}");
    }
    assert_eq!(client.ask("ZCARD z"), "2");
    assert_eq!(client.ask("EXISTS list"), "0");
}
