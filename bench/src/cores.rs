//! Which core the server gets and which one this process.
//!
//! Two processes that share a core measure each other. `taskset` (util-linux) does the pinning, since the standard library
//! has no call for it.

use std::process::{Command, Stdio};

/// How the cores are divided between server and client.
pub struct Cores {
    /// The server's core, when it has one of its own.
    pub server: Option<usize>,
    /// This process's core, when the server has one of its own.
    pub client: Option<usize>,
    /// What the page says about it.
    pub note: String,
}

impl Cores {
    /// Pins this process to the first allowed core and reserves the last one for the server; says so when it cannot.
    pub fn divide() -> Cores {
        let cores = divided(&allowed_cores());
        eprintln!("{}", cores.note);
        cores
    }
}

fn divided(allowed: &[usize]) -> Cores {
    let (Some(client), Some(server)) = (allowed.first(), allowed.last()) else {
        return shared("the allowed cores are unknown");
    };
    if client == server {
        return shared("there is only one core");
    }
    if !pin_this_process(*client) {
        return shared("taskset (util-linux) is missing or refused");
    }
    Cores {
        server: Some(*server),
        client: Some(*client),
        note: "server and client pinned to a core each".to_string(),
    }
}

fn shared(reason: &str) -> Cores {
    Cores {
        server: None,
        client: None,
        note: format!(
            "NOT PINNED: {reason}; server and client disturb each other, so mistrust small differences"
        ),
    }
}

fn pin_this_process(core: usize) -> bool {
    let pid = std::process::id().to_string();
    Command::new("taskset")
        .args(["-p", "-c", &core.to_string(), &pid])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Reads the list of cores, like `0-3,8`, on which this process may run.
fn allowed_cores() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("");
    list.trim().split(',').filter_map(core_range).flatten().collect()
}

fn core_range(text: &str) -> Option<std::ops::RangeInclusive<usize>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::core_range;

    #[test]
    fn a_range_of_cores_is_read() {
        assert_eq!(core_range("2-4"), Some(2..=4));
        assert_eq!(core_range("7"), Some(7..=7));
        assert_eq!(core_range(""), None);
    }
}
