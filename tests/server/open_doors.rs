//! Fear: a user reaches a key through a queue command that the access rules keep from him, or a proxy cannot
//! see which keys a command touches.

use crate::harness::client::Client;
use crate::harness::server::Server;
use std::collections::BTreeSet;

/// Which permission a command needs on its keys. A move needs both on its source and to write its destination.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Need {
    Read,
    Write,
    Both,
}

use Need::{Both, Read, Write};

/// Each command with its key or keys and what it needs.
const COMMANDS: [(&str, &str, Need); 25] = [
    ("DQ.PUSH q m", "[q]", Write),
    ("DQ.PUSH q m ID a REPLACE PRIORITY 3", "[q]", Write),
    ("DQ.MPUSH q DELAY 0 a m", "[q]", Write),
    ("DQ.CLAIM q", "[q]", Both),
    ("DQ.CLAIM q COUNT 5 LEASE 5", "[q]", Both),
    ("DQ.ACK q 1-a 2-b", "[q]", Write),
    ("DQ.CANCEL q a b", "[q]", Write),
    ("DQ.MOVE q p", "[q p]", Both),
    ("DQ.MOVE q p2 XADD COUNT 5 MAXLEN 5", "[q p2]", Both),
    ("DQ.MOVE q p3 PUSH AHEAD 5", "[q p3]", Both),
    ("DQ.NACK q DELAY 5 ERROR e 1-a 2-b", "[q]", Write),
    ("DQ.EXTEND q LEASE 5 1-a 2-b", "[q]", Write),
    ("DQ.RESCHEDULE q a DELAY 5", "[q]", Write),
    ("DQ.REDRIVE q COUNT 5", "[q]", Write),
    ("DQ.REDRIVE q ID a b", "[q]", Write),
    ("DQ.POLICY q LEASE 0", "[q]", Write),
    ("DQ.PAUSE q 0", "[q]", Write),
    ("DQ.RESUME q", "[q]", Write),
    ("DQ.PURGE q DEAD COUNT 5", "[q]", Write),
    ("DQ.PEEK q DEAD", "[q]", Read),
    ("DQ.INFO q", "[q]", Read),
    ("DQ.LEN q", "[q]", Read),
    ("DQ.GET q a", "[q]", Read),
    ("DQ.APPLY q 1 PUT a m 1600000000000", "[q]", Write),
    ("DQ.APPLY q 1 REMOVE acked 1 a", "[q]", Write),
];

/// A connection as a user with all commands and these key rules; None where the server has no such rules.
fn user(server: &Server, rules: &str) -> Option<Client> {
    let client = &mut server.connect();
    let created = client.ask(&format!("ACL SETUSER someone reset on nopass +@all {rules}"));
    if created.is_error() {
        eprintln!("skipped: this server does not know the rules {rules}: {created}");
        return None;
    }
    let mut connection = server.connect();
    connection.done("AUTH someone any");
    Some(connection)
}

#[track_caller]
fn assert_forbidden(client: &mut Client, line: &str, rules: &str) {
    let error = client.refused(line);
    assert!(error.starts_with("NOPERM "), "{line} with {rules}: {error}");
}

#[track_caller]
fn assert_allowed(client: &mut Client, line: &str, rules: &str) {
    let reply = client.ask(line);
    assert!(!reply.is_error(), "{line} with {rules}: {reply}");
}

#[test]
fn every_key_is_visible_to_getkeys() {
    let server = Server::start();
    let client = &mut server.connect();
    for (line, keys, _) in COMMANDS {
        assert_eq!(client.ask(&format!("COMMAND GETKEYS {line}")), keys, "{line}");
    }
}

#[test]
fn a_user_reaches_only_the_keys_of_his_pattern() {
    let server = Server::start();
    let Some(mut client) = user(&server, "~mine*") else { return };
    for (line, ..) in COMMANDS {
        assert_forbidden(&mut client, line, "~mine*");
    }
    let mine = |line: &str| line.replacen(" q", " mine", 1).replacen(" p", " mine2", 1);
    for (line, ..) in COMMANDS {
        assert_allowed(&mut client, &mine(line), "~mine*");
    }
    assert_forbidden(&mut client, "DQ.MOVE mine other", "~mine*");
    assert_forbidden(&mut client, "DQ.MOVE other mine", "~mine*");
}

