//! Fear: DQ.INFO tells numbers that are not those of the queue, or that do not add up.

use crate::harness::aof::{self, AOF};
use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::numbers::{COUNTERS, counter, counters, info, number, states};
use crate::harness::queue::{FUTURE, PAST, claim, claim_one, push_many};
use crate::harness::random::Random;
use crate::harness::refusal::line_refused_naming;
use crate::harness::replica::{promote, start_pair, wait_in_step};
use crate::harness::reply::Reply;
use crate::harness::server::{Server, Setup};
use std::collections::HashSet;

const FIELDS: [&str; 15] = [
    "waiting",
    "waiting_new",
    "waiting_retry",
    "due",
    "claimed",
    "dead",
    "lag_ms",
    "next_due",
    "paused_until",
    "bytes",
    "lease",
    "maxattempts",
    "backoff",
    "deadmax",
    "ttl",
];

const STATES: [&str; 3] = ["waiting", "claimed", "dead"];

fn names(info: &Reply) -> Vec<String> {
    match info {
        Reply::Map(pairs) => pairs.iter().map(|(name, _)| name.string()).collect(),
        flat => flat.items().chunks_exact(2).map(|pair| pair[0].string()).collect(),
    }
}

#[test]
fn every_field_is_there_under_both_protocols() {
    let server = Server::start();
    let client = &mut server.connect();
    assert!(client.ask("DQ.INFO missing").is_null());
    client.done("DQ.PUSH q m");
    let flat = names(&info(client, "q"));
    let expected: Vec<String> = FIELDS
        .iter()
        .map(|name| (*name).to_owned())
        .chain(COUNTERS.map(|name| format!("{name}_total")))
        .collect();
    assert_eq!(flat, expected);
    client.speak_resp3();
    let map = info(client, "q");
    // Before COMMAND DOCS came, modules could not reply with maps.
    let has_maps = !client.ask("COMMAND DOCS PING").is_error();
    assert_eq!(matches!(map, Reply::Map(_)), has_maps, "{map}");
    assert_eq!(names(&map), flat);
    assert!(client.ask("DQ.INFO missing").is_null());
    line_refused_naming(client, "DQ.INFO", &["wrong number of arguments"]);
    line_refused_naming(client, "DQ.INFO q q", &["wrong number of arguments"]);
}

#[test]
fn no_field_stands_twice_so_that_a_map_of_a_client_library_holds_them_all() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m");
    let names = names(&info(client, "q"));
    let distinct: HashSet<&String> = names.iter().collect();
    assert_eq!(distinct.len(), names.len(), "{names:?}");
}

#[test]
fn an_empty_queue_has_no_lag_and_nothing_to_come() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.POLICY q LEASE 5 MAXATTEMPTS 3 BACKOFF 5 2 50 10 DEADMAX UNLIMITED TTL 70");
    let info = info(client, "q");
    for name in ["waiting", "waiting_new", "waiting_retry", "due", "claimed", "dead", "lag_ms"] {
        assert_eq!(number(&info, name), 0, "{name}");
    }
    assert!(info.field("next_due").is_null() && info.field("paused_until").is_null());
    assert!(number(&info, "bytes") > 0);
    let policy = ["lease", "maxattempts", "backoff", "deadmax", "ttl"].map(|name| info.field(name).text());
    assert_eq!(policy, ["5", "3", "[5 2 50 10]", "unlimited", "70"]);
    assert_eq!(
        counters(client, "q"),
        "pushed 0, claimed 0, acked 0, nacked 0, lapsed 0, expired 0, died 0, dropped 0, moved 0, cancelled 0, \
         purged 0"
    );
}

