//! Random operations: what one step of a run is and how it is drawn. Used by the model, effects and codec tests.
//!
//! There are few ids and few times, so that steps meet the same jobs and the same milliseconds again and again.

#![allow(dead_code, reason = "each test crate uses a part")]

pub mod aftermath;
pub mod chunks;
pub mod perform;
pub mod rich;
pub mod words;

use std::fmt;
use std::sync::LazyLock;

use dq_engine::job::State;
use dq_engine::policy::{Backoff, Policy};
use dq_engine::queue::{Replace, Retry, When};
use dq_engine::time::{Millis, UnixMs};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// The time at which every run begins.
pub const START: u64 = 1_000_000;

/// The ids of all runs; the first ones have the forms that are kept in different ways.
pub static NAMES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut names: Vec<Vec<u8>> = vec![
        b"0190a5d2-7b3c-7def-8123-456789abcdef".to_vec(),
        b"a-1".to_vec(),
        vec![b'l'; 1024],
        b"0190A5D2-7B3C-7DEF-8123-456789ABCDEF".to_vec(),
        b"\0\r\n\xff".to_vec(),
        vec![0; 23],
    ];
    names.extend((0..1_500).map(|number| format!("job-{number}").into_bytes()));
    names
});

/// One step of a run: time passes, something is done, and perhaps the queue is tidied, as the module does.
#[derive(Clone, Debug)]
pub struct Step {
    pub tick: Tick,
    pub tidy: Tidy,
    pub op: Op,
}

/// When a step tidies the queue; what it replies must not depend on that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tidy {
    Before,
    After,
    Not,
}

/// The steps of a run; a failing one is printed a step a line.
#[derive(Clone)]
pub struct Steps(pub Vec<Step>);

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(number, step)| write!(f, "\n  {number}: {step:?}"))
    }
}

/// How the clock moves before a step.
#[derive(Clone, Copy, Debug)]
pub enum Tick {
    Stays,
    Ahead(u64),
    Back(u64),
}

/// A due time as a step gives it.
#[derive(Clone, Copy, Debug)]
pub enum Due {
    In(u64),
    /// So many ms before (negative) or after now.
    Off(i64),
    /// So many ms before the end of time.
    BeforeTheEnd(u64),
}

/// Which of the receipts given so far: counted from the latest, then perhaps falsified.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    pub back: usize,
    pub twist: Twist,
}

#[derive(Clone, Copy, Debug)]
pub enum Twist {
    None,
    /// The token before or after, or none.
    Token(u64),
    /// The same token with the id of another job.
    Name(usize),
}

/// Ids stand as indexes into [`NAMES`].
#[derive(Clone, Debug)]
pub enum Op {
    Push { name: usize, message: Vec<u8>, due: Due, priority: u8, ttl: Option<Millis>, replace: Replace },
    Claim { count: usize, bytes: usize, lease: Option<Millis>, token: u64 },
    Ack(Pick),
    Nack { pick: Pick, how: Retry, error: Option<Vec<u8>> },
    Extend { pick: Pick, lease: Millis },
    Cancel(usize),
    Reschedule { name: usize, due: Due },
    Redrive { delay: Millis, count: usize },
    RedriveIds { delay: Millis, names: Vec<usize> },
    Purge { state: State, count: usize },
    Pause(Option<Millis>),
    Resume,
    SetPolicy(Policy),
    Tidy,
    Move { count: usize, bytes: usize, ahead: u64, conflicts: u8 },
    Receive { name: usize, message: Vec<u8>, due: u64, priority: u8, ttl: Option<u64>, attempts: u32 },
}

/// How wide a run spreads.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    pub names: usize,
    /// The most jobs of one operation.
    pub counts: usize,
    /// A large one means few operations that touch the whole queue.
    pub pushes: u32,
    /// A large one means that time mostly stands still.
    pub stills: u32,
    /// The longest time to live.
    pub ttl: u64,
}

