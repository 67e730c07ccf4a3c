//! `dq-fuzz`: the seeds as files, as libFuzzer wants them, and back; `scripts/fuzz` calls it.
//!
//!     dq-fuzz unpack TARGET FOLDER     writes the seeds of a target into FOLDER
//!     dq-fuzz keep TARGET FOLDER       makes the files of FOLDER the seeds of a target

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use dq_fuzz::seeds;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["unpack", target, folder] if seeds::TARGETS.contains(&target) => unpack(target, Path::new(folder)),
        ["keep", target, folder] if seeds::TARGETS.contains(&target) => {
            seeds::keep(target, Path::new(folder))
        }
        _ => {
            eprintln!("dq-fuzz unpack|keep TARGET FOLDER; the targets are {}", seeds::TARGETS.join(", "));
            return ExitCode::FAILURE;
        }
    };
    match done {
        Ok(count) => {
            println!("{count} seeds");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("dq-fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}

fn unpack(target: &str, folder: &Path) -> std::io::Result<usize> {
    fs::create_dir_all(folder)?;
    let inputs = seeds::of(target);
    for (number, input) in inputs.iter().enumerate() {
        fs::write(folder.join(format!("seed-{number}")), input)?;
    }
    Ok(inputs.len())
}
