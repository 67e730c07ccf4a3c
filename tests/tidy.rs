//! The house rules as a test: sizes, names, imports and words that a compiler does not look at.
//!
//! It reads the project's own sources. Each rule names the file (and line) that breaks it; the rules
//! themselves are those of CONTRIBUTING.md.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::{Path, PathBuf};

const FILE_LINES_MAX: usize = 400;
const FUNCTION_LINES_MAX: usize = 60;
const FORBIDDEN_NAMES: [&str; 10] =
    ["utils", "helpers", "common", "misc", "manager", "handler", "impl", "base", "core", "types"];

/// A source file with its path from the project's root.
struct Source {
    path: String,
    text: String,
}

impl Source {
    fn is_under(&self, folder: &str) -> bool {
        self.path.starts_with(folder)
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The lines before the file's own test module, with their numbers.
    fn lines_before_tests(&self) -> Vec<(usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(index, line)| (index + 1, line));
        lines.take_while(|(_, line)| *line != "#[cfg(test)]").collect()
    }

    /// The lines that hold code, with their numbers; whole-line comments are left out.
    fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All text files of the project, except what is built, fetched or recorded.
fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    collect(root(), &mut found);
    assert!(
        found.iter().any(|source| source.path == "src/lib.rs"),
        "the sources are not where they should be"
    );
    found
}

fn collect(folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().expect("file names are text").to_owned();
        if path.is_dir() {
            let is_skipped = name.starts_with('.')
                || ["target", "data", "corpus", "artifacts", "node_modules"].contains(&name.as_str());
            if !is_skipped {
                collect(&path, found);
            }
        } else if let Ok(text) = fs::read_to_string(&path) {
            let path = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            found.push(Source { path, text });
        }
    }
}

fn rust_sources() -> Vec<Source> {
    sources().into_iter().filter(Source::is_rust).collect()
}

#[track_caller]
fn assert_none(broken: &[String], rule: &str) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

/// The code lines in which `is_bad` finds something, as `path:number: line`.
fn lines_with(sources: &[Source], is_bad: impl Fn(&Source, &str) -> bool) -> Vec<String> {
    let mut broken = Vec::new();
    for source in sources {
        for (number, line) in source.code_lines().filter(|(_, line)| is_bad(source, line)) {
            broken.push(format!("{}:{number}: {}", source.path, line.trim()));
        }
    }
    broken
}

#[test]
fn a_file_is_short_enough_to_be_read() {
    let mut broken = Vec::new();
    for source in rust_sources() {
        let count = source.lines_before_tests().len();
        if count > FILE_LINES_MAX {
            broken.push(format!("{}: {count} lines", source.path));
        }
    }
    assert_none(&broken, "a file has at most 400 lines before its tests");
}

#[test]
fn a_function_is_short_enough_to_be_seen_at_once() {
    let mut broken = Vec::new();
    for source in rust_sources() {
        for (line, length) in functions(&source.text) {
            if length > FUNCTION_LINES_MAX {
                broken.push(format!("{}:{line}: {length} lines", source.path));
            }
        }
    }
    assert_none(&broken, "a function has at most 60 lines");
}

/// Each function's first line and its length; as rustfmt lays them out, it ends with a brace in its column.
fn functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| starts_function(line)) {
        let indent = &line[..line.len() - line.trim_start().len()];
        let end = format!("{indent}}}");
        if line.trim_end().ends_with('}') || line.trim_end().ends_with(';') {
            continue;
        }
        let length = lines[index..].iter().position(|line| *line == end).map_or(1, |offset| offset + 1);
        found.push((index + 1, length));
    }
    found
}

fn starts_function(line: &str) -> bool {
    let words = line.split_whitespace().take_while(|word| {
        let qualifiers =
            ["pub", "pub(crate)", "pub(super)", "const", "async", "unsafe", "extern", "\"C\"", "fn"];
        qualifiers.contains(word)
    });
    words.last() == Some("fn")
}

