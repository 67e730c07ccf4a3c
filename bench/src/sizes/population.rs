//! The jobs of one large store, through all restarts of its server.

use std::time::Instant;

use super::figure::{Figure, Section};
use super::requests::Requests;
use crate::client::Wait;
use crate::error::Result;
use crate::field::Store;
use crate::jobs::{Due, Ids, Job, JobSource};
use crate::memory::used_memory;
use crate::server::Server;
use crate::text;
use crate::throughput::MESSAGE_BYTES;

/// Jobs in one filling request.
const CHUNK_JOBS: usize = 500;
/// Every so manieth job is due, so that claims reach into the whole store.
const DUE_EVERY: usize = 10;

/// A store and the jobs in it.
pub struct Population {
    /// What is sent to it.
    pub requests: Requests,
    /// How many jobs are in it.
    pub present: usize,
    /// Memory of the server without a job, in bytes.
    pub empty_bytes: f64,
    /// What the kernel had given it then.
    pub empty_resident: u64,
    /// What a job needs of the server's memory once all are in.
    pub bytes_per_job: f64,
    source: JobSource,
}

impl Population {
    /// An empty one on this server.
    pub fn new(server: &Server, store: Store, jobs: usize) -> Result<Population> {
        let mut requests = Requests::new(store, jobs);
        requests.prepare(&mut server.connect_to_wait(Wait::Sleeping)?)?;
        let source = JobSource::new(Ids::Uuid, MESSAGE_BYTES);
        let empty_bytes = used_memory(server)?;
        let empty_resident = server.resident_bytes()?;
        Ok(Population { requests, present: 0, empty_bytes, empty_resident, bytes_per_job: 0.0, source })
    }

    /// Puts the jobs in; the next request is made while the server is at work on the last one.
    pub fn fill(&mut self, server: &Server, jobs: usize) -> Result<Vec<Figure>> {
        let cpu_before = server.cpu();
        let start = Instant::now();
        self.pour(server, jobs)?;
        let elapsed = start.elapsed();
        let cpu = server.cpu().zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
        self.bytes_per_job = (used_memory(server)? - self.empty_bytes) / jobs as f64;
        let resident = self.resident_per_job(server)?;
        Ok(vec![
            Figure::decimal(Section::Memory, "bytes a job, `used_memory`", [self.bytes_per_job]),
            Figure::decimal(Section::Memory, "bytes a job, RSS", [resident]),
            Figure::decimal(
                Section::Speed,
                &format!("filling, {CHUNK_JOBS} jobs a command: server CPU us a job"),
                cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / jobs as f64),
            ),
            Figure::whole(
                Section::Speed,
                &format!("filling, {CHUNK_JOBS} jobs a command: jobs a second"),
                [jobs as f64 / elapsed.as_secs_f64()],
            ),
        ])
    }

    fn pour(&mut self, server: &Server, jobs: usize) -> Result<()> {
        let mut filler = server.connect_to_wait(Wait::Sleeping)?;
        let mut told = 0;
        while self.present < jobs {
            if self.present / 1_000_000 > told {
                told = self.present / 1_000_000;
                super::say(self.requests.store, &format!("{} jobs", text::grouped(self.present as u64)));
            }
            let some = self.take_mixed(CHUNK_JOBS.min(jobs - self.present));
            filler.pass()?;
            self.requests.send(&mut filler, &some)?;
            self.present += some.len();
        }
        filler.pass()
    }

    /// Makes jobs as the store is filled with: every tenth is due.
    fn take_mixed(&mut self, count: usize) -> Vec<Job> {
        let due = |number: usize| if number.is_multiple_of(DUE_EVERY) { Due::Now } else { Due::Far };
        (0..count).map(|number| self.source.next(due(number))).collect()
    }

    /// Makes jobs that are not due.
    pub fn take_far(&mut self, count: usize) -> Vec<Job> {
        self.source.take(count, Due::Far)
    }

    /// What the kernel has given the server for each job.
    pub fn resident_per_job(&self, server: &Server) -> Result<f64> {
        let grown = server.resident_bytes()?.saturating_sub(self.empty_resident);
        Ok(grown as f64 / self.present as f64)
    }

    /// Fails if the server has another number of jobs than it should.
    pub fn check(&self, server: &Server) -> Result<()> {
        let found = self.requests.count(&mut server.connect_to_wait(Wait::Sleeping)?)?;
        match found == self.present {
            true => Ok(()),
            false => Err(format!("{found} jobs present instead of {}", self.present).into()),
        }
    }
}
