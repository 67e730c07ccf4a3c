//! Fear: what an operator sets while the server runs, or in its file, does not hold, holds only until the restart, or is
//! lost against the arguments of the module.

use crate::harness::client::Client;
use crate::harness::queue::{PAST, claim, push_many};
use crate::harness::refusal::line_refused_naming;
use crate::harness::server::{Server, Setup};
use crate::harness::server_binary::module_path;
use std::fs;

/// Each setting, a value that is not its default, and the two values beyond its range.
const SETTINGS: [(&str, u64, &str, &str); 11] = [
    ("max-count", 7, "0", "1000001"),
    ("max-reply-bytes", 1 << 40, "0", "1099511627777"),
    ("max-message-bytes", 1 << 32, "0", "4294967297"),
    ("policy-lease", 1_000_000_000_000, "-1", "1000000000001"),
    ("policy-max-attempts", 65_535, "-1", "65536"),
    ("policy-backoff-base", 5, "-1", "1000000000001"),
    ("policy-backoff-factor", 100, "0", "101"),
    ("policy-backoff-max", 1_000_000_000_000, "-1", "1000000000001"),
    ("policy-backoff-jitter", 100, "-1", "101"),
    ("policy-dead-max", 4_294_967_295, "-1", "4294967296"),
    ("policy-ttl", 1, "-1", "1000000000001"),
];

/// Whether modules can have settings in this server's configuration: from the release on that has COMMAND DOCS.
fn can_set(test: &str) -> bool {
    let can = !Server::start().connect().ask("COMMAND DOCS PING").is_error();
    if !can {
        eprintln!("{test}: skipped, this server knows no settings of modules");
    }
    can
}

#[track_caller]
fn value(client: &mut Client, name: &str) -> String {
    client.done(&format!("CONFIG GET dq.{name}")).field(&format!("dq.{name}")).string()
}

/// The lines of the server's file that are settings of the module.
fn lines_of_file(server: &Server) -> Vec<String> {
    let text = fs::read_to_string(server.directory().join("server.conf")).expect("the file is there");
    text.lines().filter(|line| line.starts_with("dq.")).map(str::to_owned).collect()
}

#[test]
fn every_setting_can_be_read_and_set_within_its_range() {
    if !can_set("every_setting_can_be_read_and_set_within_its_range") {
        return;
    }
    let server = Server::start();
    let client = &mut server.connect();
    assert_eq!(client.done("CONFIG GET dq.*").items().len(), 2 * SETTINGS.len());
    for (name, other, below, above) in SETTINGS {
        client.done(&format!("CONFIG SET dq.{name} {other}"));
        assert_eq!(value(client, name), other.to_string());
        for wrong in [below, above, "x", "1e3", "", "99999999999999999999"] {
            let refusal = client.call(&["CONFIG", "SET", &format!("dq.{name}"), wrong]).error();
            assert!(refusal.contains(name), "{refusal}");
            assert_eq!(value(client, name), other.to_string(), "after {wrong}");
        }
    }
}

#[test]
fn a_number_out_of_range_is_answered_with_the_range() {
    if !can_set("a_number_out_of_range_is_answered_with_the_range") {
        return;
    }
    let server = Server::start();
    let refusal = server.connect().refused("CONFIG SET dq.max-count 1000001");
    assert!(refusal.contains("between 1 and 1000000"), "{refusal}");
}

#[test]
fn what_is_set_holds_at_once() {
    if !can_set("what_is_set_holds_at_once") {
        return;
    }
    let server = Server::start();
    let client = &mut server.connect();
    push_many(client, "q", "j", 20, PAST);
    client.done("CONFIG SET dq.max-count 5 dq.policy-lease 60000 dq.max-message-bytes 1kb");
    line_refused_naming(client, "DQ.CLAIM q COUNT 6", &["COUNT", "5", "6"]);
    assert_eq!(client.done("DQ.MOVE q list"), "5", "the default COUNT is not above it");
    line_refused_naming(client, &format!("DQ.PUSH q {}", "x".repeat(1025)), &["1024", "1025"]);
    assert_eq!(*client.done("DQ.POLICY new").field("lease"), "60000");
    assert_eq!(*client.done("DQ.POLICY q").field("lease"), "0", "a queue that exists keeps its policy");
    client.done("CONFIG SET dq.max-count 10 dq.max-reply-bytes 3");
    assert_eq!(claim(client, "q COUNT 10").len(), 2, "two ids as messages pass three bytes");
}

