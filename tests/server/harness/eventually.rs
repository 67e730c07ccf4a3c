//! Waiting for what must become true; the only place in the tests that pauses.

use std::thread;
use std::time::{Duration, Instant};

/// How long a condition that needs no real time of its own may take on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// By how much deadlines are stretched: DQ_PATIENCE, for servers that run under a tool which slows them down.
pub fn patience() -> u32 {
    std::env::var("DQ_PATIENCE").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Repeats `condition` until it holds; fails the test, naming `what`, when `deadline` is over.
#[track_caller]
pub fn eventually(what: &str, deadline: Duration, mut condition: impl FnMut() -> bool) {
    if !became_true(deadline, &mut condition) {
        panic!("not within {deadline:?}: {what}");
    }
}

/// Repeats `attempt` until it returns something; fails the test, naming `what`, when `deadline` is over.
#[track_caller]
pub fn eventually_some<T>(what: &str, deadline: Duration, mut attempt: impl FnMut() -> Option<T>) -> T {
    let mut found = None;
    eventually(what, deadline, || {
        found = attempt();
        found.is_some()
    });
    found.unwrap_or_else(|| panic!("nothing: {what}"))
}

/// Repeats `condition` until it holds (true) or `deadline` is over (false).
pub fn became_true(deadline: Duration, condition: &mut dyn FnMut() -> bool) -> bool {
    let end = Instant::now() + deadline * patience();
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(Duration::from_millis(2));
    }
}
