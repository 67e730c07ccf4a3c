//! Target `chunks`: the stored form as anyone may have written it, into a file or a RESTORE.
//!
//! An input is chunks, each behind its length in two bytes, the lowest first; the last one may be shorter than it says.

use dq_engine::queue::{Loaded, Queue};

use crate::random::aftermath::use_up;
use crate::random::chunks::{loaded, stored};

/// Loads the chunks of `input`. Each is refused with nothing changed, or leaves a sound queue; what is there at the end
/// is stored, loaded and stored again as the same bytes, and all of it can be used up.
pub fn run(input: &[u8]) {
    let mut queue = Queue::default();
    for chunk in split(input) {
        load(&mut queue, chunk);
    }
    let chunks = stored(&queue);
    let again = loaded(&chunks);
    assert_eq!((again.check(), stored(&again)), (Ok(()), chunks));
    use_up(queue);
}

fn load(queue: &mut Queue, chunk: &[u8]) {
    let (before, records) = (stored(queue), queue.records() as u64);
    let done = queue.load(chunk);
    assert_eq!(queue.check(), Ok(()));
    match done {
        Ok(Loaded::Header { .. }) => assert_eq!(queue.records(), 0),
        Ok(Loaded::Jobs(jobs)) => assert_eq!(queue.records() as u64, records + jobs),
        Err(_) => assert_eq!(stored(queue), before, "refused, and changed all the same"),
    }
}

fn split(mut input: &[u8]) -> Vec<&[u8]> {
    let mut chunks = Vec::new();
    while let [low, high, rest @ ..] = input {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (chunk, behind) = rest.split_at(length);
        chunks.push(chunk);
        input = behind;
    }
    chunks
}

/// The input of which these are the chunks.
#[must_use]
pub fn joined(chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut input = Vec::new();
    for chunk in chunks {
        input.extend_from_slice(&(chunk.len() as u16).to_le_bytes());
        input.extend_from_slice(chunk);
    }
    input
}
