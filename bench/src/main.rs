//! `dq-bench` measures DQ against what people use instead: sorted sets, hashes and Lua scripts.
//!
//! One run starts its own servers, one part after the other, and writes one page. What is compared with what stands in
//! `contestant.rs`, how a number comes about in `throughput.rs`, `memory.rs` and `growth.rs`, what the page says about it
//! in `report.rs` and `targets.rs`. Nothing here knows the engine or the module: it sees a server from outside.
//!
//! `dq-bench wake` is another run with a page of its own: how late consumers that wait are woken. It begins in `wake.rs`.

mod client;
mod contestant;
mod cores;
mod error;
mod field;
mod growth;
mod jobs;
mod listening;
mod machine;
mod memory;
mod options;
mod process;
mod report;
mod resp;
mod server;
mod statistics;
mod targets;
mod text;
mod throughput;
mod wake;

use std::path::Path;
use std::process::ExitCode;

use cores::Cores;
use error::Result;
use options::{Options, Part};
use report::Findings;
use server::{Durability, Launcher};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dq-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if_eq("wake").is_some() {
        return wake::run(arguments);
    }
    let Some(options) = Options::from_arguments(arguments)? else {
        print!("{}", options::HELP);
        return Ok(());
    };
    let cores = Cores::divide();
    let launcher = Launcher::new(&options.server, options.module.as_deref(), &cores)?;
    let findings = measure(&options, &launcher, &cores)?;
    deliver(options.out.as_deref(), &report::page(&options, &findings))
}

fn measure(options: &Options, launcher: &Launcher, cores: &Cores) -> Result<Findings> {
    let mut findings = Findings::new(machine::describe(launcher, cores)?);
    if options.wants(Part::Throughput) {
        let server = launcher.start(Durability::None)?;
        findings.throughput = Some(throughput::run(&server, &options.sizes(), options)?);
    }
    if options.wants(Part::Aof) {
        let server = launcher.start(Durability::AofEverySecond)?;
        findings.aof = Some(throughput::run(&server, &[options.aof_size()], options)?);
    }
    if options.wants(Part::Memory) {
        findings.memory = Some(memory::run(launcher, options)?);
    }
    if options.wants(Part::Growth) {
        findings.growth = Some(growth::run(launcher, options)?);
    }
    if options.wants(Part::Listening) && options.module.is_some() {
        findings.listening = Some(listening::run(launcher, options)?);
    }
    Ok(findings)
}

/// Writes a page to its file, or to the terminal if it has none.
fn deliver(file: Option<&Path>, page: &str) -> Result<()> {
    let Some(path) = file else {
        print!("{page}");
        return Ok(());
    };
    std::fs::write(path, page).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    eprintln!("written: {}", path.display());
    Ok(())
}
