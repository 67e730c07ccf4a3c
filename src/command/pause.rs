//! `DQ.PAUSE key [ms]`

use dq_engine::effect::Effects;
use dq_engine::time::Millis;

use crate::args::Args;
use crate::clock;
use crate::error::Error;
use crate::host::command::{Access, Argument, ArgumentKind, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::KEY;
use crate::propagate;

pub struct Pause;

impl Command for Pause {
    const SPEC: Spec = Spec {
        name: c"DQ.PAUSE",
        summary: c"Stops deliveries from a queue, for a time or until DQ.RESUME.",
        complexity: c"O(1)",
        arity: -2,
        flags: c"write fast",
        access: Access::Ordinary,
        tips: c"",
        keys: &[KeyUse::Update],
        arguments: &[KEY, Argument::new(c"milliseconds", ArgumentKind::Integer).optional()],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let (name, length) = parse(words)?;
        let mut key = key::job_queue(context, name)?;
        let queue = key.queue().ok_or(Error::NoQueue)?;
        let now = clock::now(context).now;
        let mut effects = Effects::default();
        queue.pause(now, length, &mut effects);
        queue.tidy(now, &mut effects);
        drop(key);
        propagate::effects(context, name, &effects);
        context.reply_ok();
        Ok(())
    }
}

fn parse(words: &[Text]) -> Result<(Text, Option<Millis>), Error> {
    let mut args = Args::new(words);
    let key = args.next("key")?;
    let length = if args.len() == 0 { None } else { Some(args.duration("pause")?) };
    args.finish()?;
    Ok((key, length))
}
