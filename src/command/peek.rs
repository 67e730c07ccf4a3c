//! `DQ.PEEK key [WAITING|CLAIMED|DEAD] [COUNT n] [FROM cursor]`

use dq_engine::job::State;
use dq_engine::queue::{Limit, Queue};
use dq_engine::time::UnixMs;
use dq_engine::timeline::Key as Place;

use crate::args::Args;
use crate::clock;
use crate::config;
use crate::error::Error;
use crate::host::command::{Access, Argument, ArgumentKind, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::{COUNT, KEY, STATE, state_named};
use crate::reply;

/// How many jobs are shown when the command does not say.
const COUNT_DEFAULT: usize = 10;

pub struct Peek;

struct Request {
    key: Text,
    state: State,
    count: usize,
    from: Place,
}

impl Command for Peek {
    const SPEC: Spec = Spec {
        name: c"DQ.PEEK",
        summary: c"Shows jobs of one state in order, page by page, and changes nothing.",
        complexity: c"O(log(N)+M) with M being the number of jobs shown and N the number in the queue.",
        arity: -2,
        flags: c"readonly",
        access: Access::Ordinary,
        tips: c"nondeterministic_output",
        keys: &[KeyUse::Read],
        arguments: &[
            KEY,
            Argument { optional: true, ..STATE },
            COUNT,
            Argument::after(c"FROM", c"cursor", ArgumentKind::Text).optional(),
        ],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let request = parse(words)?;
        let mut key = key::job_queue(context, request.key)?;
        match key.queue() {
            Some(queue) => show(context, &request, queue),
            None => {
                context.reply_array(2);
                context.reply_bytes(b"0");
                context.reply_array(0);
            }
        }
        Ok(())
    }
}

fn show(context: &Context<'_>, request: &Request, queue: &Queue) {
    let now: UnixMs = clock::now(context).now;
    let limit = Limit { count: request.count, bytes: config::max_reply_bytes() };
    let page = queue.page(request.state, request.from, now, limit);
    context.reply_array(2);
    reply::cursor(context, page.next);
    context.reply_array(page.slots.len());
    for view in page.slots.iter().filter_map(|&slot| queue.view(slot, now)) {
        reply::job(context, &view);
    }
}

fn parse(words: &[Text]) -> Result<Request, Error> {
    let mut args = Args::new(words);
    let key = args.next("key")?;
    let (mut state, mut count, mut from) = (None, None, None);
    while let Some(word) = args.peek() {
        match (word.as_bytes(), state_named(word.as_bytes())) {
            (_, Some(named)) => args.value(&mut state, |_| Ok(named))?,
            (b"COUNT", _) => args.value(&mut count, Args::count)?,
            (b"FROM", _) => args.value(&mut from, Args::cursor)?,
            _ => return Err(args.syntax_error()),
        }
    }
    args.finish()?;
    let count = count.unwrap_or(COUNT_DEFAULT.min(config::max_count()));
    Ok(Request { key, state: state.unwrap_or(State::Waiting), count, from: from.unwrap_or(Place::FIRST) })
}
