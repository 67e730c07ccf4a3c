//! The command line.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::Result;

/// What `--help` prints.
pub const HELP: &str = "\
dq-bench: measures DQ against sorted sets, hashes and Lua scripts on one server, and writes bench/README.md
dq-bench wake: measures how late waiting consumers are woken, and writes bench/wake.md (dq-bench wake --help)
dq-bench sizes: measures what very large and very many queues cost, and writes bench/sizes.md (dq-bench sizes --help)

  --server PATH   the redis-server or valkey-server to start (default: redis-server on PATH)
  --module PATH   the module to load (default: DQ_MODULE of the environment); without it only the native contestants run
  --rounds N      rounds that count (default 7; 2 with --quick)
  --only NAME     one part: throughput, aof, memory, growth or listening; or the contestants whose name contains NAME
  --grow N        jobs at the end of the growth part (default 10,000,000; 30,000 with --quick)
  --quick         a smoke test of some seconds: small populations, few operations
  --out FILE      where the page goes (default bench/README.md; with --quick or --only the terminal)
";

/// One of the five things that are measured, each on fresh servers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Operations a second with nothing written to disk.
    Throughput,
    /// The same with an append-only file, synced every second.
    Aof,
    /// Bytes a job.
    Memory,
    /// The longest push while a queue grows.
    Growth,
    /// What a native command costs beside the module.
    Listening,
}

/// How long a run may take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// A smoke test.
    Quick,
    /// The run whose numbers count.
    Full,
}

/// What the user asked for.
pub struct Options {
    /// The server's binary.
    pub server: PathBuf,
    /// The module to load, if any.
    pub module: Option<PathBuf>,
    /// Rounds that count.
    pub rounds: usize,
    /// Jobs at the end of the growth part.
    pub grow: usize,
    /// Where the page goes; None = standard output.
    pub out: Option<PathBuf>,
    /// How long the run may take.
    pub scale: Scale,
    only: Option<String>,
}

impl Options {
    /// Reads the command line; None when the user asked for help.
    pub fn from_arguments(arguments: impl Iterator<Item = String>) -> Result<Option<Options>> {
        let mut given = Given::default();
        let mut arguments = arguments;
        while let Some(word) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--server" => given.server = Some(value()?.into()),
                "--module" => given.module = Some(value()?.into()),
                "--rounds" => given.rounds = Some(number(&word, &value()?)?),
                "--grow" => given.grow = Some(number(&word, &value()?)?),
                "--only" => given.only = Some(value()?.to_lowercase()),
                "--out" => given.out = Some(value()?.into()),
                "--quick" => given.quick = Some(Scale::Quick),
                "--help" | "-h" => return Ok(None),
                other => return Err(format!("unknown option {other}; --help lists them").into()),
            }
        }
        Ok(Some(given.complete()))
    }

    /// Says whether a part is to be measured.
    pub fn wants(&self, part: Part) -> bool {
        match self.only.as_deref() {
            None => true,
            Some(only) => Part::named(only).unwrap_or(Part::Throughput) == part,
        }
    }

    /// Says whether a contestant is to run.
    pub fn wants_contestant(&self, name: &str) -> bool {
        match self.only.as_deref() {
            Some(only) if Part::named(only).is_none() => name.to_lowercase().contains(only),
            _ => true,
        }
    }

    /// The populations, in jobs present.
    pub fn sizes(&self) -> Vec<usize> {
        match self.scale {
            Scale::Quick => vec![1_000, 10_000],
            Scale::Full => vec![1_000, 100_000, 1_000_000],
        }
    }

    /// The population of the part with an append-only file.
    pub fn aof_size(&self) -> usize {
        match self.scale {
            Scale::Quick => 10_000,
            Scale::Full => 100_000,
        }
    }

    /// Jobs in the memory part.
    pub fn memory_jobs(&self) -> usize {
        match self.scale {
            Scale::Quick => 20_000,
            Scale::Full => 1_000_000,
        }
    }

    /// The command that repeats this run, without the folders of this machine.
    pub fn command(&self) -> String {
        let mut words = vec!["dq-bench".to_string()];
        words.extend(["--server".to_string(), file_name(&self.server)]);
        if let Some(module) = &self.module {
            words.extend(["--module".to_string(), file_name(module)]);
        }
        if self.scale == Scale::Quick {
            words.push("--quick".to_string());
        }
        if let Some(only) = &self.only {
            words.extend(["--only".to_string(), only.clone()]);
        }
        words.push(format!("--rounds {} --grow {}", self.rounds, self.grow));
        words.join(" ")
    }
}

impl Part {
    fn named(word: &str) -> Option<Part> {
        match word {
            "throughput" => Some(Part::Throughput),
            "aof" => Some(Part::Aof),
            "memory" => Some(Part::Memory),
            "growth" => Some(Part::Growth),
            "listening" => Some(Part::Listening),
            _ => None,
        }
    }
}

/// The words of the command line, before defaults.
#[derive(Default)]
struct Given {
    server: Option<PathBuf>,
    module: Option<PathBuf>,
    rounds: Option<usize>,
    grow: Option<usize>,
    only: Option<String>,
    out: Option<PathBuf>,
    quick: Option<Scale>,
}

impl Given {
    fn complete(self) -> Options {
        let scale = self.quick.unwrap_or(Scale::Full);
        let (rounds, grow) = match scale {
            Scale::Quick => (2, 30_000),
            Scale::Full => (7, 10_000_000),
        };
        // Part of a run must not overwrite the page of a whole one.
        let whole = scale == Scale::Full && self.only.is_none();
        Options {
            server: self.server.unwrap_or_else(|| "redis-server".into()),
            module: self.module.or_else(|| std::env::var_os("DQ_MODULE").map(PathBuf::from)),
            rounds: self.rounds.unwrap_or(rounds),
            grow: self.grow.unwrap_or(grow),
            out: self.out.or_else(|| whole.then(|| "bench/README.md".into())),
            scale,
            only: self.only,
        }
    }
}

/// Reads the number that an option needs.
pub fn number(option: &str, text: &str) -> Result<usize> {
    match usize::from_str(&text.replace([',', '_'], "")) {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{option} must be a number from 1 on, not {text:?}").into()),
    }
}

/// Returns the file's name alone, without the folders of this machine.
pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns what a word of `parts` names.
pub fn part<P: Copy>(parts: &[(&str, P)], word: &str) -> Result<P> {
    let known = parts.iter().find(|(name, _)| *name == word);
    Ok(known.map(|(_, part)| *part).ok_or_else(|| format!("there is no part {word}; --help lists them"))?)
}

/// Returns the options that say that only a part was measured, or that it was a smoke test, to repeat a run.
pub fn extent<P: PartialEq>(parts: &[(&str, P)], only: Option<&P>, quick: bool) -> String {
    let only = parts.iter().find(|(_, part)| only == Some(part));
    let only = only.map_or(String::new(), |(name, _)| format!(" --only {name}"));
    format!("{only}{}", if quick { " --quick" } else { "" })
}
