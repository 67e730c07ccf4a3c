//! The words of effects: the arguments of `DQ.APPLY`. Written here, and read back with every number checked.

use super::{Cause, Effect, FOREVER, Put, TOKEN_MAX};
use crate::error::EffectFault;
use crate::id::{Id, IdRef};
use crate::job::{ERROR_MAX, Reason};
use crate::policy::{Backoff, Policy};
use crate::time::{Millis, UnixMs};

const CAUSES: [(Cause, &str); 7] = [
    (Cause::Claimed, "claimed"),
    (Cause::Acked, "acked"),
    (Cause::Cancelled, "cancelled"),
    (Cause::Moved, "moved"),
    (Cause::Expired, "expired"),
    (Cause::Dropped, "dropped"),
    (Cause::Purged, "purged"),
];

const REASONS: [(Reason, &str); 4] = [
    (Reason::Nacked, "nacked"),
    (Reason::Rejected, "rejected"),
    (Reason::LeaseExpired, "lease-expired"),
    (Reason::Conflict, "conflict"),
];

/// Takes the words of effects, one argument each.
pub trait Words {
    /// A word or bytes.
    fn text(&mut self, bytes: &[u8]);

    /// A number, in decimal digits.
    fn number(&mut self, number: u64);

    /// A word with an id.
    fn word_and_id(&mut self, word: &str, id: &Id) {
        self.text(word.as_bytes());
        self.text(&id.text());
    }

    /// A word with a number.
    fn word_and_number(&mut self, word: &str, number: u64) {
        self.text(word.as_bytes());
        self.number(number);
    }

    /// How many ids, and the ids.
    fn ids(&mut self, ids: &[Id]) {
        self.number(ids.len() as u64);
        for id in ids {
            self.text(&id.text());
        }
    }
}

impl Effect<'_> {
    /// Writes the effect as words.
    pub fn write(&self, out: &mut impl Words) {
        match self {
            Effect::Put(put) => put.write(out),
            Effect::Lease { until, token, ids } => {
                out.word_and_number("LEASE", until.0);
                out.number(*token);
                out.ids(ids);
            }
            Effect::Remove { cause, ids } => {
                out.text(b"REMOVE");
                out.text(word_of(&CAUSES, *cause));
                out.ids(ids);
            }
            Effect::Extend { until, ids } => {
                out.word_and_number("EXTEND", until.0);
                out.ids(ids);
            }
            Effect::Release { id, visible, attempts } => {
                out.word_and_id("RELEASE", id);
                out.number(visible.0);
                out.number(u64::from(*attempts));
            }
            Effect::Error { id, text } => {
                out.word_and_id("ERROR", id);
                out.text(text);
            }
            Effect::Bury { id, reason, died } => {
                out.word_and_id("BURY", id);
                out.text(word_of(&REASONS, *reason));
                out.number(died.0);
            }
            Effect::Reschedule { id, due, expires } => {
                out.word_and_id("RESCHEDULE", id);
                out.number(due.0);
                out.number(expires.map_or(0, |at| at.0));
            }
            Effect::Redrive { due, ids } => {
                out.word_and_number("REDRIVE", due.0);
                out.ids(ids);
            }
            Effect::Policy(policy) => {
                out.text(b"POLICY");
                policy_numbers(policy).into_iter().for_each(|number| out.number(number));
            }
            Effect::Pause(until) => out.word_and_number("PAUSE", until.map_or(0, |at| at.0)),
            Effect::Load(chunk) => {
                out.text(b"LOAD");
                out.text(chunk);
            }
        }
    }
}

impl Put<'_> {
    fn write(&self, out: &mut impl Words) {
        out.text(b"PUT");
        out.text(&self.id.text());
        out.text(self.message);
        out.number(self.due.0);
        out.number(u64::from(self.priority));
        out.number(self.expires.map_or(0, |at| at.0));
        out.number(u64::from(self.attempts));
    }
}

/// Reads effects from their words. Refuses unknown words, missing arguments and numbers out of range.
pub fn parse<'a>(words: &[&'a [u8]]) -> Result<Vec<Effect<'a>>, EffectFault> {
    let mut reader = Reader { words: words.iter() };
    let mut effects = Vec::new();
    loop {
        effects.push(reader.effect()?);
        if reader.words.len() == 0 {
            break;
        }
    }
    if effects.len() > 1 && effects.iter().any(|effect| matches!(effect, Effect::Load(_))) {
        return Err(EffectFault::LoadNotAlone);
    }
    Ok(effects)
}

struct Reader<'w, 'a> {
    words: std::slice::Iter<'w, &'a [u8]>,
}

