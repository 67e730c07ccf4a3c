//! Fear: somebody forgets the word SECONDS, or says it of milliseconds, and a whole schedule fires at once or never.

use crate::harness::client::Client;
use crate::harness::members::{claimed, scored};
use crate::harness::refusal::{changes, line_refused_naming};
use crate::harness::server::Server;

const SECONDS_HINT: &str = "looks like Unix seconds: add SECONDS";
const MILLISECONDS_HINT: &str = "looks like Unix milliseconds: leave out SECONDS";

/// Makes the set `s` of `members` and sends each command; each must be refused with `hint` and change nothing.
#[track_caller]
fn assert_refused(client: &mut Client, members: &str, word: &str, hint: &str) {
    client.done("DEL s");
    client.done(&format!("ZADD s {members}"));
    let before = (changes(client), scored(client, "s"));
    for line in [
        format!("DQ.CLAIM s {word}"),
        format!("DQ.CLAIM s COUNT 100 WITHSCORES {word}"),
        format!("DQ.CLAIM s BLOCK 0 {word}"),
        format!("DQ.MOVE s list {word}"),
        format!("DQ.MOVE s stream XADD AHEAD 1000 {word}"),
        format!("DQ.MOVE s zset ZADD BLOCK 0 {word}"),
        format!("DQ.MOVE s queue PUSH {word}"),
    ] {
        line_refused_naming(client, &line, &["score", hint]);
    }
    assert_eq!((changes(client), scored(client, "s")), before, "{members}");
}

#[test]
fn a_first_score_that_looks_like_seconds_is_refused_without_the_word() {
    let server = Server::start();
    let client = &mut server.connect();
    for score in
        ["100000000", "100000000.25", "1600000000", "1767225600.5", "4102444800", "99999999999.99998"]
    {
        assert_refused(client, &format!("{score} a"), "", SECONDS_HINT);
    }
}

#[test]
fn a_first_score_that_looks_like_milliseconds_is_refused_with_the_word() {
    let server = Server::start();
    let client = &mut server.connect();
    for score in ["100000000000", "1600000000000", "4102444800000", "9007199254740993", "1e300"] {
        assert_refused(client, &format!("{score} a"), "SECONDS", MILLISECONDS_HINT);
    }
}

#[test]
fn the_error_names_the_score_that_it_found() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("ZADD s 1767225600.5 a");
    assert_eq!(client.refused("DQ.CLAIM s"), format!("ERR the score 1767225600.5 {SECONDS_HINT}"));
    client.done("ZADD m 1767225600500 a");
    assert_eq!(
        client.refused("DQ.CLAIM m SECONDS"),
        format!("ERR the score 1767225600500 {MILLISECONDS_HINT}")
    );
}

#[test]
fn a_score_that_is_not_due_is_refused_like_one_that_is() {
    let server = Server::start();
    let client = &mut server.connect();
    assert_refused(client, "4102444800 a 4102444801 b", "", SECONDS_HINT);
    assert_refused(client, "4102444800000 a inf b", "SECONDS", MILLISECONDS_HINT);
}

#[test]
fn scores_at_the_ends_of_the_guard_are_what_they_are() {
    let server = Server::start();
    let client = &mut server.connect();
    for (words, score) in [
        ("", "99999999"),
        ("", "99999999.99999999"),
        ("", "100000000000"),
        ("", "1600000000000"),
        ("", "-1600000000"),
        ("", "-inf"),
        ("", "0"),
        ("SECONDS", "99999999"),
        ("SECONDS", "100000000"),
        ("SECONDS", "1600000000.999"),
        ("SECONDS", "-1600000000000"),
        ("SECONDS", "-inf"),
        ("SECONDS", "0"),
    ] {
        client.done(&format!("ZADD s {score} a"));
        assert_eq!(claimed(client, &format!("s {words}")), ["a"], "{score} {words}");
    }
    client.done("ZADD s 99999999999.99998 a");
    assert_eq!(client.ask("DQ.CLAIM s SECONDS"), "[]", "the year 5138 has not come");
}

