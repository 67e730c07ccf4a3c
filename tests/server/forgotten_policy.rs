//! Fear: a policy is taken for another one, forgotten, or set only on one of two servers.

use crate::harness::aof::{AOF, effects_written_by};
use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::queue::{claim_one, drain};
use crate::harness::refusal::{changes, line_refused_naming, refused_naming};
use crate::harness::replica::{follow, start_pair, wait_in_step};
use crate::harness::server::{Server, Setup};

const DEFAULT: &str = "[lease 0 maxattempts unlimited backoff [1000 2 3600000 0] deadmax 10000 ttl 0]";

fn with(arguments: &str) -> Server {
    Setup::default().module_arguments(arguments).listening().start()
}

#[test]
fn a_policy_answers_all_of_itself_and_keeps_what_is_not_named() {
    let server = Server::start();
    let client = &mut server.connect();
    assert_eq!(client.ask("DQ.POLICY q"), DEFAULT);
    for (line, answer) in [
        ("LEASE 5000", "[lease 5000 maxattempts unlimited backoff [1000 2 3600000 0] deadmax 10000 ttl 0]"),
        (
            "MAXATTEMPTS 65535",
            "[lease 5000 maxattempts 65535 backoff [1000 2 3600000 0] deadmax 10000 ttl 0]",
        ),
        ("backoff 1 100 5 100", "[lease 5000 maxattempts 65535 backoff [1 100 5 100] deadmax 10000 ttl 0]"),
        ("DEADMAX 7", "[lease 5000 maxattempts 65535 backoff [1 100 5 100] deadmax 7 ttl 0]"),
        (
            "TTL 1000000000000",
            "[lease 5000 maxattempts 65535 backoff [1 100 5 100] deadmax 7 ttl 1000000000000]",
        ),
        (
            "TTL 1 DEADMAX unlimited MAXATTEMPTS Unlimited LEASE 0",
            "[lease 0 maxattempts unlimited backoff [1 100 5 100] deadmax unlimited ttl 1]",
        ),
        ("MAXATTEMPTS 1 DEADMAX 0", "[lease 0 maxattempts 1 backoff [1 100 5 100] deadmax 0 ttl 1]"),
        ("BACKOFF 0 1 0 0", "[lease 0 maxattempts 1 backoff [0 1 0 0] deadmax 0 ttl 1]"),
    ] {
        assert_eq!(client.ask(&format!("DQ.POLICY q {line}")), answer, "{line}");
        assert_eq!(client.ask("DQ.POLICY q"), answer, "shown after {line}");
    }
    client.speak_resp3();
    // Before COMMAND DOCS came, modules could not reply with maps.
    if !client.ask("COMMAND DOCS PING").is_error() {
        let map = "{lease: 0, maxattempts: 1, backoff: [0 1 0 0], deadmax: 0, ttl: 1}";
        assert_eq!(client.ask("DQ.POLICY q"), map);
    }
}

#[test]
fn a_policy_on_a_missing_key_makes_the_queue_everywhere() {
    for line in ["DQ.POLICY q", "DQ.POLICY q LEASE 5", "DQ.POLICY q LEASE 0"] {
        let (master, replica) = start_pair(&AOF);
        let client = &mut master.connect();
        let written = effects_written_by(&master, |client| drop(client.done(line)));
        assert_eq!(written.len(), 1, "{line}: {written:?}");
        assert!(written[0].starts_with("DQ.APPLY q 1 POLICY "), "{line}: {written:?}");
        assert_eq!((client.ask("TYPE q"), client.ask("DQ.LEN q").int()), (client.ask("TYPE q"), 0));
        assert_eq!(client.ask("TYPE q"), "dq-jobset");
        wait_in_step(&replica, &master);
        assert_eq!(digest(&mut replica.connect(), "q"), digest(client, "q"), "{line}");
    }
}

#[test]
fn the_same_policy_again_changes_nothing() {
    let server = Server::with(&AOF);
    let client = &mut server.connect();
    let full = "DQ.POLICY q LEASE 5 MAXATTEMPTS 3 BACKOFF 5 2 50 10 DEADMAX 9 TTL 70";
    client.done(full);
    let before = changes(client);
    for line in [full, "DQ.POLICY q", "DQ.POLICY q LEASE 5", "DQ.POLICY q TTL 70 BACKOFF 5 2 50 10"] {
        let written = effects_written_by(&server, |client| drop(client.done(line)));
        assert!(written.is_empty(), "{line} wrote {written:?}");
        assert_eq!(changes(client), before, "{line}");
    }
}

