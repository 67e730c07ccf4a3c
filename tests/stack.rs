//! DQ inside Redis Stack, beside the modules that it brings: search, JSON, time series, Bloom filters, Gears.
//!
//! `make test-stack` fetches Stack into .servers/stack and runs these tests on each version there. A plain `cargo test`
//! lists them as ignored.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "server/harness/mod.rs"]
#[allow(dead_code, reason = "it is made for the server tests; these need a part of it")]
mod harness;

#[path = "stack/foreign_server.rs"]
mod foreign_server;
#[path = "docs/page.rs"]
#[allow(dead_code, reason = "these tests read one page")]
mod page;
#[path = "docs/session.rs"]
#[allow(dead_code, reason = "these tests run sessions on servers of their own")]
mod session;
#[path = "docs/terminal.rs"]
#[allow(dead_code, reason = "these tests need a part of it")]
mod terminal;

use crate::foreign_server::ForeignServer;
use crate::harness::client::Client;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::queue::{PAST, claim_one};
use crate::harness::server_binary::module_path;
use crate::page::Page;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = "docs/redis-stack.md";
const STACK_MODULES: [&str; 6] = ["RedisCompat", "search", "timeseries", "ReJSON", "bf", "redisgears_2"];

fn servers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(".servers")
}

/// The folders of all versions of Redis Stack that were fetched.
#[track_caller]
fn stacks() -> Vec<PathBuf> {
    let entries = fs::read_dir(servers().join("stack")).into_iter().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    assert!(!found.is_empty(), "there is no Redis Stack in .servers/stack: make servers fetches it");
    found
}

/// A command that finds the old OpenSSL that Stack's modules are linked against.
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", servers().join("openssl-1.1"));
    command
}

/// Stack's own configuration, its modules in `stack` instead of /opt/redis-stack, and one more line before theirs.
fn configuration(stack: &Path) -> String {
    let own = fs::read_to_string(stack.join("etc/redis-stack-service.conf")).unwrap();
    let own = own.replace("/opt/redis-stack", stack.to_str().unwrap());
    format!("loadmodule {} max-count 5000\n{own}\n", module_path().display())
}

/// The start script with what REDIS_ARGS holds at the end, where the container's entry point puts it.
fn start_script(stack: &Path) -> Command {
    let arguments = format!("--loadmodule {} max-count 5000", module_path().display());
    let mut shell = command(Path::new("bash"));
    shell.args(["-c", "exec \"$0\" ${REDIS_ARGS} \"$@\""]).arg(stack.join("bin/redis-stack-server"));
    shell.env("REDIS_ARGS", arguments);
    shell
}

#[track_caller]
fn assert_all_are_loaded(client: &mut Client) {
    let list = client.done("MODULE LIST");
    let mut names: Vec<String> = list.items().iter().map(|module| module.field("name").string()).collect();
    let mut expected: Vec<String> = STACK_MODULES.iter().map(|name| (*name).to_owned()).collect();
    expected.push("dq".to_owned());
    names.sort();
    expected.sort();
    assert_eq!(names, expected);
    let refused = client.refused("DQ.CLAIM none COUNT 5001");
    assert!(refused.contains("5000"), "the module's arguments did not reach it: {refused}");
}

/// A document, an index over it, and a job that carries it: each module does its part.
#[track_caller]
fn assert_they_work_together(client: &mut Client) {
    let document = r#"{"to":"ada","urgent":true}"#;
    client.call(&["FT.CREATE", "mails", "ON", "JSON", "SCHEMA", "$.to", "AS", "to", "TAG"]);
    assert_eq!(client.call(&["JSON.SET", "mail:1", "$", document]), "OK");
    let message = client.done("JSON.GET mail:1");
    let at = PAST.to_string();
    let pushed = client.call(&["DQ.PUSH", "due", &message.string(), "AT", &at, "ID", "mail:1"]);
    assert_eq!(pushed, "[mail:1 created]");
    let delivery = claim_one(client, "due LEASE 100000000");
    assert_eq!(delivery.message, message.bytes());
    let found = || client.ask("FT.SEARCH mails @to:{ada} NOCONTENT") == "[1 mail:1]";
    eventually("the document is indexed", DEADLINE, found);
    client.done("BF.ADD seen mail:1");
    client.done("TS.ADD sent 1600000000000 1");
    assert_eq!(client.ask(&format!("DQ.ACK due {}", delivery.receipt())), "[1]");
}

