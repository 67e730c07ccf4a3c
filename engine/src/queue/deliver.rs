//! Delivering what is due: to a consumer that claims it, or to another key.

use smallvec::SmallVec;

use super::Queue;
use crate::effect::{Cause, Effect, Effects, FOREVER, Ids};
use crate::id::IdRef;
use crate::job::{Job, Reason, State, Token, View};
use crate::lane::Horizon;
use crate::slots::Slot;
use crate::time::{Millis, UnixMs};

/// How much is taken at once.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The most jobs.
    pub count: usize,
    /// The job whose message makes the sum of message bytes pass this is the last one.
    pub bytes: usize,
}

/// The slots of picked jobs; a few need no allocation.
pub type Picked = SmallVec<[Slot; 4]>;

/// A claim.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// How much is taken.
    pub limit: Limit,
    /// How long the jobs stay invisible to others; zero takes them out; `None` is what the policy says.
    pub lease: Option<Millis>,
    /// The token to use if it is larger than the last one, as it will be unless a clock stepped back.
    pub token: Token,
}

/// One job on its way to a consumer.
#[derive(Clone, Debug)]
pub struct Delivery<'a> {
    /// Its id.
    pub id: IdRef<'a>,
    /// Its message.
    pub message: &'a [u8],
    /// How often it has been claimed, this time included.
    pub attempt: u32,
    /// When this delivery became possible.
    pub due: UnixMs,
    /// The claim, which with the id is the receipt; `None` without a lease.
    pub token: Option<Token>,
}

/// Takes what a claim delivers.
pub trait Deliver {
    /// So many jobs will follow; at least one.
    fn expect(&mut self, count: usize);
    /// The next job.
    fn deliver(&mut self, delivery: Delivery<'_>);
}

impl Queue {
    /// Returns the jobs that would be delivered first, in order. Nothing if the queue is paused. O(log n + count).
    #[must_use]
    pub fn pick(&self, horizon: Horizon, limit: Limit) -> Picked {
        if self.is_paused(horizon.now) {
            return Picked::new();
        }
        if limit.count == 1 {
            return self.orders.first_due(horizon).into_iter().collect();
        }
        let mut picked = Picked::new();
        let mut bytes = 0;
        for slot in self.orders.due(horizon) {
            picked.push(slot);
            bytes += self.jobs.get(slot).map_or(0, |job| job.message.len());
            if picked.len() == limit.count || bytes > limit.bytes {
                break;
            }
        }
        picked
    }

    /// Returns when, from `now` on, [`Queue::pick`] with a horizon that looks `ahead` first finds something if nothing
    /// changes; `None` if it never will. O(log n) a priority in use.
    #[must_use]
    pub fn available_at(&self, now: UnixMs, ahead: Millis) -> Option<UnixMs> {
        let from = self.paused_until.map_or(now, |until| until.max(now));
        let found = self.orders.available_at(from, ahead).filter(|_| from != FOREVER);
        found.map(|at| at.max(from))
    }

    /// Claims what is due: hands each job to `to`, then leases it or takes it out. Returns how many. O(log n) a job.
    pub fn claim(
        &mut self,
        now: UnixMs,
        claim: &Claim,
        to: &mut impl Deliver,
        effects: &mut Effects<'_>,
    ) -> usize {
        let picked = self.pick(Horizon::at(now), claim.limit);
        let count = picked.len();
        if count == 0 {
            return 0;
        }
        to.expect(count);
        let length = claim.lease.unwrap_or(self.policy.lease);
        let token = claim.token.max(self.last_token.saturating_add(1));
        let lease = (!length.is_zero()).then(|| (now.plus(length), token));
        let mut ids = Ids::with_capacity(picked.len());
        for slot in picked {
            let Some(job) = self.jobs.get(slot) else { continue };
            to.deliver(delivery_of(job, lease.map(|(_, token)| token)));
            match lease {
                Some((until, token)) => {
                    ids.push(job.id.clone());
                    self.lease(slot, until, token);
                }
                None => ids.extend(self.remove(slot, Cause::Claimed).map(|job| job.id)),
            }
        }
        effects.0.push(match lease {
            Some((until, token)) => Effect::Lease { until, token, ids },
            None => Effect::Remove { cause: Cause::Claimed, ids },
        });
        count
    }

    /// Shows a picked job as it is at `now`. O(1).
    #[must_use]
    pub fn view(&self, slot: Slot, now: UnixMs) -> Option<View<'_>> {
        self.jobs.get(slot)?.view(now)
    }

    /// Returns where the record of `id` is. O(1).
    #[must_use]
    pub fn slot_of(&self, id: IdRef<'_>) -> Option<Slot> {
        self.find(id)
    }

    /// Takes a picked job out, since it was moved to another key. O(log n).
    pub fn move_out(&mut self, slot: Slot, effects: &mut Effects<'_>) {
        self.remove_recorded(slot, Cause::Moved, effects);
    }

    /// Lets a picked job die, since the queue it was to move to has its id. O(log n).
    pub fn refuse_move(&mut self, now: UnixMs, slot: Slot, effects: &mut Effects<'_>) {
        let waits = self.jobs.get(slot).and_then(|job| job.state(now)) == Some(State::Waiting);
        if waits {
            self.bury_recorded(slot, Reason::Conflict, now, effects);
        }
    }

    pub(super) fn is_paused(&self, now: UnixMs) -> bool {
        self.paused_until.is_some_and(|until| now < until)
    }
}

fn delivery_of(job: &Job, token: Option<Token>) -> Delivery<'_> {
    Delivery {
        id: job.id.as_ref(),
        message: &job.message,
        attempt: job.attempts.saturating_add(1),
        due: job.time,
        token,
    }
}
