//! Fear: a job that died is lost without a word, kept without a bound, or walks again by itself.

use crate::harness::aof::{AOF, effects_written_by};
use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::numbers::{counter, states};
use crate::harness::queue::{FUTURE, PAST, claim, claim_one, drain};
use crate::harness::replica::{start_pair, wait_in_step};
use crate::harness::reply::Reply;
use crate::harness::server::Server;

/// Buries jobs of these ids one millisecond after the other.
fn bury(client: &mut Client, ids: std::ops::Range<usize>) {
    for part in ids.collect::<Vec<_>>().chunks(500) {
        let effects: Vec<String> = part
            .iter()
            .map(|number| format!("PUT j{number} m {PAST} BURY j{number} rejected {}", PAST + *number as u64))
            .collect();
        client.done(&format!("DQ.APPLY q 1 {}", effects.join(" ")));
    }
}

#[track_caller]
fn dead_ids(client: &mut Client) -> Vec<String> {
    let page = client.done("DQ.PEEK q DEAD COUNT 10000");
    page.items()[1].items().iter().map(|job| job.field("id").string()).collect()
}

#[track_caller]
fn fields(job: &Reply) -> String {
    ["state", "attempts", "reason", "error", "died"].map(|name| job.field(name).text()).join(" ")
}

#[test]
fn each_way_of_dying_has_its_reason() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.POLICY q MAXATTEMPTS 2");
    for id in ["nacked", "rejected", "lapsed", "moved"] {
        client.done(&format!("DQ.APPLY q 1 PUT {id} m {PAST} PRIORITY 3 ATTEMPTS 1"));
    }
    let before = client.now();
    let claimed = claim(client, "q COUNT 2 LEASE 100000000");
    client.done(&format!("DQ.NACK q ERROR failed {}", claimed[0].receipt()));
    client.done(&format!("DQ.NACK q ERROR hopeless DEAD {}", claimed[1].receipt()));
    client.done("DQ.APPLY q 1 ERROR lapsed earlier LEASE 1600000001000 55 1 lapsed");
    client.done("DQ.PUSH other m ID moved");
    assert_eq!(client.ask("DQ.MOVE q other PUSH"), "0");
    let after = client.now();
    for (id, expected) in [
        ("nacked", "dead 2 nacked failed"),
        ("rejected", "dead 2 rejected hopeless"),
        ("lapsed", "dead 2 \"lease expired\" earlier"),
        ("moved", "dead 1 conflict nil"),
    ] {
        let job = client.ask(&format!("DQ.GET q {id}"));
        let (shown, died) = fields(&job).rsplit_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert_eq!(shown, expected);
        let died: u64 = died.parse().unwrap();
        let is_right =
            if id == "lapsed" { died == 1_600_000_001_000 } else { before <= died && died <= after };
        assert!(is_right, "{id} died {died}, not between {before} and {after}");
        assert_eq!(job.field("priority").int(), 3);
    }
    assert_eq!(states(client, "q"), "0 waiting, 0 claimed, 4 dead");
    assert_eq!(counter(client, "q", "died"), 4);
    assert_eq!(counter(client, "q", "moved"), 0, "a conflict is not counted as moved");
    assert_eq!(dead_ids(client), ["lapsed", "nacked", "rejected", "moved"], "oldest death first");
}

#[test]
fn a_dead_job_is_not_delivered_moved_or_rescheduled() {
    let server = Server::start();
    let client = &mut server.connect();
    bury(client, 0..1);
    let before = client.ask("DQ.GET q j0");
    assert_eq!(client.ask("DQ.CLAIM q"), "[]");
    assert_eq!(client.ask("DQ.MOVE q list AHEAD 1000000000000"), "0");
    assert_eq!(client.ask("DQ.RESCHEDULE q j0 DELAY 0"), "dead");
    assert_eq!(client.ask("DQ.PUSH q m ID j0"), "[j0 dead]");
    assert_eq!(client.ask("DQ.PURGE q WAITING"), "0");
    assert_eq!(client.ask("DQ.GET q j0"), before);
    assert_eq!(client.ask("DQ.PUSH q new ID j0 REPLACE"), "[j0 replaced]");
    assert_eq!(claim_one(client, "q").message, b"new");
}

