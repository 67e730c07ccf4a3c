//! Fear: sorted sets that DQ works on can no longer be read without it: a replica, an append-only file or a listener gets
//! something that only the module understands.

use crate::harness::aof::{AOF, effects_written_by, lines, lines_written_by};
use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::members::{fill, members, scored};
use crate::harness::queue::PAST;
use crate::harness::replica::{follow, wait_in_step};
use crate::harness::server::{Server, Setup};
use crate::harness::waiting::Waiting;

const THREE: &str = "ZADD s 1600000000001 m1 1600000000002.5 m2 1600000000003 m3";

/// What `line` writes on a fresh server with the three members, alone, in a transaction and in a script.
#[track_caller]
fn assert_written(line: &str, expected: &[&str]) {
    let server = Server::with(&AOF);
    let words: Vec<&str> = line.split(' ').collect();
    for way in ["plain", "MULTI", "script"] {
        server.connect().done("FLUSHALL");
        server.connect().done(THREE);
        let written = effects_written_by(&server, |client| match way {
            "plain" => drop(client.done(line)),
            "MULTI" => {
                client.done("MULTI");
                client.done(line);
                assert!(!client.done("EXEC").items()[0].is_error());
            }
            _ => {
                let script = "return redis.call(unpack(ARGV))";
                let reply = client.call(&[&["EVAL", script, "0"], words.as_slice()].concat());
                assert!(!reply.is_error(), "{reply}");
            }
        });
        assert_eq!(written, expected, "{line}, {way}");
    }
}

#[test]
fn a_claim_is_written_as_one_zrem_of_all_that_it_took() {
    assert_written("DQ.CLAIM s", &["ZREM s m1"]);
    assert_written("DQ.CLAIM s COUNT 2 WITHSCORES", &["ZREM s m1 m2"]);
    assert_written("DQ.CLAIM s COUNT 100 BLOCK 0", &["ZREM s m1 m2 m3"]);
}

#[test]
fn a_push_is_written_as_a_zadd_with_its_absolute_score() {
    assert_written("DQ.PUSH s m ZSET AT 1600000000000", &["ZADD s NX 1600000000000 m"]);
    assert_written("DQ.PUSH s m1 ZSET AT 1600000000000 REPLACE", &["ZADD s 1600000000000 m1"]);
    assert_written("DQ.PUSH s2 m ZSET SECONDS AT 1600000000123", &["ZADD s2 NX 1600000000.123 m"]);
    assert_written(
        "DQ.MPUSH s AT ZSET 1600000000000 * a 1600000000001 * m1 1600000000002 * b",
        &["ZADD s NX 1600000000000 a", "ZADD s NX 1600000000002 b"],
    );
}

#[test]
fn a_push_with_a_delay_is_written_with_the_time_that_it_became() {
    let server = Server::with(&AOF);
    let client = &mut server.connect();
    let written = effects_written_by(&server, |client| {
        client.done("DQ.PUSH s m ZSET DELAY 60000");
        client.done("DQ.PUSH s e ZSET DELAY 60000 ENVELOPE");
    });
    let all = client.ask("ZRANGE s 0 -1 WITHSCORES");
    let expected: Vec<String> =
        all.items().chunks(2).map(|pair| format!("ZADD s NX {} {}", pair[1].string(), pair[0])).collect();
    assert_eq!(written.len(), 2);
    assert!(expected.iter().all(|line| written.contains(line)), "{written:?}, not {expected:?}");
}

