//! What a server has written to its append-only files, as a list of commands.
//!
//! Reads the folder of Redis 7.0 and later (manifest, base, increments) and the single file of 6.2; an RDB
//! base or preamble is skipped. Servers under test run with `appendfsync always`, so that what was answered
//! is in the file.

use crate::harness::client::Client;
use crate::harness::dump::Crc64;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::reply::Reply;
use crate::harness::server::Server;
use crate::harness::wire::{read_line, read_reply};
use std::fs;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// The configuration that these functions need.
pub const AOF: [&str; 2] = ["appendonly yes", "appendfsync always"];

/// One command as it stands in the file.
pub type Command = Vec<Vec<u8>>;

/// All commands in all current files, oldest first, without SELECT.
#[track_caller]
pub fn commands(server: &Server) -> Vec<Command> {
    let mut all = Vec::new();
    for file in files(server.directory()) {
        let bytes = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        all.extend(parse(&bytes[preamble_length(&bytes)..]));
    }
    all.retain(|command| !command[0].eq_ignore_ascii_case(b"SELECT"));
    all
}

/// Each command as one line of words, escaped and quoted as `Reply::text` does it.
#[track_caller]
pub fn lines(server: &Server) -> Vec<String> {
    commands(server).into_iter().map(line).collect()
}

/// The lines that `work` adds.
#[track_caller]
pub fn lines_written_by(server: &Server, work: impl FnOnce(&mut Client)) -> Vec<String> {
    let before = commands(server).len();
    work(&mut server.connect());
    lines(server).split_off(before)
}

/// The lines that `work` adds, without the MULTI and EXEC around them.
#[track_caller]
pub fn effects_written_by(server: &Server, work: impl FnOnce(&mut Client)) -> Vec<String> {
    let mut lines = lines_written_by(server, work);
    lines.retain(|line| !line.eq_ignore_ascii_case("MULTI") && !line.eq_ignore_ascii_case("EXEC"));
    lines
}

/// Rewrites the files from memory and waits until that is done.
#[track_caller]
pub fn rewrite(server: &Server) {
    server.connect().done("BGREWRITEAOF");
    wait_until_rewritten(server);
}

/// Waits until no rewrite is going on or waiting.
#[track_caller]
pub fn wait_until_rewritten(server: &Server) {
    let mut client = server.connect();
    eventually("the AOF is rewritten", DEADLINE, || {
        let mut is = |field: &str, value: &str| client.info("persistence", field) == value;
        is("aof_rewrite_in_progress", "0") && is("aof_rewrite_scheduled", "0")
    });
    let status = client.info("persistence", "aof_last_bgrewrite_status");
    assert_eq!(status, "ok", "the AOF is not rewritten; see the log");
}

fn line(command: Command) -> String {
    let words: Vec<_> = command.into_iter().map(|word| bare_digits(Reply::Bulk(word))).collect();
    words.join(" ")
}

/// In a command there are no integers to mistake a string of digits for.
fn bare_digits(word: Reply) -> String {
    let text = word.text();
    let inner = text.trim_matches('"');
    if !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit()) { inner.to_owned() } else { text }
}

/// The files in the order in which they are to be read.
fn files(directory: &Path) -> Vec<PathBuf> {
    let folder = directory.join("appendonlydir");
    let Ok(manifest) = fs::read_to_string(folder.join("appendonly.aof.manifest")) else {
        return vec![directory.join("appendonly.aof")];
    };
    let mut found = Vec::new();
    for entry in manifest.lines() {
        let words: Vec<&str> = entry.split_whitespace().collect();
        // A file of type h is history that waits to be deleted.
        if let ["file", name, "seq", _, "type", "b" | "i", ..] = words[..] {
            found.push(folder.join(name));
        }
    }
    found
}

/// How many bytes of RDB stand before the commands.
///
/// An RDB ends with 0xFF and the checksum of all before, so its end is where that checksum is right.
fn preamble_length(bytes: &[u8]) -> usize {
    if !bytes.starts_with(b"REDIS") && !bytes.starts_with(b"VALKEY") {
        return 0;
    }
    let mut crc = Crc64::default();
    for (index, byte) in bytes.iter().enumerate() {
        crc.add(*byte);
        let end = index + 9;
        if *byte == 0xff && bytes.get(index + 1..end) == Some(&crc.sum.to_le_bytes()[..]) {
            return end;
        }
    }
    panic!("an RDB preamble without its end");
}

fn parse(mut rest: &[u8]) -> Vec<Command> {
    let mut commands = Vec::new();
    while !rest.is_empty() {
        if rest.starts_with(b"#") {
            read_line(&mut rest).expect("an annotation is a line");
            continue;
        }
        commands.push(parse_one(&mut rest));
    }
    commands
}

fn parse_one(rest: &mut impl BufRead) -> Command {
    let reply = read_reply(rest).expect("the AOF holds whole commands");
    reply.items().iter().map(|word| word.bytes().to_vec()).collect()
}
