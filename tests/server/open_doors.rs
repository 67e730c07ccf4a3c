//! Fear: a user reaches a key through a queue command that the access rules keep from him, or a proxy cannot
//! see which keys a command touches.

use crate::harness::client::Client;
use crate::harness::server::Server;

/// Each command with its key or keys.
const COMMANDS: [(&str, &str); 25] = [
    ("DQ.PUSH q m", "[q]"),
    ("DQ.PUSH q m ID a REPLACE PRIORITY 3", "[q]"),
    ("DQ.MPUSH q DELAY 0 a m", "[q]"),
    ("DQ.CLAIM q", "[q]"),
    ("DQ.CLAIM q COUNT 5 LEASE 5", "[q]"),
    ("DQ.ACK q 1-a 2-b", "[q]"),
    ("DQ.CANCEL q a b", "[q]"),
    ("DQ.MOVE q p", "[q p]"),
    ("DQ.MOVE q p2 XADD COUNT 5 MAXLEN 5", "[q p2]"),
    ("DQ.MOVE q p3 PUSH AHEAD 5", "[q p3]"),
    ("DQ.NACK q DELAY 5 ERROR e 1-a 2-b", "[q]"),
    ("DQ.EXTEND q LEASE 5 1-a 2-b", "[q]"),
    ("DQ.RESCHEDULE q a DELAY 5", "[q]"),
    ("DQ.REDRIVE q COUNT 5", "[q]"),
    ("DQ.REDRIVE q ID a b", "[q]"),
    ("DQ.POLICY q LEASE 0", "[q]"),
    ("DQ.PAUSE q 0", "[q]"),
    ("DQ.RESUME q", "[q]"),
    ("DQ.PURGE q DEAD COUNT 5", "[q]"),
    ("DQ.PEEK q DEAD", "[q]"),
    ("DQ.INFO q", "[q]"),
    ("DQ.LEN q", "[q]"),
    ("DQ.GET q a", "[q]"),
    ("DQ.APPLY q 1 PUT a m 1600000000000", "[q]"),
    ("DQ.APPLY q 1 REMOVE acked 1 a", "[q]"),
];

/// Those that change nothing.
const READERS: [&str; 4] = ["DQ.LEN q", "DQ.GET q a", "DQ.PEEK q DEAD", "DQ.INFO q"];

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
    for (line, keys) in COMMANDS {
        assert_eq!(client.ask(&format!("COMMAND GETKEYS {line}")), keys, "{line}");
    }
}

#[test]
fn a_user_reaches_only_the_keys_of_his_pattern() {
    let server = Server::start();
    let Some(mut client) = user(&server, "~mine*") else { return };
    for (line, _) in COMMANDS {
        assert_forbidden(&mut client, line, "~mine*");
    }
    let mine = |line: &str| line.replacen(" q", " mine", 1).replacen(" p", " mine2", 1);
    for (line, _) in COMMANDS.iter().filter(|(line, _)| !line.starts_with("DQ.APPLY")) {
        assert_allowed(&mut client, &mine(line), "~mine*");
    }
    assert_forbidden(&mut client, "DQ.MOVE mine other", "~mine*");
    assert_forbidden(&mut client, "DQ.MOVE other mine", "~mine*");
}

#[test]
fn a_reader_of_a_key_cannot_change_it() {
    let server = Server::start();
    let rules = "%R~*";
    let Some(mut client) = user(&server, rules) else { return };
    for (line, _) in COMMANDS {
        match line {
            line if READERS.contains(&line) => assert_allowed(&mut client, line, rules),
            _ => assert_forbidden(&mut client, line, rules),
        }
    }
}

#[test]
fn a_writer_of_a_key_cannot_learn_what_is_in_it() {
    let server = Server::start();
    let rules = "%W~*";
    let Some(mut client) = user(&server, rules) else { return };
    for line in ["DQ.LEN q", "DQ.GET q a", "DQ.CLAIM q", "DQ.CANCEL q a", "DQ.MOVE q p", "DQ.MOVE q p PUSH"] {
        assert_forbidden(&mut client, line, rules);
    }
    for line in ["DQ.PUSH q m", "DQ.MPUSH q DELAY 0 a m", "DQ.ACK q 1-a"] {
        assert_allowed(&mut client, line, rules);
    }
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
    let Some(mut reader) = user(&server, "~* -@write") else { return };
    for (line, _) in COMMANDS {
        match line {
            line if READERS.contains(&line) => assert_allowed(&mut reader, line, "-@write"),
            _ => assert_forbidden(&mut reader, line, "-@write"),
        }
    }
    let Some(mut writer) = user(&server, "~* -@read") else { return };
    for line in READERS {
        assert_forbidden(&mut writer, line, "-@read");
    }
    assert_allowed(&mut writer, "DQ.PUSH q m", "-@read");
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
