//! What the README and the pages in docs/ show and say, held against a real server: each session is run, each page's
//! head is compared with what the server tells of the command, each link is followed.
//!
//! Server and module are found as in the server tests; see `harness::server_binary`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "server/harness/mod.rs"]
#[allow(dead_code, reason = "it is made for the server tests; these need a part of it")]
mod harness;

#[path = "docs/command.rs"]
mod command;
#[path = "docs/page.rs"]
mod page;
#[path = "docs/session.rs"]
mod session;
#[path = "docs/settings.rs"]
mod settings;
#[path = "docs/terminal.rs"]
mod terminal;

use crate::command::{Docs, registered};
use crate::harness::dump::split_footer;
use crate::harness::server::Server;
use crate::page::{Page, capitals, command_pages};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const README: &str = "README.md";
const FORMAT: &str = "docs/format.md";
const EVENTS: &str = "docs/events.md";
const MONITORING: &str = "docs/monitoring.md";
/// Pages whose sessions run on a server that has nothing but the module.
const PAGES_WITH_SESSIONS: [&str; 4] = [README, EVENTS, "docs/cluster.md", "docs/operations.md"];

#[track_caller]
fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n\n"));
}

#[test]
fn the_readme_and_the_pages_on_running_it_show_what_happens() {
    let page = |path| Page::read(path).unwrap_or_else(|| panic!("{path} is there"));
    let faults: Vec<String> =
        PAGES_WITH_SESSIONS.iter().flat_map(|path| session::faults_of(&page(path))).collect();
    assert_none(&faults);
}

#[test]
fn every_command_page_shows_what_happens() {
    let faults: Vec<String> = command_pages().iter().flat_map(session::faults_of).collect();
    assert_none(&faults);
}

#[test]
fn every_command_has_a_page_and_every_page_a_command() {
    let server = Server::start();
    let names: BTreeSet<String> = registered(&mut server.connect()).into_iter().collect();
    let titles: BTreeSet<String> = command_pages().iter().map(|page| page.title().to_owned()).collect();
    assert!(!names.is_empty(), "the server knows no command of the module");
    assert_eq!(names, titles);
}

#[test]
fn a_pages_syntax_names_the_options_that_the_server_knows() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut faults = Vec::new();
    for page in command_pages() {
        let Some(docs) = Docs::of(client, page.title()) else { return };
        let (written, known) = (capitals(page.syntax(), page.title()), docs.tokens());
        if written != known {
            faults.push(format!("{}: the syntax has {written:?}, COMMAND DOCS {known:?}", page.path));
        }
    }
    assert_none(&faults);
}

#[test]
fn a_pages_head_says_what_the_server_says() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut faults = Vec::new();
    for page in command_pages() {
        let Some(docs) = Docs::of(client, page.title()) else { return };
        for (name, said) in docs.said() {
            let written = page.fact(name);
            if written != said {
                faults.push(format!("{}: '{name}: {written}', but the server says '{said}'", page.path));
            }
        }
        for (name, parts) in docs.contained() {
            let written = page.fact(name);
            if !parts.iter().all(|part| written.contains(part.as_str())) {
                faults.push(format!("{}: '{name}: {written}', but the server says {parts:?}", page.path));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn every_link_leads_somewhere() {
    let mut paths: Vec<String> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs"))
        .expect("there are docs")
        .map(|entry| format!("docs/{}", entry.expect("an entry").file_name().display()))
        .filter(|path| path.ends_with(".md"))
        .collect();
    paths.extend(
        ["README.md", "CONTRIBUTING.md", "bench/README.md", "examples/clients/README.md"].map(String::from),
    );
    let others = paths.iter().map(|path| Page::read(path).unwrap_or_else(|| panic!("{path} is there")));
    let mut faults = Vec::new();
    for page in others.chain(command_pages()) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(&page.path);
        let folder = folder.parent().expect("a page is in a folder");
        for link in page.links() {
            if !folder.join(link).exists() {
                faults.push(format!("{}: {link} is not there", page.path));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn the_examples_of_the_format_are_what_the_server_writes() {
    let page = Page::read(FORMAT).expect("docs/format.md is there");
    let server = Server::with(&["rdbcompression no"]);
    let client = &mut server.connect();
    assert_none(&session::faults_with(&page, client));
    let dump = client.done("DUMP jobs");
    let (value, _) = split_footer(dump.bytes());
    let [example] = &page.blocks("hex")[..] else { panic!("{FORMAT} has one block of hex") };
    assert_eq!(example.hex(), value, "docs/format.md explains other bytes than these: {}", shown(value));
}

#[test]
fn every_event_is_explained_and_every_explained_one_is_fired() {
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/notify.rs"));
    let source = source.expect("src/notify.rs is there");
    let fired = source.split("c\"").skip(1).filter_map(|rest| rest.split('"').next());
    let fired: BTreeSet<&str> = fired.filter(|name| name.starts_with("dq.")).collect();
    let page = Page::read(EVENTS).expect("docs/events.md is there");
    assert!(!fired.is_empty(), "src/notify.rs names no events");
    assert_eq!(fired, page.named_in_rows().into_iter().collect());
}

#[test]
fn every_field_of_the_section_is_explained() {
    let server = Server::start();
    let section = server.connect().done("INFO dq").string();
    let fields: Vec<&str> =
        section.lines().filter_map(|line| line.split_once(':')).map(|pair| pair.0).collect();
    let page = Page::read(MONITORING).expect("docs/monitoring.md is there");
    let explained: Vec<&str> =
        page.named_in_rows().into_iter().filter(|name| name.starts_with("dq_")).collect();
    assert_eq!(fields, explained);
}

fn shown(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
