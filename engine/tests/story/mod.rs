//! The scene on which the stories play: a queue, its replica, and a clock that the story sets.
//!
//! After every operation the replica is equal and the invariants hold, unless the story is too large for that.

mod bounds;
mod control;
mod corners;
mod ids;
mod leases;
mod moves;
mod order;
mod receipts;
mod retries;
mod timing;
mod tokens;

use dq_engine::effect::{Effects, parse};
use dq_engine::error::Refusal;
use dq_engine::id::IdRef;
use dq_engine::job::State;
use dq_engine::policy::Policy;
use dq_engine::queue::{
    Claim, Counters, Info, Limit, Nack, Outcome, Push, Queue, Receipt, Replace, Retry, When,
};
use dq_engine::time::{Millis, UnixMs};
use dq_engine::timeline::Key;

use crate::random::chunks::{loaded, stored};
use crate::random::perform::{Given, Hands, Seen};
use crate::random::words::{borrowed, words_of};

/// The time that stories call 0.
pub const START: u64 = 1_700_000_000_000;
pub const ALL: Limit = Limit { count: usize::MAX, bytes: usize::MAX };

/// A queue, its replica, and the time.
pub struct Scene {
    pub queue: Queue,
    replica: Queue,
    pub now: UnixMs,
    watch: Watch,
}

/// What is looked at after each operation.
#[derive(PartialEq)]
enum Watch {
    Everything,
    Nothing,
}

/// A push that names nothing but its id: due at once.
pub fn job(id: &str) -> Push<'_> {
    Push {
        id: IdRef::of(id.as_bytes()),
        message: id.as_bytes(),
        when: When::In(Millis(0)),
        priority: 0,
        ttl: None,
        replace: Replace::No,
    }
}

/// A push that is due so many ms after the start.
pub fn job_at(id: &str, ms: u64) -> Push<'_> {
    Push { when: When::At(UnixMs(START + ms)), ..job(id) }
}

/// A policy under which jobs may be claimed so often.
pub fn at_most(attempts: u16) -> Policy {
    Policy { max_attempts: Some(attempts), ..Policy::DEFAULT }
}

impl Scene {
    pub fn given(policy: Policy) -> Scene {
        let (queue, replica) = (Queue::new(policy), Queue::new(policy));
        Scene { queue, replica, now: UnixMs(START), watch: Watch::Everything }
    }

    pub fn empty() -> Scene {
        Scene::given(Policy::DEFAULT)
    }

    /// For stories with so many jobs that nobody can look at all of them after each step.
    pub fn large(policy: Policy) -> Scene {
        Scene { watch: Watch::Nothing, ..Scene::given(policy) }
    }

    /// Sets the clock to so many ms after the start.
    pub fn at(&mut self, ms: u64) -> &mut Scene {
        self.now = UnixMs(START + ms);
        self
    }

    /// The same scene twice.
    pub fn fork(&self) -> Scene {
        let copy = || loaded(&stored(&self.queue));
        Scene { queue: copy(), replica: copy(), now: self.now, watch: Watch::Everything }
    }

    /// The server restarts: everything is stored and loaded.
    pub fn restart(&mut self) {
        self.queue = loaded(&stored(&self.queue));
    }

    /// The replica is promoted; what was the master follows it.
    pub fn fail_over(&mut self) {
        std::mem::swap(&mut self.queue, &mut self.replica);
    }

