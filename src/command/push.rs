//! `DQ.PUSH key message [DELAY ms | AT unix-ms] [ID id] [REPLACE [KEEPDUE]] [PRIORITY n] [TTL ms]`, and into a sorted set
//! `DQ.PUSH key message ZSET [DELAY ms | AT unix-ms] [SECONDS] [REPLACE] [ENVELOPE]`

use dq_engine::effect::Effects;
use dq_engine::id::IdRef;
use dq_engine::queue::{Push as Job, Replace, When};
use dq_engine::time::Millis;

use crate::args::Args;
use crate::clock;
use crate::error::Error;
use crate::host::command::{Access, Argument, ArgumentKind, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::{KEY, PRIORITY, PushOptions, TTL, WHEN, ZSET, take_when};
use crate::propagate;
use crate::reply;
use crate::sorted_set::{self, Addition};

pub struct Push;

struct Request<'a> {
    key: Text,
    message: &'a [u8],
    id: Option<IdRef<'a>>,
    when: When,
    replace: Replace,
    options: PushOptions,
    /// How it is written, if it goes into a sorted set.
    members: Option<Addition>,
}

impl Command for Push {
    const SPEC: Spec = Spec {
        name: c"DQ.PUSH",
        summary: c"Puts a job into a queue, to be delivered at a time. Creates the queue if the key does not exist.",
        complexity: c"O(log(N)) with N being the number of jobs in the queue.",
        arity: -3,
        flags: c"write deny-oom fast",
        access: Access::Ordinary,
        tips: c"nondeterministic_output",
        keys: &[KeyUse::Insert],
        arguments: &[
            KEY,
            Argument::new(c"message", ArgumentKind::Text),
            WHEN.optional(),
            Argument::after(c"ID", c"id", ArgumentKind::Text).optional(),
            Argument::of(
                c"replace",
                ArgumentKind::Block,
                &[
                    Argument::word(c"replace", c"REPLACE"),
                    Argument::word(c"keepdue", c"KEEPDUE").optional(),
                ],
            )
            .optional(),
            PRIORITY,
            TTL,
            ZSET,
        ],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let request = parse(words)?;
        match request.members {
            Some(addition) => push_member(context, &request, addition),
            None => push_job(context, &request),
        }
    }
}

fn push_job(context: &Context<'_>, request: &Request<'_>) -> Result<(), Error> {
    let instant = clock::now(context);
    let id = request.id.unwrap_or_else(|| IdRef::Uuid(clock::new_id(instant)));
    let Request { key, message, when, replace, ref options, .. } = *request;
    let push = Job { id, message, when, priority: options.priority(), ttl: options.ttl, replace };
    let mut effects = Effects::default();
    let outcome = key::with_job_queue(context, key, &mut effects, |queue, effects| {
        let outcome = queue.push(instant.now, &push, effects)?;
        queue.tidy(instant.now, effects);
        Ok(outcome)
    })?;
    propagate::effects(context, key, &effects);
    reply::pushed(context, Some(&id.text()), outcome);
    Ok(())
}

fn push_member(context: &Context<'_>, request: &Request<'_>, addition: Addition) -> Result<(), Error> {
    let instant = clock::now(context);
    let due = request.when.resolve(instant.now)?;
    addition.unit.check(addition.unit.score(due))?;
    key::check_sorted_set(context, request.key, addition.unit)?;
    let (id, outcome) = sorted_set::add(context, request.key, addition, request.message, (instant, due))?;
    reply::pushed(context, id.as_deref(), outcome);
    Ok(())
}

fn parse(words: &[Text]) -> Result<Request<'_>, Error> {
    let mut args = Args::new(words);
    let (key, message) = (args.next("key")?, args.message()?);
    let (mut id, mut when, mut keep_due) = (None, None, false);
    let mut options = PushOptions::default();
    while let Some(word) = args.peek() {
        let option = word.as_bytes();
        if options.take(option, &mut args)? || take_when(option, &mut args, &mut when)? {
            continue;
        }
        match option {
            b"ID" => args.value(&mut id, |args| args.id("ID"))?,
            b"KEEPDUE" => args.flag(&mut keep_due)?,
            _ => return Err(args.syntax_error()),
        }
    }
    args.finish()?;
    let when = when.unwrap_or(When::In(Millis::ZERO));
    let members = options.members(id.is_some() || keep_due)?;
    Ok(Request { key, message, id, when, replace: options.replace(keep_due)?, options, members })
}
