//! Storing a queue as chunks, and loading them.

use super::{Counters, Queue, SEQUENCE_MAX};
use crate::codec::{HEADER, JOBS, Reader, Writer};
use crate::effect::FOREVER;
use crate::error::EffectFault;
use crate::job::Job;
use crate::policy::Policy;
use crate::slots::Slot;
use crate::time::UnixMs;

/// A chunk of jobs ends with the job that makes it as long, in bytes. So one chunk is at most this and one job.
pub const CHUNK_BYTES: usize = 64 * 1024;
/// The largest next sequence that is accepted: no queue has more (see `Queue::renumber`).
const NEXT_SEQUENCE_MAX: u64 = SEQUENCE_MAX + (1 << 32);

/// What a chunk was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// The queue's own values. So many jobs were with it.
    Header {
        /// How many.
        jobs: u64,
    },
    /// So many jobs.
    Jobs(u64),
}

impl Queue {
    /// Hands the queue to `sink` as chunks, the header first. O(n), and no more memory than one chunk.
    pub fn store(&self, sink: &mut dyn FnMut(&[u8])) {
        sink(self.header().bytes());
        let mut chunk = Writer::new(JOBS);
        for job in self.records_in_order() {
            chunk.job(job);
            if chunk.bytes().len() >= CHUNK_BYTES {
                sink(chunk.bytes());
                chunk = Writer::new(JOBS);
            }
        }
        if chunk.bytes().len() > 1 {
            sink(chunk.bytes());
        }
    }

    /// Loads one chunk. Refuses, with nothing changed, a damaged one, a header on a queue that has jobs, and jobs that
    /// are there already. O(n log n) in the jobs of the chunk.
    pub fn load(&mut self, chunk: &[u8]) -> Result<Loaded, EffectFault> {
        let (kind, mut reader) = Reader::new(chunk)?;
        match kind {
            HEADER if self.jobs.is_empty() => self.load_header(&mut reader),
            HEADER => Err(EffectFault::Duplicate),
            JOBS => self.load_jobs(&mut reader),
            _ => Err(EffectFault::Damaged { at: 0 }),
        }
    }

    /// Writes the chunk with the queue's own values. O(1).
    #[must_use]
    pub fn header(&self) -> Writer {
        let mut writer = Writer::new(HEADER);
        writer.number(self.jobs.len() as u64);
        writer.number(self.next_sequence);
        writer.number(self.last_token);
        writer.number(self.paused_until.map_or(0, |until| until.0));
        self.policy.numbers().into_iter().for_each(|number| writer.number(number));
        self.counters.named().into_iter().for_each(|(_, number)| writer.number(number));
        writer
    }

    fn load_header(&mut self, reader: &mut Reader<'_>) -> Result<Loaded, EffectFault> {
        let [jobs, next_sequence, last_token, paused_until] = numbers(reader)?;
        let policy = Policy::from_numbers(numbers(reader)?);
        let counters = Counters::from_numbers(numbers(reader)?);
        let in_range = (1..=NEXT_SEQUENCE_MAX).contains(&next_sequence);
        let (Some(policy), true, true) = (policy, in_range && paused_until <= FOREVER.0, reader.is_at_end())
        else {
            return Err(reader.damaged());
        };
        let paused_until = (paused_until != 0).then_some(UnixMs(paused_until));
        // A token that was used here is never used again, whatever the header says.
        let last_token = last_token.max(self.last_token);
        *self = Queue { paused_until, counters, next_sequence, last_token, ..Queue::new(policy) };
        Ok(Loaded::Header { jobs })
    }

    fn load_jobs(&mut self, reader: &mut Reader<'_>) -> Result<Loaded, EffectFault> {
        let mut placed: Vec<Slot> = Vec::new();
        while !reader.is_at_end() {
            match reader.job().and_then(|job| self.place(job, reader)) {
                Ok(slot) => placed.push(slot),
                Err(fault) => {
                    placed.into_iter().for_each(|slot| self.displace(slot));
                    return Err(fault);
                }
            }
        }
        if placed.is_empty() { Err(reader.damaged()) } else { Ok(Loaded::Jobs(placed.len() as u64)) }
    }

    fn place(&mut self, job: Job, reader: &Reader<'_>) -> Result<Slot, EffectFault> {
        if job.sequence >= self.next_sequence || job.token() > self.last_token {
            return Err(reader.damaged());
        }
        let hash = self.index.hash(job.id.as_ref());
        if self.find_hashed(job.id.as_ref(), hash).is_some() {
            return Err(EffectFault::Duplicate);
        }
        let bytes = job.heap_bytes();
        let slot = self.jobs.insert(job).map_err(|_| EffectFault::Duplicate)?;
        let Some(job) = self.jobs.get(slot) else { return Err(EffectFault::Duplicate) };
        if !self.orders.insert(job, slot) {
            self.jobs.remove(slot);
            return Err(EffectFault::Duplicate);
        }
        self.index.insert(hash, slot);
        self.heap_bytes += bytes;
        Ok(slot)
    }

    fn displace(&mut self, slot: Slot) {
        let Some(job) = self.jobs.remove(slot) else { return };
        self.orders.remove(&job);
        self.index.remove(self.index.hash(job.id.as_ref()), slot);
        self.heap_bytes -= job.heap_bytes();
    }
}

fn numbers<const N: usize>(reader: &mut Reader<'_>) -> Result<[u64; N], EffectFault> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = reader.number()?;
    }
    Ok(numbers)
}
