//! `DQ.MOVE source destination [RPUSH | LPUSH | XADD [MAXLEN n] | ZADD | PUSH] [COUNT n] [AHEAD ms] [SECONDS]
//! [JSON] [BLOCK ms]`

use dq_engine::effect::Effects;
use dq_engine::id::Id;
use dq_engine::job::View;
use dq_engine::lane::Horizon;
use dq_engine::queue::Limit;
use dq_engine::time::{Millis, UnixMs};

use crate::args::Args;
use crate::clock;
use crate::config;
use crate::destination::{Destination, Form, Item, Verb};
use crate::error::Error;
use crate::host::command::{Access, Argument, ArgumentKind, Command, KeyUse, Spec};
use crate::host::{Context, Key, Kind, Text};
use crate::options::{BLOCK, COUNT, KEY, SECONDS};
use crate::propagate;
use crate::sorted_set::{self, Unit};
use crate::waiters::{self, Wants};

/// How many jobs are moved when the command does not say.
const COUNT_DEFAULT: usize = 100;

pub struct Move;

struct Request {
    source: Text,
    destination: Destination,
    count: usize,
    ahead: Millis,
    /// What the scores of a sorted set count, if the command says so.
    unit: Option<Unit>,
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
            SECONDS,
            Argument::word(c"json", c"JSON").optional(),
            BLOCK,
        ],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let request = parse(words)?;
        let key = Key::open(context, request.source);
        let moved = match key.kind() {
            Kind::Missing => {
                request.check_destination(context, true, request.unit.unwrap_or_default()).map(|()| None)?
            }
            Kind::Queue => move_jobs(context, &request, key)?,
            Kind::SortedSet => move_members(context, &request, key)?,
            Kind::List | Kind::Stream | Kind::Other => return Err(Error::WrongType),
        };
        match (moved, request.block) {
            (None, Some(limit)) => waiters::wait::<Self>(context, request.source, request.wants(), limit),
            (moved, _) => context.reply_integer(moved.unwrap_or(0) as u64),
        }
        Ok(())
    }
}

impl Request {
    fn limit(&self) -> Limit {
        Limit { count: self.count, bytes: config::max_reply_bytes() }
    }

    fn wants(&self) -> Wants {
        let members = Some(self.unit.unwrap_or_default());
        Wants { jobs: self.unit.is_none(), members, ahead: self.ahead, grows: true }
    }

    /// Looks at the destination. While a client waits that must be left until there is something for it: a key that has
    /// expired is deleted by the look.
    fn check_destination(&self, context: &Context<'_>, is_needed: bool, unit: Unit) -> Result<(), Error> {
        if is_needed || !context.has_waited() { self.destination.check(context, unit) } else { Ok(()) }
    }
}

/// Moves jobs that are due; returns how many arrived, or nothing if there are none. The destination is written first:
/// what it did not take stays.
fn move_jobs(context: &Context<'_>, request: &Request, mut key: Key) -> Result<Option<usize>, Error> {
    if request.unit.is_some() {
        return Err(Error::JobQueue);
    }
    let Some(queue) = key.queue() else { return Ok(None) };
    let instant = clock::now(context);
    let now = instant.now;
    let picked = queue.pick(Horizon { now, waiting: now.plus(request.ahead) }, request.limit());
    request.check_destination(context, !picked.is_empty(), Unit::Milliseconds)?;
    if picked.is_empty() && context.has_waited() {
        return Ok(None);
    }
    let views: Vec<View<'_>> = picked.iter().filter_map(|&slot| queue.view(slot, now)).collect();
    let ids: Vec<Id> = views.iter().map(|view| view.id.to_id()).collect();
    let items: Vec<Item<'_>> = views.into_iter().map(Item::Job).collect();
    let taken = request.destination.take(context, instant, &items)?;
    let moved = taken.iter().filter(|&&arrived| arrived).count();
    // Another module, told of the destination's change, may have done anything to the source.
    drop(key);
    let mut key = Key::open(context, request.source);
    let Some(queue) = key.queue() else { return Ok(Some(moved)) };
    let mut effects = Effects::default();
    for (id, arrived) in ids.iter().zip(taken) {
        let Some(slot) = queue.slot_of(id.as_ref()) else { continue };
        if arrived {
            queue.move_out(slot, &mut effects);
        } else {
            queue.refuse_move(now, slot, &mut effects);
        }
    }
    queue.tidy(now, &mut effects);
    drop(key);
    propagate::effects(context, request.source, &effects);
    Ok((!picked.is_empty()).then_some(moved))
}

/// Moves members that are due; returns how many, or nothing if there are none.
fn move_members(context: &Context<'_>, request: &Request, mut key: Key) -> Result<Option<usize>, Error> {
    let instant = clock::now(context);
    let unit = request.unit.unwrap_or_default();
    let mut members = sorted_set::pick(&mut key, unit, instant.now.plus(request.ahead), request.limit())?;
    // The set is gone with its last member, and whoever closes the key then looks at what was freed.
    drop(key);
    request.check_destination(context, !members.is_empty(), unit)?;
    if members.is_empty() {
        return Ok(None);
    }
    sorted_set::check_removal(context, request.source)?;
    let item = |member| Item::Member { member, due: unit.due(member.score).unwrap_or(UnixMs::MAX) };
    let items: Vec<Item<'_>> = members.iter().map(item).collect();
    let taken = request.destination.take(context, instant, &items)?;
    // A new job's id is its own, so all that were taken have arrived, and they are the first.
    members.truncate(taken.len());
    sorted_set::remove(context, request.source, &members);
    Ok(Some(members.len()))
}

fn parse(words: &[Text]) -> Result<Request, Error> {
    let mut args = Args::new(words);
    let (source, destination) = (args.next("source")?, args.next("destination")?);
    let (mut verb, mut most, mut count, mut ahead, mut block) = (None, None, None, None, None);
    let (mut seconds, mut json) = (false, false);
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
            b"SECONDS" => args.flag(&mut seconds)?,
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
    let unit = seconds.then_some(Unit::Seconds);
    Ok(Request { source, destination, count, ahead: ahead.unwrap_or(Millis::ZERO), unit, block })
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
