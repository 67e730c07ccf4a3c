//! `DQ.MPUSH key DELAY|AT [REPLACE] [PRIORITY n] [TTL ms] when id message [when id message ...]`, and into a sorted set
//! `DQ.MPUSH key DELAY|AT ZSET [SECONDS] [REPLACE] [ENVELOPE] when * message [when * message ...]`

use dq_engine::effect::Effects;
use dq_engine::id::IdRef;
use dq_engine::queue::{Outcome, Push as Job, When};
use dq_engine::time::UnixMs;

use crate::args::{Args, id_of};
use crate::clock::{self, Instant};
use crate::error::Error;
use crate::host::command::{Access, Argument, ArgumentKind, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::{KEY, PRIORITY, PushOptions, TTL, ZSET};
use crate::propagate;
use crate::reply;
use crate::sorted_set::{self, Addition};

pub struct MPush;

/// How the times of the jobs are given.
#[derive(Clone, Copy)]
enum Times {
    Delays,
    Absolute,
}

/// A job as it was given: its id is missing if the server is to make one.
struct Item<'a> {
    when: When,
    id: Option<IdRef<'a>>,
    message: &'a [u8],
}

struct Request<'a> {
    key: Text,
    options: PushOptions,
    items: Vec<Item<'a>>,
}

impl Command for MPush {
    const SPEC: Spec = Spec {
        name: c"DQ.MPUSH",
        summary: c"Puts many jobs into a queue, each with its own time. All are refused if one is.",
        complexity: c"O(M*log(N)) with M being the number of jobs given and N the number in the queue.",
        arity: -6,
        flags: c"write deny-oom",
        access: Access::Ordinary,
        tips: c"nondeterministic_output",
        keys: &[KeyUse::Insert],
        arguments: &[
            KEY,
            Argument::of(
                c"times",
                ArgumentKind::OneOf,
                &[Argument::word(c"delay", c"DELAY"), Argument::word(c"at", c"AT")],
            ),
            Argument::word(c"replace", c"REPLACE").optional(),
            PRIORITY,
            TTL,
            ZSET,
            Argument::of(
                c"job",
                ArgumentKind::Block,
                &[
                    Argument::new(c"when", ArgumentKind::Integer),
                    Argument::new(c"id", ArgumentKind::Text),
                    Argument::new(c"message", ArgumentKind::Text),
                ],
            )
            .multiple(),
        ],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let request = parse(words)?;
        match request.options.members(request.items.iter().any(|item| item.id.is_some()))? {
            Some(addition) => push_members(context, &request, addition),
            None => push_jobs(context, &request),
        }
    }
}

fn push_jobs(context: &Context<'_>, request: &Request<'_>) -> Result<(), Error> {
    let instant = clock::now(context);
    let jobs = jobs(request, instant)?;
    let mut effects = Effects::default();
    let outcomes = key::with_job_queue(context, request.key, &mut effects, |queue, effects| {
        queue.check_pushes(instant.now, &jobs)?;
        let push = |job| Ok(queue.push(instant.now, job, effects)?);
        let outcomes = jobs.iter().map(push).collect::<Result<Vec<Outcome>, Error>>()?;
        queue.tidy(instant.now, effects);
        Ok(outcomes)
    })?;
    propagate::effects(context, request.key, &effects);
    context.reply_array(jobs.len());
    for (job, outcome) in jobs.iter().zip(outcomes) {
        reply::pushed(context, Some(&job.id.text()), outcome);
    }
    Ok(())
}

fn push_members(context: &Context<'_>, request: &Request<'_>, addition: Addition) -> Result<(), Error> {
    let instant = clock::now(context);
    let due = |item: &Item<'_>| item.when.resolve(instant.now);
    let due = request.items.iter().map(due).collect::<Result<Vec<UnixMs>, _>>()?;
    due.iter().try_for_each(|&due| addition.unit.check(addition.unit.score(due)))?;
    key::check_sorted_set(context, request.key, addition.unit)?;
    let add = |(item, due): (&Item<'_>, UnixMs)| {
        sorted_set::add(context, request.key, addition, item.message, (instant, due))
    };
    let added = request.items.iter().zip(due).map(add).collect::<Result<Vec<_>, Error>>()?;
    context.reply_array(added.len());
    added.iter().for_each(|(id, outcome)| reply::pushed(context, id.as_deref(), *outcome));
    Ok(())
}

fn jobs<'a>(request: &Request<'a>, instant: Instant) -> Result<Vec<Job<'a>>, Error> {
    let replace = request.options.replace(false)?;
    let (priority, ttl) = (request.options.priority(), request.options.ttl);
    let job = |item: &Item<'a>| {
        let id = item.id.unwrap_or_else(|| IdRef::Uuid(clock::new_id(instant)));
        Job { id, message: item.message, when: item.when, priority, ttl, replace }
    };
    Ok(request.items.iter().map(job).collect())
}

fn parse(words: &[Text]) -> Result<Request<'_>, Error> {
    let mut args = Args::new(words);
    let key = args.next("key")?;
    let (mut options, mut times) = (PushOptions::default(), None);
    while let Some(word) = args.peek() {
        let option = word.as_bytes();
        if options.take(option, &mut args)? {
            continue;
        }
        let given = match option {
            b"DELAY" => Times::Delays,
            b"AT" => Times::Absolute,
            _ => break,
        };
        args.value(&mut times, |_| Ok(given))?;
    }
    let times = times.ok_or_else(|| args.syntax_error())?;
    if args.len() == 0 || !args.len().is_multiple_of(3) {
        return Err(incomplete(&args));
    }
    let mut items = Vec::with_capacity(args.len() / 3);
    while args.len() > 0 {
        items.push(item(&mut args, times)?);
    }
    args.finish()?;
    Ok(Request { key, options, items })
}

/// Jobs that do not come in threes: because of a word that is none of their numbers, or simply so.
fn incomplete(args: &Args<'_>) -> Error {
    match args.peek() {
        Some(word) if word.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) => args.syntax_error(),
        _ => Error::Mismatch("jobs must be given as when, id and message"),
    }
}

fn item<'a>(args: &mut Args<'a>, times: Times) -> Result<Item<'a>, Error> {
    let when = match times {
        Times::Delays => When::In(args.duration("DELAY")?),
        Times::Absolute => When::At(args.time("AT")?),
    };
    let id = args.next("id")?.bytes();
    let id = if id == b"*" { None } else { Some(id_of(id)?) };
    Ok(Item { when, id, message: args.message()? })
}