/// Sends every command as a user with `rules`; only those whose need is `allowed` may run.
#[track_caller]
fn assert_only(rules: &str, allowed: &[Need]) {
    let server = Server::start();
    server.connect().done("DQ.PUSH q m");
    let Some(mut client) = user(&server, rules) else { return };
    for (line, _, need) in COMMANDS {
        if allowed.contains(&need) {
            assert_allowed(&mut client, line, rules);
        } else {
            assert_forbidden(&mut client, line, rules);
        }
    }
}

#[test]
fn a_reader_of_all_keys_gets_what_reads_and_nothing_else() {
    assert_only("%R~*", &[Read]);
}

#[test]
fn a_writer_of_all_keys_cannot_learn_what_is_in_them() {
    assert_only("%W~*", &[Write]);
}

#[test]
fn who_reads_and_writes_gets_everything_and_who_does_neither_nothing() {
    assert_only("%RW~*", &[Read, Write, Both]);
    assert_only("%R~* %W~*", &[Read, Write, Both]);
    assert_only("%RW~other", &[]);
}

#[test]
fn no_command_is_left_out_of_these_tests() {
    let server = Server::start();
    let all = server.connect().done("COMMAND");
    let names = all.items().iter().map(|command| command.items()[0].string().to_uppercase());
    let known: BTreeSet<String> = names.filter(|name| name.starts_with("DQ.")).collect();
    let tried = COMMANDS.iter().filter_map(|(line, ..)| line.split(' ').next());
    assert_eq!(known, tried.map(str::to_owned).collect());
}

#[test]
fn a_move_needs_the_source_read_and_written_and_the_destination_written() {
    let server = Server::start();
    for (rules, allowed) in [
        ("%RW~q %RW~p", true),
        ("%R~q %RW~p", false),
        ("%W~q %RW~p", false),
        ("%RW~q %R~p", false),
        ("%RW~q", false),
        ("%RW~p", false),
    ] {
        let Some(mut client) = user(&server, rules) else { return };
        for verb in ["", "XADD", "ZADD", "PUSH"] {
            let line = format!("DQ.MOVE q p {verb}");
            if allowed {
                assert_allowed(&mut client, &line, rules);
            } else {
                assert_forbidden(&mut client, &line, rules);
            }
        }
    }
}

/// Whether this server gives a module's commands categories: from the release on that has CLIENT NO-TOUCH.
fn has_categories(server: &Server, test: &str) -> bool {
    let has = !server.connect().ask("CLIENT NO-TOUCH OFF").is_error();
    if !has {
        eprintln!("{test}: skipped, this server gives module commands no categories");
    }
    has
}

#[test]
fn categories_tell_readers_from_writers() {
    let server = Server::start();
    if !has_categories(&server, "categories_tell_readers_from_writers") {
        return;
    }
    for (rules, reads) in [("~* -@write", true), ("~* -@read", false)] {
        server.connect().done("DQ.PUSH q m");
        let Some(mut client) = user(&server, rules) else { return };
        for (line, _, need) in COMMANDS {
            if (need == Read) == reads {
                assert_allowed(&mut client, line, rules);
            } else {
                assert_forbidden(&mut client, line, rules);
            }
        }
    }
}

#[test]
fn apply_is_a_dangerous_command() {
    let server = Server::start();
    if !has_categories(&server, "apply_is_a_dangerous_command") {
        return;
    }
    let Some(mut user) = user(&server, "~* -@dangerous") else { return };
    assert_forbidden(&mut user, "DQ.APPLY q 1 PUT a m 1600000000000", "-@dangerous");
    assert_allowed(&mut user, "DQ.PUSH q m", "-@dangerous");
}

#[test]
fn a_script_cannot_reach_a_key_that_its_user_cannot() {
    let server = Server::start();
    let Some(mut client) = user(&server, "~mine*") else { return };
    let script = "return redis.call('DQ.PUSH', 'theirs', 'm')";
    let reply = client.call(&["EVAL", script, "0"]);
    assert!(reply.is_error(), "{reply}");
    assert_eq!(server.connect().ask("EXISTS theirs"), "0");
}