#[test]
fn deadmax_keeps_the_latest_deaths_and_counts_the_others() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.POLICY q DEADMAX 3");
    for number in 0..6 {
        client.done(&format!("DQ.PUSH q m ID j{number} AT {PAST}"));
        let receipt = claim_one(client, "q LEASE 1000000").receipt().to_owned();
        assert_eq!(client.ask(&format!("DQ.NACK q DEAD {receipt}")), "[dead]");
        assert_eq!(states(client, "q"), format!("0 waiting, 0 claimed, {} dead", (number + 1).min(3)));
    }
    assert_eq!(dead_ids(client), ["j3", "j4", "j5"]);
    assert_eq!((counter(client, "q", "died"), counter(client, "q", "dropped")), (6, 3));
    assert_eq!(client.ask("DQ.CANCEL q j0 j5"), "[nil dead]", "a trimmed id is simply not there");
    client.done("DQ.POLICY q DEADMAX 0");
    assert_eq!(states(client, "q"), "0 waiting, 0 claimed, 0 dead");
    client.done("DQ.PUSH q m ID last");
    let receipt = claim_one(client, "q LEASE 1000000").receipt().to_owned();
    assert_eq!(client.ask(&format!("DQ.NACK q DEAD {receipt}")), "[dead]");
    assert_eq!(client.ask("DQ.LEN q"), "0", "with DEADMAX 0 none is kept");
}

#[test]
fn lowering_deadmax_trims_a_hundred_with_each_write_command() {
    let (master, replica) = start_pair(&AOF);
    let client = &mut master.connect();
    client.done("DQ.POLICY q DEADMAX UNLIMITED");
    bury(client, 0..350);
    let lines =
        ["DQ.POLICY q DEADMAX 40", "DQ.CANCEL q none", "DQ.PAUSE q", "DQ.PUSH q m ID x AT 4102444800000"];
    for (line, left) in lines.into_iter().zip([250, 150, 50, 40]) {
        let written = effects_written_by(&master, |client| drop(client.done(line)));
        assert!(written.join(" ").contains("REMOVE dropped "), "{line}: {written:?}");
        assert_eq!(dead_ids(client).len(), left, "after {line}");
    }
    let expected: Vec<String> = (310..350).map(|number| format!("j{number}")).collect();
    assert_eq!(dead_ids(client), expected);
    assert_eq!(counter(client, "q", "dropped"), 310);
    wait_in_step(&replica, &master);
    assert_eq!(digest(&mut replica.connect(), "q"), digest(client, "q"));
}

#[test]
fn deadmax_unlimited_keeps_them_all() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.POLICY q DEADMAX UNLIMITED");
    bury(client, 0..10_050);
    client.done("DQ.CANCEL q none");
    assert_eq!(states(client, "q"), "0 waiting, 0 claimed, 10050 dead");
    client.done("DEL q");
    bury(client, 0..10_050);
    client.done("DQ.CANCEL q none");
    assert_eq!(states(client, "q"), "0 waiting, 0 claimed, 10000 dead");
    assert_eq!(counter(client, "q", "dropped"), 50);
}

#[test]
fn redrive_by_count_takes_the_oldest_deaths_first_and_counts_no_attempt() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done(&format!(
        "DQ.APPLY q 1 PUT late m {PAST} PRIORITY 7 ATTEMPTS 9 BURY late nacked {}",
        PAST + 99
    ));
    bury(client, 0..5);
    client.done("DQ.APPLY q 1 ERROR j0 text");
    let before = client.now();
    assert_eq!(client.ask("DQ.REDRIVE q COUNT 2"), "2");
    let after = client.now();
    assert_eq!(dead_ids(client), ["j2", "j3", "j4", "late"]);
    let job = client.ask("DQ.GET q j0");
    let due = job.field("due").int() as u64;
    assert!(before <= due && due <= after, "due at once: {before} {due} {after}");
    assert_eq!((job.field("state").text(), job.field("attempts").int()), ("waiting".into(), 0));
    assert!(job.field("died").is_null() && job.field("reason").is_null(), "{job}");
    assert_eq!(client.ask("DQ.REDRIVE q COUNT 10000"), "4");
    assert_eq!(client.ask("DQ.REDRIVE q COUNT 10000"), "0");
    assert_eq!(drain(client, "q"), ["late", "j0", "j1", "j2", "j3", "j4"], "the same priority as before");
}

