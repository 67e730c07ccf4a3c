//! Operations a second: every contestant in turn, round after round, for each population and pipeline.
//!
//! A visit is what one contestant does in one turn: some slices of a fixed number of requests. Before a slice the due jobs
//! that it will take are put in, after it the jobs that it added are taken out, while no clock runs: so the population stays
//! where it is, and everybody is measured in the same short stretches.

use std::time::Duration;

use crate::client::{Connection, Fleet, Keep, Slice};
use crate::contestant::{self, Acknowledgement, Contestant, Effect, Terms};
use crate::error::Result;
use crate::field::{Field, Store};
use crate::jobs::{Due, Ids, Job, JobSource};
use crate::options::{Options, Scale};
use crate::server::Server;
use crate::statistics::Spread;
use crate::text;

/// Clients at the server.
pub const CONNECTIONS: usize = 20;
/// Requests that a client sends at once.
pub const PIPELINES: [usize; 2] = [1, 16];
/// Requests of one slice, where a request is about one job.
pub const SLICE_REQUESTS: usize = 640;
/// Bytes of a message.
pub const MESSAGE_BYTES: usize = 32;

/// What one visit came to.
#[derive(Clone, Copy)]
pub struct Visit {
    /// Jobs handled.
    pub jobs: usize,
    /// Time on the clock.
    pub elapsed: Duration,
    /// The server's CPU time, where the kernel tells it.
    pub cpu: Option<Duration>,
}

impl Visit {
    fn jobs_per_second(&self) -> f64 {
        self.jobs as f64 / self.elapsed.as_secs_f64()
    }

    fn cpu_us_per_job(&self) -> Option<f64> {
        Some(self.cpu?.as_secs_f64() * 1e6 / self.jobs as f64)
    }
}

/// All visits of one contestant to one population with one pipeline, a visit a round.
pub struct Cell {
    /// The contestant.
    pub name: &'static str,
    /// Jobs present.
    pub size: usize,
    /// Requests sent at once.
    pub pipeline: usize,
    visits: Vec<Visit>,
}

impl Cell {
    /// Jobs a second.
    pub fn speed(&self) -> Option<Spread> {
        Spread::of(self.visits.iter().map(Visit::jobs_per_second))
    }

    /// Microseconds of the server's CPU a job.
    pub fn cpu(&self) -> Option<Spread> {
        Spread::of(self.visits.iter().filter_map(Visit::cpu_us_per_job))
    }

    /// How many times as fast as the other, round by round.
    pub fn speed_ratio(&self, other: &Cell) -> Option<Spread> {
        let pairs = self.visits.iter().zip(&other.visits);
        Spread::of(pairs.map(|(ours, theirs)| ours.jobs_per_second() / theirs.jobs_per_second()))
    }

    /// How many times as little server CPU as the other, round by round.
    pub fn cpu_ratio(&self, other: &Cell) -> Option<Spread> {
        let pairs = self.visits.iter().zip(&other.visits);
        Spread::of(pairs.filter_map(|(ours, theirs)| Some(theirs.cpu_us_per_job()? / ours.cpu_us_per_job()?)))
    }
}

/// How many times as good as the other.
pub type Ratio = fn(&Cell, &Cell) -> Option<Spread>;

/// Everything that was measured on one server.
pub struct Results {
    /// The populations.
    pub sizes: Vec<usize>,
    /// In the order of the contestants, then population, then pipeline.
    pub cells: Vec<Cell>,
}

impl Results {
    /// Finds the visits of a contestant.
    pub fn cell(&self, name: &str, size: usize, pipeline: usize) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.name == name && cell.size == size && cell.pipeline == pipeline)
    }
}

