//! Fear: another module in the same server, by what it may do, makes a wake get lost or a move write into freed memory.

use crate::harness::client::Client;
use crate::harness::server::{Server, fresh_directory};
use crate::harness::waiting::Waiting;
use std::path::PathBuf;
use std::process::Command;

/// Compiles the module, which is written in C as most are.
fn build() -> PathBuf {
    let module = fresh_directory().join("meddle.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/server/meddling_module/module.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-pthread", "-Wall", "-Wextra", "-o"]).arg(&module).arg(source);
    let output = compiler.output().expect("there is a C compiler: Rust needs one to link");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    module
}

fn start() -> Server {
    Server::with(&[&format!("loadmodule {}", build().display())])
}

#[test]
fn what_another_module_does_in_a_thread_serves_who_waits() {
    let server = start();
    let client: &mut Client = &mut server.connect();
    client.done("DQ.POLICY q");
    client.done("ZADD z 4102444800000 far");
    let mut waiting = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
    client.done("MEDDLE.THREAD DQ.PUSH q m");
    assert_eq!(waiting.message(), "m");
    let mut waiting = Waiting::start(&server, "DQ.CLAIM z BLOCK 0");
    client.done("MEDDLE.THREAD ZADD z 1 due");
    assert_eq!(waiting.reply(), "[due]");
}

#[test]
fn a_source_that_is_deleted_in_the_middle_of_its_move_ends_no_server() {
    let server = start();
    let client = &mut server.connect();
    for _ in 0..20 {
        client.done("MEDDLE.DELETE");
        let jobs: Vec<String> = (0..100).map(|number| format!("0 * m{number}")).collect();
        client.done(&format!("DQ.MPUSH q DELAY {}", jobs.join(" ")));
        client.done("MEDDLE.DELETE q");
        assert_eq!(client.ask("DQ.MOVE q list COUNT 100"), "100");
        assert_eq!(client.ask("EXISTS q"), "0");
    }
    assert_eq!(client.ask("LLEN list"), "2000");
}
