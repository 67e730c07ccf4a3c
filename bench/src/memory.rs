//! Bytes a job: the growth of the server's `used_memory` while a store is filled, each time on a fresh server.

use crate::client::Connection;
use crate::error::Result;
use crate::field::{Field, Store};
use crate::jobs::{Due, ID_BYTES, Ids, JobSource};
use crate::machine::info;
use crate::options::Options;
use crate::server::{Durability, Launcher, Server};
use crate::text;

/// What one filling came to.
pub struct Filling {
    /// Where the jobs are kept.
    pub store: Store,
    /// What their ids look like.
    pub ids: Ids,
    /// Bytes of each message.
    pub message_bytes: usize,
    /// Bytes of memory for each job.
    pub bytes_per_job: f64,
}

impl Filling {
    /// Bytes a job beyond its id and message.
    pub fn overhead(&self) -> f64 {
        self.bytes_per_job - (ID_BYTES + self.message_bytes) as f64
    }
}

/// All fillings, of so many jobs each.
pub struct Memory {
    /// Jobs in a store.
    pub jobs: usize,
    /// The fillings, the two stores alternating.
    pub fillings: Vec<Filling>,
}

/// Fills both stores with both kinds of id and both lengths of message.
pub fn run(launcher: &Launcher, options: &Options) -> Result<Memory> {
    let jobs = options.memory_jobs();
    let mut fillings = Vec::new();
    for ids in [Ids::Uuid, Ids::Other] {
        for message_bytes in [32, 1_000] {
            for store in [Store::SetAndHash, Store::Queue] {
                let server = launcher.start(Durability::None)?;
                if store == Store::Queue && !server.has_module() {
                    continue;
                }
                let name = store.name();
                let count = text::grouped(jobs as u64);
                eprintln!("memory: {name}, {count} jobs with {message_bytes}-byte messages");
                let source = JobSource::new(ids, message_bytes);
                let bytes_per_job = fill(&server, store, source, jobs)?;
                fillings.push(Filling { store, ids, message_bytes, bytes_per_job });
            }
        }
    }
    Ok(Memory { jobs, fillings })
}

fn fill(server: &Server, store: Store, mut source: JobSource, jobs: usize) -> Result<f64> {
    let before = used_memory(server)?;
    let field = Field::new(jobs);
    let mut filler = server.connect()?;
    let mut left = jobs;
    while left > 0 {
        let some = source.take(left.min(10_000), Due::Far);
        left -= some.len();
        field.put(&mut filler, store, &some)?;
    }
    drop(filler);
    Ok((used_memory(server)? - before) / jobs as f64)
}

/// Reads the server's memory from a connection that is its only one, since buffers of others count as well.
pub fn used_memory(server: &Server) -> Result<f64> {
    let mut control: Connection = server.connect()?;
    while info(&mut control, "connected_clients")?.as_deref() != Some("1") {}
    Ok(info(&mut control, "used_memory")?.ok_or("INFO has no used_memory")?.parse()?)
}
