//! Fear: who reads a queue page by page, or empties one state of it, skips jobs, sees some twice or never ends.

use crate::harness::client::Client;
use crate::harness::numbers::{counter, states};
use crate::harness::queue::{PAST, push_many};
use crate::harness::refusal::line_refused_naming;
use crate::harness::server::{Server, Setup};

/// One page: where the next begins, and the ids on it.
#[track_caller]
fn page(client: &mut Client, words: &str) -> (String, Vec<String>) {
    let reply = client.done(&format!("DQ.PEEK {words}"));
    let [cursor, jobs] = reply.items() else { panic!("a cursor and jobs: {reply}") };
    (cursor.string(), jobs.items().iter().map(|job| job.field("id").string()).collect())
}

/// All pages from the first on; `between` is called after each.
#[track_caller]
fn walk(client: &mut Client, words: &str, mut between: impl FnMut(&mut Client, &[String])) -> Vec<String> {
    let (mut cursor, mut all) = ("0".to_owned(), Vec::new());
    for _ in 0..10_000 {
        let (next, ids) = page(client, &format!("{words} FROM {cursor}"));
        between(client, &ids);
        all.extend(ids);
        cursor = next;
        if cursor == "0" {
            return all;
        }
    }
    panic!("the pages do not end");
}

/// Seven jobs of each state, whose order is neither that of their ids nor of their pushes.
fn fill(client: &mut Client) {
    for (number, place) in [3, 0, 6, 2, 5, 1, 4].into_iter().enumerate() {
        let effects = [
            format!("PUT w{place} m {} PRIORITY {}", PAST + place, number + 1),
            format!("PUT c{place} m {PAST} LEASE {} 55 1 c{place}", 4_102_444_800_000 + place),
            format!("PUT d{place} m {PAST} BURY d{place} nacked {}", PAST + place),
        ];
        client.done(&format!("DQ.APPLY q 1 {}", effects.join(" ")));
    }
}

#[test]
fn each_state_is_listed_by_its_own_time() {
    let server = Server::start();
    let client = &mut server.connect();
    fill(client);
    for (state, letter) in [("", "w"), ("WAITING", "w"), ("CLAIMED", "c"), ("dead", "d")] {
        let expected: Vec<String> = (0..7).map(|place| format!("{letter}{place}")).collect();
        for count in [1, 2, 6, 7, 8] {
            let words = format!("q {state} COUNT {count}");
            assert_eq!(walk(client, &words, |_, _| {}), expected, "{words}");
        }
        assert_eq!(page(client, &format!("q {state} COUNT 7")), ("0".into(), expected));
    }
    assert_eq!(client.ask("DQ.PEEK missing"), "[\"0\" []]");
    assert_eq!(client.ask("DQ.PEEK missing DEAD COUNT 5 FROM 0"), "[\"0\" []]");
}

#[test]
fn a_page_shows_jobs_as_get_does() {
    let server = Server::start();
    let client = &mut server.connect();
    fill(client);
    client.done("DQ.APPLY q 1 ERROR d1 text ERROR w2 text");
    for resp3 in [false, true] {
        if resp3 {
            client.speak_resp3();
        }
        for state in ["WAITING", "CLAIMED", "DEAD"] {
            let reply = client.done(&format!("DQ.PEEK q {state} COUNT 7"));
            for job in reply.items()[1].items() {
                assert_eq!(client.ask(&format!("DQ.GET q {}", job.field("id"))), *job);
            }
        }
    }
}

#[test]
fn equal_times_are_listed_in_the_order_in_which_they_were_given() {
    let server = Server::start();
    let client = &mut server.connect();
    push_many(client, "q", "j", 1000, PAST);
    let expected: Vec<String> = (0..1000).map(|number| format!("j{number}")).collect();
    assert_eq!(walk(client, "q COUNT 7", |_, _| {}), expected);
    assert_eq!(page(client, "q").1, expected[..10], "ten without COUNT");
    client.done("DEBUG RELOAD");
    assert_eq!(walk(client, "q COUNT 300", |_, _| {}), expected);
}

