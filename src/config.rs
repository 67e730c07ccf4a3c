//! The module's settings: read from the `loadmodule` line, then constant. `module.conf` documents each.

use std::sync::atomic::{AtomicUsize, Ordering};

use dq_engine::effect::parse_digits;
use dq_engine::error::printable;

struct Setting {
    name: &'static str,
    min: usize,
    max: usize,
    value: AtomicUsize,
}

static MAX_COUNT: Setting =
    Setting { name: "max-count", min: 1, max: 1_000_000, value: AtomicUsize::new(10_000) };
static MAX_REPLY_BYTES: Setting =
    Setting { name: "max-reply-bytes", min: 1, max: 1 << 40, value: AtomicUsize::new(64 << 20) };
static MAX_MESSAGE_BYTES: Setting =
    Setting { name: "max-message-bytes", min: 1, max: 4 << 30, value: AtomicUsize::new(512 << 20) };

static SETTINGS: [&Setting; 3] = [&MAX_COUNT, &MAX_REPLY_BYTES, &MAX_MESSAGE_BYTES];

/// Returns the largest `COUNT`.
#[must_use]
pub fn max_count() -> usize {
    MAX_COUNT.value.load(Ordering::Relaxed)
}

/// Returns after how many bytes of messages a reply, or a move, takes no further job.
#[must_use]
pub fn max_reply_bytes() -> usize {
    MAX_REPLY_BYTES.value.load(Ordering::Relaxed)
}

/// Returns the length of the longest message that is accepted.
#[must_use]
pub fn max_message_bytes() -> usize {
    MAX_MESSAGE_BYTES.value.load(Ordering::Relaxed)
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
        let number = parse_digits(value).and_then(|number| usize::try_from(number).ok());
        let Some(number) = number.filter(|number| (setting.min..=setting.max).contains(number)) else {
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
