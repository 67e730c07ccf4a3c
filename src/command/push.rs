//! `DQ.PUSH key message [DELAY ms | AT unix-ms] [ID id] [REPLACE [KEEPDUE]] [PRIORITY n] [TTL ms]`

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
use crate::options::{KEY, PRIORITY, PushOptions, TTL, WHEN, take_when};
use crate::propagate;

pub struct Push;

struct Request<'a> {
    key: Text,
    message: &'a [u8],
    id: Option<IdRef<'a>>,
    when: When,
    replace: Replace,
    options: PushOptions,
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
        ],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let request = parse(words)?;
        let instant = clock::now(context);
        let id = request.id.unwrap_or_else(|| IdRef::Uuid(clock::new_id(instant)));
        let Request { key, message, when, replace, options, .. } = request;
        let push = Job { id, message, when, priority: options.priority(), ttl: options.ttl, replace };
        let mut effects = Effects::default();
        let outcome = key::with_job_queue(context, key, &mut effects, |queue, effects| {
            let outcome = queue.push(instant.now, &push, effects)?;
            queue.tidy(instant.now, effects);
            Ok(outcome)
        })?;
        propagate::effects(context, key, &effects);
        context.reply_array(2);
        context.reply_bytes(&id.text());
        context.reply_bytes(outcome.word().as_bytes());
        Ok(())
    }
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
    Ok(Request { key, message, id, when, replace: options.replace(keep_due)?, options })
}
