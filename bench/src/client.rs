//! Connections to the server: one for a question and its answer, twenty for a measured slice.
//!
//! The client must cost less than the server, or it is the client that is measured: requests are encoded before the clock
//! starts, replies are counted off and not read, and one thread serves all connections. On a core of its own it also never
//! sleeps: waking up would be measured as well.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::resp::{self, Reply, Skipper};

const CHUNK_BYTES: usize = 64 * 1024;

/// What becomes of the replies' bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Counted off and dropped.
    Nothing,
    /// Also kept, until the next slice.
    Replies,
}

/// How a connection waits for the server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Asking again and again: no wake-up to wait for, but the core must be the client's own.
    Spinning,
    /// Asleep in the kernel.
    Sleeping,
}

/// One connection over a unix socket.
pub struct Connection {
    stream: UnixStream,
    skipper: Skipper,
    chunk: Vec<u8>,
    kept: Vec<u8>,
}

impl Connection {
    /// Connects.
    pub fn open(socket: &Path, wait: Wait) -> Result<Connection> {
        let stream = UnixStream::connect(socket)?;
        stream.set_nonblocking(wait == Wait::Spinning)?;
        Ok(Connection { stream, skipper: Skipper::default(), chunk: vec![0; CHUNK_BYTES], kept: Vec::new() })
    }

    /// Sends one command and reads its reply; an error reply is an error.
    pub fn call(&mut self, words: &[&[u8]]) -> Result<Reply<'_>> {
        let mut request = Vec::new();
        resp::encode(&mut request, words);
        self.exchange(&request)
    }

    /// Sends one encoded request and reads its reply.
    pub fn exchange(&mut self, request: &[u8]) -> Result<Reply<'_>> {
        self.ask(request)?;
        self.answer()
    }

    /// Sends one encoded request; its reply may come late.
    pub fn ask(&mut self, request: &[u8]) -> Result<()> {
        self.ask_all(request, 1)
    }

    /// Sends so many encoded requests; `answers` or `pass` takes the replies.
    pub fn ask_all(&mut self, requests: &[u8], count: usize) -> Result<()> {
        self.kept.clear();
        self.send(requests, count)
    }

    /// Waits for the replies to all that was asked.
    pub fn answers(&mut self) -> Result<Vec<Reply<'_>>> {
        self.finish(Keep::Replies)?;
        self.kept_replies()
    }

    /// Waits for the reply to what was asked.
    pub fn answer(&mut self) -> Result<Reply<'_>> {
        self.finish(Keep::Replies)?;
        Reply::read(&mut self.kept.as_slice())
    }

    /// Waits for the replies to all that was asked, and drops them.
    pub fn pass(&mut self) -> Result<()> {
        self.finish(Keep::Nothing)
    }

    /// The socket, to see whether something has come.
    pub fn socket(&self) -> &UnixStream {
        &self.stream
    }

    /// Sends encoded requests and waits for their replies; the time is from the first byte sent to the last received.
    pub fn time(&mut self, requests: &[u8], replies: usize) -> Result<Duration> {
        let start = Instant::now();
        self.send(requests, replies)?;
        self.finish(Keep::Nothing)?;
        Ok(start.elapsed())
    }

    /// The replies kept since the slice began, in order.
    pub fn kept_replies(&self) -> Result<Vec<Reply<'_>>> {
        let mut bytes = self.kept.as_slice();
        let mut replies = Vec::new();
        while !bytes.is_empty() {
            replies.push(Reply::read(&mut bytes)?);
        }
        Ok(replies)
    }

    fn send(&mut self, requests: &[u8], replies: usize) -> Result<()> {
        self.skipper.expect(replies);
        let mut rest = requests;
        while !rest.is_empty() {
            let sent = persistent(|| self.stream.write(rest))?;
            rest = rest.get(sent..).unwrap_or_default();
        }
        Ok(())
    }

    fn finish(&mut self, keep: Keep) -> Result<()> {
        while !self.skipper.is_done() {
            let length = persistent(|| self.stream.read(&mut self.chunk))?;
            let bytes = self.chunk.get(..length).unwrap_or_default();
            if bytes.is_empty() {
                return Err("the server closed the connection".into());
            }
            if keep == Keep::Replies {
                self.kept.extend_from_slice(bytes);
            }
            self.skipper.feed(bytes)?;
        }
        Ok(())
    }
}

/// Tries until the socket is ready.
fn persistent(mut attempt: impl FnMut() -> std::io::Result<usize>) -> std::io::Result<usize> {
    loop {
        match attempt() {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                std::hint::spin_loop();
            }
            outcome => return outcome,
        }
    }
}

/// Encoded requests for all connections: for each one its batches, in order.
pub struct Slice {
    /// For each connection its batches.
    pub batches: Vec<Vec<Vec<u8>>>,
    /// Replies to each batch.
    pub replies: usize,
}

/// The connections that load the server together.
pub struct Fleet {
    /// The connections, all alike.
    pub connections: Vec<Connection>,
}

impl Fleet {
    /// Sends every batch and receives every reply; the time is from the first byte sent to the last received.
    ///
    /// Each connection sends its next batch as soon as its replies are there, while the others' batches keep the server
    /// busy.
    pub fn run(&mut self, slice: &Slice, keep: Keep) -> Result<Duration> {
        for connection in &mut self.connections {
            connection.kept.clear();
        }
        let mut queues: Vec<_> = slice.batches.iter().map(|batches| batches.iter()).collect();
        let turns = slice.batches.first().map_or(0, Vec::len);
        let start = Instant::now();
        for _ in 0..turns {
            for (connection, queue) in self.connections.iter_mut().zip(&mut queues) {
                connection.finish(keep)?;
                if let Some(batch) = queue.next() {
                    connection.send(batch, slice.replies)?;
                }
            }
        }
        for connection in &mut self.connections {
            connection.finish(keep)?;
        }
        Ok(start.elapsed())
    }
}
