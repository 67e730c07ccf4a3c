//! The command line.

use std::time::{SystemTime, UNIX_EPOCH};

/// What `--help` prints.
pub const HELP: &str = "\
dq-soak: random clients and random disasters against a master and its replica; what must hold is checked all the time

  --time SECONDS     how long (default 60)
  --seed N           what everyone draws (default: by the time); the run prints it. Threads and servers keep their own
                     time, so the same seed brings the same kind of run, not the same run
  --only EVENT       no other disasters than this one; --only none for none at all
  --help             this

DQ_SERVER names the server's binary, DQ_MODULE the module's file.
";

/// What the user asked for.
pub struct Options {
    pub seconds: u64,
    pub seed: u64,
    pub only: Option<String>,
}

impl Options {
    /// Reads the command line; an error is what to print.
    pub fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        let fresh = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_micros() as u64);
        let mut options = Options { seconds: 60, seed: fresh, only: None };
        while let Some(word) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{word} needs a value\n\n{HELP}"));
            match word.as_str() {
                "--time" => options.seconds = number(&value()?)?,
                "--seed" => options.seed = number(&value()?)?,
                "--only" => options.only = Some(value()?),
                _ => return Err(HELP.into()),
            }
        }
        Ok(options)
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number\n\n{HELP}"))
}
