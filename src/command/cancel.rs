//! `DQ.CANCEL key id [id ...]`

use dq_engine::effect::Effects;
use dq_engine::id::IdRef;

use crate::args::Args;
use crate::clock;
use crate::error::Error;
use crate::host::command::{Access, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::{ID, KEY};
use crate::propagate;
use crate::reply;

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
        keys: &[KeyUse::Delete],
        arguments: &[KEY, ID.multiple()],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let (name, ids) = parse(words)?;
        let mut key = key::job_queue(context, name)?;
        let now = clock::now(context).now;
        let mut effects = Effects::default();
        let mut states = vec![None; ids.len()];
        if let Some(queue) = key.queue() {
            for (state, &id) in states.iter_mut().zip(&ids) {
                *state = queue.cancel(now, id, &mut effects);
            }
            queue.tidy(now, &mut effects);
        }
        drop(key);
        propagate::effects(context, name, &effects);
        reply::states(context, &states);
        Ok(())
    }
}

fn parse(words: &[Text]) -> Result<(Text, Vec<IdRef<'_>>), Error> {
    let mut args = Args::new(words);
    let key = args.next("key")?;
    let ids = args.ids()?;
    args.finish()?;
    Ok((key, ids))
}
