//! Fear: what the server tells of a command (flags, arity, keys, help) is not what the command does.

use crate::harness::client::Client;
use crate::harness::reply::Reply;
use crate::harness::server::Server;

/// Name, arity, first key, last key.
const COMMANDS: [(&str, i64, i64, i64); 19] = [
    ("DQ.PUSH", -3, 1, 1),
    ("DQ.MPUSH", -6, 1, 1),
    ("DQ.CLAIM", -2, 1, 1),
    ("DQ.ACK", -3, 1, 1),
    ("DQ.CANCEL", -3, 1, 1),
    ("DQ.MOVE", -3, 1, 2),
    ("DQ.NACK", -3, 1, 1),
    ("DQ.EXTEND", -5, 1, 1),
    ("DQ.RESCHEDULE", 5, 1, 1),
    ("DQ.REDRIVE", -4, 1, 1),
    ("DQ.POLICY", -2, 1, 1),
    ("DQ.PAUSE", -2, 1, 1),
    ("DQ.RESUME", 2, 1, 1),
    ("DQ.PURGE", -3, 1, 1),
    ("DQ.PEEK", -2, 1, 1),
    ("DQ.INFO", 2, 1, 1),
    ("DQ.LEN", 2, 1, 1),
    ("DQ.GET", 3, 1, 1),
    ("DQ.APPLY", -4, 1, 1),
];

fn info(client: &mut Client, name: &str) -> Reply {
    client.done(&format!("COMMAND INFO {name}")).items()[0].clone()
}

fn words(reply: &Reply) -> Vec<String> {
    reply.items().iter().map(Reply::string).collect()
}

/// Whether modules can describe their commands to this server: it then has COMMAND DOCS too.
fn has_docs(client: &mut Client, test: &str) -> bool {
    let has = !client.ask("COMMAND DOCS PING").is_error();
    if !has {
        eprintln!("{test}: skipped, this server has no COMMAND DOCS");
    }
    has
}

#[test]
fn the_flags_say_what_a_command_may_do() {
    let server = Server::start();
    let client = &mut server.connect();
    for (name, ..) in COMMANDS {
        let flags = words(&info(client, name).items()[2]);
        let has = |flag: &str| flags.iter().any(|word| word == flag);
        let reads = matches!(name, "DQ.LEN" | "DQ.GET" | "DQ.PEEK" | "DQ.INFO");
        assert_eq!((has("readonly"), has("write")), (reads, !reads), "{name} {flags:?}");
        let may_grow = matches!(name, "DQ.PUSH" | "DQ.MPUSH" | "DQ.MOVE" | "DQ.POLICY");
        if name != "DQ.APPLY" {
            assert_eq!(has("denyoom"), may_grow, "{name} {flags:?}");
        }
        let is_fast = matches!(name, "DQ.PUSH" | "DQ.LEN" | "DQ.GET" | "DQ.INFO");
        assert!(has("fast") || !is_fast, "{name} {flags:?}");
        let is_slow = matches!(name, "DQ.MOVE" | "DQ.APPLY" | "DQ.PURGE" | "DQ.PEEK" | "DQ.REDRIVE");
        assert!(!(has("fast") && is_slow), "{name} {flags:?}");
    }
}

#[test]
fn the_commands_that_can_wait_say_so() {
    let server = Server::start();
    let client = &mut server.connect();
    for (name, ..) in COMMANDS {
        let info = info(client, name);
        let waits = matches!(name, "DQ.CLAIM" | "DQ.MOVE");
        if has_docs(client, name) {
            let flags = words(&info.items()[2]);
            assert_eq!(flags.iter().any(|word| word == "blocking"), waits, "{name} {flags:?}");
        }
        // Servers before 7.2 put a module's commands into no category.
        let categories = words(&info.items()[6]);
        let is_known = categories.iter().any(|word| word == "@write" || word == "@read");
        assert!(
            !is_known || categories.iter().any(|word| word == "@blocking") == waits,
            "{name} {categories:?}"
        );
    }
}

#[test]
fn arity_and_key_positions_are_exact() {
    let server = Server::start();
    let client = &mut server.connect();
    for (name, arity, first, last) in COMMANDS {
        let info = info(client, name);
        let numbers: Vec<i64> = info.items()[3..6].iter().map(Reply::int).collect();
        assert_eq!(numbers, [first, last, 1], "{name}");
        assert_eq!(info.items()[0].string().to_uppercase(), name);
        if has_docs(client, name) {
            assert_eq!(info.items()[1].int(), arity, "{name}");
        }
    }
}

