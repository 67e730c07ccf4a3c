//! What is sent to a store for one job: pushed, claimed, leased, acknowledged.
//!
//! The sorted set with its hash does the same work for its user as the queue: a claim hands out the message too. A push is two
//! plain commands; what has to be atomic is a script, as usual. It gets the time from the client.

use crate::client::Connection;
use crate::error::Result;
use crate::field::{Field, Store};
use crate::jobs::Job;
use crate::resp::{self, Reply};
use crate::wake::deliveries::now_ms;

/// Leases end after the run.
const LEASE_MS: u64 = 3_600_000;

const CLAIM_SCRIPT: &str = "\
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)
if #ids == 0 then return false end
redis.call('ZREM', KEYS[1], ids[1])
local message = redis.call('HGET', KEYS[2], ids[1])
redis.call('HDEL', KEYS[2], ids[1])
return {ids[1], message}";

const LEASE_SCRIPT: &str = "\
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)
if #ids == 0 then return false end
redis.call('ZREM', KEYS[1], ids[1])
redis.call('ZADD', KEYS[3], ARGV[2], ids[1])
return {ids[1], redis.call('HGET', KEYS[2], ids[1]), redis.call('HINCRBY', KEYS[4], ids[1], 1)}";

const ACK_SCRIPT: &str = "\
local removed = redis.call('ZREM', KEYS[1], ARGV[1])
if removed == 1 then
  redis.call('HDEL', KEYS[2], ARGV[1])
  redis.call('HDEL', KEYS[3], ARGV[1])
end
return removed";

/// The names of the scripts.
struct Scripts {
    claim: Vec<u8>,
    lease: Vec<u8>,
    ack: Vec<u8>,
}

/// Writes the requests to one store.
pub struct Requests {
    /// Where the jobs are.
    pub store: Store,
    /// The keys.
    pub field: Field,
    scripts: Scripts,
}

impl Requests {
    /// For a store of so many jobs. The scripts have to be loaded into each server.
    pub fn new(store: Store, jobs: usize) -> Requests {
        let scripts = Scripts { claim: Vec::new(), lease: Vec::new(), ack: Vec::new() };
        Requests { store, field: Field::new(jobs), scripts }
    }

    /// Loads the scripts into this server; the queue needs none.
    pub fn prepare(&mut self, control: &mut Connection) -> Result<()> {
        if self.store == Store::SetAndHash {
            let mut load = |script: &str| -> Result<Vec<u8>> {
                Ok(control.call(&[b"SCRIPT", b"LOAD", script.as_bytes()])?.text()?.to_vec())
            };
            self.scripts =
                Scripts { claim: load(CLAIM_SCRIPT)?, lease: load(LEASE_SCRIPT)?, ack: load(ACK_SCRIPT)? };
        }
        Ok(())
    }

    /// The keys that hold jobs.
    pub fn keys(&self) -> Vec<&[u8]> {
        match self.store {
            Store::Queue => vec![&self.field.queue],
            _ => vec![&self.field.set, &self.field.hash, &self.field.leased, &self.field.attempts],
        }
    }

    /// Sends many jobs in as few requests as the store has commands for them; `Connection::pass` takes the replies.
    pub fn send(&self, connection: &mut Connection, jobs: &[Job]) -> Result<()> {
        match self.store {
            Store::Queue => connection.ask(&self.field.mpush(jobs)),
            _ => {
                connection.ask(&self.field.zadd(jobs))?;
                connection.ask(&self.field.hset(jobs))
            }
        }
    }

    /// Writes the push of one job.
    pub fn push(&self, buffer: &mut Vec<u8>, job: &Job) {
        match self.store {
            Store::Queue => buffer.extend(self.field.push(job)),
            _ => {
                buffer.extend(self.field.zadd(std::slice::from_ref(job)));
                buffer.extend(self.field.hset(std::slice::from_ref(job)));
            }
        }
    }

