//! Jobs a second while very many are present: pushes that go anywhere into the order, claims of what was pushed long ago.

use std::time::Duration;

use super::figure::{Figure, Section};
use super::population::Population;
use super::requests::is_delivery;
use super::{Bench, say};
use crate::client::{Fleet, Keep, Slice};
use crate::error::Result;
use crate::server::Server;
use crate::throughput::CONNECTIONS;

/// Requests that a connection sends at once.
pub const PIPELINE: usize = 16;
/// Batches that a connection sends in a round.
const TURNS_MAX: usize = 10;
/// A round takes at most one of so many jobs.
const JOBS_PER_REQUEST: usize = 400;

/// What one kind of request came to in the rounds.
struct Pace {
    name: &'static str,
    per_second: Vec<f64>,
    cpu_us: Vec<f64>,
}

impl Pace {
    fn new(name: &'static str) -> Pace {
        Pace { name, per_second: Vec::new(), cpu_us: Vec::new() }
    }

    fn note(&mut self, jobs: usize, elapsed: Duration, cpu: Option<Duration>) {
        self.per_second.push(jobs as f64 / elapsed.as_secs_f64());
        self.cpu_us.extend(cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / jobs as f64));
    }

    fn figures(self) -> [Figure; 2] {
        let name = self.name;
        [
            Figure::whole(Section::Speed, &format!("{name}: jobs a second"), self.per_second),
            Figure::decimal(Section::Speed, &format!("{name}: server CPU us a job"), self.cpu_us),
        ]
    }
}

/// Server, connections, and jobs.
struct Track<'a> {
    server: &'a Server,
    population: &'a mut Population,
    fleet: Fleet,
    turns: usize,
}

/// Rounds of each kind of request in turn, after one that warms up.
pub fn measure(bench: &Bench<'_>, server: &Server, population: &mut Population) -> Result<Vec<Figure>> {
    say(population.requests.store, "jobs a second");
    let turns = population.present / JOBS_PER_REQUEST / CONNECTIONS / PIPELINE;
    let fleet = server.connect_fleet(CONNECTIONS)?;
    let mut track = Track { server, population, fleet, turns: turns.clamp(1, TURNS_MAX) };
    let mut paces = ["push", "claim", "lease and acknowledge"].map(Pace::new);
    for round in 0..=bench.options.speed_rounds {
        let [push, claim, lease] = &mut paces;
        if round == 1 {
            *push = Pace::new(push.name);
            *claim = Pace::new(claim.name);
            *lease = Pace::new(lease.name);
        }
        track.push(push)?;
        track.claim(claim)?;
        track.lease(lease)?;
    }
    track.population.check(server)?;
    Ok(paces.into_iter().flat_map(Pace::figures).collect())
}

impl Track<'_> {
    fn push(&mut self, pace: &mut Pace) -> Result<()> {
        let jobs = self.population.take_far(self.requests());
        let requests = &self.population.requests;
        let mut left = jobs.iter();
        let slice = self.lay_out(requests.replies_to_push(), |buffer| {
            requests.push(buffer, left.next().ok_or("fewer jobs than requests")?);
            Ok(())
        })?;
        let (elapsed, cpu) = self.time(&slice, Keep::Nothing)?;
        pace.note(jobs.len(), elapsed, cpu);
        self.population.present += jobs.len();
        Ok(())
    }

    fn claim(&mut self, pace: &mut Pace) -> Result<()> {
        let slice = self.lay_out(1, |buffer| self.population.requests.claim(buffer))?;
        let (elapsed, cpu) = self.time(&slice, Keep::Replies)?;
        self.check_deliveries()?;
        pace.note(self.requests(), elapsed, cpu);
        self.population.present -= self.requests();
        Ok(())
    }

    /// Both legs count; the acknowledgements are written in between, while the clock stands.
    fn lease(&mut self, pace: &mut Pace) -> Result<()> {
        let slice = self.lay_out(1, |buffer| self.population.requests.lease(buffer))?;
        let (claiming, claiming_cpu) = self.time(&slice, Keep::Replies)?;
        self.check_deliveries()?;
        let slice = self.lay_out_acknowledgements()?;
        let (acknowledging, acknowledging_cpu) = self.time(&slice, Keep::Nothing)?;
        let cpu = claiming_cpu.zip(acknowledging_cpu).map(|(first, second)| first + second);
        pace.note(self.requests(), claiming + acknowledging, cpu);
        self.population.present -= self.requests();
        Ok(())
    }

    fn lay_out_acknowledgements(&self) -> Result<Slice> {
        let mut claims = Vec::new();
        for connection in &self.fleet.connections {
            claims.extend(connection.kept_replies()?);
        }
        let mut claims = claims.iter();
        self.lay_out(1, |buffer| {
            let claim = claims.next().ok_or("fewer claims than requests")?;
            self.population.requests.acknowledge(buffer, claim)
        })
    }

    fn requests(&self) -> usize {
        CONNECTIONS * self.turns * PIPELINE
    }

    fn lay_out(&self, replies: usize, mut encode: impl FnMut(&mut Vec<u8>) -> Result<()>) -> Result<Slice> {
        let mut batch = || -> Result<Vec<u8>> {
            let mut buffer = Vec::new();
            (0..PIPELINE).try_for_each(|_| encode(&mut buffer))?;
            Ok(buffer)
        };
        let mut batches = || (0..self.turns).map(|_| batch()).collect::<Result<Vec<_>>>();
        let batches = (0..CONNECTIONS).map(|_| batches()).collect::<Result<Vec<_>>>()?;
        Ok(Slice { batches, replies: replies * PIPELINE })
    }

    fn time(&mut self, slice: &Slice, keep: Keep) -> Result<(Duration, Option<Duration>)> {
        let before = self.server.cpu();
        let elapsed = self.fleet.run(slice, keep)?;
        let cpu = self.server.cpu().zip(before).map(|(after, before)| after.saturating_sub(before));
        Ok((elapsed, cpu))
    }

    fn check_deliveries(&self) -> Result<()> {
        for connection in &self.fleet.connections {
            if !connection.kept_replies()?.iter().all(is_delivery) {
                return Err("a claim found nothing: too few jobs are due, take more --jobs".into());
            }
        }
        Ok(())
    }
}
