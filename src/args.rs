//! Reads the arguments of a command, one after another, with every value checked against its range.
//!
//! A command takes what it needs, then asks for option words until there is none left or until it comes to a word that
//! is not an option, and at last calls `finish`. Nothing of a key is touched before that.

use dq_engine::effect::parse_digits;
use dq_engine::id::{ID_MAX, IdRef};
use dq_engine::queue::Receipt;
use dq_engine::time::{Millis, UnixMs};
use dq_engine::timeline::Key as Place;

use crate::config;
use crate::error::Error;
use crate::host::Text;

/// The longest option word, so that any can be compared in upper case without an allocation.
const WORD_MAX: usize = 16;

/// The arguments that have not been read.
pub struct Args<'a> {
    rest: &'a [Text],
}

/// An option word in upper case.
pub struct Word {
    upper: [u8; WORD_MAX],
    length: usize,
}

impl Word {
    fn of(bytes: &[u8]) -> Self {
        let mut upper = [0; WORD_MAX];
        let length = match upper.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                place.make_ascii_uppercase();
                bytes.len()
            }
            None => 0,
        };
        Word { upper, length }
    }

    /// Returns the word in upper case; nothing if it is longer than any option.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.upper.get(..self.length).unwrap_or_default()
    }
}

impl<'a> Args<'a> {
    /// Begins to read `words`.
    #[must_use]
    pub fn new(words: &'a [Text]) -> Self {
        Args { rest: words }
    }

