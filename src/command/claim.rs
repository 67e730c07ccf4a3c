//! `DQ.CLAIM key [COUNT n] [LEASE ms] [BLOCK ms]`, and of a sorted set `DQ.CLAIM key [COUNT n] [WITHSCORES] [SECONDS]
//! [BLOCK ms]`

use dq_engine::effect::Effects;
use dq_engine::queue::{Claim as Terms, Limit};
use dq_engine::time::Millis;

use crate::args::Args;
use crate::clock;
use crate::config;
use crate::error::Error;
use crate::host::command::{Access, Argument, ArgumentKind, Command, KeyUse, Spec};
use crate::host::{Context, Key, Kind, Text};
use crate::options::{BLOCK, COUNT, KEY, SECONDS};
use crate::propagate;
use crate::reply::{self, Deliveries, Form};
use crate::sorted_set::{self, Unit};
use crate::waiters::{self, Wants};

pub struct Claim;

struct Request {
    key: Text,
    count: usize,
    lease: Option<Millis>,
    /// What the scores count, if the command says so.
    unit: Option<Unit>,
    form: Form,
    block: Option<Millis>,
}

impl Command for Claim {
    const SPEC: Spec = Spec {
        name: c"DQ.CLAIM",
        summary:
            c"Takes due jobs in one atomic step, for good or, with a lease, until they are acknowledged.",
        complexity: c"O(M*log(N)) with M being the number of jobs taken and N the number in the queue.",
        arity: -2,
        flags: c"write fast blocking",
        access: Access::Ordinary,
        tips: c"nondeterministic_output",
        keys: &[KeyUse::AccessDelete],
        arguments: &[
            KEY,
            COUNT,
            Argument::after(c"LEASE", c"lease", ArgumentKind::Integer).optional(),
            Argument::word(c"withscores", c"WITHSCORES").optional(),
            SECONDS,
            BLOCK,
        ],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let request = parse(words)?;
        let key = Key::open(context, request.key);
        let claimed = match key.kind() {
            Kind::Missing => 0,
            Kind::Queue => claim_jobs(context, &request, key)?,
            Kind::SortedSet => claim_members(context, &request, key)?,
            Kind::List | Kind::Stream | Kind::Other => return Err(Error::WrongType),
        };
        match request.block {
            Some(limit) if claimed == 0 => {
                waiters::wait::<Self>(context, request.key, request.wants(), limit);
            }
            None if claimed == 0 => context.reply_array(0),
            _ => {}
        }
        Ok(())
    }
}

impl Request {
    fn limit(&self) -> Limit {
        Limit { count: self.count, bytes: config::max_reply_bytes() }
    }

    fn wants(&self) -> Wants {
        let members = self.lease.is_none().then_some(self.unit.unwrap_or_default());
        let jobs = self.unit.is_none() && self.form == Form::Members;
        Wants { jobs, members, ahead: Millis::ZERO, grows: false }
    }
}

/// Claims jobs and replies with them, if there are any; returns how many.
fn claim_jobs(context: &Context<'_>, request: &Request, mut key: Key) -> Result<usize, Error> {
    if request.unit.is_some() || request.form == Form::WithScores {
        return Err(Error::JobQueue);
    }
    let Some(queue) = key.queue() else { return Ok(0) };
    let instant = clock::now(context);
    let terms = Terms { limit: request.limit(), lease: request.lease, token: instant.token() };
    let mut effects = Effects::default();
    let claimed = queue.claim(instant.now, &terms, &mut Deliveries(context), &mut effects);
    // A client that goes on waiting must not have written anything.
    if claimed > 0 || !context.has_waited() {
        queue.tidy(instant.now, &mut effects);
    }
    drop(key);
    propagate::effects(context, request.key, &effects);
    Ok(claimed)
}

/// Takes members of a sorted set out and replies with them, if there are any; returns how many.
fn claim_members(context: &Context<'_>, request: &Request, mut key: Key) -> Result<usize, Error> {
    if request.lease.is_some() {
        return Err(Error::SortedSet);
    }
    let now = clock::now(context).now;
    let unit = request.unit.unwrap_or_default();
    let members = sorted_set::pick(&mut key, unit, now, request.limit())?;
    // The set is gone with its last member, and whoever closes the key then looks at what was freed.
    drop(key);
    if !members.is_empty() {
        sorted_set::check_removal(context, request.key)?;
        reply::members(context, &members, request.form);
        sorted_set::remove(context, request.key, &members);
    }
    Ok(members.len())
}

fn parse(words: &[Text]) -> Result<Request, Error> {
    let mut args = Args::new(words);
    let key = args.next("key")?;
    let (mut count, mut lease, mut block) = (None, None, None);
    let (mut seconds, mut with_scores) = (false, false);
    while let Some(word) = args.peek() {
        match word.as_bytes() {
            b"COUNT" => args.value(&mut count, Args::count)?,
            b"LEASE" => args.value(&mut lease, |args| args.duration("LEASE"))?,
            b"WITHSCORES" => args.flag(&mut with_scores)?,
            b"SECONDS" => args.flag(&mut seconds)?,
            b"BLOCK" => args.value(&mut block, |args| args.duration("BLOCK"))?,
            _ => return Err(args.syntax_error()),
        }
    }
    args.finish()?;
    if lease.is_some() && (seconds || with_scores) {
        return Err(Error::Mismatch("LEASE is for job queues, SECONDS and WITHSCORES are for sorted sets"));
    }
    let form = if with_scores { Form::WithScores } else { Form::Members };
    let unit = seconds.then_some(Unit::Seconds);
    Ok(Request { key, count: count.unwrap_or(1), lease, unit, form, block })
}
