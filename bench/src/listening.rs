//! What a native `ZADD` costs a server that has the module: before anybody has waited, after that, and while somebody waits for
//! another key. From the first wait on the module listens to what happens to sorted sets.

use std::time::Duration;

use crate::client::{Connection, Keep, Slice, Wait};
use crate::error::Result;
use crate::field::{Field, Store};
use crate::jobs::{Due, Ids, JobSource};
use crate::options::{Options, Scale};
use crate::resp;
use crate::server::{Durability, Launcher, Server};
use crate::statistics::Spread;
use crate::throughput::{CONNECTIONS, MESSAGE_BYTES};

/// Commands that a connection sends at once.
const PIPELINE: usize = 16;
/// Commands of one slice; the members are taken out again after it, while no clock runs.
const SLICE: usize = CONNECTIONS * PIPELINE * 2;

/// One state of a server.
pub struct Listener {
    /// What it is, in words.
    pub name: &'static str,
    /// Microseconds of the server's CPU a command, one a round.
    pub cpu_us: Vec<f64>,
}

impl Listener {
    /// How many times as much CPU as the other, round by round.
    pub fn ratio(&self, other: &Listener) -> Option<Spread> {
        Spread::of(self.cpu_us.iter().zip(&other.cpu_us).map(|(ours, theirs)| ours / theirs))
    }
}

/// A server in its state, with the members that are always there.
struct Place {
    server: Server,
    control: Connection,
    field: Field,
    /// Waits for another key, where somebody is to wait.
    _waiter: Option<Connection>,
}

/// Measures all states in turn, round after round, each on a server of its own. The first has no module.
pub fn run(launcher: &Launcher, options: &Options) -> Result<Vec<Listener>> {
    let (members, slices) = match options.scale {
        Scale::Full => (100_000, 40),
        Scale::Quick => (10_000, 4),
    };
    let native = launcher.without_module();
    let mut source = JobSource::new(Ids::Uuid, MESSAGE_BYTES);
    let mut places = vec![("without the module", Place::open(native.start(Durability::None)?)?)];
    places.push(("with the module, nobody has waited", Place::open(launcher.start(Durability::None)?)?));
    places.push(("with the module, somebody has waited", Place::open(launcher.start(Durability::None)?)?));
    places.push((
        "with the module, somebody waits for another key",
        Place::open(launcher.start(Durability::None)?)?,
    ));
    if let [_, _, (_, waited), (_, waits)] = places.as_mut_slice() {
        waited.control.call(&[b"DQ.CLAIM", b"other", b"BLOCK", b"1"])?;
        waits.wait()?;
    }
    for (_, place) in &mut places {
        place.field.put(&mut place.control, Store::SortedSet, &source.take(members, Due::Far))?;
    }
    let mut listeners: Vec<Listener> =
        places.iter().map(|(name, _)| Listener { name, cpu_us: Vec::new() }).collect();
    for round in 0..=options.rounds {
        eprintln!("listening: round {round} of {}", options.rounds);
        for ((_, place), listener) in places.iter_mut().zip(&mut listeners) {
            let cpu = place.add(&mut source, slices)?;
            // The first round warms up.
            if round > 0 {
                listener.cpu_us.push(cpu.as_secs_f64() * 1e6 / (slices * SLICE) as f64);
            }
        }
    }
    Ok(listeners)
}

impl Place {
    fn open(server: Server) -> Result<Place> {
        let control = server.connect()?;
        Ok(Place { server, control, field: Field::new(1), _waiter: None })
    }

    /// Lets a client wait for another key.
    fn wait(&mut self) -> Result<()> {
        let mut waiter = self.server.connect_to_wait(Wait::Sleeping)?;
        let mut request = Vec::new();
        resp::encode(&mut request, &[b"DQ.CLAIM", b"other", b"BLOCK", b"0"]);
        waiter.ask(&request)?;
        self._waiter = Some(waiter);
        Ok(())
    }

    /// Adds and takes out members, slice by slice; the server's CPU for adding.
    fn add(&mut self, source: &mut JobSource, slices: usize) -> Result<Duration> {
        let mut fleet = self.server.connect_fleet(CONNECTIONS)?;
        let mut sum = Duration::ZERO;
        for _ in 0..slices {
            let jobs = source.take(SLICE, Due::Far);
            let requests: Vec<Vec<u8>> = jobs
                .chunks(PIPELINE)
                .map(|jobs| jobs.iter().flat_map(|job| self.field.zadd(std::slice::from_ref(job))).collect())
                .collect();
            let batches = requests.chunks(requests.len() / CONNECTIONS).map(<[Vec<u8>]>::to_vec).collect();
            let read = || self.server.cpu().ok_or("the kernel does not tell the server's CPU");
            let before = read()?;
            fleet.run(&Slice { batches, replies: PIPELINE }, Keep::Nothing)?;
            sum += read()?.saturating_sub(before);
            let ids: Vec<&[u8]> = jobs.iter().map(|job| job.id.as_bytes()).collect();
            self.field.remove(&mut self.control, Store::SortedSet, &ids)?;
        }
        Ok(sum)
    }
}
