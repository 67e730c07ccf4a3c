//! A page of the documentation as text: its title, its syntax line, the facts of its head, its fenced blocks, its links.
//!
//! Called by the tests of the documentation. It reads files and judges nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A page.
pub struct Page {
    /// Its path from the project's root.
    pub path: String,
    text: String,
}

/// A fenced block.
pub struct Block<'a> {
    /// The number of its first line in the page.
    pub first_line: usize,
    /// Its lines, without the fence.
    pub lines: Vec<&'a str>,
}

/// The pages of all commands, by name.
#[track_caller]
pub fn command_pages() -> Vec<Page> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/commands");
    let entries = fs::read_dir(folder).expect("docs/commands is a folder");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("file names are text"))
        .collect();
    names.sort();
    let paths = names.iter().map(|name| format!("docs/commands/{name}"));
    paths.map(|path| Page::read(&path).expect("the page is text")).collect()
}

impl Page {
    /// Reads the page at this path from the project's root; None where there is no such file.
    pub fn read(path: &str) -> Option<Page> {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).ok()?;
        Some(Page { path: path.to_owned(), text })
    }

    /// The first heading.
    #[track_caller]
    pub fn title(&self) -> &str {
        let title = self.text.lines().next().and_then(|line| line.strip_prefix("# "));
        title.unwrap_or_else(|| panic!("{} begins with no title", self.path))
    }

    /// The line that gives the command's arguments: the first of the first block.
    #[track_caller]
    pub fn syntax(&self) -> &str {
        let lines = self.blocks("").first().map(|block| block.lines.clone()).unwrap_or_default();
        let syntax = lines.first().filter(|line| line.split(' ').next() == Some(self.title()));
        syntax.unwrap_or_else(|| panic!("{} does not begin with the command's syntax", self.path))
    }

    /// What stands behind `- NAME: ` in the head.
    #[track_caller]
    pub fn fact(&self, name: &str) -> &str {
        let start = format!("- {name}: ");
        let found = self.text.lines().find_map(|line| line.strip_prefix(&start));
        found.unwrap_or_else(|| panic!("{} has no line '{start}...'", self.path))
    }

    /// The fenced blocks of a language.
    pub fn blocks(&self, language: &str) -> Vec<Block<'_>> {
        let mut blocks = Vec::new();
        let mut open: Option<(&str, Block<'_>)> = None;
        for (index, line) in self.text.lines().enumerate() {
            match (line.strip_prefix("```"), open.take()) {
                (Some(word), None) => open = Some((word, Block { first_line: index + 2, lines: Vec::new() })),
                (Some(_), Some((word, block))) => {
                    if word == language {
                        blocks.push(block);
                    }
                }
                (None, Some((word, mut block))) => {
                    block.lines.push(line);
                    open = Some((word, block));
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: the last block has no end", self.path);
        blocks
    }

    /// What the first cells of the rows of tables name in code, one a row.
    pub fn named_in_rows(&self) -> Vec<&str> {
        self.text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect()
    }

    /// All lines.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.text.lines()
    }

    /// The rows of tables.
    pub fn rows(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter(|line| line.starts_with("| "))
    }

    /// The targets of all links to files, without what names a place inside one.
    pub fn links(&self) -> Vec<&str> {
        let targets = self.text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let files = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
        files.filter_map(|target| target.split('#').next()).collect()
    }
}

impl Block<'_> {
    /// The bytes of a block of hex: of each line, what stands before a semicolon.
    #[track_caller]
    pub fn hex(&self) -> Vec<u8> {
        let digits = self.lines.iter().filter_map(|line| line.split(';').next());
        digits
            .flat_map(str::split_whitespace)
            .map(|byte| u8::from_str_radix(byte, 16).unwrap_or_else(|_| panic!("{byte} is no byte")))
            .collect()
    }
}

/// The words in capitals of a syntax line, apart from the command's own name.
pub fn capitals(syntax: &str, name: &str) -> BTreeSet<String> {
    let words = syntax[name.len()..].split(|letter: char| !letter.is_ascii_alphanumeric());
    let is_option = |word: &&str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    words.filter(is_option).map(str::to_owned).collect()
}
