//! The module's settings: from the `loadmodule` line, and from the server's configuration where that can have them.
//! `module.conf` documents each.

use std::ffi::CStr;

use dq_engine::effect::parse_digits;
use dq_engine::error::printable;
use dq_engine::policy::{Backoff, Policy};
use dq_engine::time::Millis;

use crate::host::{Setting, Unit};

const DURATION_MAX: u64 = Millis::MAX.0;

const fn bytes(name: &'static CStr, max: u64, default: u64) -> Setting {
    Setting::new(name, Unit::Bytes, 1, max, default)
}

const fn number(name: &'static CStr, min: u64, max: u64, default: u64) -> Setting {
    Setting::new(name, Unit::Plain, min, max, default)
}

static MAX_COUNT: Setting = number(c"max-count", 1, 1_000_000, 10_000);
static MAX_REPLY_BYTES: Setting = bytes(c"max-reply-bytes", 1 << 40, 64 << 20);
static MAX_MESSAGE_BYTES: Setting = bytes(c"max-message-bytes", 4 << 30, 512 << 20);
static LEASE: Setting = number(c"policy-lease", 0, DURATION_MAX, 0);
static MAX_ATTEMPTS: Setting = number(c"policy-max-attempts", 0, u16::MAX as u64, 0);
static BACKOFF_BASE: Setting = number(c"policy-backoff-base", 0, DURATION_MAX, 1000);
static BACKOFF_FACTOR: Setting = number(c"policy-backoff-factor", 1, 100, 2);
static BACKOFF_MAX: Setting = number(c"policy-backoff-max", 0, DURATION_MAX, 3_600_000);
static BACKOFF_JITTER: Setting = number(c"policy-backoff-jitter", 0, 100, 0);
static DEAD_MAX: Setting = number(c"policy-dead-max", 0, Policy::DEAD_MAX_LIMIT, 10_000);
static TTL: Setting = number(c"policy-ttl", 0, DURATION_MAX, 0);

/// All settings.
pub static SETTINGS: [&Setting; 11] = [
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
        let is_named = |setting: &&&Setting| setting.name.to_bytes().eq_ignore_ascii_case(name);
        let Some(setting) = SETTINGS.iter().find(is_named) else {
            return Err(format!("setting '{}' is not known", printable(name)));
        };
        let in_range = |number: &u64| (setting.min..=setting.max).contains(number);
        match parse(value, setting.unit).filter(in_range) {
            Some(number) => setting.set(number),
            None => return Err(out_of_range(setting, value)),
        }
    }
    Ok(())
}

fn out_of_range(setting: &Setting, value: &[u8]) -> String {
    let Setting { name, min, max, .. } = setting;
    let name = name.to_string_lossy();
    format!("{name} must be a whole number from {min} to {max}, not '{}'", printable(value))
}

/// Reads a number; of bytes also one with a unit, as the server's own settings have it.
fn parse(value: &[u8], unit: Unit) -> Option<u64> {
    let (digits, factor) = match unit {
        Unit::Plain => (value, 1),
        Unit::Bytes => split_unit(value)?,
    };
    parse_digits(digits)?.checked_mul(factor)
}

/// Splits `64mb` into `64` and what a `mb` is in bytes. `None` if there is no such unit.
fn split_unit(value: &[u8]) -> Option<(&[u8], u64)> {
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, unit) = value.split_at_checked(digits)?;
    let factor = match unit.to_ascii_lowercase().as_slice() {
        b"" | b"b" => 1,
        b"k" => 1000,
        b"kb" => 1 << 10,
        b"m" => 1_000_000,
        b"mb" => 1 << 20,
        b"g" => 1_000_000_000,
        b"gb" => 1 << 30,
        _ => return None,
    };
    Some((digits, factor))
}
