//! The command line of `dq-bench sizes`, and how much is measured.

use std::path::PathBuf;

use super::speed::PIPELINE;
use crate::error::Result;
use crate::options::{extent, file_name, number, part};

/// What `--help` prints.
pub const HELP: &str = "\
dq-bench sizes: measures what a very large queue and very many small ones cost, and writes bench/sizes.md

  --server PATH   the redis-server or valkey-server to start (default: redis-server on PATH)
  --module PATH   the module to load (default: DQ_MODULE of the environment)
  --jobs N        jobs of a large store (default 10,000,000, which takes up to 9 GB of memory; 20,000 with --quick)
  --queues N      small queues, a multiple of 16 (default 100,000; 3,200 with --quick)
  --rounds N      rounds of what is repeated (default 3; 1 with --quick)
  --only NAME     one part: large, many or details
  --quick         a smoke test of some seconds
  --out FILE      where the page goes (default bench/sizes.md; with --quick, --only, or other numbers the terminal)
";

/// One of the things that are measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// One large store.
    Large,
    /// Very many small ones.
    Many,
    /// Single numbers about the queue.
    Details,
}

const PARTS: [(&str, Part); 3] = [("large", Part::Large), ("many", Part::Many), ("details", Part::Details)];

/// What the user asked for.
pub struct Options {
    /// The server's binary.
    pub server: PathBuf,
    /// The module.
    pub module: PathBuf,
    /// Jobs of a large store.
    pub jobs: usize,
    /// Claims right after a restart.
    pub first_claims: usize,
    /// Small queues.
    pub queues: usize,
    /// How many of them are waited for.
    pub waited: usize,
    /// Over how long their jobs are due.
    pub waiting_ms: u64,
    /// Jobs of the queue whose commands are measured one by one.
    pub detail_jobs: usize,
    /// Jobs of the queues whose jobs are brought into a state.
    pub state_jobs: usize,
    /// Rounds.
    pub rounds: usize,
    /// Rounds of jobs a second.
    pub speed_rounds: usize,
    /// How often an operator gives a command.
    pub repeats: usize,
    /// Where the page goes; None = standard output.
    pub out: Option<PathBuf>,
    /// True for a smoke test.
    pub quick: bool,
    only: Option<Part>,
}

/// What is measured if nothing else is asked for.
fn full() -> Options {
    Options {
        server: "redis-server".into(),
        module: PathBuf::new(),
        jobs: 10_000_000,
        first_claims: 1_000,
        queues: 100_000,
        waited: 1_000,
        waiting_ms: 10_000,
        detail_jobs: 1_000_000,
        state_jobs: 200_000,
        rounds: 3,
        speed_rounds: 7,
        repeats: 20,
        out: Some("bench/sizes.md".into()),
        quick: false,
        only: None,
    }
}

fn quick() -> Options {
    Options {
        jobs: 20_000,
        first_claims: 100,
        queues: 3_200,
        waited: 20,
        waiting_ms: 1_000,
        detail_jobs: 40_000,
        state_jobs: 10_000,
        rounds: 1,
        speed_rounds: 1,
        repeats: 3,
        quick: true,
        ..full()
    }
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
                "--jobs" => given.jobs = Some(number(&word, &value()?)?),
                "--queues" => given.queues = Some(number(&word, &value()?)?),
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
        let Options { jobs, queues, rounds, .. } = self;
        format!(
            "dq-bench sizes --server {server} --module {module} --jobs {jobs} --queues {queues} --rounds {rounds}{extent}",
        )
    }
}

/// The words of the command line, before defaults.
#[derive(Default)]
struct Given {
    server: Option<PathBuf>,
    module: Option<PathBuf>,
    jobs: Option<usize>,
    queues: Option<usize>,
    rounds: Option<usize>,
    only: Option<Part>,
    out: Option<PathBuf>,
    quick: bool,
}

impl Given {
    fn complete(self) -> Result<Options> {
        let defaults = if self.quick { quick() } else { full() };
        // Part of a run, or one of another size, must not overwrite the page of a whole one.
        let whole = !self.quick && self.only.is_none() && self.jobs.is_none() && self.queues.is_none();
        let module = self.module.or_else(|| std::env::var_os("DQ_MODULE").map(PathBuf::from));
        let queues = self.queues.unwrap_or(defaults.queues);
        if !queues.is_multiple_of(PIPELINE) || queues < defaults.waited {
            let least = defaults.waited;
            return Err(format!("--queues must be a multiple of {PIPELINE}, and not below {least}").into());
        }
        Ok(Options {
            server: self.server.unwrap_or(defaults.server),
            module: module.ok_or("which module? --module names it")?,
            jobs: self.jobs.unwrap_or(defaults.jobs),
            queues,
            rounds: self.rounds.unwrap_or(defaults.rounds),
            out: self.out.or_else(|| defaults.out.filter(|_| whole)),
            only: self.only,
            ..defaults
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
    fn a_smaller_run_does_not_overwrite_the_page() {
        let out = |words| options(words).map(|options| options.out);
        assert_eq!(out("--module m"), Some(Some("bench/sizes.md".into())));
        assert_eq!(out("--module m --jobs 200,000"), Some(None));
        assert_eq!(out("--module m --only many"), Some(None));
        assert_eq!(out("--module m --quick"), Some(None));
    }

    #[test]
    fn one_part_is_named_and_an_unknown_one_refused() {
        let many = options("--module m --only many").unwrap();
        assert!(many.wants(Part::Many) && !many.wants(Part::Large));
        assert!(options("--module m --only few").is_none());
    }
}
