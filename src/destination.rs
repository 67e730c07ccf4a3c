//! Where `DQ.MOVE` puts jobs: a list, a stream, a sorted set or another job queue.
//!
//! Lists, streams and sorted sets are written with the server's own commands, so that their blocked readers are served,
//! their keyspace events fired and their replicas need no module. A stream's entries go one by one, each with the id
//! that the server gave it.

use dq_engine::effect::{Effects, Put, Words};
use dq_engine::job::View;
use dq_engine::queue::Queue;
use dq_engine::slots::Slot;
use dq_engine::time::UnixMs;

use crate::error::Error;
use crate::host::{Arguments, Context, Key, Kind, Text};
use crate::{json, key, propagate};

/// Where jobs go, and how.
pub struct Destination {
    /// The key.
    pub key: Text,
    /// How it is written.
    pub verb: Verb,
    /// What is written of each job.
    pub form: Form,
    /// The most entries that a stream keeps.
    pub most: Option<u64>,
}

/// How a destination is written, which also says what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// A list, at its end.
    RPush,
    /// A list, at its start.
    LPush,
    /// A stream.
    XAdd,
    /// A sorted set.
    ZAdd,
    /// A job queue.
    Push,
}

/// What is written of each job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The message.
    Message,
    /// The job as JSON.
    Json,
}

impl Verb {
    /// Returns the verb of this name, in upper case.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"RPUSH" => Some(Verb::RPush),
            b"LPUSH" => Some(Verb::LPush),
            b"XADD" => Some(Verb::XAdd),
            b"ZADD" => Some(Verb::ZAdd),
            b"PUSH" => Some(Verb::Push),
            _ => None,
        }
    }

    fn kind(self) -> Kind {
        match self {
            Verb::RPush | Verb::LPush => Kind::List,
            Verb::XAdd => Kind::Stream,
            Verb::ZAdd => Kind::SortedSet,
            Verb::Push => Kind::Queue,
        }
    }
}

impl Destination {
    /// Refuses a key of another type than the verb makes.
    pub fn check_type(&self, context: &Context<'_>) -> Result<(), Error> {
        let kind = Key::open(context, self.key).kind();
        if kind == Kind::Missing || kind == self.verb.kind() { Ok(()) } else { Err(Error::WrongType) }
    }

    /// Takes the jobs of `slots`; tells for each whether it arrived. An error means that none did.
    pub fn take(
        &self,
        context: &Context<'_>,
        now: UnixMs,
        queue: &Queue,
        slots: &[Slot],
    ) -> Result<Vec<bool>, Error> {
        let views: Vec<View<'_>> = slots.iter().filter_map(|&slot| queue.view(slot, now)).collect();
        if views.is_empty() {
            return Ok(Vec::new());
        }
        match self.verb {
            Verb::RPush => self.take_at_once(context, c"RPUSH", &views),
            Verb::LPush => self.take_at_once(context, c"LPUSH", &views),
            Verb::ZAdd => self.take_at_once(context, c"ZADD", &views),
            Verb::XAdd => self.take_one_by_one(context, &views),
            Verb::Push => self.take_as_jobs(context, now, &views),
        }
    }

    fn take_at_once(
        &self,
        context: &Context<'_>,
        command: &std::ffi::CStr,
        views: &[View<'_>],
    ) -> Result<Vec<bool>, Error> {
        let mut arguments = context.arguments(self.key);
        for view in views {
            if self.verb == Verb::ZAdd {
                arguments.number(view.due.0);
            }
            self.write(view, &mut arguments);
        }
        context.call(command, &arguments).map_err(Error::Server)?;
        Ok(vec![true; views.len()])
    }

    /// If the stream takes no more entries, those that it took have arrived.
    fn take_one_by_one(&self, context: &Context<'_>, views: &[View<'_>]) -> Result<Vec<bool>, Error> {
        let mut arrived = Vec::with_capacity(views.len());
        for view in views {
            let mut arguments = context.arguments(self.key);
            if let Some(most) = self.most {
                arguments.bytes(b"MAXLEN");
                arguments.number(most);
            }
            arguments.bytes(b"*");
            arguments.bytes(b"id");
            arguments.bytes(&view.id.text());
            arguments.bytes(b"msg");
            self.write(view, &mut arguments);
            arguments.bytes(b"attempt");
            arguments.number(u64::from(view.attempts));
            arguments.bytes(b"due");
            arguments.number(view.due.0);
            match context.call(c"XADD", &arguments) {
                Ok(()) => arrived.push(true),
                Err(error) if arrived.is_empty() => return Err(Error::Server(error)),
                Err(_) => break,
            }
        }
        Ok(arrived)
    }

    fn take_as_jobs(
        &self,
        context: &Context<'_>,
        now: UnixMs,
        views: &[View<'_>],
    ) -> Result<Vec<bool>, Error> {
        let mut effects = Effects::default();
        let arrived = key::with_job_queue(context, self.key, &mut effects, |queue, effects| {
            let mut arrived = Vec::with_capacity(views.len());
            for view in views {
                let View { id, message, due, priority, expires, attempts, .. } = *view;
                let put = Put { id, message, due, priority, expires, attempts };
                // A queue that is full takes no more; the rest stays where it is.
                let Ok(taken) = queue.receive(now, put, effects) else { break };
                arrived.push(taken);
            }
            Ok(arrived)
        })?;
        propagate::effects(context, self.key, &effects);
        Ok(arrived)
    }

    fn write(&self, view: &View<'_>, arguments: &mut Arguments<'_>) {
        if self.form == Form::Json || self.verb == Verb::ZAdd {
            arguments.bytes(&json::of_job(view));
        } else {
            arguments.bytes(view.message);
        }
    }
}