/// Few ids, so that every step collides with something.
pub const NARROW: Spread = Spread { names: 7, counts: 4, pushes: 14, stills: 8, ttl: 25 };
/// Enough jobs for trees of several levels and for more to tidy up than one step may.
pub const WIDE: Spread = Spread { names: 1_500, counts: 60, pushes: 800, stills: 900, ttl: 90 };

impl Tick {
    pub fn after(self, now: u64) -> u64 {
        match self {
            Tick::Stays => now,
            Tick::Ahead(by) => now + by,
            Tick::Back(by) => now.saturating_sub(by),
        }
    }
}

impl Due {
    pub fn when(self, now: u64) -> When {
        match self {
            Due::In(delay) => When::In(Millis(delay)),
            Due::Off(by) => When::At(UnixMs(now.saturating_add_signed(by))),
            Due::BeforeTheEnd(by) => When::At(UnixMs(UnixMs::MAX.0 - by)),
        }
    }
}

/// Runs `cases` cases, or PROPTEST_CASES if that is set; a failing one is printed, and its seed kept beside the test.
pub fn configured(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    config.failure_persistence = Some(Box::new(FileFailurePersistence::WithSource("seeds")));
    config
}

pub fn steps(spread: Spread, length: std::ops::Range<usize>) -> impl Strategy<Value = Steps> {
    prop::collection::vec(step(spread), length).prop_map(Steps)
}

pub fn step(spread: Spread) -> impl Strategy<Value = Step> {
    let tidy = prop_oneof![1 => Just(Tidy::Before), 2 => Just(Tidy::After), 1 => Just(Tidy::Not)];
    (tick(spread.stills), tidy, op(spread)).prop_map(|(tick, tidy, op)| Step { tick, tidy, op })
}

fn tick(stills: u32) -> impl Strategy<Value = Tick> {
    prop_oneof![
        stills => Just(Tick::Stays),
        6 => (1..=6u64).prop_map(Tick::Ahead),
        1 => (20..=90u64).prop_map(Tick::Ahead),
        1 => (1..=40u64).prop_map(Tick::Back),
    ]
}

fn op(spread: Spread) -> impl Strategy<Value = Op> {
    let Spread { names, counts, pushes, ttl, .. } = spread;
    let claim = (1..=counts, bytes(), prop::option::weighted(0.8, lease()), token())
        .prop_map(|(count, bytes, lease, token)| Op::Claim { count, bytes, lease, token });
    let moves = (1..=counts, bytes(), 0..=15u64, any::<u8>())
        .prop_map(|(count, bytes, ahead, conflicts)| Op::Move { count, bytes, ahead, conflicts });
    let purge = (state(), 1..=counts).prop_map(|(state, count)| Op::Purge { state, count });
    let redrive = (delay(), 1..=counts).prop_map(|(delay, count)| Op::Redrive { delay, count });
    let redrive_ids = (delay(), prop::collection::vec(0..names, 1..4))
        .prop_map(|(delay, names)| Op::RedriveIds { delay, names });
    let pause = prop::option::weighted(0.8, delay()).prop_map(Op::Pause);
    let reschedule = (0..names, due()).prop_map(|(name, due)| Op::Reschedule { name, due });
    prop_oneof![
        pushes => push(names, ttl),
        14 => claim,
        5 => pick().prop_map(Op::Ack),
        8 => nack(),
        4 => (pick(), lease()).prop_map(|(pick, lease)| Op::Extend { pick, lease }),
        3 => (0..names).prop_map(Op::Cancel),
        5 => reschedule,
        2 => redrive,
        2 => redrive_ids,
        1 => purge,
        1 => pause,
        2 => Just(Op::Resume),
        2 => policy().prop_map(Op::SetPolicy),
        2 => Just(Op::Tidy),
        2 => moves,
        2 => receive(names),
    ]
}

