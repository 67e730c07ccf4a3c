//! On what the numbers were taken: server, module, processor.

use crate::client::Connection;
use crate::cores::Cores;
use crate::error::Result;
use crate::server::{Durability, Launcher};

/// What the page says about server and machine.
pub struct Machine {
    /// Name and version of the server, and its allocator.
    pub server: String,
    /// Version of the module, or that there is none.
    pub module: String,
    /// The processor.
    pub processor: String,
    /// How cores were divided.
    pub pinning: String,
}

/// Starts a server once to ask what it is.
pub fn describe(launcher: &Launcher, cores: &Cores) -> Result<Machine> {
    let server = launcher.start(Durability::None)?;
    let mut control = server.connect()?;
    let name = match info(&mut control, "valkey_version")? {
        Some(version) => format!("Valkey {version}"),
        None => format!("Redis {}", info(&mut control, "redis_version")?.unwrap_or_default()),
    };
    let allocator = info(&mut control, "mem_allocator")?.unwrap_or_default();
    Ok(Machine {
        server: format!("{name} ({allocator})"),
        module: module(&mut control)?,
        processor: processor(),
        pinning: cores.note.clone(),
    })
}

/// Reads one field of `INFO`.
pub fn info(control: &mut Connection, field: &str) -> Result<Option<String>> {
    let reply = control.call(&[b"INFO"])?;
    let text = String::from_utf8_lossy(reply.text()?).into_owned();
    let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    Ok(value.map(|value| value.trim().to_string()))
}

/// The memory that the machine can still give, where the kernel tells it.
pub fn free_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

fn module(control: &mut Connection) -> Result<String> {
    let modules = control.call(&[b"MODULE", b"LIST"])?;
    for place in 0.. {
        let Ok(module) = modules.at(place) else { break };
        if module.at(1)?.text()? == b"dq" {
            let version = module.at(3)?.integer()?;
            return Ok(format!("dq {}.{}.{}", version / 10_000, version / 100 % 100, version % 100));
        }
    }
    Ok("none".to_string())
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let online = text.lines().filter(|line| line.starts_with("processor")).count().max(count);
    format!("{} ({online} cores)", model.map_or("unknown processor", |(_, name)| name.trim()))
}
