//! Where `DQ.MOVE` puts jobs, or members of a sorted set: a list, a stream, a sorted set or another job queue.
//!
//! Lists, streams and sorted sets are written with the server's own commands, so that their blocked readers are served,
//! their keyspace events fired and their replicas need no module. A stream's entries go one by one, each with the id
//! that the server gave it.

use dq_engine::effect::{Effects, Put, Words};
use dq_engine::id::IdRef;
use dq_engine::job::View;
use dq_engine::time::UnixMs;

use crate::clock::{self, Instant};
use crate::error::Error;
use crate::host::sorted_set::Member;
use crate::host::{Arguments, Context, Key, Kind, Text};
use crate::sorted_set::{self, Unit};
use crate::{json, key, propagate};

/// Where jobs go, and how.
pub struct Destination {
    /// The key.
    pub key: Text,
    /// How it is written.
    pub verb: Verb,
    /// What is written of each item.
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

/// What is moved.
pub enum Item<'a> {
    /// A job.
    Job(View<'a>),
    /// A member of a sorted set, and when it became due.
    Member {
        /// The member.
        member: &'a Member,
        /// Its score as a time.
        due: UnixMs,
    },
}

/// What is written of each item, if there is a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The message.
    Message,
    /// The job, or message, as JSON.
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
    /// Refuses a key of another type than the verb makes, and a sorted set whose scores do not look like `unit`.
    pub fn check(&self, context: &Context<'_>, unit: Unit) -> Result<(), Error> {
        let mut key = Key::open(context, self.key);
        match key.kind() {
            Kind::Missing => Ok(()),
            kind if kind != self.verb.kind() => Err(Error::WrongType),
            Kind::SortedSet => sorted_set::check_head(&mut key, unit),
            _ => Ok(()),
        }
    }

    /// Takes `items`; tells for each whether it arrived. Those at the end of which nothing is told were not taken. An error
    /// means that none was.
    pub fn take(
        &self,
        context: &Context<'_>,
        instant: Instant,
        items: &[Item<'_>],
    ) -> Result<Vec<bool>, Error> {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        match self.verb {
            Verb::RPush => self.take_at_once(context, c"RPUSH", items),
            Verb::LPush => self.take_at_once(context, c"LPUSH", items),
            Verb::ZAdd => self.take_at_once(context, c"ZADD", items),
            Verb::XAdd => self.take_one_by_one(context, items),
            Verb::Push => self.take_as_jobs(context, instant, items),
        }
    }

    fn take_at_once(
        &self,
        context: &Context<'_>,
        command: &std::ffi::CStr,
        items: &[Item<'_>],
    ) -> Result<Vec<bool>, Error> {
        let mut arguments = context.arguments(self.key);
        for item in items {
            match item {
                Item::Member { member, .. } if self.verb == Verb::ZAdd => {
                    arguments.bytes(member.score.to_string().as_bytes());
                    arguments.member(member);
                }
                Item::Job(view) if self.verb == Verb::ZAdd => {
                    arguments.number(view.due.0);
                    arguments.bytes(&item.json());
                }
                _ => self.write(item, &mut arguments),
            }
        }
        context.call_unreplicated(command, &arguments).map_err(Error::Server)?;
        context.replicate(command, &arguments);
        Ok(vec![true; items.len()])
    }

    /// If the stream takes no more entries, those that it took have arrived. Replicas get each under the id that it has.
    fn take_one_by_one(&self, context: &Context<'_>, items: &[Item<'_>]) -> Result<Vec<bool>, Error> {
        // All of them are made first: whoever is told of an entry may remove what the next one would be made of.
        let entries: Vec<_> = items.iter().map(|item| self.entry(context, item)).collect();
        let mut added = Vec::with_capacity(entries.len());
        for (mut arguments, id_at) in entries {
            match context.call_unreplicated(c"XADD", &arguments) {
                Ok(id) => arguments.replace(id_at, &id),
                Err(error) if added.is_empty() => return Err(Error::Server(error)),
                Err(_) => break,
            }
            added.push(arguments);
        }
        added.iter().for_each(|arguments| context.replicate(c"XADD", arguments));
        Ok(vec![true; added.len()])
    }

    /// Makes the arguments that add `item` to a stream; tells at which place the id is.
    fn entry<'b>(&self, context: &'b Context<'_>, item: &Item<'b>) -> (Arguments<'b>, usize) {
        let mut arguments = context.arguments(self.key);
        if let Some(most) = self.most {
            arguments.bytes(b"MAXLEN");
            arguments.number(most);
        }
        let id_at = arguments.len();
        arguments.bytes(b"*");
        if let Item::Job(view) = item {
            arguments.bytes(b"id");
            arguments.bytes(&view.id.text());
        }
        arguments.bytes(b"msg");
        self.write(item, &mut arguments);
        if let Item::Job(view) = item {
            arguments.bytes(b"attempt");
            arguments.number(u64::from(view.attempts));
        }
        arguments.bytes(b"due");
        arguments.number(item.due().0);
        (arguments, id_at)
    }

    fn take_as_jobs(
        &self,
        context: &Context<'_>,
        instant: Instant,
        items: &[Item<'_>],
    ) -> Result<Vec<bool>, Error> {
        let mut effects = Effects::default();
        let arrived = key::with_job_queue(context, self.key, &mut effects, |queue, effects| {
            let mut arrived = Vec::with_capacity(items.len());
            for item in items {
                // A queue that is full takes no more; the rest stays where it is.
                let Ok(taken) = queue.receive(instant.now, item.as_put(instant), effects) else { break };
                arrived.push(taken);
            }
            Ok(arrived)
        })?;
        propagate::effects(context, self.key, &effects);
        Ok(arrived)
    }

    fn write<'b>(&self, item: &Item<'b>, arguments: &mut Arguments<'b>) {
        match (self.form, item) {
            (Form::Json, _) => arguments.bytes(&item.json()),
            (Form::Message, Item::Job(view)) => arguments.bytes(view.message),
            (Form::Message, Item::Member { member, .. }) => arguments.member(member),
        }
    }
}

impl Item<'_> {
    fn due(&self) -> UnixMs {
        match self {
            Item::Job(view) => view.due,
            Item::Member { due, .. } => *due,
        }
    }

    fn json(&self) -> Vec<u8> {
        match self {
            Item::Job(view) => {
                json::object(Some(&view.id.text()), view.message, Some(view.attempts), Some(view.due))
            }
            Item::Member { member, due } => json::object(None, member.bytes(), None, Some(*due)),
        }
    }

    fn as_put(&self, instant: Instant) -> Put<'_> {
        match *self {
            Item::Job(View { id, message, due, priority, expires, attempts, .. }) => {
                Put { id, message, due, priority, expires, attempts }
            }
            Item::Member { member, due } => {
                let id = IdRef::Uuid(clock::new_id(instant));
                Put { id, message: member.bytes(), due, priority: 0, expires: None, attempts: 0 }
            }
        }
    }
}