fn push(names: usize, longest: u64) -> impl Strategy<Value = Op> {
    let replace = prop_oneof![3 => Just(Replace::No), 2 => Just(Replace::Yes), 2 => Just(Replace::KeepDue)];
    let ttl = prop_oneof![4 => Just(None), 4 => (0..=longest).prop_map(|ms| Some(Millis(ms)))];
    (0..names, message(), due(), priority(), ttl, replace).prop_map(
        |(name, message, due, priority, ttl, replace)| Op::Push {
            name,
            message,
            due,
            priority,
            ttl,
            replace,
        },
    )
}

fn receive(names: usize) -> impl Strategy<Value = Op> {
    let times = (0..=40u64, prop::option::of(0..=25u64));
    (0..names, message(), times, priority(), 0..4u32).prop_map(
        |(name, message, times, priority, attempts)| {
            let (due, ttl) = times;
            Op::Receive { name, message, due: START + due, priority, ttl, attempts }
        },
    )
}

fn nack() -> impl Strategy<Value = Op> {
    let how = prop_oneof![
        3 => any::<u64>().prop_map(|draw| Retry::Backoff { draw }),
        3 => delay().prop_map(Retry::After),
        2 => Just(Retry::Unused),
        2 => Just(Retry::Never),
    ];
    let text = prop_oneof![4 => prop::collection::vec(any::<u8>(), 0..4), 1 => Just(vec![b'e'; 1025])];
    (pick(), how, prop::option::of(text)).prop_map(|(pick, how, error)| Op::Nack { pick, how, error })
}

fn pick() -> impl Strategy<Value = Pick> {
    let twist = prop_oneof![
        12 => Just(Twist::None),
        1 => (0..3u64).prop_map(Twist::Token),
        1 => (0..7usize).prop_map(Twist::Name),
    ];
    (0..8usize, twist).prop_map(|(back, twist)| Pick { back, twist })
}

fn due() -> impl Strategy<Value = Due> {
    prop_oneof![
        6 => (0..=30u64).prop_map(Due::In),
        6 => (-20..=30i64).prop_map(Due::Off),
        1 => (0..=3u64).prop_map(Due::BeforeTheEnd),
    ]
}

fn message() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..8)
}

fn bytes() -> impl Strategy<Value = usize> {
    prop_oneof![2 => Just(usize::MAX), 1 => 0..20usize]
}

fn priority() -> impl Strategy<Value = u8> {
    prop_oneof![4 => Just(0), 1 => Just(1), 1 => Just(7), 1 => Just(255)]
}

fn delay() -> impl Strategy<Value = Millis> {
    prop_oneof![2 => Just(0), 6 => 1..=20u64, 1 => Just(Millis::MAX.0)].prop_map(Millis)
}

fn lease() -> impl Strategy<Value = Millis> {
    prop_oneof![1 => Just(0), 8 => 1..=15u64, 1 => Just(500)].prop_map(Millis)
}

/// What the clock would make of it: often larger than the last token, often not.
fn token() -> impl Strategy<Value = u64> {
    prop_oneof![1 => Just(0), 3 => 1..200u64]
}

fn state() -> impl Strategy<Value = State> {
    prop_oneof![Just(State::Waiting), Just(State::Claimed), Just(State::Dead)]
}

pub fn policy() -> impl Strategy<Value = Policy> {
    let backoff = (0..=8u64, 1..=3u8, 0..=20u64).prop_map(|(base, factor, max)| Backoff {
        base: Millis(base),
        factor,
        max: Millis(max),
        jitter_percent: 0,
    });
    let lease = prop_oneof![2 => Just(0), 1 => 1..=10u64];
    let max_attempts = prop_oneof![1 => Just(None), 3 => (1..=3u16).prop_map(Some)];
    let dead_max = prop_oneof![1 => Just(None), 2 => (0..=4u64).prop_map(Some)];
    let ttl = prop_oneof![3 => Just(0), 1 => 1..=20u64];
    (lease, max_attempts, backoff, dead_max, ttl).prop_map(|(lease, max_attempts, backoff, dead_max, ttl)| {
        Policy { lease: Millis(lease), max_attempts, backoff, dead_max, ttl: Millis(ttl) }
    })
}
