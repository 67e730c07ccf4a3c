//! Reads effects from their words, with every number checked: they may come from anyone.

use super::words::reason_word;
use super::{Cause, Effect, FOREVER, Ids, Put, Word};
use crate::error::EffectFault;
use crate::id::{Id, IdRef};
use crate::job::{ERROR_MAX, Reason};
use crate::policy::Policy;
use crate::time::UnixMs;

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
                token: self.number("token", 1, u64::MAX)?,
                ids: self.ids()?,
            },
            b"REMOVE" => Effect::Remove { cause: self.one_of(&Cause::ALL, Cause::word)?, ids: self.ids()? },
            b"EXTEND" => Effect::Extend { until: self.time("until")?, ids: self.ids()? },
            b"RELEASE" => {
                Effect::Release { id: self.id()?, visible: self.time("visible")?, attempts: self.attempts()? }
            }
            b"ERROR" => Effect::Error { id: self.id()?, text: self.error_text()? },
            b"BURY" => Effect::Bury {
                id: self.id()?,
                reason: self.one_of(&Reason::ALL, reason_word)?,
                died: self.time("died")?,
            },
            b"RESCHEDULE" => {
                let (id, due) = (self.id()?, self.time("due")?);
                Effect::Reschedule { id, due, expires: self.expires(1)? }
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
        let priority =
            self.after(Word::Priority, |reader| reader.number("priority", 1, u64::from(u8::MAX)))?;
        let expires = self.expires(due.0.max(1))?;
        let attempts =
            self.after(Word::Attempts, |reader| reader.number("attempts", 1, u64::from(u32::MAX)))?;
        let (priority, attempts) = (priority.unwrap_or(0) as u8, attempts.unwrap_or(0) as u32);
        Ok(Put { id, message, due, priority, expires, attempts })
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

    /// Reads what follows `word`, if that is next.
    fn after<T>(
        &mut self,
        word: Word,
        read: impl FnOnce(&mut Self) -> Result<T, EffectFault>,
    ) -> Result<Option<T>, EffectFault> {
        match self.words.as_slice().first() {
            Some(next) if *next == word.as_str().as_bytes() => {
                self.words.next();
                read(self).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// An expiry, if there is one.
    fn expires(&mut self, earliest: u64) -> Result<Option<UnixMs>, EffectFault> {
        self.after(Word::Expires, |reader| reader.number("expires", earliest, UnixMs::MAX.0).map(UnixMs))
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

    fn ids(&mut self) -> Result<Ids, EffectFault> {
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

    fn one_of<T: Copy>(&mut self, all: &[T], word_of: impl Fn(T) -> Word) -> Result<T, EffectFault> {
        let word = self.text("cause or reason")?;
        let found = all.iter().find(|&&one| word_of(one).as_str().as_bytes() == word);
        found.copied().ok_or_else(|| EffectFault::UnknownWord(word.into()))
    }

    fn policy(&mut self) -> Result<Policy, EffectFault> {
        let mut numbers = [0; Policy::NUMBERS];
        for place in &mut numbers {
            *place = self.number("policy", 0, u64::MAX)?;
        }
        Policy::from_numbers(numbers).ok_or(EffectFault::Number("policy"))
    }
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
