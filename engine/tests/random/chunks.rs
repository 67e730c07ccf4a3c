//! The chunks of a queue: stored, loaded, and cut into one chunk a job.

use dq_engine::codec::{HEADER, JOBS, Reader, Writer};
use dq_engine::job::Job;
use dq_engine::policy::Policy;
use dq_engine::queue::Queue;
use proptest::prelude::*;

/// An empty queue whose next job is given this sequence.
pub fn numbered_from(policy: Policy, next_sequence: u64) -> Queue {
    let mut header = Writer::new(HEADER);
    [0, next_sequence, 0, 0].into_iter().for_each(|number| header.number(number));
    policy.numbers().into_iter().for_each(|number| header.number(number));
    (0..11).for_each(|_| header.number(0));
    loaded(&[header.bytes().to_vec()])
}

/// Where a queue begins to number its jobs: at 1, or so late that it must number them anew.
pub fn first_sequence() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(1), 1 => (1u64 << 63) - 60..1 << 63]
}

/// The chunks that the queue is stored in.
pub fn stored(queue: &Queue) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    queue.store(&mut |chunk| chunks.push(chunk.to_vec()));
    chunks
}

/// The queue that chunks are loaded into.
pub fn loaded(chunks: &[Vec<u8>]) -> Queue {
    let mut queue = Queue::default();
    for chunk in chunks {
        queue.load(chunk).expect("a chunk that a queue stored");
    }
    queue
}

/// The jobs in all chunks but the first, which is the header.
pub fn jobs_of(chunks: &[Vec<u8>]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for chunk in &chunks[1..] {
        let (_, mut reader) = Reader::new(chunk).expect("a kind");
        while !reader.is_at_end() {
            jobs.push(reader.job().expect("a sound job"));
        }
    }
    jobs
}

/// A chunk of these jobs.
pub fn chunk_of(jobs: &[Job]) -> Vec<u8> {
    let mut writer = Writer::new(JOBS);
    jobs.iter().for_each(|job| writer.job(job));
    writer.bytes().to_vec()
}
