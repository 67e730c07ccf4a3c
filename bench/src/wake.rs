//! `dq-bench wake`: how late waiting consumers are woken, what their waiting costs, and what else people wait with.
//!
//! Called by `main.rs`. A part is one thing that is measured, on servers of its own; `page.rs` tells what all of them found.

mod beanstalk;
pub mod crowd;
pub mod deliveries;
mod expiry;
mod herd;
mod options;
pub mod page;
mod polling;
pub mod probe;
pub mod queue;
mod resting;
pub mod schedule;
mod throng;
mod waking;

use std::time::Instant;

use crate::cores::Cores;
use crate::deliver;
use crate::error::Result;
use crate::machine;
use crate::server::Launcher;
use options::{Options, Part};
use page::Findings;

/// What a part needs to know.
pub struct Bench<'a> {
    /// What was asked for.
    pub options: &'a Options,
    /// Starts the server that is measured.
    pub launcher: &'a Launcher,
    /// Which cores the others may have.
    pub cores: &'a Cores,
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
    let bench = Bench { options: &options, launcher: &launcher, cores: &cores };
    let start = Instant::now();
    let mut findings = Findings::new(machine::describe(&launcher, &cores)?);
    measure(&bench, &mut findings)?;
    findings.finish(start.elapsed());
    deliver(options.out.as_deref(), &page::page(&options, &findings))
}

fn measure(bench: &Bench<'_>, findings: &mut Findings) -> Result<()> {
    let wants = |part| bench.options.wants(part);
    if wants(Part::Baseline) {
        findings.baseline = Some(probe::baseline(bench)?);
    }
    if wants(Part::Idle) {
        findings.rows.extend(waking::one_by_one(bench)?);
    }
    if wants(Part::Random) {
        findings.rows.push(waking::at_random_times(bench)?);
    }
    if wants(Part::Polling) {
        findings.rows.extend(polling::run(bench)?);
    }
    if wants(Part::Expiry) {
        findings.rows.extend(expiry::run(bench)?);
    }
    if wants(Part::Beanstalkd) {
        findings.beanstalkd = Some(beanstalk::run(bench)?);
    }
    if wants(Part::Herd) {
        findings.herd = Some(herd::run(bench)?);
    }
    if wants(Part::Throng) {
        findings.throng = Some(throng::run(bench)?);
    }
    if wants(Part::Cpu) {
        findings.resting = Some(resting::run(bench)?);
    }
    Ok(())
}

fn say(part: &str) {
    eprintln!("wake: {part}");
}
