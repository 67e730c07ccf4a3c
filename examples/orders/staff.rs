//! The processes that the director starts and the folder that they share; none outlives its value here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::Result;

/// A started process; it is killed with its value.
pub struct Process {
    name: String,
    child: Child,
}

impl Process {
    pub fn start(name: &str, command: &mut Command) -> Result<Process> {
        let child = command.spawn().map_err(|error| format!("{name} does not start: {error}"))?;
        Ok(Process { name: name.to_owned(), child })
    }

    /// Starts this very program again, with other words.
    pub fn again(name: &str, words: &[String], last: &Path) -> Result<Process> {
        Process::start(name, Command::new(std::env::current_exe()?).args(words).arg(last))
    }

    /// Whether it has ended, which only success makes right.
    pub fn has_ended(&mut self) -> Result<bool> {
        match self.child.try_wait()? {
            None => Ok(false),
            Some(status) if status.success() => Ok(true),
            Some(status) => Err(format!("{}: {status}", self.name).into()),
        }
    }

    /// Stops it, so that it can be looked at without moving on.
    pub fn freeze(&self) -> Result<()> {
        self.signal("STOP")
    }

    pub fn thaw(&self) -> Result<()> {
        self.signal("CONT")
    }

    /// Ends it at once: it has no chance to tell anybody.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    fn signal(&self, signal: &str) -> Result<()> {
        let status =
            Command::new("sh").arg("-c").arg(format!("kill -{signal} {}", self.child.id())).status()?;
        if status.success() { Ok(()) } else { Err(format!("{} got no {signal}", self.name).into()) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already, which is all that is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder of this run alone, removed with its value.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    pub fn create() -> Result<Folder> {
        let path = std::env::temp_dir().join(format!("dq-orders-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Folder { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays behind in the temporary folder harms nobody.
        let _ = fs::remove_dir_all(&self.path);
    }
}
