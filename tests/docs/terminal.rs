//! What redis-cli does between a person and the server: splits a line into arguments, and shows a reply in a terminal.

use crate::harness::reply::Reply;

/// Splits a line into arguments. Double quotes know escapes, single quotes only `\'`; None if a quote is left open or is
/// not followed by a space.
pub fn split(line: &str) -> Option<Vec<Vec<u8>>> {
    let mut rest = line.trim().as_bytes();
    let mut words = Vec::new();
    while !rest.is_empty() {
        let (word, after) = split_first(rest)?;
        words.push(word);
        rest = after.trim_ascii_start();
    }
    Some(words)
}

fn split_first(mut rest: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut word = Vec::new();
    while let Some((&byte, after)) = rest.split_first() {
        match byte {
            b' ' | b'\t' => break,
            b'"' | b'\'' => {
                rest = take_quoted(byte, after, &mut word)?;
                return rest.first().is_none_or(u8::is_ascii_whitespace).then_some((word, rest));
            }
            _ => {
                word.push(byte);
                rest = after;
            }
        }
    }
    Some((word, rest))
}

/// Takes what stands up to the closing quote into `word`; returns what comes behind it.
fn take_quoted<'a>(quote: u8, mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            _ if byte == quote => return Some(rest),
            b'\\' if quote == b'"' => rest = take_escape(rest, word)?,
            b'\\' if rest.first() == Some(&b'\'') => {
                word.push(b'\'');
                rest = &rest[1..];
            }
            _ => word.push(byte),
        }
    }
}

fn take_escape<'a>(rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    let digits = rest.get(1..3).and_then(|digits| std::str::from_utf8(digits).ok());
    let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
    if let (Some(b'x'), Some(byte)) = (rest.first(), byte) {
        word.push(byte);
        return Some(&rest[3..]);
    }
    let (&letter, after) = rest.split_first()?;
    word.push(match letter {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'a' => 7,
        other => other,
    });
    Some(after)
}

/// Shows a reply of RESP2, as lines.
#[track_caller]
pub fn show(reply: &Reply) -> Vec<String> {
    let mut text = String::new();
    write(reply, "", &mut text);
    text.lines().map(str::to_owned).collect()
}

fn write(reply: &Reply, indent: &str, text: &mut String) {
    match reply {
        Reply::Simple(bytes) => *text += &format!("{}\n", String::from_utf8_lossy(bytes)),
        Reply::Error(bytes) => *text += &format!("(error) {}\n", String::from_utf8_lossy(bytes)),
        Reply::Int(number) => *text += &format!("(integer) {number}\n"),
        Reply::Bulk(bytes) => *text += &format!("{}\n", quoted(bytes)),
        Reply::NullBulk | Reply::NullArray => *text += "(nil)\n",
        Reply::Array(items) if items.is_empty() => *text += "(empty array)\n",
        Reply::Array(items) => write_items(items, indent, text),
        Reply::Null | Reply::Map(_) | Reply::Scalar(_) => panic!("not RESP2: {reply}"),
    }
}

fn write_items(items: &[Reply], indent: &str, text: &mut String) {
    let width = items.len().to_string().len();
    let inner = format!("{indent}{}", " ".repeat(width + 2));
    for (index, item) in items.iter().enumerate() {
        let before = if index == 0 { "" } else { indent };
        *text += &format!("{before}{:width$}) ", index + 1);
        write(item, &inner, text);
    }
}

fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for &byte in bytes {
        match byte {
            b'"' => text += "\\\"",
            b'\\' => text += "\\\\",
            b'\n' => text += "\\n",
            b'\r' => text += "\\r",
            b'\t' => text += "\\t",
            7 => text += "\\a",
            8 => text += "\\b",
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text += &format!("\\x{byte:02x}"),
        }
    }
    text + "\""
}

#[test]
fn a_line_is_split_as_redis_cli_splits_it() {
    let split = |line| {
        let words = split(line)?;
        Some(words.iter().map(|word| word.escape_ascii().to_string()).collect::<Vec<_>>().join("|"))
    };
    let line = r#"  SET  a "x y\x00\n\"" 'it\'s \n'  "" b"c" "#;
    assert_eq!(split(line).as_deref(), Some(r#"SET|a|x y\x00\n\"|it\'s \\n||bc"#));
    for refused in ["a \"b", "a 'b", "\"a\"b", "\"a\\"] {
        assert_eq!(split(refused), None, "{refused}");
    }
}

#[test]
fn a_reply_is_shown_as_redis_cli_shows_it() {
    let bulk = |text: &str| Reply::Bulk(text.into());
    let inner = Reply::Array(vec![bulk("a\"\u{1}"), Reply::NullBulk, Reply::Array(vec![])]);
    let mut items = vec![inner.clone(), Reply::Array(vec![inner])];
    assert_eq!(
        show(&Reply::Array(items.clone())).join("\n"),
        "1) 1) \"a\\\"\\x01\"\n   2) (nil)\n   3) (empty array)\n\
         2) 1) 1) \"a\\\"\\x01\"\n      2) (nil)\n      3) (empty array)"
    );
    items = (0..10).map(Reply::Int).collect();
    let lines = show(&Reply::Array(items));
    assert_eq!((lines[0].as_str(), lines[9].as_str()), (" 1) (integer) 0", "10) (integer) 9"));
    assert_eq!(show(&Reply::Error(b"ERR no".to_vec())), ["(error) ERR no"]);
}
