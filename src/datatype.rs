//! The data type `dq-jobset`: a queue as the server stores, sends, copies, measures and compares it.

use std::ffi::{CStr, c_int};

use dq_engine::codec::{JOBS, Writer};
use dq_engine::effect::{VERSION, Word, Words};
use dq_engine::policy::Policy;
use dq_engine::queue::{Loaded, Queue};

use crate::host::module_type::{Digest, Input, Output, Rewrite, Stored};

impl Stored for Queue {
    const NAME: &'static CStr = c"dq-jobset";
    const ENCODING: c_int = VERSION as c_int;

    /// Reads the header and then chunks of jobs until there are as many as the header said. The count is never trusted
    /// for more than that.
    fn from_rdb(input: &mut Input, encoding: c_int) -> Option<Self> {
        if encoding != Self::ENCODING {
            input.log_warning(c"a dq-jobset has a version that this module does not know");
            return None;
        }
        let mut queue = Queue::new(Policy::DEFAULT);
        let mut missing = match read_chunk(&mut queue, input)? {
            Loaded::Header { jobs } => jobs,
            Loaded::Jobs(_) => return None,
        };
        while missing > 0 {
            match read_chunk(&mut queue, input)? {
                Loaded::Jobs(jobs) => missing = missing.checked_sub(jobs)?,
                Loaded::Header { .. } => return None,
            }
        }
        Some(queue)
    }

    fn to_rdb(&self, output: &mut Output) {
        self.store(&mut |chunk| output.bytes(chunk));
    }

    /// One command a chunk, so that none is much larger than [`dq_engine::queue::CHUNK_BYTES`] and one job.
    fn to_aof(&self, output: &mut Rewrite) {
        self.store(&mut |chunk| {
            let mut arguments = output.arguments();
            arguments.number(VERSION);
            arguments.word(Word::Load);
            arguments.bytes(chunk);
            output.command(c"DQ.APPLY", &arguments);
        });
    }

    fn memory(&self) -> usize {
        self.bytes()
    }

    fn free_effort(&self) -> usize {
        self.records()
    }

    fn duplicate(&self) -> Self {
        self.clone()
    }

    /// The queue's own values are one part, each job another: their order does not matter, since it is in them.
    fn digest(&self, digest: &mut Digest) {
        digest.bytes(self.header().bytes());
        digest.end_part();
        for job in self.records_in_order() {
            let mut writer = Writer::new(JOBS);
            writer.job(job);
            digest.bytes(writer.bytes());
            digest.end_part();
        }
    }
}

fn read_chunk(queue: &mut Queue, input: &mut Input) -> Option<Loaded> {
    match input.bytes(|chunk| queue.load(chunk))? {
        Ok(loaded) => Some(loaded),
        Err(_) => {
            input.log_warning(c"a dq-jobset is damaged");
            None
        }
    }
}