#[test]
fn a_policys_effect_has_all_its_numbers() {
    let server = Server::with(&AOF);
    for (line, numbers) in [
        ("LEASE 5 MAXATTEMPTS 3 BACKOFF 6 2 50 10 DEADMAX 9 TTL 70", "5 3 6 2 50 10 10 70"),
        ("DEADMAX UNLIMITED MAXATTEMPTS UNLIMITED", "5 0 6 2 50 10 0 70"),
        ("DEADMAX 0", "5 0 6 2 50 10 1 70"),
    ] {
        let written = effects_written_by(&server, |client| drop(client.done(&format!("DQ.POLICY q {line}"))));
        assert_eq!(written, [format!("DQ.APPLY q 1 POLICY {numbers}")], "{line}");
    }
}

#[test]
fn a_wrong_field_is_refused_naming_it_its_range_and_its_value() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.POLICY q LEASE 5");
    for (line, facts) in [
        ("LEASE -1", ["LEASE", "1000000000000", "'-1'"]),
        ("LEASE 1000000000001", ["LEASE", "1000000000000", "'1000000000001'"]),
        ("LEASE UNLIMITED", ["LEASE", "1000000000000", "'UNLIMITED'"]),
        ("MAXATTEMPTS 0", ["MAXATTEMPTS", "from 1 to 65535", "'0'"]),
        ("MAXATTEMPTS 65536", ["MAXATTEMPTS", "from 1 to 65535", "'65536'"]),
        ("MAXATTEMPTS none", ["MAXATTEMPTS", "65535", "'none'"]),
        ("BACKOFF 1000000000001 2 5 0", ["BACKOFF", "1000000000000", "'1000000000001'"]),
        ("BACKOFF 5 0 5 0", ["BACKOFF", "from 1 to 100", "'0'"]),
        ("BACKOFF 5 101 5 0", ["BACKOFF", "from 1 to 100", "'101'"]),
        ("BACKOFF 5 1.5 5 0", ["BACKOFF", "from 1 to 100", "'1.5'"]),
        ("BACKOFF 5 2 x 0", ["BACKOFF", "1000000000000", "'x'"]),
        ("BACKOFF 5 2 5 101", ["BACKOFF", "from 0 to 100", "'101'"]),
        ("DEADMAX -1", ["DEADMAX", "from 0 to", "'-1'"]),
        ("DEADMAX 4294967296", ["DEADMAX", "from 0 to", "'4294967296'"]),
        ("TTL 1000000000001", ["TTL", "1000000000000", "'1000000000001'"]),
        ("LEASE 9 TTL 1e3", ["TTL", "1000000000000", "'1e3'"]),
    ] {
        for key in ["q", "missing"] {
            line_refused_naming(client, &format!("DQ.POLICY {key} {line}"), &facts);
        }
    }
    assert_eq!(client.ask("EXISTS missing"), "0");
    assert_eq!(client.ask("DQ.POLICY q"), DEFAULT.replace("lease 0", "lease 5"));
}

#[test]
fn a_backoff_of_three_numbers_and_a_field_given_twice_are_refused() {
    let server = Server::start();
    let client = &mut server.connect();
    for (line, fact) in [
        ("BACKOFF 1000 2 3600000", "needs a value"),
        ("BACKOFF 1000 2 3600000 LEASE 5", "'LEASE'"),
        ("BACKOFF", "needs a value"),
        ("BACKOFF 1 2 3 4 5", "syntax error near '5'"),
        ("LEASE", "LEASE needs a value"),
        ("MAXATTEMPTS", "MAXATTEMPTS needs a value"),
        ("LEASE 5 LEASE 5", "syntax error near 'LEASE'"),
        ("DEADMAX UNLIMITED DEADMAX 5", "syntax error near 'DEADMAX'"),
        ("BOGUS 5", "syntax error near 'BOGUS'"),
        ("LEASE 5 BOGUS", "syntax error near 'BOGUS'"),
    ] {
        line_refused_naming(client, &format!("DQ.POLICY q {line}"), &[fact]);
    }
    refused_naming(client, &["DQ.POLICY", "q", "LEASE", ""], &["LEASE", "''"]);
    assert_eq!(client.ask("EXISTS q"), "0");
}

#[test]
fn a_policys_lease_is_for_claims_that_name_none() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.POLICY q LEASE 5000000");
    client.done("DQ.MPUSH q AT 1600000000000 by-policy m 1600000000001 none m 1600000000002 own m");
    let before = client.now();
    claim_one(client, "q");
    let until = client.ask("DQ.GET q by-policy").field("lease_until").int() as u64;
    assert!(before + 5_000_000 <= until && until <= client.now() + 5_000_000);
    assert_eq!(claim_one(client, "q LEASE 0").receipt, None);
    let before = client.now();
    claim_one(client, "q LEASE 9000000");
    let until = client.ask("DQ.GET q own").field("lease_until").int() as u64;
    assert!(before + 9_000_000 <= until && until <= client.now() + 9_000_000);
}

