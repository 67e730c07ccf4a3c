//! `dq-bench sizes`: what a very large queue and very many small ones cost, against sorted sets and hashes.
//!
//! Called by `main.rs`. The large stores come one after the other, never both, each through the same life (`large.rs`): filled,
//! used, saved, loaded, rewritten, removed. Then come the small ones (`many.rs`, `waits.rs`), and single numbers about the queue
//! (`details.rs`). `page.rs` tells what all of them found.

mod details;
mod figure;
mod large;
mod loading;
mod many;
mod operators;
mod options;
mod page;
mod population;
mod requests;
mod saving;
mod speed;
mod waits;

use std::time::Instant;

use crate::cores::Cores;
use crate::deliver;
use crate::error::Result;
use crate::field::Store;
use crate::machine;
use crate::server::Launcher;
use crate::text;
use crate::wake::crowd;
use options::{Options, Part};
use page::Findings;

/// Memory that a job may need while its server is saved under load, in the greedier store, generously.
const BYTES_PER_JOB: u64 = 900;

/// What a part needs to know.
pub struct Bench<'a> {
    /// What was asked for.
    pub options: &'a Options,
    /// Starts the servers.
    pub launcher: &'a Launcher,
}

/// Measures and writes the page.
pub fn run(arguments: impl Iterator<Item = String>) -> Result<()> {
    let Some(options) = Options::from_arguments(arguments)? else {
        print!("{}", options::HELP);
        return Ok(());
    };
    crowd::allow_many_connections();
    let cores = Cores::divide();
    let launcher = Launcher::new(&options.server, Some(&options.module), &cores)?;
    let bench = Bench { options: &options, launcher: &launcher };
    let start = Instant::now();
    let mut findings = Findings::new(machine::describe(&launcher, &cores)?);
    measure(&bench, &mut findings)?;
    findings.finish(start.elapsed());
    deliver(options.out.as_deref(), &page::page(&options, &findings))
}

fn measure(bench: &Bench<'_>, findings: &mut Findings) -> Result<()> {
    let stores = [Store::SetAndHash, Store::Queue];
    if bench.options.wants(Part::Large) {
        check_memory(bench.options.jobs)?;
        for store in stores {
            large::run(bench, store, findings).map_err(|error| format!("{}: {error}", store.name()))?;
        }
    }
    if bench.options.wants(Part::Many) {
        for store in stores {
            findings.note(store, many::run(bench, store)?);
        }
        findings.waits = waits::run(bench)?;
    }
    if bench.options.wants(Part::Details) {
        findings.note(Store::Queue, details::run(bench)?);
    }
    Ok(())
}

/// A machine that swaps, or ends a process for want of memory, measures nothing.
fn check_memory(jobs: usize) -> Result<()> {
    let needed = jobs as u64 * BYTES_PER_JOB;
    match machine::free_bytes() {
        Some(free) if free < needed => {
            let [needed, free] = [needed, free].map(|bytes| text::grouped(bytes / 1_000_000));
            Err(format!("{needed} MB of memory may be needed and {free} MB are free; --jobs N takes less")
                .into())
        }
        _ => Ok(()),
    }
}

fn say(store: Store, what: &str) {
    eprintln!("sizes: {}: {what}", store.name());
}
