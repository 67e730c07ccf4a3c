//! A process that a run starts, in a temporary folder: both are gone at every end of the run.
//!
//! `Drop` kills the process and removes the folder, also on a panic. Against the ends without `Drop` (ctrl-c, kill) the
//! process is started through `setpriv --pdeathsig KILL`, and the next run sweeps what folders such an end left behind.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Result;

const FOLDER_PREFIX: &str = "dq-bench-";

/// A running process.
pub struct Process {
    child: Child,
    // After the child, which may still write into it.
    folder: Arc<Folder>,
}

impl Process {
    /// Starts what these words say, in a folder of its own, pinned to a core if one is given.
    pub fn start(words: Vec<String>, core: Option<usize>) -> Result<Process> {
        Process::start_in(&Folder::create()?, words, core)
    }

    /// The same in a folder that may have been another process's before.
    pub fn start_in(folder: &Arc<Folder>, words: Vec<String>, core: Option<usize>) -> Result<Process> {
        let log = File::create(folder.path.join("log"))?;
        let name = words.first().cloned().unwrap_or_default();
        let child = command(words, core)
            .current_dir(&folder.path)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .map_err(|error| format!("cannot start {name}: {error}"))?;
        Ok(Process { child, folder: Arc::clone(folder) })
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Where a file of its folder is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path.join(name)
    }

    /// Fails if it has ended, with what it said.
    pub fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) => Err(format!("the server ended at once ({status}):\n{}", self.log()).into()),
            None => Ok(()),
        }
    }

    /// What it said.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing to be done about a failure here: it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(words: Vec<String>, core: Option<usize>) -> Command {
    let mut all: Vec<String> = Vec::new();
    if let Some(core) = core {
        all.extend(["taskset".into(), "-c".into(), core.to_string()]);
    }
    if offers_death_signal() {
        all.extend(["setpriv".into(), "--pdeathsig".into(), "KILL".into()]);
    }
    all.extend(words);
    let mut words = all.into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

fn offers_death_signal() -> bool {
    Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// A temporary folder that goes when its last owner goes.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes one.
    pub fn create() -> Result<Arc<Folder>> {
        static CREATED: AtomicUsize = AtomicUsize::new(0);
        let number = CREATED.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("{FOLDER_PREFIX}{}-{number}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("cannot make {}: {error}", path.display()))?;
        Ok(Arc::new(Folder { path }))
    }

    /// How long a file in it is.
    pub fn length_of(&self, name: &str) -> Result<u64> {
        Ok(self.path.join(name).metadata().map_err(|error| format!("{name}: {error}"))?.len())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Removes the folders of runs that ended without cleaning up.
pub fn sweep() {
    for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if run_of(&name).is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// The process that made the folder of this name.
fn run_of(name: &str) -> Option<u32> {
    let numbers = name.strip_prefix(FOLDER_PREFIX)?;
    numbers.split_once('-')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::run_of;

    #[test]
    fn a_folder_tells_which_run_made_it() {
        assert_eq!(run_of("dq-bench-12-3"), Some(12));
        assert_eq!(run_of("dq-bench-x-3"), None);
        assert_eq!(run_of("other-12-3"), None);
    }
}
