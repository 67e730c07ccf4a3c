//! The stored form of a queue: chunks of bytes, each readable by itself. Version 1; docs/format.md describes it.
//!
//! A chunk is one byte that says what it is, then numbers (LEB128, seven bits a byte, least first, no longer than
//! needed) and byte strings (their length, then themselves). `H` is the queue without its jobs; `J` is any number of
//! jobs. Chunks come from disks, networks and strangers: reading one never panics, allocates no more than the chunk
//! holds, and refuses whatever it does not know.

use crate::error::EffectFault;
use crate::id::IdRef;
use crate::job::{ERROR_MAX, Extra, Job, Reason, Standing};
use crate::time::UnixMs;

/// What stands first in a chunk with the queue's own values.
pub const HEADER: u8 = b'H';
/// What stands first in a chunk of jobs.
pub const JOBS: u8 = b'J';

const STANDINGS: [Standing; 4] = [Standing::Waiting, Standing::Leased, Standing::LastLease, Standing::Dead];

/// Of a job's first byte: which of the following there are. The two lowest bits are its standing.
const HAS_PRIORITY: u8 = 1 << 2;
const HAS_ATTEMPTS: u8 = 1 << 3;
const HAS_EXPIRES: u8 = 1 << 4;
const HAS_DELIVERY: u8 = 1 << 5;
const HAS_REASON: u8 = 1 << 6;
const HAS_ERROR: u8 = 1 << 7;

/// Writes a chunk.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Begins a chunk of this kind.
    #[must_use]
    pub fn new(kind: u8) -> Self {
        Writer { bytes: vec![kind] }
    }

    /// Returns the chunk.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes a number.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn string(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes a job.
    pub fn job(&mut self, job: &Job) {
        let extra = job.extra.as_deref();
        let delivery = extra.filter(|extra| extra.token != 0 || extra.due != UnixMs(0));
        let reason = extra.and_then(|extra| extra.reason);
        let error = extra.and_then(|extra| extra.error.as_deref());
        let present = [
            (job.priority != 0, HAS_PRIORITY),
            (job.attempts != 0, HAS_ATTEMPTS),
            (job.expires().is_some(), HAS_EXPIRES),
            (delivery.is_some(), HAS_DELIVERY),
            (reason.is_some(), HAS_REASON),
            (error.is_some(), HAS_ERROR),
        ];
        let flags = present.iter().fold(0, |flags, &(is, flag)| if is { flags | flag } else { flags });
        self.bytes.push(flags | code_of(&STANDINGS, job.standing));
        self.string(&job.id.text());
        self.string(&job.message);
        self.number(job.time.0);
        self.number(job.sequence);
        let optional = [
            (job.priority != 0).then_some(u64::from(job.priority)),
            (job.attempts != 0).then_some(u64::from(job.attempts)),
            job.expires().map(|at| at.0),
            delivery.map(|extra| extra.token),
            delivery.map(|extra| extra.due.0),
            reason.map(|reason| u64::from(code_of(&Reason::ALL, reason))),
        ];
        optional.into_iter().flatten().for_each(|number| self.number(number));
        if let Some(text) = error {
            self.string(text);
        }
    }
}

