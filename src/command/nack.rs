//! `DQ.NACK key [DELAY ms | UNUSED | DEAD] [ERROR text] receipt [receipt ...]`

use dq_engine::effect::Effects;
use dq_engine::queue::{Nack as GivenBack, Receipt, Retry};
use dq_engine::time::Millis;

use crate::args::Args;
use crate::clock;
use crate::error::Error;
use crate::host::command::{Access, Argument, ArgumentKind, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::{KEY, RECEIPTS};
use crate::propagate;
use crate::reply;

pub struct Nack;

/// When the jobs come back, if the command says so.
#[derive(Clone, Copy)]
enum Again {
    After(Millis),
    Unused,
    Never,
}

struct Request<'a> {
    key: Text,
    again: Option<Again>,
    error: Option<&'a [u8]>,
    receipts: Vec<Receipt<'a>>,
}

impl Command for Nack {
    const SPEC: Spec = Spec {
        name: c"DQ.NACK",
        summary: c"Gives claimed jobs back, to be delivered again later, or lets them die.",
        complexity: c"O(M*log(N)) with M being the number of receipts and N the number of jobs in the queue.",
        arity: -3,
        flags: c"write fast",
        access: Access::Ordinary,
        tips: c"nondeterministic_output",
        keys: &[KeyUse::Update],
        arguments: &[
            KEY,
            Argument::of(
                c"retry",
                ArgumentKind::OneOf,
                &[
                    Argument::after(c"DELAY", c"delay", ArgumentKind::Integer),
                    Argument::word(c"unused", c"UNUSED"),
                    Argument::word(c"dead", c"DEAD"),
                ],
            )
            .optional(),
            Argument::after(c"ERROR", c"error", ArgumentKind::Text).optional(),
            RECEIPTS,
        ],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let request = parse(words)?;
        let mut key = key::job_queue(context, request.key)?;
        let now = clock::now(context).now;
        let mut effects = Effects::default();
        let mut states = vec![None; request.receipts.len()];
        if let Some(queue) = key.queue() {
            for (state, &receipt) in states.iter_mut().zip(&request.receipts) {
                let retry = match request.again {
                    Some(Again::After(delay)) => Retry::After(delay),
                    Some(Again::Unused) => Retry::Unused,
                    Some(Again::Never) => Retry::Never,
                    None => Retry::Backoff { draw: clock::random() },
                };
                *state = queue.nack(now, receipt, GivenBack { retry, error: request.error }, &mut effects);
            }
            queue.tidy(now, &mut effects);
        }
        drop(key);
        propagate::effects(context, request.key, &effects);
        reply::states(context, &states);
        Ok(())
    }
}

fn parse(words: &[Text]) -> Result<Request<'_>, Error> {
    let mut args = Args::new(words);
    let key = args.next("key")?;
    let (mut again, mut error) = (None, None);
    while let Some(word) = args.peek() {
        match word.as_bytes() {
            b"DELAY" => args.value(&mut again, |args| args.duration("DELAY").map(Again::After))?,
            b"UNUSED" => args.value(&mut again, |_| Ok(Again::Unused))?,
            b"DEAD" => args.value(&mut again, |_| Ok(Again::Never))?,
            b"ERROR" => args.value(&mut error, |args| args.error_text())?,
            _ => break,
        }
    }
    let receipts = args.receipts()?;
    args.finish()?;
    Ok(Request { key, again, error, receipts })
}
