//! The one place that reads the clock, and what is made of its readings: tokens and ids.

use std::sync::atomic::{AtomicU64, Ordering};

use dq_engine::job::Token;
use dq_engine::time::UnixMs;
use uuid::{ContextV7, Timestamp, Uuid};

use crate::host::{Context, Locked};

/// How many low bits of a token are random, the same for all tokens of a process in one role.
const SALT_BITS: u32 = 12;

static SALT: AtomicU64 = AtomicU64::new(0);
static LAST_TOKEN: AtomicU64 = AtomicU64::new(0);

/// The instant at which a command runs: the same for all that it does.
#[derive(Clone, Copy)]
pub struct Instant {
    /// In milliseconds, as jobs are timed.
    pub now: UnixMs,
    microseconds: u64,
}

/// Reads the server's wall clock. Once for each command.
#[must_use]
pub fn now(context: &Context<'_>) -> Instant {
    let microseconds = context.microseconds();
    Instant { now: UnixMs(microseconds / 1000), microseconds }
}

/// Returns a random number.
#[must_use]
pub fn random() -> u64 {
    // The last 62 bits of a version 7 UUID are random.
    Uuid::now_v7().as_u128() as u64 & (u64::MAX >> 2)
}

/// Draws the random bits of the tokens to come: when the module is loaded, and when the server changes its role.
pub fn draw_salt() {
    SALT.store(random() & ((1 << SALT_BITS) - 1), Ordering::Relaxed);
}

impl Instant {
    /// Returns a token that this process has not returned before: the time in microseconds and the random bits, or,
    /// if the clock stood still or stepped back, one more than the last.
    #[must_use]
    pub fn token(self) -> Token {
        let timed = self.microseconds << SALT_BITS | SALT.load(Ordering::Relaxed);
        let token = timed.max(LAST_TOKEN.load(Ordering::Relaxed) + 1);
        LAST_TOKEN.store(token, Ordering::Relaxed);
        token
    }
}

static IDS: Locked<ContextV7> = Locked::new(ContextV7::new());

/// Makes an id: a version 7 UUID, larger than all that this process made before, also within one millisecond.
#[must_use]
pub fn new_id(instant: Instant) -> [u8; 16] {
    let (seconds, rest) = (instant.now.0 / 1000, (instant.now.0 % 1000) as u32);
    Uuid::new_v7(Timestamp::from_unix(IDS.get(), seconds, rest * 1_000_000)).into_bytes()
}
