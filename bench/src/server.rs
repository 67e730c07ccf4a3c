//! The servers that a run starts: each on a unix socket in a folder of its own; `process.rs` sees to their end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::client::{Connection, Fleet, Wait};
use crate::cores::Cores;
use crate::error::Result;
use crate::process::{self, Folder, Process};

const START_DEADLINE: Duration = Duration::from_secs(20);

/// What the server writes to disk.
#[derive(Clone, Copy)]
pub enum Durability {
    /// Nothing.
    None,
    /// The append-only file, synced every second.
    AofEverySecond,
}

/// Knows how to start a server.
pub struct Launcher {
    binary: PathBuf,
    module: Option<PathBuf>,
    core: Option<usize>,
    /// The core of what a server forks.
    fork_core: Option<usize>,
}

impl Launcher {
    /// Checks that server and module are there.
    pub fn new(server: &Path, module: Option<&Path>, cores: &Cores) -> Result<Launcher> {
        process::sweep();
        let module = match module {
            Some(path) => Some(absolute(path)?),
            None => {
                eprintln!("no module: only the native contestants run");
                None
            }
        };
        // A bare name is looked up on PATH; a path must still hold when the server starts in its own folder.
        let binary = match server.components().count() {
            1 => server.to_path_buf(),
            _ => absolute(server)?,
        };
        Ok(Launcher { binary, module, core: cores.server, fork_core: cores.client })
    }

    /// One that starts servers as other people have them.
    pub fn without_module(&self) -> Launcher {
        Launcher { binary: self.binary.clone(), module: None, core: self.core, fork_core: self.fork_core }
    }

    /// Starts a server and waits until it answers.
    pub fn start(&self, durability: Durability) -> Result<Server> {
        let mut server = self.server(Process::start(self.words(durability), self.core)?);
        server.await_answer()?;
        Ok(server)
    }

    /// Starts a server in this folder, on the data that are in it: it may still be loading them, or not listen yet.
    ///
    /// What it forks runs on the client's core, and it looks a hundred times a second whether that has ended.
    pub fn begin(&self, folder: &Arc<Folder>, durability: Durability) -> Result<Server> {
        let mut words = self.words(durability);
        words.extend(["--hz".into(), "100".into()]);
        for option in ["--bgsave_cpulist", "--aof_rewrite_cpulist"] {
            words.extend(
                self.fork_core.map(|core| [option.to_string(), core.to_string()]).into_iter().flatten(),
            );
        }
        Ok(self.server(Process::start_in(folder, words, self.core)?))
    }

    fn server(&self, process: Process) -> Server {
        let wait = if self.core.is_some() { Wait::Spinning } else { Wait::Sleeping };
        Server { process, wait, module: self.module.is_some() }
    }

    fn words(&self, durability: Durability) -> Vec<String> {
        let mut words = vec![self.binary.to_string_lossy().into_owned()];
        let appendonly = match durability {
            Durability::None => "no",
            Durability::AofEverySecond => "yes",
        };
        let settings = format!(
            "--port 0 --unixsocket socket --daemonize no --appendonly {appendonly} --appendfsync everysec \
             --auto-aof-rewrite-percentage 0"
        );
        words.extend(settings.split(' ').map(str::to_string));
        words.extend(["--save".into(), String::new()]);
        if let Some(module) = &self.module {
            words.extend(["--loadmodule".into(), module.to_string_lossy().into_owned()]);
        }
        words
    }
}

/// A running server.
pub struct Server {
    process: Process,
    wait: Wait,
    module: bool,
}

impl Server {
    /// A new connection to it.
    pub fn connect(&self) -> Result<Connection> {
        self.connect_to_wait(self.wait)
    }

    /// A new connection to it that waits like this.
    pub fn connect_to_wait(&self, wait: Wait) -> Result<Connection> {
        Connection::open(&self.socket(), wait)
    }

    /// Where it listens.
    pub fn socket(&self) -> PathBuf {
        self.process.path("socket")
    }

    /// So many new connections to it, for one thread.
    pub fn connect_fleet(&self, size: usize) -> Result<Fleet> {
        Ok(Fleet { connections: (0..size).map(|_| self.connect()).collect::<Result<Vec<_>>>()? })
    }

    /// True when the module is loaded.
    pub fn has_module(&self) -> bool {
        self.module
    }

    /// Fails if it has ended, with what it said.
    pub fn check(&mut self) -> Result<()> {
        self.process.check()
    }

    /// The memory that the kernel has given it, in bytes.
    pub fn resident_bytes(&self) -> Result<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes =
            line.and_then(|line| line.split_whitespace().next()).ok_or("the kernel tells no VmRSS")?;
        Ok(kilobytes.parse::<u64>()? * 1024)
    }

    /// The CPU time of the server's main thread, once it has nothing more to do; None where the kernel does not tell.
    pub fn cpu(&self) -> Option<Duration> {
        let pid = self.process.id();
        let start = Instant::now();
        // The kernel's number is exact only while the thread sleeps.
        while !is_asleep(pid)? && start.elapsed() < Duration::from_millis(50) {}
        cpu_of(Path::new(&format!("/proc/{pid}/task/{pid}")))
    }

    /// The CPU time of all its threads, in the server's code and in the kernel.
    pub fn cpu_of_all_threads(&self) -> Option<Duration> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.process.id())).ok()?;
        threads.map(|thread| cpu_of(&thread.ok()?.path())).sum()
    }

    /// Where the kernel tells how long its main thread ran, and how long it waited for its core.
    pub fn schedule_account(&self) -> PathBuf {
        let pid = self.process.id();
        format!("/proc/{pid}/task/{pid}/schedstat").into()
    }

    /// Waits until it answers.
    pub fn await_answer(&mut self) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < START_DEADLINE {
            self.process.check()?;
            if self.connect().and_then(|mut control| control.call(&[b"PING"]).map(drop)).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(format!("the server does not answer:\n{}", self.process.log()).into())
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    Ok(path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?)
}

fn is_asleep(pid: u32) -> Option<bool> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/stat")).ok()?;
    let state = text.rsplit_once(") ")?.1;
    Some(state.starts_with('S'))
}

/// The CPU time of a thread, by the kernel's scheduler: to the nanosecond, where its accounts have ticks of 10 ms.
fn cpu_of(thread: &Path) -> Option<Duration> {
    let text = std::fs::read_to_string(thread.join("schedstat")).ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}