/// Reads a chunk.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Begins to read `chunk`, after its first byte, which is returned.
    pub fn new(chunk: &'a [u8]) -> Result<(u8, Self), EffectFault> {
        let mut reader = Reader { bytes: chunk, at: 0 };
        Ok((reader.byte()?, reader))
    }

    /// Tells whether everything has been read.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// What is wrong here.
    #[must_use]
    pub fn damaged(&self) -> EffectFault {
        EffectFault::Damaged { at: self.at }
    }

    fn byte(&mut self) -> Result<u8, EffectFault> {
        let byte = self.bytes.get(self.at).copied().ok_or(self.damaged())?;
        self.at += 1;
        Ok(byte)
    }

    /// Reads a number. Refuses one that is longer than needed or does not fit 64 bits.
    pub fn number(&mut self) -> Result<u64, EffectFault> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits || (byte == 0 && shift != 0) {
                return Err(self.damaged());
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(self.damaged())
    }

    fn number_up_to(&mut self, max: u64) -> Result<u64, EffectFault> {
        let number = self.number()?;
        if number > max { Err(self.damaged()) } else { Ok(number) }
    }

    fn nonzero_up_to(&mut self, max: u64) -> Result<u64, EffectFault> {
        let number = self.number_up_to(max)?;
        if number == 0 { Err(self.damaged()) } else { Ok(number) }
    }

    fn time(&mut self) -> Result<UnixMs, EffectFault> {
        self.number_up_to(UnixMs::MAX.0).map(UnixMs)
    }

    fn string(&mut self) -> Result<&'a [u8], EffectFault> {
        let length = self.number()?;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let string =
            usize::try_from(length).ok().and_then(|length| rest.get(..length)).ok_or(self.damaged())?;
        self.at += string.len();
        Ok(string)
    }

    /// Reads a job. Refuses one that no queue could hold.
    pub fn job(&mut self) -> Result<Job, EffectFault> {
        let flags = self.byte()?;
        let standing = STANDINGS.get(usize::from(flags & 3)).copied().ok_or(self.damaged())?;
        let id = IdRef::new(self.string()?).map_err(|_| self.damaged())?.to_id();
        let message = self.string()?.into();
        let (time, sequence) = (self.time()?, self.number()?);
        let priority = if flags & HAS_PRIORITY == 0 { 0 } else { self.nonzero_up_to(u64::from(u8::MAX))? };
        let attempts = if flags & HAS_ATTEMPTS == 0 { 0 } else { self.nonzero_up_to(u64::from(u32::MAX))? };
        let extra = self.extra(flags)?;
        let extra = (extra != Extra::default()).then(|| Box::new(extra));
        let (attempts, priority) = (attempts as u32, priority as u8);
        let job = Job { id, message, time, sequence, extra, attempts, priority, standing };
        if is_possible(&job) { Ok(job) } else { Err(self.damaged()) }
    }

    fn extra(&mut self, flags: u8) -> Result<Extra, EffectFault> {
        let mut extra = Extra::default();
        if flags & HAS_EXPIRES != 0 {
            extra.expires = Some(UnixMs(self.nonzero_up_to(UnixMs::MAX.0)?));
        }
        if flags & HAS_DELIVERY != 0 {
            (extra.token, extra.due) = (self.number()?, self.time()?);
        }
        if flags & HAS_REASON != 0 {
            let code = self.number_up_to(Reason::ALL.len() as u64 - 1)?;
            extra.reason = Reason::ALL.get(code as usize).copied();
        }
        if flags & HAS_ERROR != 0 {
            let text = self.string()?;
            if text.is_empty() || text.len() > ERROR_MAX {
                return Err(self.damaged());
            }
            extra.error = Some(text.into());
        }
        Ok(extra)
    }
}

/// Tells whether the parts of a record fit each other (I6).
pub fn is_possible(job: &Job) -> bool {
    let reason = job.extra.as_deref().and_then(|extra| extra.reason);
    match job.standing {
        Standing::Waiting => job.token() == 0 && reason.is_none(),
        Standing::Leased | Standing::LastLease => job.token() != 0 && job.attempts != 0 && reason.is_none(),
        Standing::Dead => reason.is_some() && (job.token() == 0 || reason == Some(Reason::LeaseExpired)),
    }
}

fn code_of<T: PartialEq>(table: &[T], value: T) -> u8 {
    table.iter().position(|known| *known == value).unwrap_or(0) as u8
}

#[cfg(test)]
mod tests {
    use super::{Reader, Writer};

    #[test]
    fn numbers_have_one_form_each() {
        for number in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut writer = Writer::new(b'x');
            writer.number(number);
            let (_, mut reader) = Reader::new(writer.bytes()).expect("a kind");
            assert_eq!(reader.number(), Ok(number));
            assert!(reader.is_at_end());
        }
        let overlong = [b'x', 0x81, 0x00];
        let too_large = [b'x', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        for bytes in [&overlong[..], &too_large, &[b'x', 0x80]] {
            let (_, mut reader) = Reader::new(bytes).expect("a kind");
            assert!(reader.number().is_err());
        }
    }
}
