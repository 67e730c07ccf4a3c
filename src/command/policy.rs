//! `DQ.POLICY key [LEASE ms] [MAXATTEMPTS n|UNLIMITED] [BACKOFF base factor max jitter] [DEADMAX n|UNLIMITED] [TTL ms]`

use dq_engine::effect::Effects;
use dq_engine::policy::{Backoff, Policy as Rules};
use dq_engine::time::Millis;

use crate::args::Args;
use crate::clock;
use crate::error::Error;
use crate::host::command::{Access, Argument, ArgumentKind, Command, KeyUse, Spec};
use crate::host::{Context, Text};
use crate::key;
use crate::options::KEY;
use crate::propagate;
use crate::reply;

pub struct Policy;

/// The fields that are to be set.
#[derive(Default)]
struct Fields {
    lease: Option<Millis>,
    max_attempts: Option<Option<u16>>,
    backoff: Option<Backoff>,
    dead_max: Option<Option<u64>>,
    ttl: Option<Millis>,
}

impl Command for Policy {
    const SPEC: Spec = Spec {
        name: c"DQ.POLICY",
        summary:
            c"Sets and shows what a queue does by itself: leases, attempts, backoff, dead jobs, time to live.",
        complexity: c"O(1)",
        arity: -2,
        flags: c"write deny-oom fast",
        access: Access::Ordinary,
        tips: c"",
        keys: &[KeyUse::Update],
        arguments: &[
            KEY,
            Argument::after(c"LEASE", c"lease", ArgumentKind::Integer).optional(),
            Argument::after(c"MAXATTEMPTS", c"attempts", ArgumentKind::Text).optional(),
            Argument {
                token: Some(c"BACKOFF"),
                optional: true,
                ..Argument::of(
                    c"backoff",
                    ArgumentKind::Block,
                    &[
                        Argument::new(c"base", ArgumentKind::Integer),
                        Argument::new(c"factor", ArgumentKind::Integer),
                        Argument::new(c"max", ArgumentKind::Integer),
                        Argument::new(c"jitter-percent", ArgumentKind::Integer),
                    ],
                )
            },
            Argument::after(c"DEADMAX", c"jobs", ArgumentKind::Text).optional(),
            Argument::after(c"TTL", c"ttl", ArgumentKind::Integer).optional(),
        ],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let (name, fields) = parse(words)?;
        let now = clock::now(context).now;
        let mut effects = Effects::default();
        let policy = key::with_job_queue(context, name, &mut effects, |queue, effects| {
            let policy = fields.over(*queue.policy());
            queue.set_policy(policy, effects);
            queue.tidy(now, effects);
            Ok(policy)
        })?;
        propagate::effects(context, name, &effects);
        reply::policy(context, &policy);
        Ok(())
    }
}

impl Fields {
    fn over(&self, rules: Rules) -> Rules {
        Rules {
            lease: self.lease.unwrap_or(rules.lease),
            max_attempts: self.max_attempts.unwrap_or(rules.max_attempts),
            backoff: self.backoff.unwrap_or(rules.backoff),
            dead_max: self.dead_max.unwrap_or(rules.dead_max),
            ttl: self.ttl.unwrap_or(rules.ttl),
        }
    }
}

fn parse(words: &[Text]) -> Result<(Text, Fields), Error> {
    let mut args = Args::new(words);
    let (key, mut fields) = (args.next("key")?, Fields::default());
    while let Some(word) = args.peek() {
        match word.as_bytes() {
            b"LEASE" => args.value(&mut fields.lease, |args| args.duration("LEASE"))?,
            b"MAXATTEMPTS" => args.value(&mut fields.max_attempts, |args| {
                Ok(args
                    .number_or_unlimited("MAXATTEMPTS", 1, u64::from(u16::MAX))?
                    .map(|number| number as u16))
            })?,
            b"BACKOFF" => args.value(&mut fields.backoff, backoff)?,
            b"DEADMAX" => args.value(&mut fields.dead_max, |args| {
                args.number_or_unlimited("DEADMAX", 0, Rules::DEAD_MAX_LIMIT)
            })?,
            b"TTL" => args.value(&mut fields.ttl, |args| args.duration("TTL"))?,
            _ => return Err(args.syntax_error()),
        }
    }
    args.finish()?;
    Ok((key, fields))
}

fn backoff(args: &mut Args<'_>) -> Result<Backoff, Error> {
    Ok(Backoff {
        base: args.duration("base of BACKOFF")?,
        factor: args.number("factor of BACKOFF", 1, 100)? as u8,
        max: args.duration("max of BACKOFF")?,
        jitter_percent: args.number("jitter of BACKOFF", 0, 100)? as u8,
    })
}