#[test]
fn a_move_is_written_as_the_native_write_and_one_zrem() {
    assert_written("DQ.MOVE s list COUNT 2", &["RPUSH list m1 m2", "ZREM s m1 m2"]);
    assert_written("DQ.MOVE s list LPUSH", &["LPUSH list m1 m2 m3", "ZREM s m1 m2 m3"]);
    assert_written(
        "DQ.MOVE s zset ZADD COUNT 2",
        &["ZADD zset 1600000000001 m1 1600000000002.5 m2", "ZREM s m1 m2"],
    );
    assert_written(
        "DQ.MOVE s list JSON COUNT 1",
        &[r#"RPUSH list "{\"msg\":\"m1\",\"due\":1600000000001}""#, "ZREM s m1"],
    );
}

#[test]
fn a_move_into_a_stream_is_written_with_explicit_entry_ids() {
    let server = Server::with(&AOF);
    server.connect().done(THREE);
    let written = effects_written_by(&server, |client| {
        client.done("DQ.MOVE s stream XADD COUNT 2 MAXLEN 2");
    });
    let entries = server.connect().ask("XRANGE stream - +");
    let id = |index: usize| entries.items()[index].items()[0].string();
    let first = format!("{} msg m1 due 1600000000001", id(0));
    let second = format!("{} msg m2 due 1600000000003", id(1));
    assert_eq!(written.len(), 3, "{written:?}");
    assert!(written[0].starts_with("XADD stream MAXLEN ") && written[0].ends_with(&first), "{written:?}");
    assert!(written[1].starts_with("XADD stream MAXLEN ") && written[1].ends_with(&second), "{written:?}");
    assert_eq!(written[2], "ZREM s m1 m2");
}

#[test]
fn a_move_is_one_transaction_in_the_file() {
    for verb in ["RPUSH", "LPUSH", "XADD", "ZADD", "PUSH"] {
        let server = Server::with(&AOF);
        server.connect().done(THREE);
        let written = lines_written_by(&server, |client| {
            client.done(&format!("DQ.MOVE s to {verb}"));
        });
        let of = |word: &str| written.iter().filter(|line| line.eq_ignore_ascii_case(word)).count();
        assert_eq!((of("MULTI"), of("EXEC")), (1, 1), "{written:?}");
        assert!(written[0].eq_ignore_ascii_case("MULTI"), "{written:?}");
        assert!(written.last().unwrap().eq_ignore_ascii_case("EXEC"), "{written:?}");
    }
}

#[test]
fn what_a_waiting_client_gets_is_written_in_native_commands_too() {
    let server = Server::with(&AOF);
    for (line, expected) in [
        ("DQ.CLAIM s COUNT 2 BLOCK 0", "ZADD s 1600000000000 m | ZREM s m"),
        ("DQ.MOVE s list BLOCK 0", "ZADD s 1600000000000 m | RPUSH list m | ZREM s m"),
    ] {
        let mut waiter = Waiting::start(&server, line);
        let written = effects_written_by(&server, |client| {
            client.done("ZADD s 1600000000000 m");
            waiter.reply();
        });
        assert_eq!(written.join(" | "), expected, "{line}");
    }
    assert!(lines(&server).iter().all(|line| !line.to_uppercase().contains("DQ.")));
}

/// Everything that DQ can do to sorted sets without a job queue; returns the keys.
fn use_sorted_sets(client: &mut Client) -> [&'static str; 6] {
    fill(client, "s", 300, PAST);
    client.done("ZADD seconds 1600000000.25 a 1600000000.5 b 4102444800.125 c inf d");
    client.done(
        "DQ.MPUSH s AT ZSET REPLACE 4102444800000 * later 4102444800001 * m0000000 1600000000000 * again",
    );
    client.done("DQ.PUSH s wrapped ZSET DELAY 100000000 ENVELOPE");
    client.done("DQ.PUSH seconds new ZSET SECONDS DELAY 100000001");
    client.done("DQ.CLAIM s COUNT 7");
    client.done("DQ.CLAIM seconds SECONDS WITHSCORES");
    client.done("DQ.MOVE s list COUNT 20");
    client.done("DQ.MOVE s list LPUSH COUNT 20 JSON");
    client.done("DQ.MOVE s stream XADD COUNT 30 MAXLEN 30");
    client.done("DQ.MOVE s stream XADD COUNT 10 MAXLEN 30 JSON");
    client.done("DQ.MOVE s other ZADD COUNT 40");
    client.done("DQ.MOVE seconds far ZADD SECONDS AHEAD 1000000000000 COUNT 1");
    client.done("DQ.CLAIM s COUNT 1000");
    ["s", "seconds", "list", "stream", "other", "far"]
}

#[track_caller]
fn digests(client: &mut Client, keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| format!("{key} {}", digest(client, key))).collect()
}

#[test]
fn a_replica_without_the_module_follows_and_is_equal() {
    let master = Setup::default().listening().start();
    let replica = Setup::default().listening().without_module().start();
    // From the first key on, so that what it gets is the stream of commands and not a file.
    follow(&replica, &master);
    let keys = use_sorted_sets(&mut master.connect());
    wait_in_step(&replica, &master);
    let expected = digests(&mut master.connect(), &keys);
    assert_eq!(digests(&mut replica.connect(), &keys), expected);
    assert_eq!(replica.connect().ask("DBSIZE"), master.connect().ask("DBSIZE"));
    assert!(!replica.log().contains("unknown command"), "{}", replica.log());
}

#[test]
fn a_replica_without_the_module_that_comes_later_is_equal_too() {
    let master = Setup::default().listening().start();
    let keys = use_sorted_sets(&mut master.connect());
    let replica = Setup::default().listening().without_module().start();
    follow(&replica, &master);
    assert_eq!(digests(&mut replica.connect(), &keys), digests(&mut master.connect(), &keys));
}

#[test]
fn the_files_of_such_a_server_are_read_without_the_module() {
    for lines in [&AOF[..], &["appendonly yes", "appendfsync always", "aof-use-rdb-preamble no"], &[]] {
        let mut server = Server::with(lines);
        let keys = use_sorted_sets(&mut server.connect());
        let before = digests(&mut server.connect(), &keys);
        server.shut_down(if lines.is_empty() { "SAVE" } else { "NOSAVE" });
        server.start_again_without_module();
        assert_eq!(digests(&mut server.connect(), &keys), before, "{lines:?}");
        assert!(server.connect().ask("DQ.LEN s").is_error(), "the module is not there");
    }
}

#[test]
fn a_server_with_the_module_reads_them_and_goes_on() {
    let mut server = Server::with(&AOF);
    use_sorted_sets(&mut server.connect());
    let before = scored(&mut server.connect(), "s");
    server.kill();
    server.start_again();
    let client = &mut server.connect();
    assert_eq!(scored(client, "s"), before);
    client.done("ZADD s 5 now");
    assert_eq!(client.ask("DQ.CLAIM s"), "[now]");
    assert!(!members(client, "s").contains("now"));
}
