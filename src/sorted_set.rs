//! Plain sorted sets as queues: the member is the message, the score the time at which it is due.
//!
//! Nothing but native commands and events leaves from here, so the set stays what it was for everybody else: replicas,
//! the AOF, native readers and writers.

use std::sync::atomic::{AtomicBool, Ordering};

use dq_engine::id::IdRef;
use dq_engine::job::State;
use dq_engine::queue::{Limit, Outcome};
use dq_engine::time::{Millis, UnixMs};

use crate::clock::{self, Instant};
use crate::error::Error;
use crate::host::sorted_set::Member;
use crate::host::{Context, EventClass, Key, Text};
use crate::json;

/// Scores from here on, and below [`SECONDS_END`], look like Unix seconds: the years 1973 to 5138.
const SECONDS_START: f64 = 1e8;
const SECONDS_END: f64 = 1e11;

/// What the scores of a sorted set count, since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds, unless something else is said.
    #[default]
    Milliseconds,
    /// Seconds, with a fraction.
    Seconds,
}

impl Unit {
    /// Returns the millisecond from which on a score is due: never before the fraction that it names, and not before 1970.
    /// `None` for infinity.
    #[must_use]
    pub fn due(self, score: f64) -> Option<UnixMs> {
        // The cast saturates, and takes what is below 0 to 0.
        (score != f64::INFINITY).then(|| UnixMs(self.milliseconds(score).ceil() as u64))
    }

    /// Returns the score of a time.
    #[must_use]
    pub fn score(self, time: UnixMs) -> f64 {
        match self {
            Unit::Milliseconds => time.0 as f64,
            Unit::Seconds => time.0 as f64 / 1000.0,
        }
    }

    /// Refuses a score that looks like the other unit: who forgets a word must not fire a whole schedule.
    pub fn check(self, score: f64) -> Result<(), Error> {
        let hint = match self {
            Unit::Milliseconds if (SECONDS_START..SECONDS_END).contains(&score) => {
                "looks like Unix seconds: add SECONDS"
            }
            Unit::Seconds if score >= SECONDS_END && score.is_finite() => {
                "looks like Unix milliseconds: leave out SECONDS"
            }
            _ => return Ok(()),
        };
        Err(Error::Unit { hint, score })
    }

    fn milliseconds(self, score: f64) -> f64 {
        match self {
            Unit::Milliseconds => score,
            Unit::Seconds => score * 1000.0,
        }
    }

    /// Returns the largest score that is due at `time`: rounding can miss it by a step or two.
    fn last_due(self, time: UnixMs) -> f64 {
        let (limit, score) = (time.0 as f64, self.score(time));
        let mut nearby =
            std::iter::successors(Some(score.next_up().next_up()), |score| Some(score.next_down()));
        nearby.find(|&score| self.milliseconds(score) <= limit).unwrap_or(score)
    }
}

/// Returns when, from `now` on, something is found by who looks so far `ahead`; a score of the wrong unit is found at
/// once, and then refused. O(log n).
#[must_use]
pub fn available_at(key: &mut Key, unit: Unit, ahead: Millis, now: UnixMs) -> Option<UnixMs> {
    let head = key.members_up_to(f64::INFINITY).next()?;
    if unit.check(head.score).is_err() {
        return Some(now);
    }
    let due = unit.due(head.score)?;
    Some(UnixMs(due.0.saturating_sub(ahead.0)).max(now))
}

/// Returns what is due at `until`, as much as `limit` allows, lowest score first. O(log n + count). Refuses scores of the
/// wrong unit; those that come after others are left for the next time.
pub fn pick(key: &mut Key, unit: Unit, until: UnixMs, limit: Limit) -> Result<Vec<Member>, Error> {
    let (mut picked, mut bytes) = (Vec::new(), 0);
    for member in key.members_up_to(unit.last_due(until)) {
        match unit.check(member.score) {
            Ok(()) => {}
            Err(error) if picked.is_empty() => return Err(error),
            Err(_) => break,
        }
        bytes += member.bytes().len();
        picked.push(member);
        if picked.len() == limit.count || bytes > limit.bytes {
            break;
        }
    }
    if picked.is_empty() {
        // Nothing is due; it may only seem so.
        check_head(key, unit)?;
    }
    Ok(picked)
}

/// Refuses a set whose first score looks like the other unit.
pub fn check_head(key: &mut Key, unit: Unit) -> Result<(), Error> {
    key.members_up_to(f64::INFINITY).next().map_or(Ok(()), |head| unit.check(head.score))
}

/// Refuses if the server has no `ZREM`, since it can be renamed: what is taken out could not be replicated. Asked once.
pub fn check_removal(context: &Context<'_>, name: Text) -> Result<(), Error> {
    static IS_KNOWN: AtomicBool = AtomicBool::new(false);
    if !IS_KNOWN.load(Ordering::Relaxed) {
        let mut arguments = context.arguments(name);
        // No set has this member.
        arguments.bytes(&IdRef::Uuid(clock::new_id(clock::now(context))).text());
        context.call_unreplicated(c"ZREM", &arguments).map_err(Error::Server)?;
        IS_KNOWN.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Takes `members` out, as one `ZREM`, after [`check_removal`]. O(log n) a member.
pub fn remove(context: &Context<'_>, name: Text, members: &[Member]) {
    if members.is_empty() {
        return;
    }
    let deleted = Key::open_to_change(context, name).remove_members(members);
    let mut arguments = context.arguments(name);
    members.iter().for_each(|member| arguments.member(member));
    context.replicate(c"ZREM", &arguments);
    context.notify(EventClass::SortedSet, c"zrem", name);
    if deleted {
        context.notify(EventClass::Generic, c"del", name);
    }
}

/// How members are added.
#[derive(Clone, Copy)]
pub struct Addition {
    /// What the scores count.
    pub unit: Unit,
    /// Whether a member that is there gets the new score.
    pub replace: bool,
    /// Whether each message is wrapped with an id of its own.
    pub envelope: bool,
}

/// Adds `message`, due at `due`, to the set `name`, which may be missing; returns its id, if it was given one, and what
/// became of it. O(log n).
pub fn add(
    context: &Context<'_>,
    name: Text,
    addition: Addition,
    message: &[u8],
    (instant, due): (Instant, UnixMs),
) -> Result<(Option<Vec<u8>>, Outcome), Error> {
    let id = addition.envelope.then(|| IdRef::Uuid(clock::new_id(instant)).text().to_vec());
    let mut arguments = context.arguments(name);
    if !addition.replace {
        arguments.bytes(b"NX");
    }
    arguments.bytes(addition.unit.score(due).to_string().as_bytes());
    match &id {
        Some(id) => arguments.bytes(&json::object(Some(id), message, None, None)),
        None => arguments.bytes(message),
    }
    let added = context.call(c"ZADD", &arguments).map_err(Error::Server)?;
    let outcome = match (added, addition.replace) {
        (0, false) => Outcome::Exists(State::Waiting),
        (0, true) => Outcome::Replaced,
        _ => Outcome::Created,
    };
    Ok((id, outcome))
}
