//! `DQ.ACK key receipt [receipt ...]`

use dq_engine::effect::Effects;
use dq_engine::queue::Receipt;

use crate::args::Args;
use crate::clock;
use crate::error::Error;
use crate::host::command::{Access, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::{KEY, RECEIPTS};
use crate::propagate;

pub struct Ack;

impl Command for Ack {
    const SPEC: Spec = Spec {
        name: c"DQ.ACK",
        summary: c"Ends deliveries whose work is done: their jobs leave the queue.",
        complexity: c"O(M*log(N)) with M being the number of receipts and N the number of jobs in the queue.",
        arity: -3,
        flags: c"write fast",
        access: Access::Ordinary,
        tips: c"",
        keys: &[KeyUse::Delete],
        arguments: &[KEY, RECEIPTS],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let (name, receipts) = parse(words)?;
        let mut key = key::job_queue(context, name)?;
        let now = clock::now(context).now;
        let mut effects = Effects::default();
        context.reply_array(receipts.len());
        match key.queue() {
            Some(queue) => {
                for receipt in receipts {
                    context.reply_integer(u64::from(queue.ack(now, receipt, &mut effects)));
                }
                queue.tidy(now, &mut effects);
            }
            None => receipts.iter().for_each(|_| context.reply_integer(0)),
        }
        drop(key);
        propagate::effects(context, name, &effects);
        Ok(())
    }
}

fn parse(words: &[Text]) -> Result<(Text, Vec<Receipt<'_>>), Error> {
    let mut args = Args::new(words);
    let key = args.next("key")?;
    let receipts = args.receipts()?;
    args.finish()?;
    Ok((key, receipts))
}