/// Fills the populations and lets every contestant visit each of them in each round.
pub fn run(server: &Server, sizes: &[usize], options: &Options) -> Result<Results> {
    let contestants: Vec<Contestant> = contestant::all()
        .into_iter()
        .filter(|contestant| server.has_module() || !contestant.needs_module())
        .filter(|contestant| options.wants_contestant(contestant.name))
        .collect();
    if contestants.is_empty() {
        return Err("no contestant of this name (see --help; DQ contestants need --module)".into());
    }
    let mut control = server.connect()?;
    let mut arena = Arena {
        server,
        terms: Terms::agree(&mut control)?,
        control,
        fleet: server.connect_fleet(CONNECTIONS)?,
        jobs: JobSource::new(Ids::Uuid, MESSAGE_BYTES),
        scale: options.scale,
    };
    let fields = sizes.iter().map(|size| arena.populate(*size)).collect::<Result<Vec<_>>>()?;
    let mut results = Results { sizes: sizes.to_vec(), cells: empty_cells(&contestants, sizes) };
    eprintln!("warming up");
    arena.round(&contestants, &fields)?;
    for round in 1..=options.rounds {
        eprintln!("round {round} of {}", options.rounds);
        let visits = arena.round(&contestants, &fields)?;
        for (cell, visit) in results.cells.iter_mut().zip(visits) {
            cell.visits.push(visit);
        }
    }
    Ok(results)
}

fn empty_cells(contestants: &[Contestant], sizes: &[usize]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for size in sizes {
        for pipeline in PIPELINES {
            for contestant in contestants {
                cells.push(Cell { name: contestant.name, size: *size, pipeline, visits: Vec::new() });
            }
        }
    }
    cells
}

/// The server, the connections to it, and the jobs still to come.
struct Arena<'a> {
    server: &'a Server,
    control: Connection,
    fleet: Fleet,
    terms: Terms,
    jobs: JobSource,
    scale: Scale,
}

impl Arena<'_> {
    /// Fills the stores of one population with jobs that are not due.
    fn populate(&mut self, size: usize) -> Result<Field> {
        eprintln!("filling {} jobs", text::grouped(size as u64));
        let field = Field::new(size);
        let mut left = background(size);
        while left > 0 {
            let jobs = self.jobs.take(left.min(10_000), Due::Far);
            left -= jobs.len();
            field.put(&mut self.control, Store::SetAndHash, &jobs)?;
            if self.server.has_module() {
                field.put(&mut self.control, Store::Queue, &jobs)?;
            }
        }
        Ok(field)
    }

    /// One visit for each cell, in the cells' order.
    fn round(&mut self, contestants: &[Contestant], fields: &[Field]) -> Result<Vec<Visit>> {
        let mut visits = Vec::new();
        for field in fields {
            for pipeline in PIPELINES {
                for contestant in contestants {
                    visits.push(
                        self.visit(contestant, field, pipeline)
                            .map_err(|error| format!("{}: {error}", contestant.name))?,
                    );
                }
            }
        }
        Ok(visits)
    }

    fn visit(&mut self, contestant: &Contestant, field: &Field, pipeline: usize) -> Result<Visit> {
        let plan = Plan::new(contestant, pipeline, self.scale);
        let mut visit = Visit { jobs: 0, elapsed: Duration::ZERO, cpu: Some(Duration::ZERO) };
        for _ in 0..plan.slices {
            self.slice(contestant, field, &plan, &mut visit)?;
        }
        let present = field.count(&mut self.control, contestant.store)?;
        if usize::try_from(present)? != background(field.size) {
            return Err(format!("{present} jobs present instead of {}", background(field.size)).into());
        }
        Ok(visit)
    }

    /// Prepares, measures and cleans up one slice.
    fn slice(
        &mut self,
        contestant: &Contestant,
        field: &Field,
        plan: &Plan,
        visit: &mut Visit,
    ) -> Result<()> {
        let jobs = self.prepare(contestant, field, plan.requests() * contestant.jobs)?;
        let mut requests = jobs.chunks(contestant.jobs);
        let slice = plan.lay_out(contestant.replies, |buffer| {
            (contestant.encode)(buffer, &self.terms, field, requests.next().unwrap_or_default());
            Ok(())
        })?;
        let keep = match contestant.effect {
            Effect::AddsUnnamed | Effect::Leases(_) => Keep::Replies,
            Effect::None | Effect::Adds | Effect::Takes | Effect::Moves => Keep::Nothing,
        };
        visit.jobs += jobs.len();
        self.measure(&slice, keep, visit)?;
        match contestant.effect {
            Effect::None | Effect::Takes => Ok(()),
            Effect::Moves => field.empty_list(&mut self.control),
            Effect::Adds => {
                let ids: Vec<&[u8]> = jobs.iter().map(|job| job.id.as_bytes()).collect();
                field.remove(&mut self.control, contestant.store, &ids)
            }
            Effect::AddsUnnamed => self.remove_unnamed(contestant, field),
            Effect::Leases(acknowledgement) => self.acknowledge(acknowledgement, field, plan, visit),
        }
    }

    /// Makes the jobs of a slice; those that it will take are put in.
    fn prepare(&mut self, contestant: &Contestant, field: &Field, count: usize) -> Result<Vec<Job>> {
        let due = match contestant.effect {
            Effect::None | Effect::Adds | Effect::AddsUnnamed => Due::Far,
            Effect::Takes | Effect::Moves | Effect::Leases(_) => Due::Now,
        };
        let jobs = self.jobs.take(count, due);
        if let Effect::Takes | Effect::Moves | Effect::Leases(_) = contestant.effect {
            field.put(&mut self.control, contestant.store, &jobs)?;
        }
        Ok(jobs)
    }

    fn measure(&mut self, slice: &Slice, keep: Keep, visit: &mut Visit) -> Result<()> {
        let before = self.server.cpu();
        visit.elapsed += self.fleet.run(slice, keep)?;
        let cpu = self.server.cpu().zip(before).map(|(after, before)| after.saturating_sub(before));
        visit.cpu = visit.cpu.zip(cpu).map(|(sum, more)| sum + more);
        Ok(())
    }

    fn remove_unnamed(&mut self, contestant: &Contestant, field: &Field) -> Result<()> {
        for connection in &self.fleet.connections {
            let replies = connection.kept_replies()?;
            let ids = replies.iter().map(|reply| reply.at(0)?.text()).collect::<Result<Vec<_>>>()?;
            field.remove(&mut self.control, contestant.store, &ids)?;
        }
        Ok(())
    }

    /// The second leg: each connection acknowledges what it claimed.
    fn acknowledge(
        &mut self,
        how: Acknowledgement,
        field: &Field,
        plan: &Plan,
        visit: &mut Visit,
    ) -> Result<()> {
        let mut claims = Vec::new();
        for connection in &self.fleet.connections {
            claims.extend(connection.kept_replies()?);
        }
        let mut claims = claims.iter();
        let slice = plan.lay_out(how.replies, |buffer| {
            let claim = claims.next().ok_or("fewer claims than requests")?;
            (how.encode)(buffer, &self.terms, field, claim)
        })?;
        self.measure(&slice, Keep::Nothing, visit)
    }
}