#[test]
fn removals_between_pages_disturb_nothing() {
    let server = Server::start();
    let client = &mut server.connect();
    for state in ["WAITING", "DEAD", "CLAIMED"] {
        client.done("DEL q");
        push_many(client, "q", "j", 300, PAST);
        let ids: Vec<String> = (0..300).map(|number| format!("j{number}")).collect();
        match state {
            "CLAIMED" => {
                drop(client.done(&format!("DQ.APPLY q 1 LEASE 4102444800000 55 300 {}", ids.join(" "))))
            }
            "DEAD" => {
                let burials: Vec<String> = ids.iter().map(|id| format!("BURY {id} nacked {PAST}")).collect();
                client.done(&format!("DQ.APPLY q 1 {}", burials.join(" ")));
            }
            _ => {}
        }
        // What was shown goes away, and so does the very job at which the next page would have begun.
        let mut last = 0;
        let seen = walk(client, &format!("q {state} COUNT 9"), |client, shown| {
            last += shown.len() + 1;
            client.done(&format!("DQ.CANCEL q {} j{}", shown.join(" "), last - 1));
        });
        let expected: Vec<String> =
            (0..300).filter(|number| number % 10 != 9).map(|n| format!("j{n}")).collect();
        assert_eq!(seen, expected, "{state}");
        assert_eq!(client.ask("DQ.LEN q"), "0");
    }
}

#[test]
fn additions_between_pages_are_seen_once_or_not_at_all() {
    let server = Server::start();
    let client = &mut server.connect();
    push_many(client, "q", "j", 50, PAST + 1000);
    let mut added = 0;
    let seen = walk(client, "q COUNT 5", |client, _| {
        client.done(&format!("DQ.PUSH q m ID before{added} AT {PAST}"));
        client.done(&format!("DQ.PUSH q m ID behind{added} AT {}", PAST + 2000 + added));
        added += 1;
    });
    let old: Vec<&String> = seen.iter().filter(|id| id.starts_with('j')).collect();
    assert_eq!(old.len(), 50);
    assert!(!seen.iter().any(|id| id.starts_with("before")), "{seen:?}");
    let mut distinct = seen.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), seen.len());
}

#[test]
fn a_page_stops_after_the_job_that_passes_max_reply_bytes() {
    let server = Setup::default().module_arguments("max-reply-bytes 2500 max-count 50").start();
    let client = &mut server.connect();
    for number in 0..10 {
        client.call(&["DQ.PUSH", "q", &"x".repeat(1000), "ID", &format!("j{number}"), "AT", "1600000000000"]);
    }
    assert_eq!(page(client, "q COUNT 10").1, ["j0", "j1", "j2"]);
    let expected: Vec<String> = (0..10).map(|number| format!("j{number}")).collect();
    assert_eq!(walk(client, "q COUNT 10", |_, _| {}), expected);
    line_refused_naming(client, "DQ.PEEK q COUNT 51", &["COUNT", "50", "'51'"]);
    line_refused_naming(client, "DQ.PURGE q WAITING COUNT 51", &["COUNT", "50", "'51'"]);
    assert_eq!(client.ask("DQ.PURGE q WAITING"), "10", "the default is not above max-count");
}

