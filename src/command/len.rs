//! `DQ.LEN key`

use crate::args;
use crate::clock;
use crate::error::Error;
use crate::host::command::{Access, Command, KeyUse, Spec};
use crate::host::{Context, Key, Kind, Text};
use crate::options::KEY;

pub struct Len;

impl Command for Len {
    const SPEC: Spec = Spec {
        name: c"DQ.LEN",
        summary: c"Returns the number of jobs in all states, or of members of a sorted set.",
        complexity: c"O(log(N)) with N being the number of jobs in the queue.",
        arity: 2,
        flags: c"readonly fast",
        access: Access::Ordinary,
        tips: c"nondeterministic_output",
        keys: &[KeyUse::Read],
        arguments: &[KEY],
    };

    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error> {
        let name = args::only_key(words)?;
        let mut key = Key::open(context, name);
        let jobs = match key.kind() {
            Kind::Missing => 0,
            Kind::Queue => key.queue().map_or(0, |queue| queue.len(clock::now(context).now)),
            Kind::SortedSet => key.members(),
            Kind::List | Kind::Stream | Kind::Other => return Err(Error::WrongType),
        };
        context.reply_integer(jobs as u64);
        Ok(())
    }
}