#[test]
fn lag_counts_from_the_oldest_due_time_and_next_due_is_the_next_one() {
    let server = Server::start();
    let client = &mut server.connect();
    let now = client.now();
    let (ago, ahead) = (now - 5000, now + 1_000_000);
    client.done(&format!(
        "DQ.MPUSH q AT {} b m {ago} a m {} c m {ahead} d m {} e m",
        ago + 1,
        ago + 2,
        ahead + 1
    ));
    let info_before = client.now();
    let info = info(client, "q");
    let info_after = client.now();
    assert_eq!((number(&info, "waiting"), number(&info, "due")), (5, 3));
    let lag = number(&info, "lag_ms") as u64;
    assert!(info_before - ago <= lag && lag <= info_after - ago, "lag {lag} of {ago} at {info_before}");
    assert_eq!(number(&info, "next_due") as u64, ahead);
    let job = client.ask("DQ.GET q d");
    assert_eq!((job.field("due").int() as u64, job.field("state").text()), (ahead, "waiting".into()));
    // A running lease's end is when something becomes due; a lapsed lease's end is since when it is.
    claim(client, "q COUNT 3 LEASE 500000");
    let info = self::info(client, "q");
    assert_eq!(number(&info, "lag_ms"), 0);
    assert_eq!(*info.field("next_due"), *client.ask("DQ.GET q a").field("lease_until"));
    client.done(&format!("DQ.APPLY q 1 EXTEND {ago} 1 a"));
    let before = client.now();
    let lag = number(&self::info(client, "q"), "lag_ms") as u64;
    assert!(before - ago <= lag && lag <= client.now() - ago);
}

#[test]
fn what_will_be_gone_or_dead_by_then_is_not_what_becomes_due_next() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.POLICY q MAXATTEMPTS 2");
    client.done(&format!("DQ.APPLY q 1 PUT last m {PAST} ATTEMPTS 1 LEASE {FUTURE} 55 1 last"));
    assert!(info(client, "q").field("next_due").is_null(), "its last lease ends in death");
    client.done(&format!("DQ.APPLY q 1 PUT gone m {PAST} EXPIRES {FUTURE} LEASE {} 55 1 gone", FUTURE + 5));
    assert!(info(client, "q").field("next_due").is_null(), "its time to live is over before its lease");
    client.done(&format!("DQ.APPLY q 1 PUT a m {PAST} EXPIRES {} LEASE {} 55 1 a", FUTURE + 9, FUTURE + 8));
    assert_eq!(*info(client, "q").field("next_due"), (FUTURE + 8).to_string());
}

#[test]
fn never_claimed_and_to_be_retried_are_counted_apart() {
    let server = Server::start();
    let client = &mut server.connect();
    push_many(client, "q", "j", 6, PAST);
    push_many(client, "q", "later", 2, FUTURE);
    let claimed = claim(client, "q COUNT 5 LEASE 100000000");
    let mut split = |lines: &[String]| {
        lines.iter().for_each(|line| drop(client.done(line)));
        let info = info(client, "q");
        ["waiting_new", "waiting_retry", "claimed", "dead"].map(|name| number(&info, name))
    };
    assert_eq!(split(&[]), [3, 0, 5, 0]);
    let nack = |how: &str, index: usize| format!("DQ.NACK q {how} {}", claimed[index].receipt());
    assert_eq!(split(&[nack("DELAY 60000", 0), nack("DELAY 0", 1)]), [3, 2, 3, 0]);
    assert_eq!(split(&[nack("UNUSED", 2)]), [4, 2, 2, 0]);
    assert_eq!(split(&[nack("DEAD", 3)]), [4, 2, 1, 1]);
    assert_eq!(
        split(&[format!("DQ.APPLY q 1 EXTEND {PAST} 1 j4")]),
        [4, 3, 0, 1],
        "a lapsed one is to be retried"
    );
    assert_eq!(split(&["DQ.REDRIVE q COUNT 1".into()]), [5, 3, 0, 0]);
    assert_eq!(split(&["DQ.PUSH q m ID j0 REPLACE".into()]), [6, 2, 0, 0]);
}

