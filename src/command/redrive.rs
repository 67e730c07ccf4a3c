//! `DQ.REDRIVE key [DELAY ms] COUNT n | ID id [id ...]`

use dq_engine::effect::Effects;
use dq_engine::id::IdRef;
use dq_engine::time::Millis;

use crate::args::Args;
use crate::clock;
use crate::error::Error;
use crate::host::command::{Access, Argument, ArgumentKind, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::KEY;
use crate::propagate;

pub struct Redrive;

/// Which dead jobs.
enum Which<'a> {
    /// So many, those that died first.
    Oldest(usize),
    /// These.
    Named(Vec<IdRef<'a>>),
}

struct Request<'a> {
    key: Text,
    delay: Millis,
    which: Which<'a>,
}

impl Command for Redrive {
    const SPEC: Spec = Spec {
        name: c"DQ.REDRIVE",
        summary: c"Lets dead jobs wait again, with no attempt counted.",
        complexity: c"O(M*log(N)) with M being the number of jobs and N the number in the queue.",
        arity: -4,
        flags: c"write",
        access: Access::Ordinary,
        tips: c"nondeterministic_output",
        keys: &[KeyUse::Update],
        arguments: &[
            KEY,
            Argument::after(c"DELAY", c"delay", ArgumentKind::Integer).optional(),
            Argument::of(
                c"which",
                ArgumentKind::OneOf,
                &[
                    Argument::after(c"COUNT", c"count", ArgumentKind::Integer),
                    Argument::after(c"ID", c"id", ArgumentKind::Text).multiple(),
                ],
            ),
        ],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let Request { key: name, delay, which } = parse(words)?;
        let mut key = key::job_queue(context, name)?;
        let now = clock::now(context).now;
        let mut effects = Effects::default();
        let mut redriven = 0;
        if let Some(queue) = key.queue() {
            redriven = match which {
                Which::Oldest(count) => queue.redrive(now, delay, count, &mut effects),
                Which::Named(ids) => queue.redrive_ids(now, delay, &ids, &mut effects),
            };
            queue.tidy(now, &mut effects);
        }
        drop(key);
        propagate::effects(context, name, &effects);
        context.reply_integer(redriven as u64);
        Ok(())
    }
}

fn parse(words: &[Text]) -> Result<Request<'_>, Error> {
    let mut args = Args::new(words);
    let (key, mut delay, mut count, mut ids) = (args.next("key")?, None, None, None);
    while let Some(word) = args.peek() {
        match word.as_bytes() {
            b"DELAY" => args.value(&mut delay, |args| args.duration("DELAY"))?,
            b"COUNT" if ids.is_none() => args.value(&mut count, Args::count)?,
            b"ID" if count.is_none() => args.value(&mut ids, Args::ids)?,
            _ => return Err(args.syntax_error()),
        }
    }
    args.finish()?;
    let which = match (count, ids) {
        (Some(count), _) => Which::Oldest(count),
        (None, Some(ids)) => Which::Named(ids),
        (None, None) => return Err(Error::Missing("COUNT or ID")),
    };
    Ok(Request { key, delay: delay.unwrap_or(Millis::ZERO), which })
}
