//! The life of one large store: filled, used, saved, loaded, rewritten, loaded again, removed; on four servers, one after
//! the other.
//!
//! The servers share a folder, so that each begins with what the last one wrote.

use std::sync::Arc;

use super::page::Findings;
use super::population::Population;
use super::{Bench, loading, operators, saving, speed};
use crate::error::Result;
use crate::field::Store;
use crate::process::Folder;
use crate::server::{Durability, Server};

/// Leads the store through its life.
pub fn run(bench: &Bench<'_>, store: Store, findings: &mut Findings) -> Result<()> {
    let folder = Folder::create()?;
    let (server, mut population) = fill(bench, store, &folder, findings)?;
    findings.note(store, speed::measure(bench, &server, &mut population)?);
    findings.note(store, saving::snapshots(bench, &server, &folder, &mut population)?);
    drop(server);

    let server = restart(bench, &folder, Durability::None, (&mut population, "RDB"), findings)?;
    findings.note(store, saving::rewrite_with_preamble(&server, &mut population)?);
    drop(server);

    let aof = Durability::AofEverySecond;
    let server = restart(bench, &folder, aof, (&mut population, "AOF, RDB preamble"), findings)?;
    findings.note(store, saving::rewrite_as_commands(&server, &mut population)?);
    // From here on this server's files stay as they are.
    saving::set(&server, b"appendonly", b"no")?;
    findings.operations.push(operators::remove(&server, &population, "UNLINK")?);
    drop(server);

    let server = restart(bench, &folder, aof, (&mut population, "AOF, commands"), findings)?;
    saving::set(&server, b"appendonly", b"no")?;
    if store == Store::Queue {
        findings.operations.extend(operators::everyday(bench, &server, &mut population)?);
    }
    findings.operations.push(operators::remove(&server, &population, "DEL")?);
    Ok(())
}

fn fill(
    bench: &Bench<'_>,
    store: Store,
    folder: &Arc<Folder>,
    findings: &mut Findings,
) -> Result<(Server, Population)> {
    let mut server = bench.launcher.begin(folder, Durability::None)?;
    server.await_answer()?;
    let mut population = Population::new(&server, store, bench.options.jobs)?;
    findings.note(store, population.fill(&server, bench.options.jobs)?);
    population.check(&server)?;
    Ok((server, population))
}

fn restart(
    bench: &Bench<'_>,
    folder: &Arc<Folder>,
    durability: Durability,
    (population, content): (&mut Population, &str),
    findings: &mut Findings,
) -> Result<Server> {
    let (server, figures) = loading::restart(bench, folder, durability, population, content)?;
    findings.note(population.requests.store, figures);
    Ok(server)
}