impl<'a> Reader<'_, 'a> {
    fn effect(&mut self) -> Result<Effect<'a>, EffectFault> {
        let word = self.text("effect")?;
        let effect = match word {
            b"PUT" => Effect::Put(self.put()?),
            b"LEASE" => Effect::Lease {
                until: self.time("until")?,
                token: self.number("token", 1, TOKEN_MAX)?,
                ids: self.ids()?,
            },
            b"REMOVE" => Effect::Remove { cause: self.one_of(&CAUSES)?, ids: self.ids()? },
            b"EXTEND" => Effect::Extend { until: self.time("until")?, ids: self.ids()? },
            b"RELEASE" => {
                Effect::Release { id: self.id()?, visible: self.time("visible")?, attempts: self.attempts()? }
            }
            b"ERROR" => Effect::Error { id: self.id()?, text: self.error_text()? },
            b"BURY" => {
                Effect::Bury { id: self.id()?, reason: self.one_of(&REASONS)?, died: self.time("died")? }
            }
            b"RESCHEDULE" => {
                let (id, due) = (self.id()?, self.time("due")?);
                Effect::Reschedule { id, due, expires: self.expires(due)? }
            }
            b"REDRIVE" => Effect::Redrive { due: self.time("due")?, ids: self.ids()? },
            b"POLICY" => Effect::Policy(self.policy()?),
            b"PAUSE" => Effect::Pause(self.pause()?),
            b"LOAD" => Effect::Load(self.text("chunk")?),
            unknown => return Err(EffectFault::UnknownWord(unknown.into())),
        };
        Ok(effect)
    }

    fn put(&mut self) -> Result<Put<'a>, EffectFault> {
        let id = self.id_ref()?;
        let message = self.text("message")?;
        let due = self.time("due")?;
        let priority = self.number("priority", 0, u64::from(u8::MAX))? as u8;
        let expires = self.expires(due)?;
        Ok(Put { id, message, due, priority, expires, attempts: self.attempts()? })
    }

    fn text(&mut self, what: &'static str) -> Result<&'a [u8], EffectFault> {
        self.words.next().copied().ok_or(EffectFault::Missing(what))
    }

    fn number(&mut self, what: &'static str, min: u64, max: u64) -> Result<u64, EffectFault> {
        let digits = self.text(what)?;
        parse_digits(digits).filter(|number| (min..=max).contains(number)).ok_or(EffectFault::Number(what))
    }

    fn time(&mut self, what: &'static str) -> Result<UnixMs, EffectFault> {
        self.number(what, 0, UnixMs::MAX.0).map(UnixMs)
    }

    /// An expiry, 0 for none; never before the job is due.
    fn expires(&mut self, due: UnixMs) -> Result<Option<UnixMs>, EffectFault> {
        match self.time("expires")? {
            UnixMs(0) => Ok(None),
            at if at >= due => Ok(Some(at)),
            _ => Err(EffectFault::Number("expires")),
        }
    }

    fn pause(&mut self) -> Result<Option<UnixMs>, EffectFault> {
        let until = self.number("until", 0, FOREVER.0)?;
        Ok((until != 0).then_some(UnixMs(until)))
    }

    fn attempts(&mut self) -> Result<u32, EffectFault> {
        Ok(self.number("attempts", 0, u64::from(u32::MAX))? as u32)
    }

    fn id_ref(&mut self) -> Result<IdRef<'a>, EffectFault> {
        IdRef::new(self.text("id")?).map_err(|_| EffectFault::Number("length of id"))
    }

    fn id(&mut self) -> Result<Id, EffectFault> {
        self.id_ref().map(IdRef::to_id)
    }

    fn ids(&mut self) -> Result<Vec<Id>, EffectFault> {
        let count = self.number("count of ids", 1, u64::from(u32::MAX))?;
        if count > self.words.len() as u64 {
            return Err(EffectFault::Missing("id"));
        }
        (0..count).map(|_| self.id()).collect()
    }

    fn error_text(&mut self) -> Result<Box<[u8]>, EffectFault> {
        let text = self.text("error text")?;
        if text.len() > ERROR_MAX {
            return Err(EffectFault::Number("length of error text"));
        }
        Ok(text.into())
    }

    fn one_of<T: Copy>(&mut self, table: &[(T, &str)]) -> Result<T, EffectFault> {
        let word = self.text("cause or reason")?;
        let found = table.iter().find(|(_, known)| known.as_bytes() == word);
        found.map(|(value, _)| *value).ok_or_else(|| EffectFault::UnknownWord(word.into()))
    }

    fn policy(&mut self) -> Result<Policy, EffectFault> {
        let mut numbers = [0; POLICY_NUMBERS];
        for place in &mut numbers {
            *place = self.number("policy", 0, u64::MAX)?;
        }
        policy_from(numbers).ok_or(EffectFault::Number("policy"))
    }
}

/// How many numbers make a policy.
pub const POLICY_NUMBERS: usize = 8;

/// A policy as numbers, in the order in which they are stored; 0 is "none" or "unlimited".
pub fn policy_numbers(policy: &Policy) -> [u64; POLICY_NUMBERS] {
    [
        policy.lease.0,
        policy.max_attempts.map_or(0, u64::from),
        policy.backoff.base.0,
        u64::from(policy.backoff.factor),
        policy.backoff.max.0,
        u64::from(policy.backoff.jitter_percent),
        policy.dead_max.map_or(0, |most| most.saturating_add(1)),
        policy.ttl.0,
    ]
}

/// Reads a policy from its numbers; `None` if one is out of its range.
pub fn policy_from(numbers: [u64; POLICY_NUMBERS]) -> Option<Policy> {
    let [lease, attempts, base, factor, max, jitter, dead_max, ttl] = numbers;
    let durations = [lease, base, max, ttl];
    let in_range = durations.iter().all(|&ms| ms <= Millis::MAX.0) && (1..=100).contains(&factor);
    if !in_range || jitter > 100 {
        return None;
    }
    let attempts = u16::try_from(attempts).ok()?;
    Some(Policy {
        lease: Millis(lease),
        max_attempts: (attempts != 0).then_some(attempts),
        backoff: Backoff {
            base: Millis(base),
            factor: factor as u8,
            max: Millis(max),
            jitter_percent: jitter as u8,
        },
        dead_max: dead_max.checked_sub(1),
        ttl: Millis(ttl),
    })
}

/// Reads a number of 1 to 20 decimal digits and nothing else; `None` if it is not one or does not fit.
#[must_use]
pub fn parse_digits(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return None;
        }
        number.checked_mul(10)?.checked_add(u64::from(value))
    })
}

fn word_of<T: Copy + PartialEq>(table: &[(T, &'static str)], value: T) -> &'static [u8] {
    table.iter().find(|(known, _)| *known == value).map_or(b"", |(_, word)| word.as_bytes())
}