#[test]
fn a_purge_removes_one_state_in_the_order_of_the_pages() {
    let server = Server::start();
    let client = &mut server.connect();
    fill(client);
    for (state, letter, after) in [
        ("WAITING", "w", "4 waiting, 7 claimed, 7 dead"),
        ("claimed", "c", "4 waiting, 4 claimed, 7 dead"),
        ("DEAD", "d", "4 waiting, 4 claimed, 4 dead"),
    ] {
        assert_eq!(client.ask(&format!("DQ.PURGE q {state} COUNT 3")), "3");
        let left: Vec<String> = (3..7).map(|place| format!("{letter}{place}")).collect();
        assert_eq!(page(client, &format!("q {state}")).1, left);
        assert_eq!(states(client, "q"), after);
    }
    assert_eq!(client.ask("DQ.ACK q 55-c1 55-c5"), "[0 1]", "a purged delivery has ended");
    assert_eq!(client.ask("DQ.PURGE q COUNT 100 CLAIMED"), "3");
    assert_eq!(client.ask("DQ.PURGE q CLAIMED"), "0");
    assert_eq!(client.ask("DQ.PURGE missing DEAD"), "0");
    assert_eq!(client.ask("EXISTS missing"), "0");
    assert_eq!(counter(client, "q", "cancelled"), 0);
}

#[test]
fn a_purge_removes_a_thousand_when_it_is_not_told_how_many() {
    let server = Server::start();
    let client = &mut server.connect();
    push_many(client, "q", "j", 2500, PAST);
    let removed: Vec<i64> = (0..4).map(|_| client.ask("DQ.PURGE q WAITING").int()).collect();
    assert_eq!(removed, [1000, 1000, 500, 0]);
    assert_eq!(client.ask("TYPE q"), "dq-jobset", "an emptied queue lives until it is deleted");
}

#[test]
fn a_purge_of_dead_ones_takes_those_dead_by_time_alone() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.POLICY q MAXATTEMPTS 1");
    push_many(client, "q", "j", 300, PAST);
    let ids: Vec<String> = (0..300).map(|number| format!("j{number}")).collect();
    client.done(&format!("DQ.APPLY q 1 LEASE 1600000001000 55 300 {}", ids.join(" ")));
    assert_eq!(client.ask("DQ.PURGE q CLAIMED"), "0");
    assert_eq!(client.ask("DQ.PURGE q WAITING"), "0");
    assert_eq!(client.ask("DQ.PURGE q DEAD COUNT 10000"), "300");
    assert_eq!(client.ask("DQ.LEN q"), "0");
}

#[test]
fn a_wrong_page_is_refused_naming_what_was_wrong() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    for (line, facts) in [
        ("DQ.PEEK q COUNT 0", ["COUNT", "from 1 to 10000", "'0'"]),
        ("DQ.PEEK q COUNT 10001", ["COUNT", "from 1 to 10000", "'10001'"]),
        ("DQ.PEEK q FROM 1", ["FROM", "cursor", "'1'"]),
        ("DQ.PEEK q FROM x-1", ["FROM", "cursor", "'x-1'"]),
        ("DQ.PEEK q FROM 1-", ["FROM", "cursor", "'1-'"]),
        ("DQ.PEEK q FROM -1", ["FROM", "cursor", "'-1'"]),
        ("DQ.PEEK q FROM", ["syntax error", "FROM", "needs a value"]),
        ("DQ.PEEK q BURIED", ["syntax error", "near", "'BURIED'"]),
        ("DQ.PEEK q DEAD WAITING", ["syntax error", "near", "'WAITING'"]),
        ("DQ.PEEK q COUNT 1 COUNT 1", ["syntax error", "near", "'COUNT'"]),
        ("DQ.PURGE q DEAD COUNT 0", ["COUNT", "from 1 to 10000", "'0'"]),
        ("DQ.PURGE q DEAD COUNT 10001", ["COUNT", "from 1 to 10000", "'10001'"]),
        ("DQ.PURGE q DEAD CLAIMED", ["syntax error", "near", "'CLAIMED'"]),
        ("DQ.PURGE q ALL", ["syntax error", "near", "'ALL'"]),
        ("DQ.PURGE q COUNT 5", ["syntax error", "WAITING", "DEAD"]),
        ("DQ.PURGE q WAITING COUNT", ["syntax error", "COUNT", "needs a value"]),
    ] {
        line_refused_naming(client, line, &facts);
    }
    line_refused_naming(client, "DQ.PURGE q", &["wrong number of arguments"]);
    assert_eq!(client.ask("DQ.LEN q"), "1");
}
