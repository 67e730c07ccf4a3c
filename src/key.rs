//! Opens the keys of commands on job queues.

use dq_engine::effect::{Effect, Effects};
use dq_engine::policy::Policy;
use dq_engine::queue::Queue;

use crate::config;
use crate::error::Error;
use crate::host::{Context, Key, Kind, Text};
use crate::sorted_set::{self, Unit};

/// Opens `name` as a job queue, which may be missing: [`Key::queue`] tells. Refuses every other type.
pub fn job_queue(context: &Context<'_>, name: Text) -> Result<Key, Error> {
    let key = Key::open(context, name);
    match key.kind() {
        Kind::Missing | Kind::Queue => Ok(key),
        Kind::SortedSet => Err(Error::SortedSet),
        Kind::List | Kind::Stream | Kind::Other => Err(Error::WrongType),
    }
}

/// Refuses `name` unless it is missing or holds a sorted set whose scores are of that unit.
pub fn check_sorted_set(context: &Context<'_>, name: Text, unit: Unit) -> Result<(), Error> {
    let mut key = Key::open(context, name);
    match key.kind() {
        Kind::Missing => Ok(()),
        Kind::SortedSet => sorted_set::check_head(&mut key, unit),
        Kind::Queue => Err(Error::JobQueue),
        Kind::List | Kind::Stream | Kind::Other => Err(Error::WrongType),
    }
}

/// Runs `change` on the job queue `name`. If it is missing it is made, with the module's policy, once `change` has
/// succeeded; that policy is then the first of `effects` if it is not what every server takes for granted.
pub fn with_job_queue<'e, T>(
    context: &Context<'_>,
    name: Text,
    effects: &mut Effects<'e>,
    change: impl FnOnce(&mut Queue, &mut Effects<'e>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut key = job_queue(context, name)?;
    if let Some(queue) = key.queue() {
        return change(queue, effects);
    }
    drop(key);
    let mut queue = Queue::new(Policy::DEFAULT);
    queue.set_policy(config::default_policy(), effects);
    let result = change(&mut queue, effects)?;
    if effects.is_empty() {
        // An empty queue, which nothing else would tell others of.
        effects.0.push(Effect::Policy(*queue.policy()));
    }
    Key::open_to_change(context, name).create(queue);
    Ok(result)
}
