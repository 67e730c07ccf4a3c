//! `DQ.RESUME key`

use dq_engine::effect::Effects;

use crate::args;
use crate::clock;
use crate::error::Error;
use crate::host::command::{Access, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::KEY;
use crate::propagate;

pub struct Resume;

impl Command for Resume {
    const SPEC: Spec = Spec {
        name: c"DQ.RESUME",
        summary: c"Ends a pause: deliveries go on.",
        complexity: c"O(1)",
        arity: 2,
        flags: c"write fast",
        access: Access::Ordinary,
        tips: c"",
        keys: &[KeyUse::Update],
        arguments: &[KEY],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let name = args::only_key(words)?;
        let mut key = key::job_queue(context, name)?;
        let queue = key.queue().ok_or(Error::NoQueue)?;
        let mut effects = Effects::default();
        queue.resume(&mut effects);
        queue.tidy(clock::now(context).now, &mut effects);
        drop(key);
        propagate::effects(context, name, &effects);
        context.reply_ok();
        Ok(())
    }
}
