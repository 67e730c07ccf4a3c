//! Whether module.conf and the README say of each setting what the server says.

use crate::README;
use crate::harness::client::Client;
use crate::harness::server::Server;
use crate::page::Page;
use std::collections::BTreeMap;

const CONFIGURATION: &str = "module.conf";

/// What module.conf says of a setting.
#[derive(Debug)]
struct Entry {
    name: String,
    min: u64,
    max: u64,
    default: u64,
    /// What its commented line would set.
    line: u64,
}

/// The entries of module.conf: `name: ...`, a line with `MIN .. MAX. Default: N`, and then `dq.name N`.
#[track_caller]
fn entries() -> Vec<Entry> {
    let page = Page::read(CONFIGURATION).expect("module.conf is there");
    let mut entries = Vec::new();
    let mut facts = None;
    for text in page.lines().filter_map(|line| line.strip_prefix("# ")) {
        if let Some((range, default)) = text.split_once(". Default: ") {
            let words: Vec<&str> = range.split(' ').collect();
            let [.., min, "..", max] = words[..] else { panic!("no range: {text}") };
            facts = Some([min, max, default.split(' ').next().unwrap_or_default()].map(number));
        } else if let Some((name, line)) = text.strip_prefix("dq.").and_then(|rest| rest.split_once(' ')) {
            let [min, max, default] = facts.take().unwrap_or_else(|| panic!("no range before {text}"));
            entries.push(Entry { name: name.to_owned(), min, max, default, line: number(line) });
        }
    }
    entries
}

#[track_caller]
fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("not a number: {text}"))
}

/// The settings that the server knows, with their values; None where it knows none of modules.
#[track_caller]
fn known(client: &mut Client, test: &str) -> Option<BTreeMap<String, u64>> {
    if client.ask("COMMAND DOCS PING").is_error() {
        eprintln!("{test}: skipped, this server knows no settings of modules");
        return None;
    }
    let reply = client.done("CONFIG GET dq.*");
    let pairs = reply.items().chunks_exact(2);
    Some(pairs.map(|pair| (pair[0].string().replacen("dq.", "", 1), number(&pair[1].string()))).collect())
}

#[test]
fn every_setting_is_in_module_conf_with_its_range_and_default() {
    let server = Server::start();
    let client = &mut server.connect();
    let Some(known) = known(client, "every_setting_is_in_module_conf_with_its_range_and_default") else {
        return;
    };
    let entries = entries();
    let written = entries.iter().map(|entry| (entry.name.clone(), entry.default)).collect();
    assert_eq!(known, written);
    for Entry { name, min, max, default, line } in entries {
        assert_eq!(default, line, "{name}");
        let mut is_taken = |value: i128| !client.ask(&format!("CONFIG SET dq.{name} {value}")).is_error();
        assert!(is_taken(i128::from(min)) && is_taken(i128::from(max)), "{name}: the ends of its range");
        assert!(!is_taken(i128::from(min) - 1) && !is_taken(i128::from(max) + 1), "{name}: beyond its range");
    }
}

#[test]
fn every_setting_is_in_the_readme_with_its_default() {
    let page = Page::read(README).expect("the README is there");
    for Entry { name, default, .. } in entries() {
        let row = page.rows().find(|row| row.contains(&format!("`{name}`")));
        let row = row.unwrap_or_else(|| panic!("{README} has no {name}"));
        assert!(row.contains(&format!(" {} ", with_commas(default))), "{name} is {default}: {row}");
    }
}

/// A number as the README writes it: `10,000`.
fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<String> =
        digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned()).collect();
    groups.join(",")
}
