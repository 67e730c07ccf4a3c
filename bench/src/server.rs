//! The servers that a run starts: each in a temporary folder, on a unix socket, gone at every end of the run.
//!
//! `Drop` kills the server and removes the folder, also on a panic. Against the ends without `Drop` (ctrl-c, kill) the
//! server is started through `setpriv --pdeathsig KILL`, and the next run sweeps what folders such an end left behind.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::client::{Connection, Fleet, Wait};
use crate::cores::Cores;
use crate::error::Result;
use crate::options::Options;

const START_DEADLINE: Duration = Duration::from_secs(20);
const FOLDER_PREFIX: &str = "dq-bench-";

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
}

impl Launcher {
    /// Checks that server and module are there.
    pub fn new(options: &Options, cores: &Cores) -> Result<Launcher> {
        sweep();
        let module = match &options.module {
            Some(path) => Some(absolute(path)?),
            None => {
                eprintln!("no module: only the native contestants run");
                None
            }
        };
        // A bare name is looked up on PATH; a path must still hold when the server starts in its own folder.
        let binary = match options.server.components().count() {
            1 => options.server.clone(),
            _ => absolute(&options.server)?,
        };
        Ok(Launcher { binary, module, core: cores.server })
    }

    /// Starts a server and waits until it answers.
    pub fn start(&self, durability: Durability) -> Result<Server> {
        let folder = Folder::create()?;
        let log = File::create(folder.path.join("log"))?;
        let child = self
            .command(&folder.path, durability)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", self.binary.display()))?;
        let wait = if self.core.is_some() { Wait::Spinning } else { Wait::Sleeping };
        let mut server = Server { child, folder, wait, module: self.module.is_some() };
        server.await_answer()?;
        Ok(server)
    }

    fn command(&self, folder: &Path, durability: Durability) -> Command {
        let mut words: Vec<String> = Vec::new();
        if let Some(core) = self.core {
            words.extend(["taskset".into(), "-c".into(), core.to_string()]);
        }
        if offers_death_signal() {
            words.extend(["setpriv".into(), "--pdeathsig".into(), "KILL".into()]);
        }
        words.push(self.binary.to_string_lossy().into_owned());
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
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(folder);
        command
    }
}

/// A running server.
pub struct Server {
    child: Child,
    folder: Folder,
    wait: Wait,
    module: bool,
}

impl Server {
    /// A new connection to it.
    pub fn connect(&self) -> Result<Connection> {
        Connection::open(&self.folder.path.join("socket"), self.wait)
    }

    /// So many new connections to it, for one thread.
    pub fn connect_fleet(&self, size: usize) -> Result<Fleet> {
        Ok(Fleet { connections: (0..size).map(|_| self.connect()).collect::<Result<Vec<_>>>()? })
    }

    /// True when the module is loaded.
    pub fn has_module(&self) -> bool {
        self.module
    }

    /// The CPU time of the server's main thread, once it has nothing more to do; None where the kernel does not tell.
    pub fn cpu(&self) -> Option<Duration> {
        let pid = self.child.id();
        let start = Instant::now();
        // The kernel's number is exact only while the thread sleeps.
        while !is_asleep(pid)? && start.elapsed() < Duration::from_millis(50) {}
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/schedstat")).ok()?;
        Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
    }

    fn await_answer(&mut self) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < START_DEADLINE {
            if let Some(status) = self.child.try_wait()? {
                return Err(format!("the server ended at once ({status}):\n{}", self.log()).into());
            }
            if self.connect().and_then(|mut control| control.call(&[b"PING"]).map(drop)).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(format!("the server does not answer:\n{}", self.log()).into())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path.join("log")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing to be done about a failure here: it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A temporary folder that goes when its owner goes.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn create() -> Result<Folder> {
        let path = std::env::temp_dir().join(format!("{FOLDER_PREFIX}{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("cannot make {}: {error}", path.display()))?;
        Ok(Folder { path })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Removes the folders of runs that ended without cleaning up.
fn sweep() {
    for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(FOLDER_PREFIX).and_then(|pid| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    Ok(path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?)
}

fn offers_death_signal() -> bool {
    Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn is_asleep(pid: u32) -> Option<bool> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/stat")).ok()?;
    let state = text.rsplit_once(") ")?.1;
    Some(state.starts_with('S'))
}
