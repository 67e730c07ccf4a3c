//! Opens the keys of commands on job queues.

use dq_engine::queue::Queue;

use crate::error::Error;
use crate::host::{Context, Key, Kind, Text};

/// Opens `name` as a job queue, which may be missing: [`Key::queue`] tells. Refuses every other type.
pub fn job_queue(context: &Context<'_>, name: Text) -> Result<Key, Error> {
    let key = Key::open(context, name);
    match key.kind() {
        Kind::Missing | Kind::Queue => Ok(key),
        Kind::SortedSet => Err(Error::SortedSet),
        Kind::List | Kind::Stream | Kind::Other => Err(Error::WrongType),
    }
}

/// Runs `change` on the job queue `name`, which is made if it is missing and `change` succeeds.
pub fn with_job_queue<T>(
    context: &Context<'_>,
    name: Text,
    change: impl FnOnce(&mut Queue) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut key = job_queue(context, name)?;
    if let Some(queue) = key.queue() {
        return change(queue);
    }
    drop(key);
    let mut queue = Queue::new(dq_engine::policy::Policy::DEFAULT);
    let result = change(&mut queue)?;
    Key::open_to_create(context, name).create(queue);
    Ok(result)
}