/// One step inside the server: the script pushes what JSON.GET gives, a move embeds it as JSON.
#[track_caller]
fn assert_scripts_and_moves_carry_documents(client: &mut Client) {
    client.call(&["JSON.SET", "mail:2", "$", r#"{"to":"bob"}"#]);
    let script = "return redis.call('DQ.PUSH', KEYS[1], redis.call('JSON.GET', KEYS[2]), 'ID', KEYS[2])";
    let pushed = client.call(&["EVAL", script, "2", "due", "mail:2"]);
    assert_eq!(pushed, "[mail:2 created]");
    assert_eq!(client.ask("DQ.MOVE due outbox RPUSH JSON"), "1");
    let moved = client.done("LPOP outbox");
    let parsed: serde_json::Value = serde_json::from_slice(moved.bytes()).unwrap();
    assert_eq!(parsed["msg"]["to"], "bob");
    assert_eq!(client.call(&["JSON.SET", "moved", "$", &moved.string()]), "OK");
    assert_eq!(client.ask("JSON.GET moved $.msg.to").string(), r#"["bob"]"#);
}

#[ignore = "make test-stack fetches Redis Stack"]
#[test]
fn a_loadmodule_line_brings_it_beside_the_stacks_modules() {
    for stack in stacks() {
        let folder = harness::server::fresh_directory();
        let path = folder.join("redis-stack.conf");
        fs::write(&path, configuration(&stack)).unwrap();
        let with_line = || {
            let mut command = command(&stack.join("bin/redis-server"));
            command.arg(&path);
            command
        };
        let mut server = ForeignServer::start(with_line());
        assert_all_are_loaded(&mut server.connect());
        assert_they_work_together(&mut server.connect());
        assert_scripts_and_moves_carry_documents(&mut server.connect());
        server.connect().done("DQ.PUSH kept m ID a AT 1600000000000 PRIORITY 9");
        let before = server.connect().done("DQ.GET kept a");
        server.start_again(with_line());
        let client = &mut server.connect();
        assert_all_are_loaded(client);
        assert_eq!(client.done("DQ.GET kept a"), before);
        assert_eq!(client.ask("JSON.GET mail:2 $.to").string(), r#"["bob"]"#);
        fs::remove_dir_all(folder).unwrap();
    }
}

#[ignore = "make test-stack fetches Redis Stack"]
#[test]
fn redis_args_bring_it_through_the_stacks_own_start_script() {
    for stack in stacks() {
        let mut server = ForeignServer::start(start_script(&stack));
        assert_all_are_loaded(&mut server.connect());
        assert_they_work_together(&mut server.connect());
        assert_scripts_and_moves_carry_documents(&mut server.connect());
        server.connect().done("DQ.PUSH kept m ID a");
        server.start_again(start_script(&stack));
        assert_eq!(server.connect().ask("DQ.LEN kept"), "1");
    }
}

#[ignore = "make test-stack fetches Redis Stack"]
#[test]
fn the_page_shows_what_happens() {
    let page = Page::read(PAGE).expect("docs/redis-stack.md is there");
    for stack in stacks() {
        let server = ForeignServer::start(start_script(&stack));
        let faults = session::faults_with(&page, &mut server.connect());
        assert!(faults.is_empty(), "{}:\n{}", stack.display(), faults.join("\n\n"));
    }
}
