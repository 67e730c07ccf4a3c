//! `DQ.APPLY key version effect [effect ...]`
//!
//! What this module sends to replicas, into the AOF and, on Valkey 9, to the new owner of a slot. Everyone who may
//! run dangerous commands can send it too; so every word is checked, and one that does not fit refuses them all.

use dq_engine::effect::{Word, parse};
use dq_engine::error::EffectFault;
use dq_engine::policy::Policy;
use dq_engine::queue::Queue;

use crate::args::Args;
use crate::error::Error;
use crate::host::command::{Access, Argument, ArgumentKind, Command, KeyUse, Spec};
use crate::host::{Context, Key, Text};
use crate::key;
use crate::options::KEY;
use crate::propagate;

pub struct Apply;

impl Command for Apply {
    const SPEC: Spec = Spec {
        name: c"DQ.APPLY",
        summary: c"An internal command: does again what happened to a queue elsewhere.",
        complexity: c"O(M*log(N)) with M being the number of jobs named and N the number in the queue.",
        arity: -4,
        flags: c"write deny-oom",
        access: Access::Dangerous,
        tips: c"",
        keys: &[KeyUse::Update],
        arguments: &[
            KEY,
            Argument::new(c"version", ArgumentKind::Integer),
            Argument::new(c"effect", ArgumentKind::Text).multiple(),
        ],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let mut args = Args::new(words);
        let (name, version) = (args.next("key")?, args.next("version")?);
        if version.bytes() != Word::VERSION {
            return Err(EffectFault::Version.into());
        }
        let mut words: Vec<&[u8]> = Vec::with_capacity(args.len());
        while args.len() > 0 {
            words.push(args.next("effect")?.bytes());
        }
        args.finish()?;
        let effects = parse(&words)?;
        let mut key = key::job_queue(context, name)?;
        match key.queue() {
            Some(queue) => queue.apply(&effects)?,
            None => {
                let mut queue = Queue::new(Policy::DEFAULT);
                queue.apply(&effects)?;
                drop(key);
                Key::open_to_change(context, name).create(queue);
            }
        }
        propagate::applied(context, name, &effects);
        context.reply_ok();
        Ok(())
    }
}
