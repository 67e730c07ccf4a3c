//! The module's settings: read from the `loadmodule` line, then constant. `module.conf` documents each.

use std::sync::atomic::{AtomicU64, Ordering};

use dq_engine::effect::parse_digits;
use dq_engine::error::printable;
use dq_engine::policy::{Backoff, Policy};
use dq_engine::time::Millis;

struct Setting {
    name: &'static str,
    min: u64,
    max: u64,
    value: AtomicU64,
}

const fn setting(name: &'static str, min: u64, max: u64, default: u64) -> Setting {
    Setting { name, min, max, value: AtomicU64::new(default) }
}

const DURATION_MAX: u64 = Millis::MAX.0;

static MAX_COUNT: Setting = setting("max-count", 1, 1_000_000, 10_000);
static MAX_REPLY_BYTES: Setting = setting("max-reply-bytes", 1, 1 << 40, 64 << 20);
static MAX_MESSAGE_BYTES: Setting = setting("max-message-bytes", 1, 4 << 30, 512 << 20);
static LEASE: Setting = setting("policy-lease", 0, DURATION_MAX, 0);
static MAX_ATTEMPTS: Setting = setting("policy-max-attempts", 0, u16::MAX as u64, 0);
static BACKOFF_BASE: Setting = setting("policy-backoff-base", 0, DURATION_MAX, 1000);
static BACKOFF_FACTOR: Setting = setting("policy-backoff-factor", 1, 100, 2);
static BACKOFF_MAX: Setting = setting("policy-backoff-max", 0, DURATION_MAX, 3_600_000);
static BACKOFF_JITTER: Setting = setting("policy-backoff-jitter", 0, 100, 0);
static DEAD_MAX: Setting = setting("policy-dead-max", 0, Policy::DEAD_MAX_LIMIT, 10_000);
static TTL: Setting = setting("policy-ttl", 0, DURATION_MAX, 0);

static SETTINGS: [&Setting; 11] = [
    &MAX_COUNT,
    &MAX_REPLY_BYTES,
    &MAX_MESSAGE_BYTES,
    &LEASE,
    &MAX_ATTEMPTS,
    &BACKOFF_BASE,
    &BACKOFF_FACTOR,
    &BACKOFF_MAX,
    &BACKOFF_JITTER,
    &DEAD_MAX,
    &TTL,
];

impl Setting {
    fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }
}

/// Returns the largest `COUNT`.
#[must_use]
pub fn max_count() -> usize {
    MAX_COUNT.get() as usize
}

/// Returns after how many bytes of messages a reply, or a move, takes no further job.
#[must_use]
pub fn max_reply_bytes() -> usize {
    MAX_REPLY_BYTES.get() as usize
}

/// Returns the length of the longest message that is accepted.
#[must_use]
pub fn max_message_bytes() -> usize {
    MAX_MESSAGE_BYTES.get() as usize
}

/// Returns the policy of queues that are made from now on.
#[must_use]
pub fn default_policy() -> Policy {
    let attempts = MAX_ATTEMPTS.get() as u16;
    Policy {
        lease: Millis(LEASE.get()),
        max_attempts: (attempts != 0).then_some(attempts),
        backoff: Backoff {
            base: Millis(BACKOFF_BASE.get()),
            factor: BACKOFF_FACTOR.get() as u8,
            max: Millis(BACKOFF_MAX.get()),
            jitter_percent: BACKOFF_JITTER.get() as u8,
        },
        dead_max: Some(DEAD_MAX.get()),
        ttl: Millis(TTL.get()),
    }
}

/// Reads the words of the `loadmodule` line: names and values in turn.
pub fn configure(words: &[&[u8]]) -> Result<(), String> {
    for pair in words.chunks(2) {
        let [name, value] = pair else {
            let name = pair.first().map(|name| printable(name)).unwrap_or_default();
            return Err(format!("setting '{name}' has no value"));
        };
        let setting = SETTINGS.iter().find(|setting| setting.name.as_bytes().eq_ignore_ascii_case(name));
        let Some(setting) = setting else {
            return Err(format!("setting '{}' is not known", printable(name)));
        };
        let Some(number) = parse_digits(value).filter(|number| (setting.min..=setting.max).contains(number))
        else {
            let Setting { name, min, max, .. } = setting;
            return Err(format!(
                "{name} must be a whole number from {min} to {max}, not '{}'",
                printable(value)
            ));
        };
        setting.value.store(number, Ordering::Relaxed);
    }
    Ok(())
}
