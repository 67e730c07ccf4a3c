//! `DQ.GET key id`

use crate::args::Args;
use crate::clock;
use crate::error::Error;
use crate::host::command::{Access, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::{ID, KEY};
use crate::reply;

pub struct Get;

impl Command for Get {
    const SPEC: Spec = Spec {
        name: c"DQ.GET",
        summary: c"Shows one job: its message, state, times, attempts and fate.",
        complexity: c"O(1)",
        arity: 3,
        flags: c"readonly fast",
        access: Access::Ordinary,
        tips: c"nondeterministic_output",
        keys: &[KeyUse::Read],
        arguments: &[KEY, ID],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let mut args = Args::new(words);
        let (name, id) = (args.next("key")?, args.id("id")?);
        args.finish()?;
        let mut key = key::job_queue(context, name)?;
        let now = clock::now(context).now;
        match key.queue().and_then(|queue| queue.get(now, id)) {
            Some(view) => reply::job(context, &view),
            None => context.reply_null(),
        }
        Ok(())
    }
}
