//! An example as a process: its producer, which runs to its end, and its worker, which runs until it is told to stop.

use crate::harness::eventually::{DEADLINE, became_true};
use crate::harness::server::fresh_directory;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

/// One of the folders in examples/clients, one protocol, and the server that it is to use.
pub struct Example {
    program: PathBuf,
    /// The protocol's number.
    pub resp: u8,
    port: u16,
}

/// A running worker, and what it has said so far. It dies with the test.
pub struct Worker {
    folder: PathBuf,
    child: Child,
}

impl Example {
    /// The example that `make test-clients` has made ready under this name.
    #[track_caller]
    pub fn new(name: &str, resp: u8, port: u16) -> Example {
        let folder = std::env::var_os("DQ_CLIENTS").expect("make test-clients sets DQ_CLIENTS");
        Example { program: PathBuf::from(folder).join(name).join("run"), resp, port }
    }

    /// Runs the producer; what it prints.
    #[track_caller]
    pub fn push(&self, id: &str, message: &str, delay_ms: &str) -> String {
        let mut command = self.command();
        let output = command.args(["push", id, message, delay_ms]).output();
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("it prints text")
    }

    /// Starts a worker with these variables in its environment.
    #[track_caller]
    pub fn work(&self, environment: &[(&str, &str)]) -> Worker {
        let folder = fresh_directory();
        let [output, errors] =
            ["output", "errors"].map(|name| File::create(folder.join(name)).expect("a file can be made"));
        let mut command = self.command();
        command
            .arg("work")
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        let child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        Worker { folder, child }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("REDIS_PORT", self.port.to_string()).env("RESP", self.resp.to_string());
        command
    }
}

impl Worker {
    /// The lines that it has printed.
    pub fn said(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("output")).expect("its output is a file");
        text.lines().map(str::to_owned).collect()
    }

    /// Whether it has printed this line.
    pub fn has_said(&self, line: &str) -> bool {
        self.said().iter().any(|said| said == line)
    }

    /// Fails the test, with the worker's own words, when it has ended.
    #[track_caller]
    pub fn assert_runs(&mut self) {
        if let Ok(Some(status)) = self.child.try_wait() {
            panic!("the worker has ended, {status}:\n{}", self.errors());
        }
    }

    /// Tells it to stop, and waits until it has ended well.
    #[track_caller]
    pub fn terminate(&mut self) {
        self.assert_runs();
        let sent = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the signal is not sent");
        let mut ended: Option<ExitStatus> = None;
        let gone = became_true(DEADLINE, &mut || {
            ended = self.child.try_wait().ok().flatten();
            ended.is_some()
        });
        assert!(gone, "the worker does not stop");
        assert!(ended.is_some_and(|status| status.success()), "{ended:?}\n{}", self.errors());
    }

    fn errors(&self) -> String {
        fs::read_to_string(self.folder.join("errors")).unwrap_or_default()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the worker said {:#?}\n{}", self.said(), self.errors());
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}
