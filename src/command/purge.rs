//! `DQ.PURGE key WAITING|CLAIMED|DEAD [COUNT n]`

use dq_engine::effect::Effects;
use dq_engine::job::State;

use crate::args::Args;
use crate::clock;
use crate::config;
use crate::error::Error;
use crate::host::command::{Access, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::{COUNT, KEY, STATE, state_named};
use crate::propagate;

/// How many jobs are removed when the command does not say.
const COUNT_DEFAULT: usize = 1000;

pub struct Purge;

impl Command for Purge {
    const SPEC: Spec = Spec {
        name: c"DQ.PURGE",
        summary: c"Removes jobs of one state, a bounded number at a time.",
        complexity: c"O(M*log(N)) with M being the number of jobs removed and N the number in the queue.",
        arity: -3,
        flags: c"write",
        access: Access::Ordinary,
        tips: c"nondeterministic_output",
        keys: &[KeyUse::Delete],
        arguments: &[KEY, STATE, COUNT],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let (name, state, count) = parse(words)?;
        let mut key = key::job_queue(context, name)?;
        let now = clock::now(context).now;
        let mut effects = Effects::default();
        let mut purged = 0;
        if let Some(queue) = key.queue() {
            purged = queue.purge(now, state, count, &mut effects);
            queue.tidy(now, &mut effects);
        }
        drop(key);
        propagate::effects(context, name, &effects);
        context.reply_integer(purged as u64);
        Ok(())
    }
}

fn parse(words: &[Text]) -> Result<(Text, State, usize), Error> {
    let mut args = Args::new(words);
    let key = args.next("key")?;
    let (mut state, mut count) = (None, None);
    while let Some(word) = args.peek() {
        match (word.as_bytes(), state_named(word.as_bytes())) {
            (_, Some(named)) => args.value(&mut state, |_| Ok(named))?,
            (b"COUNT", _) => args.value(&mut count, Args::count)?,
            _ => return Err(args.syntax_error()),
        }
    }
    args.finish()?;
    let state = state.ok_or(Error::Missing("WAITING, CLAIMED or DEAD"))?;
    Ok((key, state, count.unwrap_or(COUNT_DEFAULT.min(config::max_count()))))
}
