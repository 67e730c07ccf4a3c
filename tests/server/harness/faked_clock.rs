//! A server's wall clock in the hand of a test, by way of libfaketime (Debian package `faketime`).
//!
//! Only the wall clock is faked: the event loop's monotonic clock goes on as it is.

use crate::harness::server::Setup;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// A clock that stands off from the real one by a settable number of seconds.
pub struct FakedClock {
    file: PathBuf,
    library: String,
}

impl FakedClock {
    /// A clock that shows the real time, or None, with a message, where faketime is not installed.
    pub fn find(test: &str) -> Option<FakedClock> {
        let asked = Command::new("faketime").args(["-f", "+0", "printenv", "LD_PRELOAD"]).output();
        let Some(output) = asked.ok().filter(|output| output.status.success()) else {
            eprintln!("{test}: skipped, faketime is not installed");
            return None;
        };
        // Behind it libc: where the server's malloc is jemalloc's, that asks for the time before libfaketime
        // is ready to answer, and both wait for ever. libc's malloc does not.
        let library = format!("{} libc.so.6", String::from_utf8_lossy(&output.stdout).trim());
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let file = std::env::temp_dir().join(format!("dq-{}-clock-{number}", std::process::id()));
        let clock = FakedClock { file, library };
        clock.set(0);
        Some(clock)
    }

    /// Makes the clock show the real time plus so many seconds, from now on.
    pub fn set(&self, offset_seconds: i64) {
        self.write(&format!("{offset_seconds:+}"));
    }

    /// Stops the clock at a time such as `2026-11-30 12:00:00`, of the server's time zone.
    pub fn stop_at(&self, time: &str) {
        self.write(time);
    }

    fn write(&self, text: &str) {
        // Renamed into place: a server that reads at this moment sees the old or the new time, never half.
        let fresh = self.file.with_extension("new");
        fs::write(&fresh, format!("{text}\n")).expect("the clock's file is written");
        fs::rename(&fresh, &self.file).expect("the clock's file is put in place");
    }

    /// The setup of a server that lives by this clock.
    pub fn on(&self, setup: Setup) -> Setup {
        setup
            .environment("LD_PRELOAD", &self.library)
            .environment("FAKETIME_TIMESTAMP_FILE", &self.file.display().to_string())
            .environment("FAKETIME_NO_CACHE", "1")
            .environment("FAKETIME_DONT_FAKE_MONOTONIC", "1")
    }
}

impl Drop for FakedClock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}
