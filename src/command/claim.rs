//! `DQ.CLAIM key [COUNT n] [LEASE ms] [BLOCK ms]`

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
use crate::options::{BLOCK, COUNT, KEY};
use crate::propagate;
use crate::reply::Deliveries;
use crate::waiters::{self, Wants};

const WANTS: Wants = Wants { ahead: Millis::ZERO, grows: false };

pub struct Claim;

struct Request {
    key: Text,
    count: usize,
    lease: Option<Millis>,
    block: Option<Millis>,
}

impl Command for Claim {
    const SPEC: Spec = Spec {
        name: c"DQ.CLAIM",
        summary:
            c"Takes due jobs in one atomic step, for good or, with a lease, until they are acknowledged.",
        complexity: c"O(M*log(N)) with M being the number of jobs taken and N the number in the queue.",
        arity: -2,
        flags: c"write fast blocking",
        access: Access::Ordinary,
        tips: c"nondeterministic_output",
        keys: &[KeyUse::AccessDelete],
        arguments: &[
            KEY,
            COUNT,
            Argument::after(c"LEASE", c"lease", ArgumentKind::Integer).optional(),
            BLOCK,
        ],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let request = parse(words)?;
        let instant = clock::now(context);
        let mut key = key::job_queue(context, request.key)?;
        if let Some(limit) = request.block
            && !key.queue().is_some_and(|queue| queue.has_available(instant.now, WANTS.ahead))
        {
            drop(key);
            waiters::wait::<Self>(context, request.key, WANTS, limit);
            return Ok(());
        }
        let Some(queue) = key.queue() else {
            context.reply_array(0);
            return Ok(());
        };
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
    let (mut count, mut lease, mut block) = (None, None, None);
    while let Some(word) = args.peek() {
        match word.as_bytes() {
            b"COUNT" => args.value(&mut count, Args::count)?,
            b"LEASE" => args.value(&mut lease, |args| args.duration("LEASE"))?,
            b"BLOCK" => args.value(&mut block, |args| args.duration("BLOCK"))?,
            _ => return Err(args.syntax_error()),
        }
    }
    args.finish()?;
    Ok(Request { key, count: count.unwrap_or(1), lease, block })
}
