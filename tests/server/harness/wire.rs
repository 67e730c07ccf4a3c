//! RESP2 and RESP3 as bytes: commands out, replies in, nothing lost on the way.
//!
//! Called by `client` and `aof`. It exists because a client library folds the two nulls of RESP2 into one
//! and refuses error lines that are not UTF-8, while these tests are about exactly that.

use crate::harness::reply::Reply;
use std::io::{self, BufRead, Error, ErrorKind};

/// A command as the multi-bulk request that a client sends.
pub fn encode<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        let word = word.as_ref();
        out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// Reads one whole reply.
pub fn read_reply(source: &mut impl BufRead) -> io::Result<Reply> {
    let line = read_line(source)?;
    let (sign, rest) = line.split_first().ok_or_else(|| broken("an empty line"))?;
    Ok(match sign {
        b'+' => Reply::Simple(rest.to_vec()),
        b'-' => Reply::Error(rest.to_vec()),
        b':' => Reply::Int(number(rest)?),
        b'$' => match number(rest)? {
            -1 => Reply::NullBulk,
            length => Reply::Bulk(read_exact(source, length)?),
        },
        b'=' => Reply::Bulk(read_exact(source, number(rest)?)?.split_off(4)),
        b'!' => Reply::Error(read_exact(source, number(rest)?)?),
        b'*' if rest == b"-1" => Reply::NullArray,
        b'*' | b'~' | b'>' => Reply::Array(read_many(source, number(rest)?)?),
        b'%' => {
            let flat = read_many(source, number(rest)? * 2)?;
            Reply::Map(flat.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
        }
        b'_' => Reply::Null,
        b',' | b'#' | b'(' => Reply::Scalar(rest.to_vec()),
        other => return Err(broken(&format!("reply type {:?}", char::from(*other)))),
    })
}

fn read_many(source: &mut impl BufRead, count: i64) -> io::Result<Vec<Reply>> {
    (0..count).map(|_| read_reply(source)).collect()
}

fn read_exact(source: &mut impl BufRead, length: i64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(length).map_err(|_| broken("a negative length"))?;
    let mut bytes = vec![0; length + 2];
    source.read_exact(&mut bytes)?;
    if !bytes.ends_with(b"\r\n") {
        return Err(broken("a string whose length is wrong"));
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// A line without its CR LF.
pub fn read_line(source: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    source.read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(Error::new(ErrorKind::UnexpectedEof, "the server closed the connection"));
    }
    if !line.ends_with(b"\r\n") {
        return Err(broken("a line that ends in the middle"));
    }
    line.truncate(line.len() - 2);
    Ok(line)
}

fn number(bytes: &[u8]) -> io::Result<i64> {
    std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| broken(&format!("number {}", bytes.escape_ascii())))
}

fn broken(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("not RESP: {what}"))
}