#[test]
fn key_specs_say_what_is_done_with_each_key() {
    let server = Server::start();
    let client = &mut server.connect();
    if !has_docs(client, "key_specs_say_what_is_done_with_each_key") {
        return;
    }
    for (name, expected) in [
        ("DQ.PUSH", vec!["RW insert"]),
        ("DQ.MPUSH", vec!["RW insert"]),
        ("DQ.CLAIM", vec!["RW access delete"]),
        ("DQ.ACK", vec!["RW delete"]),
        ("DQ.CANCEL", vec!["RW delete"]),
        ("DQ.MOVE", vec!["RW access delete", "RW insert"]),
        ("DQ.NACK", vec!["RW update"]),
        ("DQ.EXTEND", vec!["RW update"]),
        ("DQ.RESCHEDULE", vec!["RW update"]),
        ("DQ.REDRIVE", vec!["RW update"]),
        ("DQ.POLICY", vec!["RW update"]),
        ("DQ.PAUSE", vec!["RW update"]),
        ("DQ.RESUME", vec!["RW update"]),
        ("DQ.PURGE", vec!["RW delete"]),
        ("DQ.PEEK", vec!["RO access"]),
        ("DQ.INFO", vec!["RO access"]),
        ("DQ.LEN", vec!["RO access"]),
        ("DQ.GET", vec!["RO access"]),
    ] {
        let info = info(client, name);
        let specs = info.items()[8].items();
        let flags: Vec<String> = specs.iter().map(|spec| words(spec.field("flags")).join(" ")).collect();
        assert_eq!(flags, expected, "{name}");
        assert!(!specs.iter().any(|spec| spec.text().contains("variable")), "{name}: an inexact key spec");
    }
}

#[test]
fn every_command_explains_itself() {
    let server = Server::start();
    let client = &mut server.connect();
    if !has_docs(client, "every_command_explains_itself") {
        return;
    }
    for (name, ..) in COMMANDS {
        let reply = client.done(&format!("COMMAND DOCS {name}"));
        let docs = &reply.items()[1];
        for field in ["summary", "since", "complexity"] {
            assert!(!docs.field(field).bytes().is_empty(), "{name} has no {field}");
        }
        let arguments = docs.field("arguments").items();
        assert_eq!(arguments[0].field("name").string(), if name == "DQ.MOVE" { "source" } else { "key" });
        assert_eq!(*arguments[0].field("type"), "key", "{name}");
    }
}

#[test]
fn the_described_options_are_the_real_ones() {
    let server = Server::start();
    let client = &mut server.connect();
    if !has_docs(client, "the_described_options_are_the_real_ones") {
        return;
    }
    for (name, options) in [
        ("DQ.PUSH", "DELAY AT ID REPLACE KEEPDUE PRIORITY TTL"),
        ("DQ.MPUSH", "DELAY AT REPLACE PRIORITY TTL"),
        ("DQ.CLAIM", "COUNT LEASE"),
        ("DQ.NACK", "DELAY UNUSED DEAD ERROR"),
        ("DQ.EXTEND", "LEASE"),
        ("DQ.RESCHEDULE", "DELAY AT"),
        ("DQ.REDRIVE", "DELAY COUNT ID"),
        ("DQ.POLICY", "LEASE MAXATTEMPTS BACKOFF DEADMAX TTL"),
        ("DQ.PURGE", "WAITING CLAIMED DEAD COUNT"),
        ("DQ.PEEK", "WAITING CLAIMED DEAD COUNT FROM"),
        ("DQ.MOVE", "RPUSH LPUSH XADD MAXLEN ZADD PUSH COUNT AHEAD JSON"),
    ] {
        let text = client.done(&format!("COMMAND DOCS {name}")).text();
        for option in options.split(' ') {
            assert!(text.contains(&format!("token {option}")), "{name} does not describe {option}: {text}");
        }
    }
}

#[test]
fn an_unknown_dq_command_is_unknown() {
    let server = Server::start();
    let client = &mut server.connect();
    assert!(client.refused("DQ.NOSUCH q").contains("unknown command"));
}

#[test]
fn the_readers_run_on_a_replica_and_the_writers_do_not() {
    let (master, replica) = crate::harness::replica::start_pair(&[]);
    master.connect().done("DQ.PUSH q m ID a");
    crate::harness::replica::wait_in_step(&replica, &master);
    let client = &mut replica.connect();
    assert_eq!(client.ask("DQ.LEN q"), "1");
    assert_eq!(*client.ask("DQ.GET q a").field("state"), "waiting");
    assert_eq!(client.ask("DQ.PEEK q").items()[1].items().len(), 1);
    assert_eq!(*client.ask("DQ.INFO q").field("waiting"), "1");
    for line in [
        "DQ.PUSH q m",
        "DQ.MPUSH q DELAY 0 a m",
        "DQ.CLAIM q",
        "DQ.ACK q 1-a",
        "DQ.CANCEL q a",
        "DQ.NACK q 1-a",
        "DQ.EXTEND q LEASE 5 1-a",
        "DQ.RESCHEDULE q a DELAY 5",
        "DQ.REDRIVE q COUNT 5",
        "DQ.POLICY q",
        "DQ.PAUSE q",
        "DQ.RESUME q",
        "DQ.PURGE q DEAD",
        "DQ.MOVE q l",
        "DQ.APPLY q 1 PAUSE 0",
    ] {
        let error = client.refused(line);
        assert!(error.starts_with("READONLY "), "{line}: {error}");
    }
}