#[test]
fn each_counter_counts_its_own_cause() {
    let server = Server::start();
    let client = &mut server.connect();
    push_many(client, "q", "j", 10, PAST);
    client.done("DQ.PUSH q m ID j0 REPLACE");
    client.done("DQ.PUSH q m ID j1");
    let claimed = claim(client, "q COUNT 5 LEASE 100000000");
    let receipt = |index: usize| claimed[index].receipt();
    client.done(&format!("DQ.ACK q {} {0}", receipt(0)));
    client.done(&format!("DQ.NACK q DELAY 60000 {} {0}", receipt(1)));
    client.done(&format!("DQ.NACK q DEAD {}", receipt(2)));
    client.done(&format!("DQ.EXTEND q LEASE 5000000 {}", receipt(3)));
    claim_one(client, "q");
    client.done("DQ.CANCEL q none j0");
    client.done("DQ.MOVE q list COUNT 2");
    client.done(&format!("DQ.APPLY q 1 EXTEND {} 1 {}", PAST - 1, claimed[4].id()));
    client.done(&format!("DQ.APPLY q 1 PUT gone m {PAST} EXPIRES {PAST}"));
    assert_eq!(claim_one(client, "q").id(), claimed[4].id(), "the lapsed one is the earliest");
    assert_eq!(client.ask("DQ.PURGE q WAITING COUNT 1"), "1");
    client.done("DQ.POLICY q DEADMAX 0");
    assert_eq!(
        counters(client, "q"),
        "pushed 12, claimed 7, acked 1, nacked 2, lapsed 1, expired 1, died 1, dropped 1, moved 2, cancelled 1, \
         purged 1"
    );
}

#[test]
fn counters_survive_and_are_not_doubled_by_restarts_copies_and_failover() {
    let (mut master, replica) = start_pair(&[AOF[0], AOF[1], "aof-use-rdb-preamble no"]);
    let client = &mut master.connect();
    client.done("DQ.POLICY q MAXATTEMPTS 2 DEADMAX 3");
    random_work(client, &mut Random::seeded(3), 400);
    let before = (counters(client, "q"), digest(client, "q"));
    wait_in_step(&replica, &master);
    assert_eq!(counters(&mut replica.connect(), "q"), before.0);
    for _ in 0..2 {
        master.kill();
        master.start_again();
        let client = &mut master.connect();
        assert_eq!((counters(client, "q"), digest(client, "q")), before);
        aof::rewrite(&master);
    }
    let client = &mut master.connect();
    client.done("DEBUG RELOAD");
    client.done("COPY q copied");
    let payload = client.done("DUMP q").bytes().to_vec();
    client.call(&[b"RESTORE".as_slice(), b"restored", b"0", &payload]);
    for key in ["q", "copied", "restored"] {
        assert_eq!(counters(client, key), before.0, "{key}");
    }
    promote(&replica);
    assert_eq!(counters(&mut replica.connect(), "q"), before.0);
}

/// Random commands on few ids, so that every state meets every command.
fn random_work(client: &mut Client, random: &mut Random, steps: usize) {
    let mut receipts = vec!["1-j0".to_owned()];
    for _ in 0..steps {
        let id = format!("j{}", random.below(40));
        let receipt = receipts[random.below(receipts.len() as u64) as usize].clone();
        let line = random_line(random, &id, &receipt);
        let reply = client.done(&line);
        if line.contains("CLAIM q") && line.contains("LEASE") {
            receipts.extend(reply.items().iter().map(|job| job.items()[4].string()));
            let surplus = receipts.len().saturating_sub(60);
            receipts.drain(..surplus);
        }
    }
}

