//! Runs the sessions of a page: the blocks in which a line with `> ` is a command, and the lines below it what redis-cli
//! shows.
//!
//! `...` stands for any text within a line. In a command, a word with `...` is the last string of an earlier reply that
//! it fits, such as a receipt. A reader is slower than a test: a claim or a move that finds nothing yet, where the page
//! shows that it finds something, is repeated.

use crate::harness::client::Client;
use crate::harness::eventually::{DEADLINE, became_true};
use crate::harness::reply::Reply;
use crate::harness::server::Server;
use crate::page::{Block, Page};
use crate::terminal::{show, split};

const DOTS: &str = "...";

struct Step<'a> {
    /// Where the command stands in the page.
    line: usize,
    command: &'a str,
    shown: Vec<&'a str>,
}

/// Runs all sessions of a page on a fresh server; returns what came out differently.
#[track_caller]
pub fn faults_of(page: &Page) -> Vec<String> {
    let server = Server::start();
    faults_with(page, &mut server.connect())
}

/// Runs all sessions of a page through `client`; returns what came out differently.
#[track_caller]
pub fn faults_with(page: &Page, client: &mut Client) -> Vec<String> {
    let blocks = page.blocks("redis");
    assert!(!blocks.is_empty(), "{} shows no session", page.path);
    let mut strings = Vec::new();
    let mut faults = Vec::new();
    for step in blocks.iter().flat_map(|block| steps(block, &page.path)) {
        let reply = run(&step, &strings, client);
        collect_strings(&reply, &mut strings);
        let got = show(&reply);
        if !is_as_shown(&got, &step.shown) {
            let Step { line, command, shown } = &step;
            let (shown, got) = (shown.join("\n"), got.join("\n"));
            faults.push(format!("{}:{line}: {command}\n-- shown:\n{shown}\n-- got:\n{got}", page.path));
        }
    }
    faults
}

#[track_caller]
fn steps<'a>(block: &Block<'a>, path: &str) -> Vec<Step<'a>> {
    let mut steps: Vec<Step<'a>> = Vec::new();
    for (offset, text) in block.lines.iter().enumerate() {
        let line = block.first_line + offset;
        match (text.strip_prefix("> "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { line, command, shown: Vec::new() }),
            (None, Some(step)) if !text.is_empty() => step.shown.push(text.trim_end()),
            (None, Some(_)) => {}
            (None, None) => panic!("{path}:{line}: a session begins with '> ' and a command"),
        }
    }
    steps
}

fn run(step: &Step<'_>, strings: &[String], client: &mut Client) -> Reply {
    let words = split(step.command).unwrap_or_else(|| panic!("open quotes in {}", step.command));
    let words: Vec<Vec<u8>> = words.into_iter().map(|word| completed(word, strings)).collect();
    let mut reply = client.call(&words);
    let waits = ["DQ.CLAIM ", "DQ.MOVE "].iter().any(|name| step.command.starts_with(name));
    let found_nothing = |reply: &Reply| *reply == Reply::Array(Vec::new()) || *reply == Reply::Int(0);
    if waits && found_nothing(&reply) && !is_as_shown(&show(&reply), &step.shown) {
        became_true(DEADLINE, &mut || {
            reply = client.call(&words);
            !found_nothing(&reply)
        });
    }
    reply
}

/// A word with dots as the last string that it fits; any other as it is.
fn completed(word: Vec<u8>, strings: &[String]) -> Vec<u8> {
    let text = String::from_utf8_lossy(&word);
    let found = strings.iter().rev().find(|string| text.contains(DOTS) && fits(string, &text));
    found.map_or(word.clone(), |string| string.clone().into_bytes())
}

fn collect_strings(reply: &Reply, strings: &mut Vec<String>) {
    match reply {
        Reply::Bulk(bytes) => strings.push(String::from_utf8_lossy(bytes).into_owned()),
        Reply::Array(items) => items.iter().for_each(|item| collect_strings(item, strings)),
        _ => {}
    }
}

fn is_as_shown(got: &[String], shown: &[&str]) -> bool {
    got.len() == shown.len() && got.iter().zip(shown).all(|(got, shown)| fits(got, shown))
}

/// Tells whether `text` is `pattern` with something in the place of each run of dots.
fn fits(text: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once(DOTS) else { return text == pattern };
    let Some(text) = text.strip_prefix(start) else { return false };
    let places = text.char_indices().map(|(at, letter)| at + letter.len_utf8());
    places.into_iter().any(|at| fits(&text[at..], rest))
}

#[test]
fn dots_stand_for_any_text_within_a_line() {
    for (text, pattern) in
        [("abc", "abc"), ("abc", "a..."), ("abc", "...c"), ("abc", "..."), ("a-b-c", "...-b-...")]
    {
        assert!(fits(text, pattern), "{text} {pattern}");
    }
    for (text, pattern) in [("abc", "ab"), ("abc", "abc..."), ("abc", "...b"), ("", "..."), ("a-b", "...-c")]
    {
        assert!(!fits(text, pattern), "{text} {pattern}");
    }
    assert_eq!(completed(b"...-a".to_vec(), &["1-a".into(), "2-a".into(), "3-b".into()]), b"2-a");
    assert_eq!(completed(b"and so on...".to_vec(), &["1-a".into()]), b"and so on...");
}