#[test]
fn redrive_by_id_takes_dead_ones_only_and_each_once() {
    let server = Server::start();
    let client = &mut server.connect();
    bury(client, 0..4);
    client.done("DQ.MPUSH q AT 1600000000000 claimed m 4102444800000 waiting m");
    claim_one(client, "q LEASE 100000000");
    let before = client.now();
    assert_eq!(client.ask("DQ.REDRIVE q DELAY 60000 ID j3 none j1 waiting j3 claimed j1 j1"), "2");
    let after = client.now();
    for id in ["j1", "j3"] {
        let due = client.ask(&format!("DQ.GET q {id}")).field("due").int() as u64;
        assert!(before + 60_000 <= due && due <= after + 60_000, "{before} {due} {after}");
    }
    assert_eq!(dead_ids(client), ["j0", "j2"]);
    assert_eq!(*client.ask("DQ.GET q waiting").field("due"), FUTURE.to_string());
    assert_eq!(states(client, "q"), "3 waiting, 1 claimed, 2 dead");
    assert_eq!(client.ask("DQ.REDRIVE q ID none"), "0");
    assert_eq!(client.ask("DQ.REDRIVE missing COUNT 5"), "0");
    assert_eq!(client.ask("DQ.REDRIVE missing DELAY 5 ID a b"), "0");
    assert_eq!(client.ask("EXISTS missing"), "0");
}

#[test]
fn a_job_dead_by_time_alone_is_redriven_like_any_other() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.POLICY q MAXATTEMPTS 1");
    client.done("DQ.MPUSH q AT 1600000000000 a m 1600000000001 b m");
    client.done("DQ.APPLY q 1 LEASE 1600000002000 55 1 b LEASE 1600000001000 56 1 a");
    assert_eq!(dead_ids(client), ["a", "b"]);
    assert_eq!(client.ask("DQ.REDRIVE q COUNT 1"), "1");
    assert_eq!(dead_ids(client), ["b"]);
    assert_eq!(client.ask("DQ.REDRIVE q ID b"), "1");
    assert_eq!(client.ask("DQ.ACK q 55-b 56-a"), "[0 0]", "a redriven job's receipt is not current");
    let claimed = claim(client, "q COUNT 5 LEASE 100000");
    assert_eq!(
        claimed.iter().map(|job| (job.id(), job.attempt)).collect::<Vec<_>>(),
        [("a".into(), 1), ("b".into(), 1)]
    );
    assert_eq!((counter(client, "q", "died"), counter(client, "q", "lapsed")), (2, 2));
}

#[test]
fn a_death_by_time_alone_is_counted_however_the_job_leaves() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in [
        "DQ.CANCEL q a",
        "DQ.PURGE q DEAD",
        "DQ.PUSH q m ID a REPLACE",
        "DQ.ACK q 55-a",
        "DQ.REDRIVE q ID a",
        "DQ.NACK q ERROR text 55-a",
        "DQ.POLICY q DEADMAX 0",
        "DQ.CANCEL q none",
    ] {
        client.done("DEL q");
        client.done("DQ.POLICY q MAXATTEMPTS 1");
        client.done("DQ.APPLY q 1 PUT a m 1600000000000 LEASE 1600000001000 55 1 a");
        assert_eq!(states(client, "q"), "0 waiting, 0 claimed, 1 dead");
        client.done(line);
        assert_eq!((counter(client, "q", "died"), counter(client, "q", "lapsed")), (1, 1), "{line}");
    }
}
