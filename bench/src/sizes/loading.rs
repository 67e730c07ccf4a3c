//! A restart: how long until the server answers again, and whether claims work at once.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::figure::{Figure, Section};
use super::population::Population;
use super::requests::is_delivery;
use super::{Bench, say};
use crate::client::{Connection, Wait};
use crate::error::Result;
use crate::process::Folder;
use crate::server::{Durability, Server};

/// No restart takes longer.
const DEADLINE: Duration = Duration::from_secs(600);
const PACE: Duration = Duration::from_millis(1);

/// Starts a server on the files in this folder and claims as soon as it answers.
pub fn restart(
    bench: &Bench<'_>,
    folder: &Arc<Folder>,
    durability: Durability,
    population: &mut Population,
    content: &str,
) -> Result<(Server, Vec<Figure>)> {
    say(population.requests.store, &format!("restart, {content}"));
    let start = Instant::now();
    let mut server = bench.launcher.begin(folder, durability)?;
    let silence = await_loaded(&mut server, start)?;
    let (elapsed, cpu) = (start.elapsed(), server.cpu());
    let mut claimer = server.connect()?;
    population.requests.prepare(&mut claimer)?;
    let claims = claim(&mut claimer, population, bench.options.first_claims)?;
    population.check(&server)?;
    let (first, count) = (claims.first().copied(), claims.len());
    let named = |what: &str| format!("{content}: {what}");
    let section = Section::Loading;
    let figures = vec![
        Figure::seconds(section, &named("until it answers, s"), [elapsed]),
        Figure::seconds(section, &named("server CPU until then, s"), cpu),
        Figure::milliseconds(section, &named("longest wait for a LOADING meanwhile, ms"), [silence]),
        Figure::milliseconds(section, &named("first claim, ms"), first),
        Figure::milliseconds(section, &named(&format!("first {count} claims, ms")), [claims.iter().sum()]),
        Figure::decimal(section, &named("RSS, bytes a job"), [population.resident_per_job(&server)?]),
    ];
    Ok((server, figures))
}

/// Waits for the first answer that is not LOADING; returns the longest wait for one that was.
fn await_loaded(server: &mut Server, start: Instant) -> Result<Duration> {
    let (mut probe, mut silence) = (None, Duration::ZERO);
    while start.elapsed() < DEADLINE {
        server.check()?;
        let asked = Instant::now();
        match ping(server, &mut probe) {
            Ok(()) => return Ok(silence),
            Err(error) if error.to_string().starts_with("LOADING") => silence = silence.max(asked.elapsed()),
            // It does not listen yet.
            Err(_) => probe = None,
        }
        sleep(PACE);
    }
    Err("the server does not end loading".into())
}

fn ping(server: &Server, probe: &mut Option<Connection>) -> Result<()> {
    let connection = match probe {
        Some(connection) => connection,
        None => probe.insert(server.connect_to_wait(Wait::Sleeping)?),
    };
    connection.call(&[b"PING"]).map(drop)
}

/// Claims one job after the other; the time of each.
fn claim(claimer: &mut Connection, population: &mut Population, count: usize) -> Result<Vec<Duration>> {
    let mut lengths = Vec::new();
    for _ in 0..count {
        let mut request = Vec::new();
        population.requests.claim(&mut request)?;
        let start = Instant::now();
        let delivered = is_delivery(&claimer.exchange(&request)?);
        lengths.push(start.elapsed());
        if !delivered {
            return Err("a claim right after the restart found nothing".into());
        }
    }
    population.present -= count;
    Ok(lengths)
}
