//! The invariants of a queue, by the names that docs/design.md gives them. For tests: O(n log n).

use std::collections::HashSet;

use super::Queue;
use crate::codec::is_possible;

/// A broken invariant.
pub type Broken = &'static str;

impl Queue {
    /// Checks every invariant; returns the first that does not hold.
    pub fn check(&self) -> Result<(), Broken> {
        let found = |(slot, job): (_, &crate::job::Job)| self.find(job.id.as_ref()) == Some(slot);
        let (expiring, orders_sound) = self.orders.soundness();
        let standing: HashSet<_> = self.orders.all().collect();
        let jobs = || self.jobs.iter().map(|(_, job)| job);
        let facts = [
            (
                self.index.len() == self.jobs.len() && self.jobs.iter().all(found),
                "I1: each job is found by its id",
            ),
            (
                standing.len() == self.jobs.len() && self.orders.all().count() == self.jobs.len(),
                "I2: each job stands in one order, once",
            ),
            (orders_sound, "I3: orders are sorted and counted, lanes descend and none is empty"),
            (
                expiring == jobs().filter(|job| job.vanishes().is_some()).count(),
                "I4: the expiries hold the jobs that vanish, and no others",
            ),
            (jobs().all(is_possible), "I6: the parts of each record fit each other"),
            (
                jobs().all(|job| job.sequence < self.next_sequence && job.token() <= self.last_token),
                "I7: sequences and tokens that were used are not used again",
            ),
            (
                jobs().map(|job| job.heap_bytes()).sum::<usize>() == self.heap_bytes,
                "I8: the bytes of the jobs are accounted for",
            ),
        ];
        facts.into_iter().try_for_each(|(holds, name)| if holds { Ok(()) } else { Err(name) })
    }
}
