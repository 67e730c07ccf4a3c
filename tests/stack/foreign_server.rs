//! A server that somebody else's command starts: a distribution's configuration, a start script.
//!
//! The harness's own `Server` writes the configuration itself; here the command line is the test's. The process must
//! become the server (start scripts end with `exec`), and dies with the test.

use crate::harness::client::Client;
use crate::harness::eventually::{DEADLINE, became_true};
use crate::harness::server::{fresh_directory, socket_in};
use std::fs::{self, File, OpenOptions};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A running server in a folder of its own, which listens on a socket there and on no port.
pub struct ForeignServer {
    directory: PathBuf,
    child: Option<Child>,
}

impl ForeignServer {
    /// Runs `command` with the options that put the server into a folder of its own.
    #[track_caller]
    pub fn start(command: Command) -> ForeignServer {
        let mut server = ForeignServer { directory: fresh_directory(), child: None };
        server.run(command);
        server
    }

    /// Stops the server, which writes its RDB file, and runs `command` on the same files.
    #[track_caller]
    pub fn start_again(&mut self, command: Command) {
        let refused = self.connect().try_call(&["SHUTDOWN", "SAVE"]);
        assert!(refused.is_err(), "SHUTDOWN SAVE: {refused:?}");
        let mut child = self.child.take().expect("the server runs");
        let mut gone = || matches!(child.try_wait(), Ok(Some(_)));
        assert!(became_true(DEADLINE, &mut gone), "the server does not stop");
        self.run(command);
    }

    /// A new connection.
    #[track_caller]
    pub fn connect(&self) -> Client {
        Client::connect(&socket_in(&self.directory))
            .unwrap_or_else(|error| panic!("cannot connect: {error}\n{}", self.log()))
    }

    /// Command-line options stand behind whatever configuration the command names, so they have the last word.
    #[track_caller]
    fn run(&mut self, mut command: Command) {
        let log = self.open_log();
        let errors = log.try_clone().expect("the log can be written");
        command
            .args(["--daemonize", "no", "--supervised", "no", "--port", "0"])
            .args(["--logfile".as_ref(), self.log_path().as_os_str()])
            .args(["--dir".as_ref(), self.directory.as_os_str()])
            .args(["--unixsocket".as_ref(), socket_in(&self.directory).as_os_str()])
            .args(["--pidfile".as_ref(), self.directory.join("pid").as_os_str()])
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors);
        self.child = Some(command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")));
        let up = became_true(DEADLINE, &mut || !self.is_alive() || self.answers());
        assert!(up && self.is_alive(), "the server did not start:\n{}", self.log());
    }

    fn is_alive(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    fn answers(&self) -> bool {
        let client = Client::connect(&socket_in(&self.directory));
        client.and_then(|mut client| client.try_call(&["PING"])).is_ok_and(|reply| reply == "PONG")
    }

    fn log_path(&self) -> PathBuf {
        self.directory.join("server.log")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    #[track_caller]
    fn open_log(&self) -> File {
        let opened = OpenOptions::new().create(true).append(true).open(self.log_path());
        opened.expect("the log can be written")
    }
}

impl Drop for ForeignServer {
    fn drop(&mut self) {
        let died = !self.is_alive();
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let log = self.log();
        let _ = fs::remove_dir_all(&self.directory);
        if std::thread::panicking() {
            eprintln!("{log}");
        } else {
            assert!(!died && !log.contains("panicked at"), "the server died, or the module panicked:\n{log}");
        }
    }
}
