//! A client that waits without end for a queue in which there is nothing, through every disaster. When nobody works,
//! `inspection` pushes a job there, and the sentinel must be served: no wake-up is lost.

use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use crate::clock::now_ms;
use crate::shared::{Session, Shared, StopsOnPanic, pause};

/// The sentinel's queue.
pub const KEY: &str = "sentinel";

/// A job that the sentinel was given: its message, and when, in Unix milliseconds.
pub type Served = (String, u64);

/// The life of the sentinel, until the run is over.
pub fn live(shared: &Shared, served: &Sender<Served>) {
    let _stops = StopsOnPanic(shared);
    while !shared.stopped() {
        let Some(mut session) = Session::to_master(shared) else {
            pause(5);
            continue;
        };
        let _ = session.client.try_call(&["CLIENT", "SETNAME", KEY]);
        while session.server == shared.master.load(Ordering::SeqCst) && !shared.stopped() {
            let Ok(reply) = session.client.try_call(&["DQ.CLAIM", KEY, "BLOCK", "0"]) else { break };
            if reply.is_error() {
                // The master was demoted, is loading, or an operator has unblocked its clients.
                pause(5);
                break;
            }
            let jobs = if reply.is_null() { &[] } else { reply.items() };
            for job in jobs {
                let _ = served.send((job.items()[1].string(), now_ms()));
            }
        }
    }
}
