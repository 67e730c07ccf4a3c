//! Fear: a member of a sorted set is delivered before its score, if only by a fraction of a millisecond.
//!
//! On a server whose clock stands still, so that "now" is known to the last digit.

use crate::harness::client::Client;
use crate::harness::faked_clock::FakedClock;
use crate::harness::members::{claimed, members};
use crate::harness::server::{Server, Setup};

/// 2026-11-30 12:00:00 UTC.
const NOW: u64 = 1_796_040_000;
const NOW_AS_DATE: &str = "2026-11-30 12:00:00";

/// A server whose clock stands at `NOW`.
fn frozen(test: &str) -> Option<(FakedClock, Server)> {
    let clock = FakedClock::find(test)?;
    clock.stop_at(NOW_AS_DATE);
    let server = clock.on(Setup::default()).environment("TZ", "UTC").start();
    assert_eq!(server.connect().now(), NOW * 1000, "the clock stands where it should");
    Some((clock, server))
}

/// Adds each score, shown as it is written, and claims all; what is delivered must be what `is_due` says.
#[track_caller]
fn assert_due(client: &mut Client, words: &str, due: &[&str], not_due: &[&str]) {
    for score in due.iter().chain(not_due) {
        client.done(&format!("ZADD s {score} {score}"));
    }
    let mut got = claimed(client, &format!("s COUNT 100 {words}"));
    let mut expected: Vec<String> = due.iter().map(|score| (*score).to_owned()).collect();
    got.sort();
    expected.sort();
    assert_eq!(got, expected, "claimed with '{words}'");
    assert_eq!(client.ask("DQ.LEN s").int(), not_due.len() as i64);
    client.done("DEL s");
}

#[test]
fn a_fraction_of_a_millisecond_is_waited_for() {
    let Some((_clock, server)) = frozen("a_fraction_of_a_millisecond_is_waited_for") else { return };
    let client = &mut server.connect();
    assert_due(
        client,
        "",
        &["1796040000000", "1796039999999.9998", "1796039999999.5", "1796039999999"],
        &["1796040000000.0003", "1796040000000.25", "1796040000000.5", "1796040000001"],
    );
}

#[test]
fn a_fraction_of_a_second_is_waited_for() {
    let Some((_clock, server)) = frozen("a_fraction_of_a_second_is_waited_for") else { return };
    let client = &mut server.connect();
    assert_due(
        client,
        "SECONDS",
        &["1796040000", "1796040000.0", "1796039999.9999998", "1796039999.999", "1796039999.5", "1796039999"],
        &["1796040000.0000003", "1796040000.0001", "1796040000.001", "1796040000.5", "1796040001"],
    );
}

#[test]
fn a_move_looks_as_far_ahead_as_it_says_and_no_fraction_farther() {
    let Some((_clock, server)) = frozen("a_move_looks_as_far_ahead_as_it_says_and_no_fraction_farther")
    else {
        return;
    };
    let client = &mut server.connect();
    client.done("ZADD s 1796040000.2 a 1796040000.25 b 1796040000.251 c");
    assert_eq!(client.ask("DQ.MOVE s list SECONDS AHEAD 199"), "0");
    assert_eq!(client.ask("DQ.MOVE s list SECONDS AHEAD 200"), "1");
    assert_eq!(client.ask("DQ.MOVE s list SECONDS AHEAD 249"), "0");
    assert_eq!(client.ask("DQ.MOVE s list SECONDS AHEAD 250"), "1");
    assert_eq!(members(client, "s"), "[c]");
    client.done("ZADD m 1796040000010.5 a");
    assert_eq!(client.ask("DQ.MOVE m list AHEAD 10"), "0");
    assert_eq!(client.ask("DQ.MOVE m list AHEAD 11"), "1");
}

/// Every millisecond of a second, written in seconds as a producer would: none may be early, and none late by one.
#[test]
fn a_millisecond_written_as_seconds_is_due_in_exactly_that_millisecond() {
    let Some((_clock, server)) =
        frozen("a_millisecond_written_as_seconds_is_due_in_exactly_that_millisecond")
    else {
        return;
    };
    let client = &mut server.connect();
    for millisecond in 0..1000 {
        client.done(&format!("ZADD s {NOW}.{millisecond:03} {millisecond}"));
    }
    for ahead in 0..1000 {
        assert_eq!(client.ask(&format!("DQ.MOVE s list SECONDS AHEAD {ahead}")), "1", "{ahead}");
        assert_eq!(client.ask("LPOP list"), format!("\"{ahead}\""));
    }
}

#[test]
fn what_is_moved_into_a_job_queue_is_due_rounded_up() {
    let Some((_clock, server)) = frozen("what_is_moved_into_a_job_queue_is_due_rounded_up") else { return };
    let client = &mut server.connect();
    for (unit, score, due) in [
        ("", "1796039999999.25", 1_796_040_000_000),
        ("", "1796039999999", 1_796_039_999_999),
        ("", "-5.5", 0),
        ("", "-inf", 0),
        ("", "0.5", 1),
        ("SECONDS", "1796039999.9991", 1_796_040_000_000),
        ("SECONDS", "1796039999.999", 1_796_039_999_999),
        ("SECONDS", "-1", 0),
    ] {
        client.done("DEL q");
        client.done(&format!("ZADD s {score} m"));
        assert_eq!(client.ask(&format!("DQ.MOVE s q PUSH {unit}")), "1", "{score}");
        let page = client.ask("DQ.PEEK q");
        assert_eq!(page.items()[1].items()[0].field("due").int(), due, "{score} {unit}");
    }
}

#[test]
fn a_push_writes_the_time_to_the_millisecond() {
    let Some((_clock, server)) = frozen("a_push_writes_the_time_to_the_millisecond") else { return };
    let client = &mut server.connect();
    for (words, score) in [
        ("", "1796040000000"),
        ("DELAY 1", "1796040000001"),
        ("AT 1600000000001", "1600000000001"),
        ("AT 9007199254740991", "9007199254740991"),
        ("SECONDS", "1796040000"),
        ("SECONDS DELAY 1", "1796040000.001"),
        ("SECONDS DELAY 1500", "1796040001.5"),
        ("SECONDS AT 1600000000123", "1600000000.123"),
    ] {
        client.done(&format!("DQ.PUSH s m ZSET {words}"));
        let kept: f64 = client.ask("ZSCORE s m").string().parse().unwrap();
        assert_eq!(kept, score.parse::<f64>().unwrap(), "{words}");
        client.done("DEL s");
    }
}