    /// Returns how many are left.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rest.len()
    }

    /// Takes the next argument as it is. `what` it is, if it is missing.
    pub fn next(&mut self, what: &'static str) -> Result<Text, Error> {
        let (first, rest) = self.rest.split_first().ok_or(Error::Missing(what))?;
        self.rest = rest;
        Ok(*first)
    }

    /// Returns the next argument as an option word without taking it.
    #[must_use]
    pub fn peek(&self) -> Option<Word> {
        self.rest.first().map(|word| Word::of(word.bytes()))
    }

    /// Takes the next argument, which was peeked at.
    pub fn skip(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    /// The next word is not understood.
    #[must_use]
    pub fn syntax_error(&self) -> Error {
        Error::Syntax(self.rest.first().map_or(&b""[..], |word| word.bytes()).into())
    }

    /// Takes the option word that was peeked at, if it was not given before.
    pub fn flag(&mut self, given: &mut bool) -> Result<(), Error> {
        if *given {
            return Err(self.syntax_error());
        }
        self.skip();
        *given = true;
        Ok(())
    }

    /// Takes the option word that was peeked at and its value, if it was not given before.
    pub fn value<T>(
        &mut self,
        given: &mut Option<T>,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<(), Error> {
        if given.is_some() {
            return Err(self.syntax_error());
        }
        self.skip();
        *given = Some(read(self)?);
        Ok(())
    }

    /// Ends the reading. Refuses whatever is left.
    pub fn finish(self) -> Result<(), Error> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.syntax_error()) }
    }

    /// Takes the value of an option or of an argument that has a range.
    fn value_of(&mut self, what: &'static str) -> Result<&'a [u8], Error> {
        self.next(what).map(Text::bytes).map_err(|_| Error::NoValue(what))
    }

    /// Takes a number.
    pub fn number(&mut self, what: &'static str, min: u64, max: u64) -> Result<u64, Error> {
        let value = self.value_of(what)?;
        parse_digits(value).filter(|number| (min..=max).contains(number)).ok_or_else(|| Error::Range {
            what,
            range: format!("a whole number from {min} to {max}"),
            value: value.into(),
        })
    }

    /// Takes a duration.
    pub fn duration(&mut self, what: &'static str) -> Result<Millis, Error> {
        let value = self.value_of(what)?;
        let number = parse_digits(value);
        number.map(Millis).filter(|duration| *duration <= Millis::MAX).ok_or_else(|| {
            let hint = if number.is_some() && what == "DELAY" { " (for a Unix time use AT)" } else { "" };
            let range = format!("a whole number of milliseconds from 0 to {}{hint}", Millis::MAX.0);
            Error::Range { what, range, value: value.into() }
        })
    }

    /// Takes a Unix time.
    pub fn time(&mut self, what: &'static str) -> Result<UnixMs, Error> {
        let value = self.value_of(what)?;
        let number = parse_digits(value).map(UnixMs);
        let in_range = |time: &UnixMs| (UnixMs::AT_MIN..=UnixMs::MAX).contains(time);
        number.filter(in_range).ok_or_else(|| {
            let seconds = number.is_some_and(|time| time < UnixMs::AT_MIN);
            let hint = if seconds { " (it looks like seconds)" } else { "" };
            let range =
                format!("a Unix time in milliseconds from {} to {}{hint}", UnixMs::AT_MIN.0, UnixMs::MAX.0);
            Error::Range { what, range, value: value.into() }
        })
    }

    /// Takes a count of jobs.
    pub fn count(&mut self) -> Result<usize, Error> {
        Ok(self.number("COUNT", 1, config::max_count() as u64)? as usize)
    }

    /// Takes a job's id. `what` goes before it.
    pub fn id(&mut self, what: &'static str) -> Result<IdRef<'a>, Error> {
        id_of(self.value_of(what)?)
    }

    /// Takes an error text.
    pub fn error_text(&mut self) -> Result<&'a [u8], Error> {
        self.value_of("ERROR")
    }

    /// Takes a message.
    pub fn message(&mut self) -> Result<&'a [u8], Error> {
        let message = self.next("message")?.bytes();
        let most = config::max_message_bytes();
        if message.len() > most {
            let length = message.len().to_string().into_bytes().into();
            return Err(Error::Range {
                what: "length of the message",
                range: format!("at most {most} bytes"),
                value: length,
            });
        }
        Ok(message)
    }

    /// Takes all that is left as ids, of which there must be one.
    pub fn ids(&mut self) -> Result<Vec<IdRef<'a>>, Error> {
        let mut ids = vec![self.id("ID")?];
        while self.len() > 0 {
            ids.push(self.id("ID")?);
        }
        Ok(ids)
    }

    /// Takes all that is left as receipts, of which there must be one.
    pub fn receipts(&mut self) -> Result<Vec<Receipt<'a>>, Error> {
        let mut receipts = vec![self.receipt()?];
        while self.len() > 0 {
            receipts.push(self.receipt()?);
        }
        Ok(receipts)
    }

    /// Takes a cursor: `0`, or the time and sequence of the next job.
    pub fn cursor(&mut self) -> Result<Place, Error> {
        let value = self.value_of("FROM")?;
        let place = || {
            let hyphen = value.iter().position(|&byte| byte == b'-')?;
            let time = parse_digits(value.get(..hyphen)?).map(UnixMs)?;
            let sequence = parse_digits(value.get(hyphen + 1..)?)?;
            Some(Place { time, sequence })
        };
        let place = if value == b"0" { Some(Place::FIRST) } else { place() };
        place.ok_or_else(|| Error::Range {
            what: "FROM",
            range: "0 or a cursor as DQ.PEEK returned it".into(),
            value: value.into(),
        })
    }

    /// Takes a number or the word `UNLIMITED`, which is `None`.
    pub fn number_or_unlimited(
        &mut self,
        what: &'static str,
        min: u64,
        max: u64,
    ) -> Result<Option<u64>, Error> {
        if self.peek().is_some_and(|word| word.as_bytes() == b"UNLIMITED") {
            self.skip();
            return Ok(None);
        }
        self.number(what, min, max).map(Some)
    }

    /// Takes a receipt: decimal digits, a hyphen, an id.
    fn receipt(&mut self) -> Result<Receipt<'a>, Error> {
        let value = self.next("receipt")?.bytes();
        let malformed = || Error::Range {
            what: "receipt",
            range: "<token>-<id> as DQ.CLAIM returned it".into(),
            value: value.into(),
        };
        let hyphen = value.iter().position(|&byte| byte == b'-').ok_or_else(malformed)?;
        let (token, id) = value.split_at_checked(hyphen).ok_or_else(malformed)?;
        let token = parse_digits(token).ok_or_else(malformed)?;
        let id = IdRef::new(id.get(1..).unwrap_or_default()).map_err(|_| malformed())?;
        Ok(Receipt { token, id })
    }
}

/// Reads the arguments of a command that takes a key and nothing else.
pub fn only_key(words: &[Text]) -> Result<Text, Error> {
    let mut args = Args::new(words);
    let key = args.next("key")?;
    args.finish()?;
    Ok(key)
}

/// Reads an id.
pub fn id_of(bytes: &[u8]) -> Result<IdRef<'_>, Error> {
    match IdRef::new(bytes) {
        Ok(id) => Ok(id),
        Err(_) => Err(Error::Range {
            what: "id",
            range: format!("1 to {ID_MAX} bytes other than '*'"),
            value: bytes.into(),
        }),
    }
}
