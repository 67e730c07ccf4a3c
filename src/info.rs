//! The module's section of `INFO`: its version, and what happened to all jobs of all queues since the server started.
//!
//! `propagate` counts effects here, those that this server brought about and those that its master did. What is read
//! from files when the server starts is not counted: it happened before.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

use dq_engine::effect::{Cause, Effect};
use dq_engine::job::Reason;

use crate::host::Section;
use crate::waiters;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// How often something happened. It counts as the counter of the same name in `DQ.INFO` does.
struct Total {
    name: &'static CStr,
    count: AtomicU64,
}

const fn total(name: &'static CStr) -> Total {
    Total { name, count: AtomicU64::new(0) }
}

static PUSHED: Total = total(c"pushed_total");
static CLAIMED: Total = total(c"claimed_total");
static ACKED: Total = total(c"acked_total");
static NACKED: Total = total(c"nacked_total");
static EXPIRED: Total = total(c"expired_total");
static DIED: Total = total(c"died_total");
static DROPPED: Total = total(c"dropped_total");
static MOVED: Total = total(c"moved_total");
static CANCELLED: Total = total(c"cancelled_total");
static PURGED: Total = total(c"purged_total");

static TOTALS: [&Total; 10] =
    [&PUSHED, &CLAIMED, &ACKED, &NACKED, &EXPIRED, &DIED, &DROPPED, &MOVED, &CANCELLED, &PURGED];

impl Total {
    fn add(&self, number: usize) {
        self.count.fetch_add(number as u64, Ordering::Relaxed);
    }
}

/// Fills the section. A crashing server calls this too, in the middle of anything: it reads atomics, takes no lock,
/// borrows nothing and allocates nothing.
pub fn fill(section: &Section) {
    section.text(c"version", VERSION);
    let census = waiters::census();
    section.number(c"waiters", census.waiters);
    section.number(c"waited_keys", census.keys);
    section.number(c"timers", census.timers);
    for total in TOTALS {
        section.number(total.name, total.count.load(Ordering::Relaxed));
    }
}

/// Counts what happened.
pub fn count(effects: &[Effect<'_>]) {
    for effect in effects {
        match effect {
            Effect::Put(_) => PUSHED.add(1),
            Effect::Lease { ids, .. } => CLAIMED.add(ids.len()),
            Effect::Remove { cause, ids } => total_of(*cause).add(ids.len()),
            Effect::Release { .. } => NACKED.add(1),
            Effect::Bury { reason: Reason::Nacked | Reason::Rejected, .. } => {
                NACKED.add(1);
                DIED.add(1);
            }
            Effect::Bury { reason: Reason::LeaseExpired | Reason::Conflict, .. } => DIED.add(1),
            Effect::Extend { .. }
            | Effect::Error { .. }
            | Effect::Reschedule { .. }
            | Effect::Redrive { .. }
            | Effect::Policy(_)
            | Effect::Pause(_)
            | Effect::Load(_) => {}
        }
    }
}

fn total_of(cause: Cause) -> &'static Total {
    match cause {
        Cause::Claimed => &CLAIMED,
        Cause::Acked => &ACKED,
        Cause::Cancelled => &CANCELLED,
        Cause::Moved => &MOVED,
        Cause::Expired => &EXPIRED,
        Cause::Dropped => &DROPPED,
        Cause::Purged => &PURGED,
    }
}
