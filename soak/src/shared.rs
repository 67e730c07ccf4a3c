//! What all threads of a run share: where the master is, the gate that stops everyone, the ledger, the tallies.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use crate::clock::{Moment, now};
use crate::harness::client::Client;
use crate::ledger::Ledger;

/// Everything that is shared.
pub struct Shared {
    pub sockets: [PathBuf; 2],
    /// Which of the two servers is the master.
    pub master: AtomicUsize,
    /// Up to when everything has certainly reached the replica, as the pulse measured it.
    pub confirmed: AtomicU64,
    pub stop: AtomicBool,
    /// From when to when a refusal for want of memory is expected.
    pub pressure: Mutex<(Moment, Moment)>,
    /// The disasters, and when each began.
    pub chronicle: Mutex<Vec<(Moment, String)>>,
    ledger: Mutex<Ledger>,
    tallies: Mutex<BTreeMap<String, u64>>,
    gate: RwLock<()>,
    hold: AtomicBool,
}

impl Shared {
    pub fn new(sockets: [PathBuf; 2]) -> Shared {
        Shared {
            sockets,
            master: AtomicUsize::new(0),
            confirmed: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            pressure: Mutex::new((0, 0)),
            chronicle: Mutex::default(),
            ledger: Mutex::default(),
            tallies: Mutex::default(),
            gate: RwLock::new(()),
            hold: AtomicBool::new(false),
        }
    }

    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("a client that panicked has stopped the run")
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Counts something for the summary.
    pub fn count(&self, what: &str) {
        self.count_many(what, 1);
    }

    pub fn count_many(&self, what: &str, number: u64) {
        *self.tallies.lock().expect("no one panics here").entry(what.to_owned()).or_default() += number;
    }

    /// Counts a disaster that begins now.
    pub fn chronicle(&self, what: &str) {
        self.count(&format!("event {what}"));
        self.chronicle.lock().expect("no one panics here").push((now(), what.to_owned()));
    }

    /// What was counted under names that begin so, without that beginning.
    pub fn counted(&self, beginning: &str) -> Vec<(String, u64)> {
        let tallies = self.tallies.lock().expect("no one panics here");
        let mine = tallies
            .iter()
            .filter_map(|(name, count)| Some((name.strip_prefix(beginning)?.to_owned(), *count)));
        mine.collect()
    }

    /// The right to do one thing; waits as long as everyone is to be still. None when the run is over.
    pub fn enter(&self) -> Option<RwLockReadGuard<'_, ()>> {
        loop {
            if self.stopped() {
                return None;
            }
            if !self.hold.load(Ordering::SeqCst) {
                return Some(self.gate.read().expect("the gate holds nothing"));
            }
            pause(1);
        }
    }

    /// Keeps everyone from beginning anything new; returns as soon as all are done, calling `wake` until then.
    pub fn silence(&self, mut wake: impl FnMut()) -> Option<RwLockWriteGuard<'_, ()>> {
        self.hold.store(true, Ordering::SeqCst);
        let patience = now() + 60_000_000;
        loop {
            if let Ok(guard) = self.gate.try_write() {
                return Some(guard);
            }
            if now() > patience {
                return None;
            }
            wake();
            pause(20);
        }
    }

    /// Lets everyone go on.
    pub fn resume(&self) {
        self.hold.store(false, Ordering::SeqCst);
    }
}

/// A connection, and the reign in which it was made.
pub struct Session {
    pub client: Client,
    pub reign: u64,
    pub server: usize,
}

impl Session {
    /// Connects to the master, if it is up.
    pub fn to_master(shared: &Shared) -> Option<Session> {
        let reign = shared.ledger().reign;
        let server = shared.master.load(Ordering::SeqCst);
        let client = Client::connect(&shared.sockets[server]).ok()?;
        Some(Session { client, reign, server })
    }

    /// Connects to the other one.
    pub fn to_replica(shared: &Shared) -> Option<Session> {
        let reign = shared.ledger().reign;
        let server = 1 - shared.master.load(Ordering::SeqCst);
        let client = Client::connect(&shared.sockets[server]).ok()?;
        Some(Session { client, reign, server })
    }
}

/// Waits for so many milliseconds.
pub fn pause(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// Stops the run when the thread that owns it panics.
pub struct StopsOnPanic<'a>(pub &'a Shared);

impl Drop for StopsOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop.store(true, Ordering::SeqCst);
        }
    }
}