/// Jobs that are always present: a single-job slice adds its jobs to them or takes them from above them, so that their
/// number on average is the population's.
pub fn background(size: usize) -> usize {
    size - (SLICE_REQUESTS / 2).min(size / 2)
}

/// How a visit is cut into requests.
struct Plan {
    pipeline: usize,
    /// Batches that each connection sends in one slice.
    turns: usize,
    slices: usize,
}

impl Plan {
    fn new(contestant: &Contestant, pipeline: usize, scale: Scale) -> Plan {
        let single_turns = SLICE_REQUESTS / CONNECTIONS / pipeline;
        let (turns, slices) = match (contestant.jobs > 1, pipeline > 1) {
            (false, _) => (single_turns, 40),
            // With batches the jobs in flight are many already: no more turns than one.
            (true, false) => (1, 48),
            (true, true) => (1, 4),
        };
        match scale {
            Scale::Full => Plan { pipeline, turns, slices },
            Scale::Quick => Plan { pipeline, turns, slices: (slices / 10).max(1) },
        }
    }

    fn requests(&self) -> usize {
        CONNECTIONS * self.turns * self.pipeline
    }

    /// Encodes the requests of a slice, connection by connection, in order.
    fn lay_out(&self, replies: usize, mut encode: impl FnMut(&mut Vec<u8>) -> Result<()>) -> Result<Slice> {
        let mut batch = || -> Result<Vec<u8>> {
            let mut buffer = Vec::new();
            (0..self.pipeline).try_for_each(|_| encode(&mut buffer))?;
            Ok(buffer)
        };
        let mut batches = || (0..self.turns).map(|_| batch()).collect::<Result<Vec<_>>>();
        let batches = (0..CONNECTIONS).map(|_| batches()).collect::<Result<Vec<_>>>()?;
        Ok(Slice { batches, replies: replies * self.pipeline })
    }
}
