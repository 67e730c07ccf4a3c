//! A job queue as this run sees it: how jobs get in, and one who claims them.

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::crowd::Consumer;
use super::deliveries::{Deliveries, now_us};
use crate::client::{Connection, Wait};
use crate::error::Result;
use crate::jobs::Job;
use crate::machine::info;
use crate::resp::{self, Reply};
use crate::server::Server;

/// Jobs in one request.
const CHUNK_JOBS: usize = 500;
const MESSAGE: &[u8] = b"a message of thirty-two bytes..!";
/// A lease that outlives the run, so that no job comes again.
const LEASE_MS: &[u8] = b"3600000";
const DEADLINE: Duration = Duration::from_secs(20);

/// Puts one job for each of these times into the queue; its id is its number.
pub fn push(connection: &mut Connection, key: &[u8], dues_ms: &[u64]) -> Result<()> {
    let job = |(number, due): (usize, &u64)| Job {
        id: number.to_string(),
        at: due.to_string(),
        message: MESSAGE.to_vec(),
    };
    let jobs: Vec<Job> = dues_ms.iter().enumerate().map(job).collect();
    push_jobs(connection, key, &jobs)
}

/// Puts these jobs into the queue.
pub fn push_jobs(connection: &mut Connection, key: &[u8], jobs: &[Job]) -> Result<()> {
    for chunk in jobs.chunks(CHUNK_JOBS) {
        let mut request = Vec::new();
        resp::encode_header(&mut request, 3 + 3 * chunk.len());
        let head: [&[u8]; 3] = [b"DQ.MPUSH", key, b"AT"];
        let words = chunk.iter().flat_map(|job| [job.at.as_bytes(), job.id.as_bytes(), &job.message]);
        for word in head.into_iter().chain(words) {
            resp::encode_word(&mut request, word);
        }
        connection.exchange(&request)?;
    }
    Ok(())
}

/// Waits until so many clients wait.
pub fn await_blocked(server: &Server, clients: usize) -> Result<()> {
    let mut control = server.connect_to_wait(Wait::Sleeping)?;
    let start = Instant::now();
    while info(&mut control, "blocked_clients")? != Some(clients.to_string()) {
        if start.elapsed() > DEADLINE {
            return Err(format!("not all of {clients} clients wait").into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// What a claimer is to do.
#[derive(Clone, Copy)]
pub enum Claim {
    /// One job with a lease: its receipt also tells the server's time of the claim.
    OneLeased,
    /// Up to a hundred jobs, which leave the queue.
    Hundred,
}

/// One who claims jobs again and again, waiting inside the server.
pub struct Claimer {
    connection: Connection,
    request: Vec<u8>,
}

impl Claimer {
    /// So many of them, all waiting.
    pub fn crowd(server: &Server, key: &[u8], claim: Claim, count: usize) -> Result<Vec<Claimer>> {
        let all: Result<Vec<Claimer>> = (0..count).map(|_| Claimer::wait(server, key, claim)).collect();
        await_blocked(server, count)?;
        all
    }

    /// One of them, waiting.
    pub fn wait(server: &Server, key: &[u8], claim: Claim) -> Result<Claimer> {
        let mut connection = server.connect_to_wait(Wait::Sleeping)?;
        let mut request = Vec::new();
        let terms: [&[u8]; 2] = match claim {
            Claim::OneLeased => [b"LEASE", LEASE_MS],
            Claim::Hundred => [b"COUNT", b"100"],
        };
        let [option, value] = terms;
        resp::encode(&mut request, &[b"DQ.CLAIM", key, option, value, b"BLOCK", b"0"]);
        connection.ask(&request)?;
        Ok(Claimer { connection, request })
    }
}

impl Consumer for Claimer {
    fn socket(&self) -> &UnixStream {
        self.connection.socket()
    }

    fn receive(&mut self, deliveries: &mut Deliveries) -> Result<()> {
        let reply = self.connection.answer()?;
        let at_us = now_us()?;
        let Reply::Array(jobs) = reply else {
            return Err("a claim without a limit ended without a job".into());
        };
        for job in &jobs {
            let due_ms = u64::try_from(job.at(3)?.integer()?)?;
            deliveries.note(decimal(job.at(0)?.text()?)?, due_ms * 1_000, at_us)?;
            if let Reply::Text(receipt) = job.at(4)? {
                deliveries.note_by_server(claimed_at_ms(receipt)?.saturating_sub(due_ms));
            }
        }
        self.connection.ask(&self.request)
    }
}

/// The number that stands there in digits.
pub fn decimal(text: &[u8]) -> Result<usize> {
    Ok(std::str::from_utf8(text)?.parse()?)
}

/// The server's time of a claim: a receipt begins with it, in microseconds, followed by 12 random bits.
fn claimed_at_ms(receipt: &[u8]) -> Result<u64> {
    let token = receipt.split(|byte| *byte == b'-').next().unwrap_or_default();
    let token: u64 = std::str::from_utf8(token)?.parse()?;
    Ok((token >> 12) / 1_000)
}

#[cfg(test)]
mod tests {
    use super::claimed_at_ms;

    #[test]
    fn a_receipt_tells_when_the_server_made_it() {
        let token = (1_700_000_000_123_456_u64 << 12) | 0xabc;
        let receipt = format!("{token}-an-id");
        assert_eq!(claimed_at_ms(receipt.as_bytes()).unwrap(), 1_700_000_000_123);
    }
}
