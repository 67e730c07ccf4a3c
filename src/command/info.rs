//! `DQ.INFO key`

use crate::args;
use crate::clock;
use crate::error::Error;
use crate::host::command::{Access, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::KEY;
use crate::reply;

pub struct Info;

impl Command for Info {
    const SPEC: Spec = Spec {
        name: c"DQ.INFO",
        summary:
            c"Describes a queue: how many jobs are what, how late it is, its policy, what happened to it.",
        complexity: c"O(log(N)) with N being the number of jobs in the queue.",
        arity: 2,
        flags: c"readonly fast",
        access: Access::Ordinary,
        tips: c"nondeterministic_output",
        keys: &[KeyUse::Read],
        arguments: &[KEY],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let name = args::only_key(words)?;
        let mut key = key::job_queue(context, name)?;
        let now = clock::now(context).now;
        match key.queue() {
            Some(queue) => reply::info(context, now, &queue.info(now)),
            None => context.reply_null(),
        }
        Ok(())
    }
}
