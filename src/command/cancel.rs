//! `DQ.CANCEL key id [id ...]`

use dq_engine::effect::Effects;
use dq_engine::id::IdRef;

use crate::args::Args;
use crate::clock;
use crate::error::Error;
use crate::host::command::{Access, Argument, ArgumentKind, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::KEY;
use crate::propagate;

pub struct Cancel;

impl Command for Cancel {
    const SPEC: Spec = Spec {
        name: c"DQ.CANCEL",
        summary: c"Withdraws jobs by id, whatever their state.",
        complexity: c"O(M*log(N)) with M being the number of ids and N the number of jobs in the queue.",
        arity: -3,
        flags: c"write fast",
        access: Access::Ordinary,
        tips: c"",
        keys: &[KeyUse::AccessDelete],
        arguments: &[KEY, Argument::new(c"id", ArgumentKind::Text).multiple()],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let (name, ids) = parse(words)?;
        let mut key = key::job_queue(context, name)?;
        let now = clock::now(context).now;
        let mut effects = Effects::default();
        context.reply_array(ids.len());
        let mut queue = key.queue();
        if let Some(queue) = queue.as_deref_mut() {
            queue.tidy(now, &mut effects);
        }
        for id in ids {
            let state = queue.as_deref_mut().and_then(|queue| queue.cancel(now, id, &mut effects));
            match state {
                Some(state) => context.reply_bytes(state.word().as_bytes()),
                None => context.reply_null(),
            }
        }
        propagate::effects(context, name, &effects);
        Ok(())
    }
}

fn parse(words: &[Text]) -> Result<(Text, Vec<IdRef<'_>>), Error> {
    let mut args = Args::new(words);
    let key = args.next("key")?;
    let mut ids = Vec::with_capacity(args.len());
    while args.len() > 0 {
        ids.push(args.id()?);
    }
    args.finish()?;
    Ok((key, ids))
}
