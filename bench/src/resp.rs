//! The wire protocol (RESP2), as far as a benchmark needs it: write requests, count replies off, read one reply.

use crate::error::Result;

/// Appends one request.
pub fn encode(buffer: &mut Vec<u8>, words: &[&[u8]]) {
    encode_header(buffer, words.len());
    for word in words {
        encode_word(buffer, word);
    }
}

/// Appends the head of a request of so many words, for requests whose words come one by one.
pub fn encode_header(buffer: &mut Vec<u8>, words: usize) {
    buffer.extend_from_slice(format!("*{words}\r\n").as_bytes());
}

/// Appends one word of a request.
pub fn encode_word(buffer: &mut Vec<u8>, word: &[u8]) {
    buffer.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
    buffer.extend_from_slice(word);
    buffer.extend_from_slice(b"\r\n");
}

/// Counts replies off as their bytes arrive, without building them: one look at each line, none at the texts.
#[derive(Default)]
pub struct Skipper {
    /// Values still to come; an array's head adds its elements.
    values: usize,
    /// Bytes of a bulk string (with its line end) still to come.
    bulk: usize,
    /// The beginning of a line whose end has not arrived.
    line: Vec<u8>,
}

impl Skipper {
    /// Expects so many more replies.
    pub fn expect(&mut self, replies: usize) {
        self.values += replies;
    }

    /// True when all expected replies have arrived.
    pub fn is_done(&self) -> bool {
        self.values == 0 && self.bulk == 0
    }

    /// Takes bytes from the server; refuses errors and what is no RESP2.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.bulk > 0 {
                let skipped = self.bulk.min(rest.len());
                self.bulk -= skipped;
                rest = rest.split_at(skipped).1;
                continue;
            }
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                self.line.extend_from_slice(rest);
                return Ok(());
            };
            let (line, after) = rest.split_at(end + 1);
            rest = after;
            if self.line.is_empty() {
                self.take_line(line)?;
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.take_line(&whole)?;
            }
        }
        Ok(())
    }

    fn take_line(&mut self, line: &[u8]) -> Result<()> {
        let Some((kind, rest)) = line.trim_ascii_end().split_first() else {
            return Err("an empty line instead of a reply".into());
        };
        let Some(left) = self.values.checked_sub(1) else {
            return Err("more replies than requests".into());
        };
        self.values = left;
        match kind {
            b'+' | b':' => {}
            b'$' => self.bulk = usize::try_from(integer(rest)?).map_or(0, |length| length + 2),
            b'*' => self.values += usize::try_from(integer(rest)?).unwrap_or(0),
            b'-' => return Err(String::from_utf8_lossy(rest).into()),
            _ => return Err(format!("not a reply: {:?}", String::from_utf8_lossy(line)).into()),
        }
        Ok(())
    }
}

/// One reply, borrowed from the bytes in which it came.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// A simple or a bulk string.
    Text(&'a [u8]),
    /// A number.
    Integer(i64),
    /// A null string or array.
    Null,
    /// Several replies.
    Array(Vec<Reply<'a>>),
}

impl<'a> Reply<'a> {
    /// Reads one reply from the front of `bytes` and moves them on.
    pub fn read(bytes: &mut &'a [u8]) -> Result<Reply<'a>> {
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or("half a reply")?;
        let (line, rest) = bytes.split_at(end + 1);
        *bytes = rest;
        let (kind, line) = line.trim_ascii_end().split_first().ok_or("an empty reply")?;
        match kind {
            b'+' => Ok(Reply::Text(line)),
            b':' => Ok(Reply::Integer(integer(line)?)),
            b'$' => Reply::read_text(bytes, integer(line)?),
            b'*' => Reply::read_array(bytes, integer(line)?),
            _ => Err(String::from_utf8_lossy(line).into()),
        }
    }

    /// The element at this place of an array.
    pub fn at(&self, index: usize) -> Result<&Reply<'a>> {
        match self {
            Reply::Array(elements) => Ok(elements.get(index).ok_or("an array shorter than expected")?),
            other => Err(format!("an array was expected, not {other:?}").into()),
        }
    }

    /// The bytes of a text.
    pub fn text(&self) -> Result<&'a [u8]> {
        match self {
            Reply::Text(text) => Ok(text),
            other => Err(format!("a text was expected, not {other:?}").into()),
        }
    }

    /// The number.
    pub fn integer(&self) -> Result<i64> {
        match self {
            Reply::Integer(integer) => Ok(*integer),
            other => Err(format!("a number was expected, not {other:?}").into()),
        }
    }

    fn read_text(bytes: &mut &'a [u8], length: i64) -> Result<Reply<'a>> {
        let Ok(length) = usize::try_from(length) else { return Ok(Reply::Null) };
        let (text, rest) = bytes.split_at_checked(length).ok_or("half a text")?;
        *bytes = rest.get(2..).ok_or("a text without its end")?;
        Ok(Reply::Text(text))
    }

    fn read_array(bytes: &mut &'a [u8], length: i64) -> Result<Reply<'a>> {
        if length < 0 {
            return Ok(Reply::Null);
        }
        (0..length).map(|_| Reply::read(bytes)).collect::<Result<Vec<_>>>().map(Reply::Array)
    }
}

fn integer(text: &[u8]) -> Result<i64> {
    Ok(std::str::from_utf8(text)?.parse()?)
}

#[cfg(test)]
mod tests {
    use super::{Reply, Skipper};

    const REPLIES: &[u8] = b"+PONG\r\n:7\r\n$-1\r\n*2\r\n$3\r\na\r\n\r\n*1\r\n$0\r\n\r\n*0\r\n";

    #[test]
    fn replies_are_counted_off_however_the_bytes_arrive() {
        for size in 1..REPLIES.len() {
            let mut skipper = Skipper::default();
            skipper.expect(5);
            for chunk in REPLIES.chunks(size) {
                assert!(!skipper.is_done());
                assert!(skipper.feed(chunk).is_ok());
            }
            assert!(skipper.is_done());
        }
    }

    #[test]
    fn an_error_and_a_surplus_reply_are_refused() {
        let mut skipper = Skipper::default();
        assert!(skipper.feed(b"+OK\r\n").is_err());
        skipper.expect(1);
        assert!(skipper.feed(b"-ERR no\r\n").is_err());
    }

    #[test]
    fn nested_replies_are_read() {
        let mut bytes: &[u8] = b"*2\r\n*2\r\n$2\r\nid\r\n:3\r\n$-1\r\n";
        let reply = Reply::read(&mut bytes).ok();
        let inner = Reply::Array(vec![Reply::Text(b"id"), Reply::Integer(3)]);
        assert_eq!(reply, Some(Reply::Array(vec![inner, Reply::Null])));
        assert!(bytes.is_empty());
    }
}
