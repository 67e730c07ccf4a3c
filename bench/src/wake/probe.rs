//! A probe that asks the server for a PING each millisecond and notes how long it had to wait.
//!
//! A round trip also holds what the machine did meanwhile. The kernel tells how long the server and the probe were ready to run
//! and had no core; what is left without that is the server's own doing. The probe alone on an idle server is the baseline.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Bench, say};
use crate::client::{Connection, Wait};
use crate::error::Result;
use crate::server::{Durability, Server};
use crate::statistics::percentile;

const PACE: Duration = Duration::from_millis(1);

/// What a probe saw.
pub struct Readings {
    /// Round trips made.
    pub count: usize,
    /// p50, p99 and maximum of the round trips, in milliseconds.
    pub round_trip_ms: [f64; 3],
    /// The longest round trip less the time in which server or probe waited for a core, in milliseconds.
    pub undisturbed_ms: f64,
}

/// The probe alone.
pub fn baseline(bench: &Bench<'_>) -> Result<Vec<Readings>> {
    say("the probe alone");
    let server = bench.launcher.start(Durability::None)?;
    let length = bench.options.sizes.baseline / u32::try_from(bench.options.rounds)?;
    let rest = || {
        std::thread::sleep(length);
        Ok(())
    };
    (0..bench.options.rounds).map(|_| Ok(while_probing(&server, rest)?.1)).collect()
}

/// Does something while a probe runs in a second thread.
pub fn while_probing<T>(server: &Server, work: impl FnOnce() -> Result<T>) -> Result<(T, Readings)> {
    let probe =
        Probe { connection: server.connect_to_wait(Wait::Sleeping)?, account: server.schedule_account() };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let probe = scope.spawn(|| probe.run(&stop).map_err(|error| error.to_string()));
        let outcome = work();
        stop.store(true, Ordering::Relaxed);
        let readings = probe.join().map_err(|_| "the probe panicked")??;
        Ok((outcome?, readings))
    })
}

struct Probe {
    connection: Connection,
    account: PathBuf,
}

impl Probe {
    fn run(mut self, stop: &AtomicBool) -> Result<Readings> {
        let (mut round_trips_us, mut undisturbed) = (Vec::new(), Duration::ZERO);
        let mut next = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            next = (next + PACE).max(Instant::now());
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            let waited = self.waited_for_a_core()?;
            let start = Instant::now();
            self.connection.call(&[b"PING"])?;
            let round_trip = start.elapsed();
            let waited = self.waited_for_a_core()?.saturating_sub(waited);
            undisturbed = undisturbed.max(round_trip.saturating_sub(waited));
            round_trips_us.push(u32::try_from(round_trip.as_micros()).unwrap_or(u32::MAX));
        }
        round_trips_us.sort_unstable();
        Ok(Readings {
            count: round_trips_us.len(),
            round_trip_ms: [0.5, 0.99, 1.0].map(|share| f64::from(percentile(&round_trips_us, share)) / 1e3),
            undisturbed_ms: undisturbed.as_secs_f64() * 1e3,
        })
    }

    /// The sum of the server's and this thread's waits so far.
    fn waited_for_a_core(&self) -> Result<Duration> {
        let own = PathBuf::from("/proc/thread-self/schedstat");
        [&self.account, &own].into_iter().map(|account| waited(account)).sum()
    }
}

/// The second number of a thread's account: how long it was ready to run and had no core.
fn waited(account: &Path) -> Result<Duration> {
    let text = std::fs::read_to_string(account)?;
    let nanoseconds = text.split(' ').nth(1).ok_or("the kernel keeps no account of waits for a core")?;
    Ok(Duration::from_nanos(nanoseconds.parse()?))
}