#[test]
fn sources_are_ascii() {
    let endings = [".rs", ".toml", ".md", ".csv", ".conf", ".sh", ".yml", "Makefile", "LICENSE", "run"];
    let mut broken = Vec::new();
    for source in sources().iter().filter(|source| endings.iter().any(|ending| source.path.ends_with(ending)))
    {
        for (index, line) in source.text.lines().enumerate().filter(|(_, line)| !line.is_ascii()) {
            broken.push(format!("{}:{}: {line}", source.path, index + 1));
        }
    }
    assert_none(&broken, "sources are ASCII");
}

#[test]
fn no_file_has_a_name_that_says_nothing() {
    let mut broken = Vec::new();
    for source in sources() {
        let parts = source.path.split('/').map(|part| part.split('.').next().unwrap_or(part));
        if parts.into_iter().any(|part| FORBIDDEN_NAMES.contains(&part)) {
            broken.push(source.path);
        }
    }
    assert_none(&broken, "a file is named by what lives in it");
}

#[test]
fn unsafe_stays_in_the_host_folder() {
    let is_host = |source: &Source| source.path == "src/host.rs" || source.is_under("src/host/");
    let broken = lines_with(&rust_sources(), |source, line| {
        let words = line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        !is_host(source) && source.path != "tests/tidy.rs" && words.into_iter().any(|word| word == "unsafe")
    });
    assert_none(&broken, "only src/host talks to the server unsafely");
}

#[test]
fn every_file_says_what_lives_in_it() {
    let is_silent = |source: &Source| !source.text.starts_with("//! ");
    let broken: Vec<String> =
        rust_sources().into_iter().filter(is_silent).map(|source| source.path).collect();
    assert_none(&broken, "a file begins with //! and what lives in it");
}

#[test]
fn there_are_no_macros_of_our_own() {
    let word = concat!("macro_", "rules!");
    assert_none(&lines_with(&rust_sources(), |_, line| line.contains(word)), "no macros of our own");
}

#[test]
fn commands_do_not_import_each_other() {
    let broken = lines_with(&rust_sources(), |source, line| {
        source.is_under("src/command/")
            && (line.contains("command::") || line.contains("super::"))
            && !line.contains("host::command::")
    });
    assert_none(&broken, "a command does not use another one");
}

#[test]
fn the_engine_knows_no_clock_no_files_and_no_server() {
    let words = ["std::time", "std::fs", "std::net", "std::io", "std::env", "std::process", "redis"];
    // A test of the engine may take the time or read a file; what it tests may not.
    let is_test = |source: &Source| source.path.ends_with("/tests.rs");
    let sources: Vec<Source> = rust_sources().into_iter().filter(|source| !is_test(source)).collect();
    let broken = lines_with(&sources, |source, line| {
        source.is_under("engine/src/") && words.iter().any(|word| line.contains(word))
    });
    assert_none(&broken, "the engine is pure");
}

#[test]
fn every_command_has_a_page() {
    let mut broken = Vec::new();
    for source in rust_sources().iter().filter(|source| source.is_under("src/command/")) {
        let name = source.path.trim_start_matches("src/command/").trim_end_matches(".rs");
        let page = format!("docs/commands/dq.{name}.md");
        if !root().join(&page).is_file() {
            broken.push(page);
        }
    }
    assert_none(&broken, "every command has its page");
}

#[test]
fn a_test_never_sleeps() {
    let word = concat!("sleep", "(");
    let broken = lines_with(&rust_sources(), |source, line| {
        let is_test = source.is_under("tests/") || source.is_under("engine/tests/");
        is_test && source.path != "tests/server/harness/eventually.rs" && line.contains(word)
    });
    assert_none(&broken, "a test waits for a condition, not for a time");
}

#[test]
fn the_name_of_a_test_is_a_sentence() {
    let mut broken = Vec::new();
    for source in rust_sources() {
        let lines: Vec<&str> = source.text.lines().collect();
        for pair in lines.windows(2).filter(|pair| pair[0].trim() == "#[test]") {
            let name = pair[1].trim().trim_start_matches("fn ").split('(').next().unwrap_or_default();
            if name.split('_').count() < 3 || name.starts_with("test_") {
                broken.push(format!("{}: {name}", source.path));
            }
        }
    }
    assert_none(&broken, "a test's name is a sentence");
}
