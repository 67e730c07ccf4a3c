//! A consumer of one shard: waits inside the server for what becomes due, works, acknowledges.
//!
//! A blocking claim names one key, so who serves many shards has a connection and a thread for each. A shard may have as
//! many consumers as one likes; it should never have none.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use redis::cluster::ClusterClient;

use crate::Result;

const COUNT: u32 = 10;
const LEASE_MS: u64 = 30_000;
/// How long a claim waits before the consumer looks whether it is to stop.
const BLOCK_MS: u64 = 200;

/// One delivered job, as DQ.CLAIM replies: id, message, attempt, due, receipt.
type Job = (String, String, u64, u64, String);

/// Works until told that all is over; returns the ids of the jobs in the order in which they came.
pub fn run(
    client: &ClusterClient,
    key: &str,
    done: &AtomicUsize,
    is_over: &AtomicBool,
) -> Result<Vec<String>> {
    let mut connection = client.get_connection()?;
    let mut worked = Vec::new();
    while !is_over.load(Ordering::SeqCst) {
        let jobs: Option<Vec<Job>> = redis::cmd("DQ.CLAIM")
            .arg(key)
            .arg("COUNT")
            .arg(COUNT)
            .arg("LEASE")
            .arg(LEASE_MS)
            .arg("BLOCK")
            .arg(BLOCK_MS)
            .query(&mut connection)?;
        let Some(jobs) = jobs else { continue };
        // Here the work would be done.
        let receipts: Vec<&str> = jobs.iter().map(|(.., receipt)| receipt.as_str()).collect();
        let acked: Vec<bool> = redis::cmd("DQ.ACK").arg(key).arg(receipts).query(&mut connection)?;
        done.fetch_add(acked.iter().filter(|current| **current).count(), Ordering::SeqCst);
        worked.extend(jobs.into_iter().map(|(id, ..)| id));
    }
    Ok(worked)
}