#[test]
fn an_infinite_score_is_of_no_unit() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("ZADD s inf a -inf b");
    assert_eq!(claimed(client, "s COUNT 9 SECONDS"), ["b"]);
    assert_eq!(client.ask("DQ.CLAIM s COUNT 9 SECONDS"), "[]");
    assert_eq!(client.ask("DQ.CLAIM s COUNT 9"), "[]");
}

#[test]
fn seconds_behind_a_first_score_of_no_unit_do_not_fire_as_milliseconds() {
    let server = Server::start();
    let client = &mut server.connect();
    for first in ["-inf", "-5", "0", "1", "99999999"] {
        for command in ["DQ.CLAIM s COUNT 100", "DQ.MOVE s list COUNT 100 AHEAD 1000000000000"] {
            client.done("DEL s list");
            client.done(&format!("ZADD s {first} first 1600000000 then 4102444800 later 1600000000000 last"));
            client.done(command);
            let rest = "[then \"1600000000\" later \"4102444800\" last \"1600000000000\"]";
            assert_eq!(scored(client, "s"), rest, "{command}, {first}");
            line_refused_naming(client, command, &[SECONDS_HINT]);
            assert_eq!(scored(client, "s"), rest, "{command}, {first}");
        }
    }
}

#[test]
fn milliseconds_behind_seconds_never_fire_as_seconds() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("ZADD s 1600000000 a 1600000001.5 b 1600000000000 ms");
    assert_eq!(claimed(client, "s COUNT 100 SECONDS"), ["a", "b"]);
    line_refused_naming(client, "DQ.CLAIM s COUNT 100 SECONDS", &[MILLISECONDS_HINT]);
    assert_eq!(claimed(client, "s COUNT 100"), ["ms"]);
}

#[test]
fn seconds_ahead_are_counted_in_milliseconds_too() {
    let server = Server::start();
    let client = &mut server.connect();
    let now = client.now();
    client.done(&format!("ZADD s {} soon {} later", now / 1000 + 60, now / 1000 + 7200));
    assert_eq!(client.ask("DQ.MOVE s list SECONDS"), "0");
    assert_eq!(client.ask("DQ.MOVE s list SECONDS AHEAD 3600000"), "1");
    assert_eq!(client.ask("LRANGE list 0 -1"), "[soon]");
    assert_eq!(client.ask("DQ.MOVE s list SECONDS AHEAD 1000000000000"), "1");
}

/// A push in the wrong unit would put a time at the head, or at the end, that nobody meant.
#[test]
fn a_push_in_the_other_unit_than_the_set_has_is_refused() {
    let server = Server::start();
    let client = &mut server.connect();
    for (members, word, hint) in [
        ("4102444800 a", "", SECONDS_HINT),
        ("1600000000.5 a 4102444800 b", "", SECONDS_HINT),
        ("4102444800000 a", "SECONDS", MILLISECONDS_HINT),
    ] {
        client.done("DEL s");
        client.done(&format!("ZADD s {members}"));
        for line in [
            format!("DQ.PUSH s m ZSET {word}"),
            format!("DQ.PUSH s m ZSET {word} DELAY 1000 ENVELOPE"),
            format!("DQ.PUSH s a ZSET {word} REPLACE"),
            format!("DQ.MPUSH s AT ZSET {word} 1600000000000 * m 1600000000001 * n"),
        ] {
            line_refused_naming(client, &line, &[hint]);
        }
    }
}

#[test]
fn a_push_at_a_time_that_would_look_like_the_other_unit_is_refused() {
    let server = Server::start();
    let client = &mut server.connect();
    line_refused_naming(client, "DQ.PUSH s m ZSET SECONDS AT 9007199254740991", &[MILLISECONDS_HINT]);
    line_refused_naming(
        client,
        "DQ.MPUSH s AT ZSET SECONDS 1600000000000 * a 100000000000000 * b",
        &[MILLISECONDS_HINT],
    );
    assert_eq!(client.ask("EXISTS s"), "0");
    client.done("DQ.PUSH s m ZSET SECONDS AT 99999999999999");
    assert_eq!(client.ask("DQ.CLAIM s SECONDS"), "[]");
}
