//! The inputs with which a fuzzer begins, and which the replay test runs: the engine's golden files, and what earlier runs
//! found to reach new code, one input a line in hexadecimal in `fuzz/seeds/<target>`.

use std::fs;
use std::path::{Path, PathBuf};

/// The targets, by the names of their binaries.
pub const TARGETS: [&str; 3] = ["chunks", "effects", "operations"];

/// The seeds of a target.
#[must_use]
pub fn of(target: &str) -> Vec<Vec<u8>> {
    let found = lines(&file_of(target)).into_iter().map(|line| from_hex(&line));
    golden(target).into_iter().chain(found).collect()
}

/// Writes the inputs that are the files of `folder` as the seeds of a target; returns how many.
pub fn keep(target: &str, folder: &Path) -> std::io::Result<usize> {
    let mut inputs = Vec::new();
    for entry in fs::read_dir(folder)? {
        inputs.push(fs::read(entry?.path())?);
    }
    inputs.sort_by_key(|input| (input.len(), input.clone()));
    let lines: Vec<String> = inputs.iter().map(|input| to_hex(input)).collect();
    let head = format!(
        "# Inputs of the fuzz target {target}, each of which reaches code that no shorter one does. See fuzz/src/seeds.rs."
    );
    fs::write(file_of(target), format!("{head}\n{}\n", lines.join("\n")))?;
    Ok(inputs.len())
}

fn golden(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/golden");
    match target {
        "chunks" => {
            let chunks: Vec<Vec<u8>> =
                lines(&folder.join("v1.chunks")).iter().map(|line| from_hex(line)).collect();
            vec![crate::chunks::joined(&chunks)]
        }
        "effects" => {
            let commands = lines(&folder.join("v1.effects"));
            vec![commands.join("\n").into_bytes(), commands.join(" ").into_bytes()]
        }
        _ => Vec::new(),
    }
}

fn file_of(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target)
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

fn from_hex(line: &str) -> Vec<u8> {
    let pairs = line.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
