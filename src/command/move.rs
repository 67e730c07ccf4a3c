//! `DQ.MOVE source destination [RPUSH | LPUSH | XADD [MAXLEN n] | ZADD | PUSH] [COUNT n] [AHEAD ms] [JSON]
//! [BLOCK ms]`

use dq_engine::effect::Effects;
use dq_engine::lane::Horizon;
use dq_engine::queue::{Limit, Queue};
use dq_engine::time::{Millis, UnixMs};

use crate::args::Args;
use crate::clock;
use crate::config;
use crate::destination::{Destination, Form, Verb};
use crate::error::Error;
use crate::host::command::{Access, Argument, ArgumentKind, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::{BLOCK, COUNT, KEY};
use crate::propagate;
use crate::waiters::{self, Wants};

/// How many jobs are moved when the command does not say.
const COUNT_DEFAULT: usize = 100;

pub struct Move;

struct Request {
    source: Text,
    destination: Destination,
    count: usize,
    ahead: Millis,
    block: Option<Millis>,
}

impl Command for Move {
    const SPEC: Spec = Spec {
        name: c"DQ.MOVE",
        summary: c"Moves due jobs into a list, stream, sorted set or other queue, in one atomic step.",
        complexity: c"O(M*log(N)) with M being the number of jobs moved and N the number in the queue.",
        arity: -3,
        flags: c"write deny-oom blocking",
        access: Access::Ordinary,
        tips: c"nondeterministic_output",
        keys: &[KeyUse::AccessDelete, KeyUse::Insert],
        arguments: &[
            Argument { name: c"source", ..KEY },
            Argument::new(c"destination", ArgumentKind::Key(1)),
            Argument::of(
                c"verb",
                ArgumentKind::OneOf,
                &[
                    Argument::word(c"rpush", c"RPUSH"),
                    Argument::word(c"lpush", c"LPUSH"),
                    Argument::of(
                        c"stream",
                        ArgumentKind::Block,
                        &[
                            Argument::word(c"xadd", c"XADD"),
                            Argument::after(c"MAXLEN", c"maxlen", ArgumentKind::Integer).optional(),
                        ],
                    ),
                    Argument::word(c"zadd", c"ZADD"),
                    Argument::word(c"push", c"PUSH"),
                ],
            )
            .optional(),
            COUNT,
            Argument::after(c"AHEAD", c"ahead", ArgumentKind::Integer).optional(),
            Argument::word(c"json", c"JSON").optional(),
            BLOCK,
        ],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let request = parse(words)?;
        let mut key = key::job_queue(context, request.source)?;
        request.destination.check_type(context)?;
        let now = clock::now(context).now;
        if let Some(limit) = request.block
            && !key.queue().is_some_and(|queue| queue.has_available(now, request.ahead))
        {
            drop(key);
            let wants = Wants { ahead: request.ahead, grows: true };
            waiters::wait::<Self>(context, request.source, wants, limit);
            return Ok(());
        }
        let moved = match key.queue() {
            Some(queue) => move_due(context, &request, queue, now)?,
            None => 0,
        };
        context.reply_integer(moved as u64);
        Ok(())
    }
}

/// Moves what is due; returns how many jobs arrived. The destination is written first: what it did not take stays.
fn move_due(
    context: &Context<'_>,
    request: &Request,
    queue: &mut Queue,
    now: UnixMs,
) -> Result<usize, Error> {
    let ahead = now.plus(request.ahead);
    let limit = Limit { count: request.count, bytes: config::max_reply_bytes() };
    let picked = queue.pick(Horizon { now, waiting: ahead }, limit);
    let taken = request.destination.take(context, now, queue, &picked)?;
    let mut effects = Effects::default();
    let mut moved = 0;
    for (&slot, arrived) in picked.iter().zip(taken) {
        if arrived {
            queue.move_out(slot, &mut effects);
            moved += 1;
        } else {
            queue.refuse_move(now, slot, &mut effects);
        }
    }
    queue.tidy(now, &mut effects);
    propagate::effects(context, request.source, &effects);
    Ok(moved)
}

fn parse(words: &[Text]) -> Result<Request, Error> {
    let mut args = Args::new(words);
    let (source, destination) = (args.next("source")?, args.next("destination")?);
    let (mut verb, mut most, mut count, mut ahead, mut block, mut json) =
        (None, None, None, None, None, false);
    while let Some(word) = args.peek() {
        if let Some(known) = Verb::named(word.as_bytes()) {
            args.value(&mut verb, |_| Ok(known))?;
            continue;
        }
        match word.as_bytes() {
            b"MAXLEN" => args.value(&mut most, |args| args.number("MAXLEN", 1, i64::MAX as u64))?,
            b"COUNT" => args.value(&mut count, Args::count)?,
            b"AHEAD" => args.value(&mut ahead, |args| args.duration("AHEAD"))?,
            b"BLOCK" => args.value(&mut block, |args| args.duration("BLOCK"))?,
            b"JSON" => args.flag(&mut json)?,
            _ => return Err(args.syntax_error()),
        }
    }
    args.finish()?;
    if source.is(destination) {
        return Err(Error::Mismatch("source and destination must be different keys"));
    }
    let (verb, count) =
        (verb.unwrap_or(Verb::RPush), count.unwrap_or(COUNT_DEFAULT.min(config::max_count())));
    check_words(verb, most, count, json)?;
    let form = if json { Form::Json } else { Form::Message };
    let destination = Destination { key: destination, verb, form, most };
    Ok(Request { source, destination, count, ahead: ahead.unwrap_or(Millis::ZERO), block })
}

/// Refuses words that do not go with the verb.
fn check_words(verb: Verb, most: Option<u64>, count: usize, json: bool) -> Result<(), Error> {
    match (verb, most) {
        (Verb::XAdd, Some(most)) if most < count as u64 => Err(Error::Range {
            what: "MAXLEN",
            range: format!("at least COUNT, which is {count}"),
            value: most.to_string().into_bytes().into(),
        }),
        (Verb::XAdd, _) | (_, None) if json && matches!(verb, Verb::ZAdd | Verb::Push) => {
            Err(Error::Mismatch("JSON goes with RPUSH, LPUSH and XADD"))
        }
        (Verb::XAdd, _) | (_, None) => Ok(()),
        (_, Some(_)) => Err(Error::Mismatch("MAXLEN goes with XADD")),
    }
}
