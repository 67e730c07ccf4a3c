//! Steps out of bytes, for the target `operations`: every input is a run, and a small change of it a small change of the run.
//!
//! The ranges are those of the engine's random tests: few ids, few milliseconds, so that steps meet the same jobs.

use arbitrary::{Result, Unstructured};
use dq_engine::job::State;
use dq_engine::policy::{Backoff, Policy};
use dq_engine::queue::{Replace, Retry};
use dq_engine::time::Millis;

use crate::random::{Due, NARROW, Op, Pick, START, Step, Tick, Tidy, Twist};

/// The unread rest of an input.
pub struct Drawing<'a> {
    bytes: Unstructured<'a>,
}

impl<'a> Drawing<'a> {
    /// The drawing of a whole input.
    #[must_use]
    pub fn of(input: &'a [u8]) -> Self {
        Drawing { bytes: Unstructured::new(input) }
    }

    /// The policy and the first sequence of the queue that the run begins with; None if there are no steps behind it.
    pub fn beginning(&mut self) -> Option<(Policy, u64)> {
        let policy = self.policy().ok()?;
        let first = if self.one_in(8).ok()? { (1 << 63) - self.below(60).ok()? } else { 1 };
        Some((policy, first.max(1)))
    }

    /// The next step; None at the end of the input.
    pub fn step(&mut self) -> Option<Step> {
        if self.bytes.is_empty() { None } else { self.whole_step().ok() }
    }

    fn whole_step(&mut self) -> Result<Step> {
        let op = self.op()?;
        let tidy = [Tidy::After, Tidy::Not, Tidy::Before][self.below(3)? as usize];
        let tick = match self.below(16)? {
            0..7 => Tick::Stays,
            7..13 => Tick::Ahead(1 + self.below(6)?),
            13 | 14 => Tick::Ahead(20 + self.below(71)?),
            _ => Tick::Back(1 + self.below(40)?),
        };
        Ok(Step { tick, tidy, op })
    }

    fn op(&mut self) -> Result<Op> {
        Ok(match self.below(20)? {
            0..3 => self.push()?,
            3..6 => self.claim()?,
            6 => Op::Ack(self.pick()?),
            7 | 8 => self.nack()?,
            9 => Op::Extend { pick: self.pick()?, lease: self.lease()? },
            10 => Op::Cancel(self.name()?),
            11 => Op::Reschedule { name: self.name()?, due: self.due()? },
            12 => Op::Redrive { delay: self.delay()?, count: self.count()? },
            13 => self.redrive_ids()?,
            14 => Op::Purge { state: self.state()?, count: self.count()? },
            15 => Op::Pause(if self.one_in(4)? { None } else { Some(self.delay()?) }),
            16 => Op::Resume,
            17 => Op::SetPolicy(self.policy()?),
            18 => self.moves()?,
            _ => self.receive()?,
        })
    }

    fn push(&mut self) -> Result<Op> {
        let (name, due) = (self.name()?, self.due()?);
        let replace = [Replace::No, Replace::Yes, Replace::KeepDue][self.below(3)? as usize];
        let ttl = if self.one_in(2)? { Some(Millis(self.below(26)?)) } else { None };
        Ok(Op::Push { name, message: self.message()?, due, priority: self.priority()?, ttl, replace })
    }

    fn claim(&mut self) -> Result<Op> {
        let lease = if self.one_in(3)? { None } else { Some(self.lease()?) };
        Ok(Op::Claim { count: self.count()?, bytes: self.limit()?, lease, token: self.below(200)? })
    }

    fn nack(&mut self) -> Result<Op> {
        let pick = self.pick()?;
        let how = match self.below(4)? {
            0 => Retry::Backoff { draw: self.below(256)? },
            1 => Retry::After(self.delay()?),
            2 => Retry::Unused,
            _ => Retry::Never,
        };
        let error = match self.below(4)? {
            0 => Some(self.message()?),
            1 => Some(vec![b'e'; 1025]),
            _ => None,
        };
        Ok(Op::Nack { pick, how, error })
    }

    fn redrive_ids(&mut self) -> Result<Op> {
        let names = (0..=self.below(3)?).map(|_| self.name()).collect::<Result<_>>()?;
        Ok(Op::RedriveIds { delay: self.delay()?, names })
    }

    fn moves(&mut self) -> Result<Op> {
        let (count, bytes) = (self.count()?, self.limit()?);
        Ok(Op::Move { count, bytes, ahead: self.below(20)?, conflicts: self.below(256)? as u8 })
    }

    fn receive(&mut self) -> Result<Op> {
        let (name, due) = (self.name()?, START + self.below(41)?);
        let ttl = if self.one_in(2)? { Some(self.below(26)?) } else { None };
        let (message, attempts) = (self.message()?, self.below(4)? as u32);
        Ok(Op::Receive { name, message, due, priority: self.priority()?, ttl, attempts })
    }

    fn policy(&mut self) -> Result<Policy> {
        let backoff = Backoff {
            base: Millis(self.below(9)?),
            factor: 1 + self.below(3)? as u8,
            max: Millis(self.below(21)?),
            jitter_percent: 0,
        };
        let lease = Millis(self.below(16)?.saturating_sub(5));
        let max_attempts = u16::try_from(self.below(4)?).ok().filter(|&most| most != 0);
        let dead_max = self.below(6)?.checked_sub(1);
        let ttl = Millis(self.below(60)?.saturating_sub(40));
        Ok(Policy { lease, max_attempts, backoff, dead_max, ttl })
    }

    fn pick(&mut self) -> Result<Pick> {
        let back = self.below(8)? as usize;
        let twist = match self.below(10)? {
            0 => Twist::Token(self.below(3)?),
            1 => Twist::Name(self.name()?),
            _ => Twist::None,
        };
        Ok(Pick { back, twist })
    }

    fn due(&mut self) -> Result<Due> {
        Ok(match self.below(9)? {
            0..4 => Due::In(self.below(31)?),
            4..8 => Due::Off(self.below(51)? as i64 - 20),
            _ => Due::BeforeTheEnd(self.below(4)?),
        })
    }

    fn message(&mut self) -> Result<Vec<u8>> {
        let length = self.below(8)? as usize;
        Ok(self.bytes.bytes(length)?.to_vec())
    }

    fn lease(&mut self) -> Result<Millis> {
        Ok(Millis(if self.one_in(12)? { 500 } else { self.below(16)? }))
    }

    fn delay(&mut self) -> Result<Millis> {
        Ok(if self.one_in(12)? { Millis::MAX } else { Millis(self.below(21)?) })
    }

    fn limit(&mut self) -> Result<usize> {
        Ok(if self.one_in(3)? { self.below(20)? as usize } else { usize::MAX })
    }

    fn state(&mut self) -> Result<State> {
        Ok([State::Waiting, State::Claimed, State::Dead][self.below(3)? as usize])
    }

    fn priority(&mut self) -> Result<u8> {
        Ok([0, 0, 1, 7, 255][self.below(5)? as usize])
    }

    fn name(&mut self) -> Result<usize> {
        Ok(self.below(NARROW.names as u64)? as usize)
    }

    fn count(&mut self) -> Result<usize> {
        Ok(1 + self.below(NARROW.counts as u64)? as usize)
    }

    fn one_in(&mut self, chances: u64) -> Result<bool> {
        Ok(self.below(chances)? == 0)
    }

    /// A number below `limit`, which is at most 256, of one byte.
    fn below(&mut self, limit: u64) -> Result<u64> {
        Ok(u64::from(self.bytes.bytes(1)?[0]) % limit)
    }
}
