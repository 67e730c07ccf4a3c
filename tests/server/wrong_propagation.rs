//! Fear: what reaches the AOF and the replicas is not the effect but the question, or less, or more.
//!
//! Compared word by word: absolute times, explicit ids, tokens. A replica gets the same stream.

use crate::harness::aof::{AOF, effects_written_by, lines_written_by};
use crate::harness::client::Client;
use crate::harness::queue::{claim, claim_one};
use crate::harness::server::Server;

/// Runs `line` alone, in a transaction and in a script, each on a fresh state made by `prepare`.
///
/// All three must write the same effects, which are handed to `judge`.
pub fn written_in_every_way(prepare: &str, line: &str, judge: impl Fn(&[String], &mut Client)) {
    let server = Server::with(&AOF);
    let words: Vec<&str> = line.split(' ').collect();
    let script = "return redis.call(unpack(ARGV))";
    for way in ["plain", "MULTI", "script"] {
        let client = &mut server.connect();
        client.done("FLUSHALL");
        for step in prepare.lines().map(str::trim).filter(|step| !step.is_empty()) {
            client.done(step);
        }
        let written = effects_written_by(&server, |client| match way {
            "plain" => drop(client.done(line)),
            "MULTI" => {
                client.done("MULTI");
                client.done(line);
                client.done("EXEC");
            }
            _ => drop(client.call(&[&["EVAL", script, "0"], words.as_slice()].concat())),
        });
        assert!(!written.is_empty(), "{way}: {line} wrote nothing");
        judge(&written, client);
    }
}

#[test]
fn a_push_is_written_as_its_put() {
    written_in_every_way("", "DQ.PUSH q m ID a AT 4102444800000 PRIORITY 3 TTL 5", |written, _| {
        assert_eq!(written, ["DQ.APPLY q 1 PUT a m 4102444800000 PRIORITY 3 EXPIRES 4102444800005"]);
    });
}

#[test]
fn a_push_with_a_delay_is_written_with_its_absolute_time() {
    written_in_every_way("", "DQ.PUSH q m ID a DELAY 60000 TTL 5000", |written, client| {
        let job = client.ask("DQ.GET q a");
        let (due, expires) = (job.field("due").int(), job.field("expires").int());
        assert_eq!(expires, due + 5000);
        assert_eq!(written, [format!("DQ.APPLY q 1 PUT a m {due} EXPIRES {expires}")]);
    });
}

#[test]
fn a_push_without_id_is_written_with_the_id_that_the_server_made() {
    written_in_every_way("", "DQ.PUSH q m AT 4102444800000", |written, client| {
        let id = written[0].split(' ').nth(4).unwrap();
        assert_eq!(*client.ask(&format!("DQ.GET q {id}")).field("message"), "m");
        assert_eq!(written, [format!("DQ.APPLY q 1 PUT {id} m 4102444800000")]);
    });
}

#[test]
fn an_mpush_is_written_without_the_items_that_changed_nothing() {
    let prepare = "DQ.PUSH q old ID known";
    let line = "DQ.MPUSH q AT PRIORITY 2 1600000000001 a m1 1600000000002 known m2 1600000000003 b m3";
    written_in_every_way(prepare, line, |written, _| {
        let puts = written.join(" ").replace(" DQ.APPLY q 1", "");
        assert_eq!(puts, "DQ.APPLY q 1 PUT a m1 1600000000001 PRIORITY 2 PUT b m3 1600000000003 PRIORITY 2");
    });
}

#[test]
fn a_replacement_is_written_as_what_it_became() {
    let prepare = "DQ.APPLY q 1 PUT a old 1600000000000 PRIORITY 5 ATTEMPTS 3";
    written_in_every_way(prepare, "DQ.PUSH q new ID a AT 1600000000009 REPLACE KEEPDUE", |written, _| {
        assert_eq!(written.last().unwrap(), "DQ.APPLY q 1 PUT a new 1600000000000");
    });
}

const THREE_DUE: &str = "DQ.MPUSH q AT 1600000000001 a m1 1600000000002 b m2 1600000000003 c m3";

#[test]
fn a_claim_is_written_as_a_removal_of_what_it_took() {
    written_in_every_way(THREE_DUE, "DQ.CLAIM q COUNT 2", |written, _| {
        assert_eq!(written, ["DQ.APPLY q 1 REMOVE claimed 2 a b"]);
    });
}

#[test]
fn a_claim_with_lease_is_written_with_the_leases_end_and_the_token() {
    written_in_every_way(THREE_DUE, "DQ.CLAIM q COUNT 2 LEASE 1000000", |written, client| {
        let job = client.ask("DQ.GET q a");
        let until = job.field("lease_until").int();
        let receipt = job.field("receipt").string();
        let token = receipt.split('-').next().unwrap();
        assert_eq!(written, [format!("DQ.APPLY q 1 LEASE {until} {token} 2 a b")]);
    });
}

#[test]
fn an_ack_is_written_as_a_removal_of_what_was_current() {
    let prepare = format!("{THREE_DUE}\nDQ.APPLY q 1 LEASE 4102444800000 55 2 a b");
    written_in_every_way(&prepare, "DQ.ACK q 54-a 55-b 55-none 55-a 55-a", |written, _| {
        let removed = written.join(" ");
        assert!(
            removed == "DQ.APPLY q 1 REMOVE acked 2 b a"
                || removed == "DQ.APPLY q 1 REMOVE acked 1 b DQ.APPLY q 1 REMOVE acked 1 a"
                || removed == "DQ.APPLY q 1 REMOVE acked 1 b REMOVE acked 1 a",
            "{removed}"
        );
    });
}

