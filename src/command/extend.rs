//! `DQ.EXTEND key LEASE ms receipt [receipt ...]`

use dq_engine::effect::Effects;
use dq_engine::queue::{Queue, Receipt};
use dq_engine::time::Millis;

use crate::args::Args;
use crate::clock;
use crate::error::Error;
use crate::host::command::{Access, Argument, ArgumentKind, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::{KEY, RECEIPTS};
use crate::propagate;

pub struct Extend;

struct Request<'a> {
    key: Text,
    lease: Millis,
    receipts: Vec<Receipt<'a>>,
}

impl Command for Extend {
    const SPEC: Spec = Spec {
        name: c"DQ.EXTEND",
        summary: c"Lets the leases of deliveries end at another time: a consumer's heartbeat.",
        complexity: c"O(M*log(N)) with M being the number of receipts and N the number of jobs in the queue.",
        arity: -5,
        flags: c"write fast",
        access: Access::Ordinary,
        tips: c"",
        keys: &[KeyUse::Update],
        arguments: &[KEY, Argument::after(c"LEASE", c"lease", ArgumentKind::Integer), RECEIPTS],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let request = parse(words)?;
        let mut key = key::job_queue(context, request.key)?;
        let now = clock::now(context).now;
        let mut effects = Effects::default();
        context.reply_array(request.receipts.len());
        let mut queue = key.queue();
        for receipt in request.receipts {
            let extend = |queue: &mut Queue| queue.extend(now, receipt, request.lease, &mut effects);
            context.reply_integer(u64::from(queue.as_deref_mut().is_some_and(extend)));
        }
        if let Some(queue) = queue {
            queue.tidy(now, &mut effects);
        }
        drop(key);
        propagate::effects(context, request.key, &effects);
        Ok(())
    }
}

fn parse(words: &[Text]) -> Result<Request<'_>, Error> {
    let mut args = Args::new(words);
    let (key, mut lease) = (args.next("key")?, None);
    match args.peek() {
        Some(word) if word.as_bytes() == b"LEASE" => {
            args.value(&mut lease, |args| args.duration("LEASE"))?;
        }
        _ => return Err(args.syntax_error()),
    }
    let receipts = args.receipts()?;
    args.finish()?;
    Ok(Request { key, lease: lease.unwrap_or(Millis::ZERO), receipts })
}