#[test]
fn the_settings_are_the_policy_of_new_queues_and_reach_replicas_and_restarts() {
    let master = with(
        "policy-lease 5000 policy-max-attempts 3 policy-backoff-base 7 policy-backoff-factor 3 \
         policy-backoff-max 700 policy-backoff-jitter 20 policy-dead-max 2 policy-ttl 90000",
    );
    // The other server has other settings, and must not use them on its master's queues.
    let mut replica =
        Setup::default().module_arguments("policy-lease 1 policy-ttl 1").lines(&AOF).listening().start();
    follow(&replica, &master);
    let client = &mut master.connect();
    let expected = "[lease 5000 maxattempts 3 backoff [7 3 700 20] deadmax 2 ttl 90000]";
    client.done("DQ.PUSH by-push m AT 4102444800000 ID a");
    client.done("DQ.MPUSH by-mpush AT 4102444800000 a m");
    client.done("DQ.POLICY by-policy");
    client.done("DQ.PUSH far m AT 1600000000000 ID a TTL 0");
    client.done("DQ.MOVE far by-move PUSH");
    assert_eq!(*client.ask("DQ.GET by-push a").field("expires"), "4102444890000");
    let keys = ["by-push", "by-mpush", "by-policy", "by-move"];
    for key in keys {
        assert_eq!(client.ask(&format!("DQ.POLICY {key}")), expected, "{key}");
    }
    wait_in_step(&replica, &master);
    crate::harness::aof::wait_until_rewritten(&replica);
    for when in ["as a replica", "after a restart"] {
        for key in keys {
            assert_eq!(digest(&mut replica.connect(), key), digest(client, key), "{key} {when}");
        }
        if when == "as a replica" {
            replica.kill();
            replica.start_again();
        }
    }
    crate::harness::replica::promote(&replica);
    assert_eq!(replica.connect().ask("DQ.POLICY by-push"), expected);
}

#[test]
fn a_wrong_policy_setting_keeps_the_server_from_starting() {
    for (name, bad) in [
        ("policy-lease", "1000000000001"),
        ("policy-max-attempts", "65536"),
        ("policy-backoff-base", "1000000000001"),
        ("policy-backoff-factor", "0"),
        ("policy-backoff-factor", "101"),
        ("policy-backoff-max", "x"),
        ("policy-backoff-jitter", "101"),
        ("policy-dead-max", "4294967296"),
        ("policy-ttl", "-1"),
    ] {
        let started = Setup::default().module_arguments(&format!("{name} {bad}")).try_start();
        let log = started.err().unwrap_or_else(|| panic!("started with {name} {bad}"));
        assert!(log.contains(name) && log.contains(bad), "the log does not name {name} and {bad}:\n{log}");
    }
}

#[test]
fn a_zero_setting_is_none_and_only_max_attempts_takes_it_for_unlimited() {
    let server = with("policy-max-attempts 0 policy-dead-max 0 policy-lease 0 policy-ttl 0");
    let client = &mut server.connect();
    assert_eq!(client.ask("DQ.POLICY q"), DEFAULT.replace("10000", "0"));
}

#[test]
fn a_policy_lowered_under_the_attempts_of_a_job_kills_it_at_its_next_failure_only() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.APPLY q 1 PUT a m 1600000000000 ATTEMPTS 5 PUT b m 1600000000001 ATTEMPTS 5");
    client.done("DQ.POLICY q MAXATTEMPTS 2");
    let job: crate::harness::queue::Delivery = claim_one(client, "q LEASE 100000000");
    assert_eq!(job.attempt, 6, "a waiting job is still delivered once");
    assert_eq!(client.ask(&format!("DQ.NACK q DELAY 0 {}", job.receipt())), "[dead]");
    assert_eq!(drain(client, "q"), ["b"]);
}

#[test]
fn a_policy_survives_deletion_of_nothing_but_its_key() {
    let server = Server::start();
    let client: &mut Client = &mut server.connect();
    client.done("DQ.POLICY q LEASE 5");
    client.done("DQ.PUSH q m ID a TTL 0");
    client.done("DQ.CANCEL q a");
    assert_eq!(client.ask("DQ.POLICY q"), DEFAULT.replace("lease 0", "lease 5"));
    client.done("DEL q");
    assert_eq!(client.ask("DQ.POLICY q"), DEFAULT);
}
