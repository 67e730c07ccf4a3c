//! `DQ.RESCHEDULE key id DELAY ms | AT unix-ms`

use dq_engine::effect::Effects;
use dq_engine::id::IdRef;
use dq_engine::queue::When;

use crate::args::Args;
use crate::clock;
use crate::error::Error;
use crate::host::command::{Access, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::{ID, KEY, WHEN, take_when};
use crate::propagate;
use crate::reply;

pub struct Reschedule;

impl Command for Reschedule {
    const SPEC: Spec = Spec {
        name: c"DQ.RESCHEDULE",
        summary: c"Gives a waiting job another due time.",
        complexity: c"O(log(N)) with N being the number of jobs in the queue.",
        arity: 5,
        flags: c"write fast",
        access: Access::Ordinary,
        tips: c"",
        keys: &[KeyUse::Update],
        arguments: &[KEY, ID, WHEN],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let (name, id, when) = parse(words)?;
        let mut key = key::job_queue(context, name)?;
        let now = clock::now(context).now;
        let mut effects = Effects::default();
        let mut state = None;
        if let Some(queue) = key.queue() {
            state = queue.reschedule(now, id, when, &mut effects)?;
            queue.tidy(now, &mut effects);
        }
        drop(key);
        propagate::effects(context, name, &effects);
        reply::state(context, state);
        Ok(())
    }
}

fn parse(words: &[Text]) -> Result<(Text, IdRef<'_>, When), Error> {
    let mut args = Args::new(words);
    let (key, id, mut when) = (args.next("key")?, args.id("id")?, None);
    match args.peek() {
        Some(word) if take_when(word.as_bytes(), &mut args, &mut when)? => {}
        _ => return Err(args.syntax_error()),
    }
    let when = when.ok_or_else(|| args.syntax_error())?;
    args.finish()?;
    Ok((key, id, when))
}