#[test]
fn a_failed_set_of_several_changes_none() {
    if !can_set("a_failed_set_of_several_changes_none") {
        return;
    }
    let server = Server::start();
    let client = &mut server.connect();
    client.refused("CONFIG SET dq.max-count 5 dq.policy-ttl x");
    client.refused("CONFIG SET dq.max-count 5 dq.policy-backoff-factor 101");
    assert_eq!(value(client, "max-count"), "10000");
}

#[test]
fn a_line_of_the_file_goes_before_an_argument_and_an_argument_before_the_default() {
    if !can_set("a_line_of_the_file_goes_before_an_argument_and_an_argument_before_the_default") {
        return;
    }
    let arguments = "max-count 100 policy-lease 100 max-reply-bytes 1mb";
    let lines = ["dq.max-count 200", "dq.policy-ttl 200", "dq.max-message-bytes 2mb"];
    let server = Setup::default().module_arguments(arguments).lines(&lines).start();
    let client = &mut server.connect();
    for (name, expected) in [
        ("max-count", "200"),
        ("policy-lease", "100"),
        ("max-reply-bytes", "1048576"),
        ("policy-ttl", "200"),
        ("max-message-bytes", "2097152"),
        ("policy-dead-max", "10000"),
    ] {
        assert_eq!(value(client, name), expected, "{name}");
    }
    let policy = client.done("DQ.POLICY q");
    assert_eq!((policy.field("lease").int(), policy.field("ttl").int()), (100, 200));
}

#[test]
fn a_rewritten_file_keeps_what_was_set_over_a_restart() {
    if !can_set("a_rewritten_file_keeps_what_was_set_over_a_restart") {
        return;
    }
    let mut server = Setup::default().module_arguments("max-count 100 policy-ttl 5").start();
    let client = &mut server.connect();
    client.done("CONFIG SET dq.max-count 300 dq.max-reply-bytes 2mb");
    client.done("CONFIG REWRITE");
    assert_eq!(lines_of_file(&server).len(), 2, "only what was changed: {:?}", lines_of_file(&server));
    server.shut_down("NOSAVE");
    server.start_again_on_its_file();
    let client = &mut server.connect();
    let values = ["max-count", "max-reply-bytes", "policy-ttl"].map(|name| value(client, name));
    assert_eq!(values, ["300", "2097152", "5"]);
    client.done("CONFIG SET dq.max-count 100");
    client.done("CONFIG REWRITE");
    server.shut_down("NOSAVE");
    server.start_again_on_its_file();
    assert_eq!(value(&mut server.connect(), "max-count"), "100", "set back to what the argument says");
}

#[test]
fn a_wrong_line_of_the_file_keeps_the_server_from_starting() {
    for line in ["dq.max-count 0", "dq.max-count x", "dq.max-reply-bytes 2tb", "dq.policy-backoff-jitter 101"]
    {
        let started = Setup::default().lines(&[line]).try_start();
        let log = started.err().unwrap_or_else(|| panic!("started with {line:?}"));
        let name = line.split(' ').next().unwrap();
        assert!(log.contains(name), "the log does not name {name}:\n{log}");
    }
    assert!(Setup::default().lines(&["dq.no-such-setting 1"]).try_start().is_err());
}

#[test]
fn a_module_that_is_loaded_later_takes_lines_and_arguments_alike() {
    if !can_set("a_module_that_is_loaded_later_takes_lines_and_arguments_alike") {
        return;
    }
    let server = Setup::default().without_module().lines(&["enable-module-command yes"]).start();
    let client = &mut server.connect();
    let path = module_path().display().to_string();
    let load = |rest: &str| format!("MODULE LOADEX {path} {rest}");
    client.refused(&load("CONFIG dq.max-count 0"));
    client.refused(&load("ARGS max-count 0"));
    client.done(&load("CONFIG dq.max-count 5 ARGS max-count 7 policy-ttl 9"));
    let values = ["max-count", "policy-ttl", "policy-lease"].map(|name| value(client, name));
    assert_eq!(values, ["5", "9", "0"]);
    line_refused_naming(client, "DQ.CLAIM q COUNT 6", &["5", "6"]);
}