    /// Does an operation as the module does: tidies behind it, and sends the effects of both.
    pub fn change<'a, T>(&mut self, operation: impl FnOnce(&mut Queue, UnixMs, &mut Effects<'a>) -> T) -> T {
        let mut effects = Effects::default();
        let result = operation(&mut self.queue, self.now, &mut effects);
        self.queue.tidy(self.now, &mut effects);
        let words = words_of(&effects);
        if !words.is_empty() {
            let parsed = parse(&borrowed(&words)).expect("effects are understood");
            self.replica.apply(&parsed).expect("effects fit");
        }
        if self.watch == Watch::Everything {
            assert_eq!(self.queue.check(), Ok(()));
            assert_eq!(stored(&self.queue), stored(&self.replica));
            let census = self.info().census;
            assert_eq!(self.queue.len(self.now), census.waiting + census.claimed + census.dead);
        }
        result
    }

    pub fn push(&mut self, push: Push<'_>) -> Outcome {
        self.try_push(push).expect("a time in range")
    }

    pub fn try_push(&mut self, push: Push<'_>) -> Result<Outcome, Refusal> {
        self.change(|queue, now, effects| queue.push(now, &push, effects))
    }

    pub fn push_all(&mut self, ids: &str) {
        ids.split(' ').for_each(|id| assert_eq!(self.push(job(id)), Outcome::Created));
    }

    /// Claims with the token that a clock would give.
    pub fn claim(&mut self, count: usize, lease: Option<u64>) -> Vec<Given> {
        let limit = Limit { count, bytes: usize::MAX };
        let claim = Claim { limit, lease: lease.map(Millis), token: (self.now.0 * 1000) << 12 };
        let mut hands = Hands::default();
        self.change(|queue, now, effects| queue.claim(now, &claim, &mut hands, effects));
        hands.given
    }

    /// Takes up to `count` jobs out for good; returns their ids.
    pub fn take(&mut self, count: usize) -> Vec<String> {
        names(&self.claim(count, Some(0)))
    }

    /// Leases up to `count` jobs.
    pub fn lease(&mut self, count: usize, ms: u64) -> Vec<Given> {
        self.claim(count, Some(ms))
    }

    /// Leases the one job that is due.
    pub fn lease_one(&mut self, ms: u64) -> Given {
        let mut given = self.lease(2, ms);
        assert_eq!(given.len(), 1, "one job is due");
        given.remove(0)
    }

    pub fn ack(&mut self, given: &Given) -> bool {
        self.change(|queue, now, effects| queue.ack(now, receipt(given), effects))
    }

    pub fn nack(&mut self, given: &Given, how: Retry) -> Option<State> {
        self.nack_with(given, how, None)
    }

    pub fn nack_with(&mut self, given: &Given, retry: Retry, error: Option<&[u8]>) -> Option<State> {
        self.change(|queue, now, effects| queue.nack(now, receipt(given), Nack { retry, error }, effects))
    }

    pub fn extend(&mut self, given: &Given, ms: u64) -> bool {
        self.change(|queue, now, effects| queue.extend(now, receipt(given), Millis(ms), effects))
    }

    pub fn cancel(&mut self, id: &str) -> Option<State> {
        self.change(|queue, now, effects| queue.cancel(now, IdRef::of(id.as_bytes()), effects))
    }

    pub fn reschedule(&mut self, id: &str, when: When) -> Option<State> {
        let id = IdRef::of(id.as_bytes());
        self.change(|queue, now, effects| queue.reschedule(now, id, when, effects)).expect("a time in range")
    }

    pub fn redrive(&mut self, delay: u64, count: usize) -> usize {
        self.change(|queue, now, effects| queue.redrive(now, Millis(delay), count, effects))
    }

    pub fn purge(&mut self, state: State, count: usize) -> usize {
        self.change(|queue, now, effects| queue.purge(now, state, count, effects))
    }

    pub fn set_policy(&mut self, policy: Policy) {
        self.change(|queue, _, effects| queue.set_policy(policy, effects));
    }

    pub fn pause(&mut self, ms: Option<u64>) {
        self.change(|queue, now, effects| queue.pause(now, ms.map(Millis), effects));
    }

    pub fn resume(&mut self) {
        self.change(|queue, _, effects| queue.resume(effects));
    }

    pub fn tidy(&mut self) {
        self.change(|_, _, _| ());
    }

    pub fn seen(&self, id: &str) -> Option<Seen> {
        self.queue.get(self.now, IdRef::of(id.as_bytes())).map(|view| Seen::of(&view))
    }

    pub fn state(&self, id: &str) -> Option<State> {
        self.seen(id).map(|seen| seen.state)
    }

    pub fn listed(&self, state: State) -> Vec<String> {
        let slots = self.queue.walk(state, Key::FIRST, self.now);
        let views = slots.filter_map(|(_, slot)| self.queue.view(slot, self.now));
        views.map(|view| String::from_utf8_lossy(&view.id.text()).into_owned()).collect()
    }

    pub fn available(&self) -> Option<UnixMs> {
        self.queue.available_at(self.now, Millis::ZERO)
    }

    pub fn info(&self) -> Info {
        self.queue.info(self.now)
    }

    pub fn counters(&self) -> Counters {
        self.info().counters
    }
}

pub fn receipt(given: &Given) -> Receipt<'_> {
    Receipt { token: given.token.unwrap_or_default(), id: IdRef::of(&given.id) }
}

pub fn names(given: &[Given]) -> Vec<String> {
    given.iter().map(|one| String::from_utf8_lossy(&one.id).into_owned()).collect()
}
