//! The ground on which contestants meet: the keys of one population, and putting jobs into them and taking them out.
//!
//! All that happens here happens while no clock runs.

use crate::client::Connection;
use crate::error::Result;
use crate::jobs::Job;
use crate::resp;

/// Jobs in one preparing command.
const CHUNK_JOBS: usize = 500;

/// What the usual Lua claim does. It hands out one id.
const CLAIM_SCRIPT: &str = "\
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)
if #ids == 0 then return false end
redis.call('ZREM', KEYS[1], ids[1])
return ids[1]";

/// The same with a hundred at once.
const CLAIM_100_SCRIPT: &str = "\
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 100)
if #ids > 0 then redis.call('ZREM', KEYS[1], unpack(ids)) end
return ids";

/// The usual move into a list, a hundred at once.
const MOVE_100_SCRIPT: &str = "\
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 100)
if #ids > 0 then
  redis.call('LPUSH', KEYS[2], unpack(ids))
  redis.call('ZREM', KEYS[1], unpack(ids))
end
return #ids";

/// The usual claim with a lease: the id goes to a second set, under the lease's end.
const LEASE_SCRIPT: &str = "\
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)
if #ids == 0 then return false end
redis.call('ZREM', KEYS[1], ids[1])
redis.call('ZADD', KEYS[2], ARGV[2], ids[1])
return {ids[1], redis.call('HINCRBY', KEYS[3], ids[1], 1)}";

/// Its acknowledgement.
const ACK_SCRIPT: &str = "\
local removed = redis.call('ZREM', KEYS[1], ARGV[1])
if removed == 1 then redis.call('HDEL', KEYS[2], ARGV[1]) end
return removed";

/// Where a contestant keeps its jobs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// A sorted set of ids.
    SortedSet,
    /// A sorted set of ids and a hash of messages.
    SetAndHash,
    /// A job queue.
    Queue,
}

impl Store {
    /// Its name on the page.
    pub fn name(self) -> &'static str {
        match self {
            Store::SortedSet => "sorted set",
            Store::SetAndHash => "sorted set + hash",
            Store::Queue => "job queue",
        }
    }
}

/// The names of loaded scripts.
pub struct Scripts {
    /// The usual claim.
    pub claim: Vec<u8>,
    /// The usual claim of a hundred.
    pub claim_100: Vec<u8>,
    /// The usual move of a hundred.
    pub move_100: Vec<u8>,
    /// The claim with a lease.
    pub lease: Vec<u8>,
    /// Its acknowledgement.
    pub ack: Vec<u8>,
}

impl Scripts {
    /// Loads the scripts into the server.
    pub fn load(control: &mut Connection) -> Result<Scripts> {
        let mut load = |script: &str| -> Result<Vec<u8>> {
            Ok(control.call(&[b"SCRIPT", b"LOAD", script.as_bytes()])?.text()?.to_vec())
        };
        Ok(Scripts {
            claim: load(CLAIM_SCRIPT)?,
            claim_100: load(CLAIM_100_SCRIPT)?,
            move_100: load(MOVE_100_SCRIPT)?,
            lease: load(LEASE_SCRIPT)?,
            ack: load(ACK_SCRIPT)?,
        })
    }
}

/// The keys of one population.
pub struct Field {
    /// Jobs present, on average, while single jobs are measured.
    pub size: usize,
    /// The sorted set of ids.
    pub set: Vec<u8>,
    /// The hash of messages.
    pub hash: Vec<u8>,
    /// The list into which ids are moved.
    pub list: Vec<u8>,
    /// The sorted set of ids under a lease.
    pub leased: Vec<u8>,
    /// The hash of attempts.
    pub attempts: Vec<u8>,
    /// The job queue.
    pub queue: Vec<u8>,
}

impl Field {
    /// Names the keys for a population of this size.
    pub fn new(size: usize) -> Field {
        let key = |name: &str| format!("{name}:{size}").into_bytes();
        Field {
            size,
            set: key("zset"),
            hash: key("hash"),
            list: key("list"),
            leased: key("held"),
            attempts: key("runs"),
            queue: key("jobs"),
        }
    }

    /// Puts jobs into a store.
    pub fn put(&self, control: &mut Connection, store: Store, jobs: &[Job]) -> Result<()> {
        for chunk in jobs.chunks(CHUNK_JOBS) {
            match store {
                Store::SortedSet => drop(control.exchange(&self.zadd(chunk))?),
                Store::SetAndHash => {
                    control.exchange(&self.zadd(chunk))?;
                    control.exchange(&self.hset(chunk))?;
                }
                Store::Queue => drop(control.exchange(&self.mpush(chunk))?),
            }
        }
        Ok(())
    }

    /// Takes jobs out of a store, due or not.
    pub fn remove(&self, control: &mut Connection, store: Store, ids: &[&[u8]]) -> Result<()> {
        for chunk in ids.chunks(CHUNK_JOBS) {
            match store {
                Store::SortedSet => drop(control.exchange(&request(&[b"ZREM", &self.set], chunk))?),
                Store::SetAndHash => {
                    control.exchange(&request(&[b"ZREM", &self.set], chunk))?;
                    control.exchange(&request(&[b"HDEL", &self.hash], chunk))?;
                }
                Store::Queue => drop(control.exchange(&request(&[b"DQ.CANCEL", &self.queue], chunk))?),
            }
        }
        Ok(())
    }

    /// Forgets what was moved.
    pub fn empty_list(&self, control: &mut Connection) -> Result<()> {
        control.call(&[b"DEL", &self.list]).map(drop)
    }

    /// Counts a store's jobs.
    pub fn count(&self, control: &mut Connection, store: Store) -> Result<i64> {
        match store {
            Store::SortedSet | Store::SetAndHash => control.call(&[b"ZCARD", &self.set])?.integer(),
            Store::Queue => control.call(&[b"DQ.LEN", &self.queue])?.integer(),
        }
    }

    /// Encodes `ZADD` of jobs.
    pub fn zadd(&self, jobs: &[Job]) -> Vec<u8> {
        let words: Vec<&[u8]> = jobs.iter().flat_map(|job| [job.at.as_bytes(), job.id.as_bytes()]).collect();
        request(&[b"ZADD", &self.set], &words)
    }

    /// Encodes `HSET` of jobs' messages.
    pub fn hset(&self, jobs: &[Job]) -> Vec<u8> {
        let words: Vec<&[u8]> = jobs.iter().flat_map(|job| [job.id.as_bytes(), &job.message]).collect();
        request(&[b"HSET", &self.hash], &words)
    }

    /// Encodes `DQ.PUSH` of a job with its id.
    pub fn push(&self, job: &Job) -> Vec<u8> {
        request(
            &[b"DQ.PUSH", &self.queue, &job.message, b"AT", job.at.as_bytes(), b"ID", job.id.as_bytes()],
            &[],
        )
    }

    /// Encodes `DQ.MPUSH` of jobs.
    pub fn mpush(&self, jobs: &[Job]) -> Vec<u8> {
        let words: Vec<&[u8]> =
            jobs.iter().flat_map(|job| [job.at.as_bytes(), job.id.as_bytes(), &job.message]).collect();
        request(&[b"DQ.MPUSH", &self.queue, b"AT"], &words)
    }
}

fn request(head: &[&[u8]], words: &[&[u8]]) -> Vec<u8> {
    let mut buffer = Vec::new();
    resp::encode_header(&mut buffer, head.len() + words.len());
    for word in head.iter().chain(words) {
        resp::encode_word(&mut buffer, word);
    }
    buffer
}
