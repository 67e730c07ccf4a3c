//! The command line of `dq-bench wake`, and how much is measured.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::Result;
use crate::options::{extent, file_name, number, part};

/// What `--help` prints.
pub const HELP: &str = "\
dq-bench wake: measures how late waiting consumers are woken, and writes bench/wake.md

  --server PATH   the redis-server or valkey-server to start (default: redis-server on PATH)
  --module PATH   the module to load (default: DQ_MODULE of the environment)
  --servers PATH  the folder of the other servers, for the part many-waiters (default .servers)
  --rounds N      rounds (default 3; 1 with --quick)
  --only NAME     one part: baseline, idle, random, polling, expiry, beanstalkd, herd, many-waiters or cpu
  --quick         a smoke test of some seconds: few jobs, short times
  --out FILE      where the page goes (default bench/wake.md; with --quick or --only the terminal)
";

/// One of the things that are measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The probe alone.
    Baseline,
    /// One waiter, one job after the other; with and without a million pending ones.
    Idle,
    /// Many waiters, jobs at random times.
    Random,
    /// The poll loop.
    Polling,
    /// Events of expired keys.
    Expiry,
    /// Beanstalkd.
    Beanstalkd,
    /// Many jobs due at once.
    Herd,
    /// Many waiters on one key.
    Throng,
    /// What waiting costs.
    Cpu,
}

const PARTS: [(&str, Part); 9] = [
    ("baseline", Part::Baseline),
    ("idle", Part::Idle),
    ("random", Part::Random),
    ("polling", Part::Polling),
    ("expiry", Part::Expiry),
    ("beanstalkd", Part::Beanstalkd),
    ("herd", Part::Herd),
    ("many-waiters", Part::Throng),
    ("cpu", Part::Cpu),
];

/// How much is measured.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// How long the probe runs alone.
    pub baseline: Duration,
    /// Jobs that come one by one, in a round.
    pub wakes: usize,
    /// Jobs that are pending.
    pub pending: usize,
    /// Jobs at random times, in a round.
    pub random_jobs: usize,
    /// Over how long they are due.
    pub random_ms: u64,
    /// Waiters for them.
    pub waiters: usize,
    /// Keys present beside those that expire.
    pub keys: usize,
    /// Jobs due at once.
    pub herd: usize,
    /// Waiters on one key.
    pub throng: usize,
    /// Jobs for them.
    pub throng_jobs: usize,
    /// Queues whose jobs are due tomorrow.
    pub queues: usize,
    /// Consumers that wait for them.
    pub consumers: usize,
    /// How long the server is left alone before, to clear up after the last commands.
    pub settling: Duration,
    /// How long their cost is measured, in a round.
    pub rest: Duration,
}

const FULL: Sizes = Sizes {
    baseline: Duration::from_secs(3),
    wakes: 800,
    pending: 1_000_000,
    random_jobs: 10_000,
    random_ms: 10_000,
    waiters: 50,
    keys: 100_000,
    herd: 100_000,
    throng: 2_000,
    throng_jobs: 200,
    queues: 1_000,
    consumers: 500,
    settling: Duration::from_secs(5),
    rest: Duration::from_secs(31),
};

const QUICK: Sizes = Sizes {
    baseline: Duration::from_millis(500),
    wakes: 50,
    pending: 20_000,
    random_jobs: 500,
    random_ms: 1_000,
    waiters: 10,
    keys: 1_000,
    herd: 5_000,
    throng: 100,
    throng_jobs: 50,
    queues: 20,
    consumers: 10,
    settling: Duration::from_millis(100),
    rest: Duration::from_secs(1),
};

/// What the user asked for.
pub struct Options {
    /// The server's binary.
    pub server: PathBuf,
    /// The module.
    pub module: PathBuf,
    /// The folder of the other servers.
    pub servers: PathBuf,
    /// Rounds.
    pub rounds: usize,
    /// How much is measured.
    pub sizes: Sizes,
    /// Where the page goes; None = standard output.
    pub out: Option<PathBuf>,
    /// True for a smoke test.
    pub quick: bool,
    only: Option<Part>,
}

impl Options {
    /// Reads the command line; None when the user asked for help.
    pub fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>> {
        let mut given = Given::default();
        while let Some(word) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--server" => given.server = Some(value()?.into()),
                "--module" => given.module = Some(value()?.into()),
                "--servers" => given.servers = Some(value()?.into()),
                "--rounds" => given.rounds = Some(number(&word, &value()?)?),
                "--only" => given.only = Some(part(&PARTS, &value()?)?),
                "--out" => given.out = Some(value()?.into()),
                "--quick" => given.quick = true,
                "--help" | "-h" => return Ok(None),
                other => return Err(format!("unknown option {other}; --help lists them").into()),
            }
        }
        given.complete().map(Some)
    }

    /// Says whether a part is to be measured.
    pub fn wants(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }

    /// The command that repeats this run, without the folders of this machine.
    pub fn command(&self) -> String {
        let (server, module) = (file_name(&self.server), file_name(&self.module));
        let extent = extent(&PARTS, self.only.as_ref(), self.quick);
        format!("dq-bench wake --server {server} --module {module} --rounds {}{extent}", self.rounds,)
    }
}

/// The words of the command line, before defaults.
#[derive(Default)]
struct Given {
    server: Option<PathBuf>,
    module: Option<PathBuf>,
    servers: Option<PathBuf>,
    rounds: Option<usize>,
    only: Option<Part>,
    out: Option<PathBuf>,
    quick: bool,
}

impl Given {
    fn complete(self) -> Result<Options> {
        // Part of a run must not overwrite the page of a whole one.
        let whole = !self.quick && self.only.is_none();
        let module = self.module.or_else(|| std::env::var_os("DQ_MODULE").map(PathBuf::from));
        Ok(Options {
            server: self.server.unwrap_or_else(|| "redis-server".into()),
            module: module.ok_or("which module? --module names it")?,
            servers: self.servers.unwrap_or_else(|| ".servers".into()),
            rounds: self.rounds.unwrap_or(if self.quick { 1 } else { 3 }),
            sizes: if self.quick { QUICK } else { FULL },
            out: self.out.or_else(|| whole.then(|| "bench/wake.md".into())),
            quick: self.quick,
            only: self.only,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, Part};

    fn options(words: &str) -> Option<Options> {
        Options::from_arguments(words.split(' ').map(str::to_string)).ok().flatten()
    }

    #[test]
    fn a_part_of_a_run_does_not_overwrite_the_page() {
        let out = |words| options(words).map(|options| options.out);
        assert_eq!(out("--module m"), Some(Some("bench/wake.md".into())));
        assert_eq!(out("--module m --only herd"), Some(None));
        assert_eq!(out("--module m --quick"), Some(None));
    }

    #[test]
    fn one_part_is_named_and_an_unknown_one_refused() {
        let herd = options("--module m --only herd").unwrap();
        assert!(herd.wants(Part::Herd) && !herd.wants(Part::Idle));
        assert!(options("--module m --only hurd").is_none());
    }
}
