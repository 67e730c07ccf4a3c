//! Measures up to when everything has certainly reached the replica, so that it is known what a killed master may take
//! with it.
//!
//! A write, then WAIT: when the replica has it, it has all that was answered before that write was sent.

use std::sync::atomic::Ordering;

use crate::clock::now;
use crate::harness::reply::Reply;
use crate::shared::{Session, Shared, StopsOnPanic, pause};

/// The life of the pulse, until the run is over.
pub fn live(shared: &Shared) {
    let _stops = StopsOnPanic(shared);
    let mut session = None;
    while let Some(entered) = shared.enter() {
        if session.is_none() {
            session = Session::to_master(shared);
        }
        if let Some(open) = &mut session
            && beat(shared, open).is_none()
        {
            session = None;
        }
        drop(entered);
        pause(15);
    }
}

/// One beat; None when the connection is no more.
fn beat(shared: &Shared, session: &mut Session) -> Option<()> {
    if session.server != shared.master.load(Ordering::SeqCst) {
        return None;
    }
    let sent = now();
    let written = session.client.try_call(&["SET", "pulse", &sent.to_string()]).ok()?;
    let heard = session.client.try_call(&["WAIT", "1", "200"]).ok()?;
    let ledger = shared.ledger();
    // A beat of an earlier reign says nothing of this one.
    if written == "OK" && matches!(heard, Reply::Int(1..)) && session.reign == ledger.reign {
        shared.confirmed.fetch_max(sent, Ordering::SeqCst);
        shared.count("pulses confirmed by the replica");
    }
    Some(())
}
