//! A consumer: claims the time-outs that are due, gives up their orders, and tells the queue so.

use std::path::Path;
use std::thread;
use std::time::Duration;

use redis::Connection;

use crate::Result;
use crate::arguments::Place;
use crate::clock;
use crate::ledger::{Event, Ledger};
use crate::order;

/// How many time-outs a worker takes at most at once.
const COUNT: u32 = 10;
/// How long they are this worker's alone.
pub const LEASE_MS: u64 = 1_000;
/// How long giving up one order takes.
const WORK: Duration = Duration::from_millis(5);
/// How long a worker waits, inside the server, before it looks whether it shall stop.
const BLOCK_MS: u64 = 100;

/// One delivered job, as DQ.CLAIM replies: id, message, attempt, due, receipt.
type Job = (String, Vec<u8>, u64, u64, String);

/// Runs until the file `stop` appears and nothing is due.
pub fn run(place: &Place, stop: &Path) -> Result<()> {
    let mut connection = redis::Client::open(place.server.as_str())?.get_connection()?;
    let mut ledger = Ledger::open(&place.ledger)?;
    loop {
        let jobs = claim(&mut connection, &place.key)?;
        if !jobs.is_empty() {
            deliver(&mut ledger, &jobs)?;
            acknowledge(&mut connection, &place.key, &mut ledger, &jobs)?;
        } else if stop.exists() {
            return Ok(());
        }
    }
}

/// The next jobs; none when nothing became due for a moment. The waiting is the server's.
fn claim(connection: &mut Connection, key: &str) -> Result<Vec<Job>> {
    let claim = redis::cmd("DQ.CLAIM")
        .arg(key)
        .arg("COUNT")
        .arg(COUNT)
        .arg("LEASE")
        .arg(LEASE_MS)
        .arg("BLOCK")
        .arg(BLOCK_MS)
        .query::<Option<Vec<Job>>>(connection)?;
    Ok(claim.unwrap_or_default())
}

/// The work itself: each order is given up.
fn deliver(ledger: &mut Ledger, jobs: &[Job]) -> Result<()> {
    let at_us = clock::now_us()?;
    let delivered = |(id, _, _, due_ms, _): &Job| Event::Delivered { id: id.clone(), due_ms: *due_ms, at_us };
    ledger.write(&jobs.iter().map(delivered).collect::<Vec<_>>())?;
    for (id, message, ..) in jobs {
        if order::id_in(message)? != *id {
            return Err(format!("{id} was delivered with another order's message").into());
        }
        thread::sleep(WORK);
        ledger.write(&[Event::Done { id: id.clone() }])?;
    }
    Ok(())
}

fn acknowledge(connection: &mut Connection, key: &str, ledger: &mut Ledger, jobs: &[Job]) -> Result<()> {
    let receipts: Vec<&str> = jobs.iter().map(|(.., receipt)| receipt.as_str()).collect();
    let replies: Vec<bool> = redis::cmd("DQ.ACK").arg(key).arg(receipts).query(connection)?;
    if replies.len() != jobs.len() {
        return Err(format!("{} receipts, {} replies", jobs.len(), replies.len()).into());
    }
    let acked = |((id, ..), current): (&Job, bool)| Event::Acked { id: id.clone(), current };
    ledger.write(&jobs.iter().zip(replies).map(acked).collect::<Vec<_>>())
}