fn random_line(random: &mut Random, id: &str, receipt: &str) -> String {
    let number = 1 + random.below(4);
    match random.below(22) {
        0..4 => format!("DQ.PUSH q m ID {id} DELAY {} PRIORITY {number}", random.below(3)),
        4 => format!("DQ.PUSH q m ID {id} REPLACE DELAY 5 TTL {number}"),
        5 => format!("DQ.MPUSH q DELAY TTL 2 0 {id} m {number} x{id} m"),
        6..9 => format!("DQ.CLAIM q COUNT {number} LEASE {}", 1 + random.below(3)),
        9 => format!("DQ.CLAIM q COUNT {number} LEASE 100000"),
        10 => format!("DQ.CLAIM q COUNT {number}"),
        11 => format!("DQ.ACK q {receipt}"),
        12 => format!("DQ.NACK q DELAY {number} ERROR text {receipt}"),
        13 => format!("DQ.NACK q {} {receipt}", if number > 2 { "DEAD" } else { "UNUSED" }),
        14 => format!("DQ.EXTEND q LEASE {number} {receipt}"),
        15 => format!("DQ.CANCEL q {id}"),
        16 => format!("DQ.RESCHEDULE q {id} DELAY {number}"),
        17 => format!("DQ.REDRIVE q DELAY 1 COUNT {number}"),
        18 => format!("DQ.MOVE q other PUSH COUNT {number}"),
        19 => format!("DQ.POLICY q MAXATTEMPTS {number} DEADMAX {}", 2 + random.below(9)),
        20 => {
            format!("DQ.PURGE q {} COUNT {number}", ["WAITING", "CLAIMED", "DEAD"][random.below(3) as usize])
        }
        _ => ["DQ.PAUSE q 1", "DQ.PAUSE q", "DQ.RESUME q"][random.below(3) as usize].to_owned(),
    }
}

#[test]
fn the_states_add_up_to_the_length_after_any_commands_on_master_and_replica() {
    let (master, replica) = start_pair(&[]);
    let random = &mut Random::announced("the_states_add_up_to_the_length");
    let (client, reader) = (&mut master.connect(), &mut replica.connect());
    client.done("DQ.POLICY q");
    for round in 0..300 {
        random_work(client, random, 15);
        for key in ["q", "other"] {
            if !client.ask(&format!("DQ.INFO {key}")).is_null() {
                states(client, key);
            }
        }
        if round % 10 == 0 {
            wait_in_step(&replica, &master);
            states(reader, "q");
            assert_eq!(counters(reader, "q"), counters(client, "q"));
            assert_eq!(digest(reader, "q"), digest(client, "q"));
        }
        assert_listed(client);
    }
}

/// The pages of each state hold as many jobs as INFO says.
#[track_caller]
fn assert_listed(client: &mut Client) {
    let counts = |info: &Reply| STATES.map(|state| number(info, state));
    eventually("time alone changes nothing for an instant", DEADLINE, || {
        let before = info(client, "q");
        let pages = STATES.map(|state| client.done(&format!("DQ.PEEK q {state} COUNT 1000")));
        // Time alone ends leases, makes jobs dead and removes them, none of which can be undone between these two.
        if counts(&before) != counts(&info(client, "q")) {
            return false;
        }
        for (page, state) in pages.iter().zip(STATES) {
            let jobs = page.items()[1].items();
            assert_eq!(jobs.len() as i64, number(&before, state), "{state}: {before}\n{page}");
            assert!(jobs.iter().all(|job| *job.field("state") == *state), "{page}");
        }
        true
    });
}

#[test]
fn the_readers_work_on_a_read_only_replica_and_write_nothing() {
    let master = Setup::default().listening().start();
    let replica = Setup::default().listening().lines(&AOF).start();
    crate::harness::replica::follow(&replica, &master);
    let client = &mut master.connect();
    push_many(client, "q", "j", 20, PAST);
    claim(client, "q COUNT 5 LEASE 100000000");
    client.done("DQ.PAUSE q");
    wait_in_step(&replica, &master);
    aof::wait_until_rewritten(&replica);
    let before = digest(client, "q");
    let written = aof::lines_written_by(&replica, |reader| {
        assert_eq!(states(reader, "q"), "15 waiting, 5 claimed, 0 dead");
        assert_eq!(*info(reader, "q").field("paused_until"), "forever");
        assert_eq!(counter(reader, "q", "claimed"), 5);
        for state in ["WAITING", "CLAIMED", "DEAD"] {
            let line = format!("DQ.PEEK q {state} COUNT 100");
            assert_eq!(reader.ask(&line), client.ask(&line));
        }
        assert!(!reader.ask("DQ.GET q j3").is_null());
    });
    let own: Vec<&String> = written.iter().filter(|line| line.contains("DQ.")).collect();
    assert!(own.is_empty(), "{own:?}");
    assert_eq!(digest(&mut replica.connect(), "q"), before);
}