    /// How many replies it gets.
    pub fn replies_to_push(&self) -> usize {
        if self.store == Store::Queue { 1 } else { 2 }
    }

    /// Writes a claim of one due job for good.
    pub fn claim(&self, buffer: &mut Vec<u8>) -> Result<()> {
        let Field { set, hash, queue, .. } = &self.field;
        match self.store {
            Store::Queue => resp::encode(buffer, &[b"DQ.CLAIM", queue]),
            _ => {
                let now = now_ms()?.to_string();
                resp::encode(buffer, &[b"EVALSHA", &self.scripts.claim, b"2", set, hash, now.as_bytes()]);
            }
        }
        Ok(())
    }

    /// Writes a claim of one due job under a lease.
    pub fn lease(&self, buffer: &mut Vec<u8>) -> Result<()> {
        let Field { set, hash, leased, attempts, queue, .. } = &self.field;
        let now = now_ms()?;
        let (end, lease) = ((now + LEASE_MS).to_string(), LEASE_MS.to_string());
        match self.store {
            Store::Queue => resp::encode(buffer, &[b"DQ.CLAIM", queue, b"LEASE", lease.as_bytes()]),
            _ => {
                let (script, now) = (&self.scripts.lease, now.to_string());
                let times: [&[u8]; 2] = [now.as_bytes(), end.as_bytes()];
                let head: [&[u8]; 7] = [b"EVALSHA", script, b"4", set, hash, leased, attempts];
                resp::encode(buffer, &[&head[..], &times[..]].concat());
            }
        }
        Ok(())
    }

    /// Writes the acknowledgement of what this reply handed out.
    pub fn acknowledge(&self, buffer: &mut Vec<u8>, reply: &Reply<'_>) -> Result<()> {
        let Field { hash, leased, attempts, queue, .. } = &self.field;
        match self.store {
            Store::Queue => resp::encode(buffer, &[b"DQ.ACK", queue, reply.at(0)?.at(4)?.text()?]),
            _ => {
                let id = reply.at(0)?.text()?;
                resp::encode(buffer, &[b"EVALSHA", &self.scripts.ack, b"3", leased, hash, attempts, id]);
            }
        }
        Ok(())
    }

    /// Counts the jobs.
    pub fn count(&self, control: &mut Connection) -> Result<usize> {
        Ok(usize::try_from(self.field.count(control, self.store)?)?)
    }
}

/// True if this reply to a claim brought a job.
pub fn is_delivery(reply: &Reply<'_>) -> bool {
    matches!(reply, Reply::Array(parts) if !parts.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Requests, is_delivery};
    use crate::field::Store;
    use crate::resp::Reply;

    #[test]
    fn an_empty_claim_is_no_delivery_from_either_store() {
        assert!(!is_delivery(&Reply::Array(Vec::new())));
        assert!(!is_delivery(&Reply::Null));
        assert!(is_delivery(&Reply::Array(vec![Reply::Text(b"id"), Reply::Text(b"message")])));
    }

    #[test]
    fn the_receipt_or_the_id_is_acknowledged() {
        let told = |store: Store, reply: &Reply<'_>| {
            let mut buffer = Vec::new();
            Requests::new(store, 1).acknowledge(&mut buffer, reply).unwrap();
            String::from_utf8(buffer).unwrap()
        };
        let job = ["id", "message", "1", "2", "7-id"].map(|part| Reply::Text(part.as_bytes()));
        let claimed = Reply::Array(vec![Reply::Array(job.into())]);
        assert!(told(Store::Queue, &claimed).ends_with("$6\r\njobs:1\r\n$4\r\n7-id\r\n"));
        let handed_out = Reply::Array(vec![Reply::Text(b"id"), Reply::Text(b"message"), Reply::Integer(1)]);
        assert!(told(Store::SetAndHash, &handed_out).ends_with("$6\r\nruns:1\r\n$2\r\nid\r\n"));
    }
}
