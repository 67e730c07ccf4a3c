//! One connection to a test's server, byte-exact in both directions.
//!
//! Called by every test. A command that gets no whole reply fails the test; errors of the server are replies.

use crate::harness::eventually::patience;
use crate::harness::reply::Reply;
use crate::harness::wire::{encode, read_reply};
use std::io::{self, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long a reply may take before the test gives up; far above what any command needs.
const REPLY_DEADLINE: Duration = Duration::from_secs(120);

/// A connection; it speaks RESP2 until `speak_resp3`.
pub struct Client {
    reader: BufReader<UnixStream>,
}

impl Client {
    /// Connects to the socket at `path`.
    pub fn connect(path: &Path) -> io::Result<Client> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(REPLY_DEADLINE * patience()))?;
        stream.set_write_timeout(Some(REPLY_DEADLINE * patience()))?;
        Ok(Client { reader: BufReader::with_capacity(1 << 16, stream) })
    }

    /// Switches the connection to RESP3.
    #[track_caller]
    pub fn speak_resp3(&mut self) {
        let reply = self.ask("HELLO 3");
        assert!(!reply.is_error(), "HELLO 3: {reply}");
    }

    /// Sends a command of words that hold no spaces.
    #[track_caller]
    pub fn ask(&mut self, line: &str) -> Reply {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.call(&words)
    }

    /// Sends a command of any bytes.
    #[track_caller]
    pub fn call<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Reply {
        self.try_call(words).unwrap_or_else(|error| panic!("{}: {error}", named(words)))
    }

    /// Sends a command of words that must succeed.
    #[track_caller]
    pub fn done(&mut self, line: &str) -> Reply {
        let reply = self.ask(line);
        assert!(!reply.is_error(), "{line}: {reply}");
        reply
    }

    /// Sends a command of words that must be refused; returns the error's text.
    #[track_caller]
    pub fn refused(&mut self, line: &str) -> String {
        let reply = self.ask(line);
        assert!(reply.is_error(), "{line} was not refused: {reply}");
        reply.error()
    }

    /// Sends a command; an error here is one of the connection.
    pub fn try_call<W: AsRef<[u8]>>(&mut self, words: &[W]) -> io::Result<Reply> {
        self.send(&encode(words))?;
        self.receive()
    }

    /// Sends many commands before it reads their replies.
    #[track_caller]
    pub fn pipeline(&mut self, lines: &[String]) -> Vec<Reply> {
        let mut out = Vec::new();
        for line in lines {
            out.extend(encode(&line.split_whitespace().collect::<Vec<_>>()));
        }
        self.send(&out).expect("the pipeline is sent");
        lines.iter().map(|line| self.receive().unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// Sends a command of words without spaces, and leaves its reply to be read.
    #[track_caller]
    pub fn send_line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.send(&encode(&words)).unwrap_or_else(|error| panic!("{line}: {error}"));
    }

    /// Reads one reply.
    pub fn receive(&mut self) -> io::Result<Reply> {
        read_reply(&mut self.reader)
    }

    /// Reads one reply, which must come before `deadline` is over.
    pub fn receive_within(&mut self, deadline: Duration) -> io::Result<Reply> {
        self.reader.get_ref().set_read_timeout(Some(deadline * patience()))?;
        let reply = self.receive();
        self.reader.get_ref().set_read_timeout(Some(REPLY_DEADLINE * patience()))?;
        reply
    }

    /// Reads as many bytes as `bytes` takes.
    #[track_caller]
    pub fn read_bytes(&mut self, bytes: &mut [u8]) {
        self.reader.read_exact(bytes).expect("the server sends so many bytes");
    }

    /// Sends bytes that need be no protocol at all, ends the sending side and returns all that comes back.
    pub fn exchange_raw(mut self, bytes: &[u8]) -> Vec<u8> {
        // The server may refuse and close before it has read everything, which is an answer too.
        let _ = self.send(bytes);
        let _ = self.reader.get_ref().shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = self.reader.read_to_end(&mut answer);
        answer
    }

    /// The server's clock in Unix milliseconds.
    #[track_caller]
    pub fn now(&mut self) -> u64 {
        let reply = self.ask("TIME");
        let part = |index: usize| reply.items()[index].string().parse::<u64>().expect("TIME is two numbers");
        part(0) * 1000 + part(1) / 1000
    }

    /// One field of an INFO section.
    #[track_caller]
    pub fn info(&mut self, section: &str, field: &str) -> String {
        self.info_if_present(section, field).unwrap_or_else(|| panic!("INFO {section} has no {field}"))
    }

    /// One field of an INFO section, None where this server has no such field.
    #[track_caller]
    pub fn info_if_present(&mut self, section: &str, field: &str) -> Option<String> {
        let text = self.call(&["INFO", section]).string();
        let prefix = format!("{field}:");
        text.lines().find_map(|line| line.strip_prefix(&prefix)).map(|value| value.trim().to_owned())
    }
}

fn named<W: AsRef<[u8]>>(words: &[W]) -> String {
    let shown = words.iter().take(6).map(|word| {
        let word = word.as_ref();
        word[..word.len().min(80)].escape_ascii().to_string()
    });
    shown.collect::<Vec<_>>().join(" ")
}
