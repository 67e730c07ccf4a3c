//! `DQ.CLAIM key [COUNT n] [LEASE ms]`

use dq_engine::effect::Effects;
use dq_engine::queue::{Claim as Terms, Limit};
use dq_engine::time::Millis;

use crate::args::Args;
use crate::clock;
use crate::config;
use crate::error::Error;
use crate::host::command::{Access, Argument, ArgumentKind, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::{COUNT, KEY};
use crate::propagate;
use crate::reply::Deliveries;

pub struct Claim;

struct Request {
    key: Text,
    count: usize,
    lease: Option<Millis>,
}

impl Command for Claim {
    const SPEC: Spec = Spec {
        name: c"DQ.CLAIM",
        summary:
            c"Takes due jobs in one atomic step, for good or, with a lease, until they are acknowledged.",
        complexity: c"O(M*log(N)) with M being the number of jobs taken and N the number in the queue.",
        arity: -2,
        flags: c"write fast",
        access: Access::Ordinary,
        tips: c"nondeterministic_output",
        keys: &[KeyUse::AccessDelete],
        arguments: &[KEY, COUNT, Argument::after(c"LEASE", c"lease", ArgumentKind::Integer).optional()],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let request = parse(words)?;
        let mut key = key::job_queue(context, request.key)?;
        let Some(queue) = key.queue() else {
            context.reply_array(0);
            return Ok(());
        };
        let instant = clock::now(context);
        let limit = Limit { count: request.count, bytes: config::max_reply_bytes() };
        let terms = Terms { limit, lease: request.lease, token: instant.token() };
        let mut effects = Effects::default();
        queue.claim(instant.now, &terms, &mut Deliveries(context), &mut effects);
        queue.tidy(instant.now, &mut effects);
        propagate::effects(context, request.key, &effects);
        Ok(())
    }
}

fn parse(words: &[Text]) -> Result<Request, Error> {
    let mut args = Args::new(words);
    let key = args.next("key")?;
    let (mut count, mut lease) = (None, None);
    while let Some(word) = args.peek() {
        match word.as_bytes() {
            b"COUNT" => args.value(&mut count, Args::count)?,
            b"LEASE" => args.value(&mut lease, |args| args.duration("LEASE"))?,
            _ => return Err(args.syntax_error()),
        }
    }
    args.finish()?;
    Ok(Request { key, count: count.unwrap_or(1), lease })
}
