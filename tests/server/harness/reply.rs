//! A server's answer as a value, each wire form kept apart, and a compact text of it for assertions.
//!
//! The text is what tests compare: `[a created]`, `[[a m 1 1700000000000 nil]]`, `{id: a, state: waiting}`.
//! Integers are bare digits, so a string of digits is quoted; bytes outside printable ASCII are escaped.

use std::fmt;

/// One answer, RESP2 or RESP3.
#[derive(Clone, PartialEq, Eq)]
pub enum Reply {
    /// `+`: a status line.
    Simple(Vec<u8>),
    /// `-` or `!`: an error line without its sign.
    Error(Vec<u8>),
    /// `:`: an integer.
    Int(i64),
    /// `$` or `=`: a string of any bytes.
    Bulk(Vec<u8>),
    /// `$-1`: the absent string of RESP2.
    NullBulk,
    /// `*-1`: the absent array of RESP2.
    NullArray,
    /// `_`: the null of RESP3.
    Null,
    /// `*`, `~` or `>`: a sequence.
    Array(Vec<Reply>),
    /// `%`: pairs in the order they were sent.
    Map(Vec<(Reply, Reply)>),
    /// `,`, `#` or `(`: a scalar that this module never sends, as its text.
    Scalar(Vec<u8>),
}

impl Reply {
    /// The compact text described at the head of this file.
    pub fn text(&self) -> String {
        match self {
            Reply::Simple(bytes) | Reply::Bulk(bytes) | Reply::Scalar(bytes) => shown(bytes),
            Reply::Error(bytes) => format!("(error) {}", bytes.escape_ascii()),
            Reply::Int(number) => number.to_string(),
            Reply::NullBulk | Reply::NullArray | Reply::Null => "nil".into(),
            Reply::Array(items) => {
                format!("[{}]", items.iter().map(Reply::text).collect::<Vec<_>>().join(" "))
            }
            Reply::Map(pairs) => {
                let shown: Vec<_> =
                    pairs.iter().map(|(k, v)| format!("{}: {}", k.text(), v.text())).collect();
                format!("{{{}}}", shown.join(", "))
            }
        }
    }

    /// Whether this is any form of null.
    pub fn is_null(&self) -> bool {
        matches!(self, Reply::NullBulk | Reply::NullArray | Reply::Null)
    }

    /// Whether this is an error.
    pub fn is_error(&self) -> bool {
        matches!(self, Reply::Error(_))
    }

    /// The bytes of a string or status; anything else fails the test.
    #[track_caller]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Reply::Simple(bytes) | Reply::Bulk(bytes) => bytes,
            other => panic!("expected a string, got {other}"),
        }
    }

    /// The string as text; anything but UTF-8 fails the test.
    #[track_caller]
    pub fn string(&self) -> String {
        String::from_utf8(self.bytes().to_vec()).expect("the string is UTF-8")
    }

    /// The integer; anything else fails the test.
    #[track_caller]
    pub fn int(&self) -> i64 {
        match self {
            Reply::Int(number) => *number,
            other => panic!("expected an integer, got {other}"),
        }
    }

    /// The elements of an array; anything else fails the test.
    #[track_caller]
    pub fn items(&self) -> &[Reply] {
        match self {
            Reply::Array(items) => items,
            other => panic!("expected an array, got {other}"),
        }
    }

    /// The text of an error; anything else fails the test.
    #[track_caller]
    pub fn error(&self) -> String {
        match self {
            Reply::Error(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("expected an error, got {other}"),
        }
    }

    /// The value of one field of a map, or of the flat array that RESP2 has in its place.
    #[track_caller]
    pub fn field(&self, name: &str) -> &Reply {
        let found = match self {
            Reply::Map(pairs) => pairs.iter().find(|(key, _)| key.bytes() == name.as_bytes()).map(|(_, v)| v),
            Reply::Array(items) => {
                items.chunks_exact(2).find(|pair| pair[0].bytes() == name.as_bytes()).map(|pair| &pair[1])
            }
            _ => None,
        };
        found.unwrap_or_else(|| panic!("no field {name} in {self}"))
    }
}

/// Bare where that cannot be mistaken for an integer, a null or several words; else quoted and escaped.
fn shown(bytes: &[u8]) -> String {
    let text = bytes.escape_ascii().to_string();
    let bare = !bytes.is_empty()
        && bytes.iter().all(|byte| byte.is_ascii_graphic() && !b"\"[]{}".contains(byte))
        && bytes.iter().any(|byte| !byte.is_ascii_digit())
        && bytes != b"nil";
    if bare { text } else { format!("\"{text}\"") }
}

impl fmt::Display for Reply {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text())
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text())
    }
}

impl PartialEq<str> for Reply {
    fn eq(&self, other: &str) -> bool {
        self.text() == other
    }
}

impl PartialEq<&str> for Reply {
    fn eq(&self, other: &&str) -> bool {
        self.text() == *other
    }
}

impl PartialEq<String> for Reply {
    fn eq(&self, other: &String) -> bool {
        self.text() == *other
    }
}