#[test]
fn a_cancel_is_written_as_a_removal_of_what_was_there() {
    written_in_every_way(THREE_DUE, "DQ.CANCEL q c none a", |written, _| {
        let removed = written.join(" ");
        assert!(
            removed == "DQ.APPLY q 1 REMOVE cancelled 2 c a"
                || removed == "DQ.APPLY q 1 REMOVE cancelled 1 c REMOVE cancelled 1 a",
            "{removed}"
        );
    });
}

#[test]
fn a_move_into_a_list_is_written_as_native_pushes_and_a_removal() {
    for verb in ["RPUSH", "LPUSH"] {
        written_in_every_way(THREE_DUE, &format!("DQ.MOVE q list {verb} COUNT 2"), |written, _| {
            assert_removal(written, "DQ.APPLY q 1 REMOVE moved 2 a b");
            let pushed: Vec<&str> =
                written.iter().filter_map(|line| line.strip_prefix(&format!("{verb} list "))).collect();
            assert_eq!(pushed.join(" "), "m1 m2", "{written:?}");
        });
    }
}

#[test]
fn a_move_into_a_stream_is_written_with_explicit_entry_ids() {
    written_in_every_way(THREE_DUE, "DQ.MOVE q stream XADD COUNT 2", |written, client| {
        assert_removal(written, "DQ.APPLY q 1 REMOVE moved 2 a b");
        let entries = client.ask("XRANGE stream - +");
        let expected: Vec<String> =
            ["a msg m1 attempt 0 due 1600000000001", "b msg m2 attempt 0 due 1600000000002"]
                .iter()
                .zip(entries.items())
                .map(|(fields, entry)| format!("XADD stream {} id {fields}", entry.items()[0]))
                .collect();
        let native: Vec<&String> = written.iter().filter(|line| line.starts_with("XADD")).collect();
        assert_eq!(native, expected.iter().collect::<Vec<_>>());
    });
}

#[test]
fn a_move_into_a_sorted_set_is_written_as_native_zadd() {
    written_in_every_way(THREE_DUE, "DQ.MOVE q zset ZADD COUNT 1", |written, client| {
        assert_removal(written, "DQ.APPLY q 1 REMOVE moved 1 a");
        let member = client.ask("ZRANGE zset 0 -1").items()[0].text();
        assert!(written.contains(&format!("ZADD zset 1600000000001 {member}")), "{written:?}");
    });
}

#[test]
fn a_move_into_a_queue_is_written_as_puts_and_a_removal() {
    let prepare = "DQ.APPLY q 1 PUT a m1 1600000000001 PRIORITY 3 EXPIRES 4102444800000 ATTEMPTS 2 PUT b m2 1600000000002";
    written_in_every_way(prepare, "DQ.MOVE q other PUSH", |written, _| {
        assert_removal(written, "DQ.APPLY q 1 REMOVE moved 2 a b");
        let puts = written.iter().find(|line| line.starts_with("DQ.APPLY other")).unwrap();
        assert_eq!(
            puts,
            "DQ.APPLY other 1 PUT a m1 1600000000001 PRIORITY 3 EXPIRES 4102444800000 ATTEMPTS 2 PUT b m2 1600000000002"
        );
    });
}

#[test]
fn a_conflict_of_a_move_is_written_as_a_burial() {
    let prepare = "DQ.PUSH other m ID a\nDQ.PUSH q m ID a AT 1600000000000";
    written_in_every_way(prepare, "DQ.MOVE q other PUSH", |written, client| {
        let died = client.ask("DQ.GET q a").field("died").int();
        assert_eq!(written, [format!("DQ.APPLY q 1 BURY a conflict {died}")]);
    });
}

#[track_caller]
fn assert_removal(written: &[String], removal: &str) {
    assert!(written.iter().any(|line| line == removal), "no {removal} in {written:?}");
}

#[test]
fn a_move_is_one_transaction_in_the_file() {
    let server = Server::with(&AOF);
    for verb in ["RPUSH", "LPUSH", "XADD", "ZADD", "PUSH"] {
        server.connect().done(&format!("DQ.MPUSH q AT 1600000000000 {verb}1 m 1600000000000 {verb}2 m"));
        let written =
            lines_written_by(&server, |client| drop(client.done(&format!("DQ.MOVE q to-{verb} {verb}"))));
        assert_eq!(written.first().unwrap().to_uppercase(), "MULTI", "{written:?}");
        assert_eq!(written.last().unwrap().to_uppercase(), "EXEC", "{written:?}");
        assert_eq!(
            written.iter().filter(|line| line.eq_ignore_ascii_case("MULTI")).count(),
            1,
            "{written:?}"
        );
    }
}

#[test]
fn a_job_whose_ttl_is_over_is_written_off_by_the_next_write() {
    let server = Server::with(&AOF);
    let all = effects_written_by(&server, |client| {
        client.done("DQ.PUSH q m ID gone AT 1600000000000 TTL 5");
        client.done("DQ.PUSH q m ID there AT 1600000000000");
        claim_one(client, "q");
        client.done("DQ.PUSH q m ID next");
    });
    let all = all.join(" ");
    assert!(all.contains("REMOVE claimed 1 there"), "{all}");
    assert!(all.contains("REMOVE expired 1 gone"), "{all}");
}

#[test]
fn a_redelivery_is_written_as_a_new_lease_only() {
    let server = Server::with(&AOF);
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a AT 1600000000000");
    client.done("DQ.APPLY q 1 LEASE 1600000000001 55 1 a");
    let written = effects_written_by(&server, |client| drop(claim(client, "q LEASE 1000000")));
    assert_eq!(written.len(), 1);
    assert!(written[0].starts_with("DQ.APPLY q 1 LEASE ") && written[0].ends_with(" 1 a"), "{written:?}");
}
