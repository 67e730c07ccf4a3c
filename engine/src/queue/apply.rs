//! Doing effects again: on replicas, from the AOF, in tests. Nothing is decided here.
//!
//! Effects may come from anyone who may write to the key. So all of a command's are checked first, against the queue as
//! it will be when their turn comes; only then is the first one done.

use std::collections::HashMap;

use super::Queue;
use crate::effect::{Effect, Put};
use crate::error::{EffectFault, Refusal};
use crate::id::{Id, IdRef};
use crate::job::Standing;
use crate::slots::{JOBS_MAX, Slot};

/// What a job is as far as effects must know.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shadow {
    Absent,
    Waiting,
    Leased,
    Dead,
}

/// The queue as it will be after the effects that were checked so far.
struct Preview<'q, 'e> {
    queue: &'q Queue,
    changed: HashMap<IdRef<'e>, Shadow>,
}

impl Queue {
    /// Does `effects` again. Refuses them all, with nothing changed, if one does not fit. O(log n) a job.
    pub fn apply(&mut self, effects: &[Effect<'_>]) -> Result<(), Refusal> {
        if let [Effect::Load(chunk)] = effects {
            return Ok(self.load(chunk).map(|_| ())?);
        }
        if self.jobs.len() + effects.len() > JOBS_MAX {
            return Err(Refusal::QueueFull);
        }
        let mut preview = Preview { queue: self, changed: HashMap::new() };
        for effect in effects {
            preview.check(effect)?;
        }
        effects.iter().try_for_each(|effect| self.apply_one(effect))
    }

    fn apply_one(&mut self, effect: &Effect<'_>) -> Result<(), Refusal> {
        match effect {
            Effect::Put(put) => self.put(put, self.index.hash(put.id))?,
            Effect::Lease { until, token, ids } => {
                self.each(ids, |queue, slot| queue.lease(slot, *until, *token));
            }
            Effect::Remove { cause, ids } => self.each(ids, |queue, slot| {
                queue.remove(slot, *cause);
            }),
            Effect::Extend { until, ids } => self.each(ids, |queue, slot| queue.extend_to(slot, *until)),
            Effect::Release { id, visible, attempts } => {
                self.each([id], |queue, slot| queue.release(slot, *visible, *attempts));
            }
            Effect::Error { id, text } => self.each([id], |queue, slot| queue.keep_error(slot, text.clone())),
            Effect::Bury { id, reason, died } => {
                self.each([id], |queue, slot| queue.bury(slot, *reason, *died));
            }
            Effect::Reschedule { id, due, expires } => {
                self.each([id], |queue, slot| queue.reschedule_to(slot, *due, *expires));
            }
            Effect::Redrive { due, ids } => self.each(ids, |queue, slot| queue.redrive_to(slot, *due)),
            Effect::Policy(policy) => self.policy = *policy,
            Effect::Pause(until) => self.paused_until = *until,
            Effect::Load(_) => return Err(EffectFault::LoadNotAlone.into()),
        }
        Ok(())
    }

    fn each<'i>(&mut self, ids: impl IntoIterator<Item = &'i Id>, mut step: impl FnMut(&mut Self, Slot)) {
        for id in ids {
            if let Some(slot) = self.find(id.as_ref()) {
                step(self, slot);
            }
        }
    }
}

impl<'e> Preview<'_, 'e> {
    fn check(&mut self, effect: &'e Effect<'_>) -> Result<(), EffectFault> {
        use Shadow::{Absent, Dead, Leased, Waiting};
        match effect {
            Effect::Put(Put { id, .. }) => {
                self.changed.insert(*id, Waiting);
                Ok(())
            }
            Effect::Lease { ids, .. } => self.turn(ids, &[Waiting, Leased], Leased),
            Effect::Remove { ids, .. } => self.turn(ids, &[Waiting, Leased, Dead], Absent),
            Effect::Extend { ids, .. } => self.turn(ids, &[Leased], Leased),
            Effect::Release { id, .. } => self.turn([id], &[Leased], Waiting),
            Effect::Error { id, .. } => {
                let same = self.shadow(id.as_ref());
                self.turn([id], &[Waiting, Leased, Dead], same)
            }
            Effect::Bury { id, .. } => self.turn([id], &[Waiting, Leased], Dead),
            Effect::Reschedule { id, .. } => self.turn([id], &[Waiting, Leased], Waiting),
            Effect::Redrive { ids, .. } => self.turn(ids, &[Dead], Waiting),
            Effect::Policy(_) | Effect::Pause(_) => Ok(()),
            Effect::Load(_) => Err(EffectFault::LoadNotAlone),
        }
    }

    /// Checks that each job is one of `from`, and notes that it becomes `to`.
    fn turn(
        &mut self,
        ids: impl IntoIterator<Item = &'e Id>,
        from: &[Shadow],
        to: Shadow,
    ) -> Result<(), EffectFault> {
        for id in ids {
            let id = id.as_ref();
            if !from.contains(&self.shadow(id)) {
                return Err(EffectFault::NoSuchJob((*id.text()).into()));
            }
            self.changed.insert(id, to);
        }
        Ok(())
    }

    fn shadow(&self, id: IdRef<'_>) -> Shadow {
        if let Some(shadow) = self.changed.get(&id) {
            return *shadow;
        }
        let job = self.queue.find(id).and_then(|slot| self.queue.jobs.get(slot));
        match job.map(|job| job.standing) {
            None => Shadow::Absent,
            Some(Standing::Waiting) => Shadow::Waiting,
            Some(Standing::Leased | Standing::LastLease) => Shadow::Leased,
            Some(Standing::Dead) => Shadow::Dead,
        }
    }
}
