//! A real server process with the module loaded, in a folder of its own, that dies with the test.
//!
//! A server that died by itself, crashed or caught a panic of the module fails the test that owns it, and
//! prints the end of its log; the folder is then kept.

use crate::harness::client::Client;
use crate::harness::eventually::{DEADLINE, became_true};
use crate::harness::server_binary::{
    has_debug_directive, is_wrapped, module_path, server_command, server_path,
};
use std::fs::{self, File, OpenOptions};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a server is to be started with.
#[derive(Clone, Default)]
pub struct Setup {
    lines: Vec<String>,
    module_arguments: String,
    environment: Vec<(String, String)>,
    is_without_module: bool,
    listens: bool,
}

impl Setup {
    /// Adds lines of configuration.
    pub fn lines(mut self, lines: &[&str]) -> Setup {
        self.lines.extend(lines.iter().map(|line| (*line).to_owned()));
        self
    }

    /// Sets the arguments given to the module when it is loaded.
    pub fn module_arguments(mut self, arguments: &str) -> Setup {
        self.module_arguments = arguments.to_owned();
        self
    }

    /// Adds a variable to the server's environment.
    pub fn environment(mut self, name: &str, value: &str) -> Setup {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Leaves the module out: a server as other people have it.
    pub fn without_module(mut self) -> Setup {
        self.is_without_module = true;
        self
    }

    /// Opens a TCP port too, which replication and cluster mode need.
    pub fn listening(mut self) -> Setup {
        self.listens = true;
        self
    }

    /// Starts the server; fails the test when it does not come up.
    #[track_caller]
    pub fn start(self) -> Server {
        self.try_start().unwrap_or_else(|log| panic!("the server did not start:\n{log}"))
    }

    /// Starts the server, or returns the log of one that did not come up.
    pub fn try_start(self) -> Result<Server, String> {
        let mut server = Server { directory: fresh_directory(), setup: self, port: None, child: None };
        match server.launch() {
            Ok(()) => Ok(server),
            Err(log) => {
                server.discard();
                Err(log)
            }
        }
    }

    fn configuration(&self, directory: &Path, port: Option<u16>) -> String {
        let mut text = format!(
            "port {}\nbind 127.0.0.1\nprotected-mode no\nunixsocket {}\ndir {}\nsave \"\"\n\
             auto-aof-rewrite-percentage 0\nrepl-diskless-sync-delay 0\ncrash-memcheck-enabled no\n",
            port.unwrap_or(0),
            socket_in(directory).display(),
            directory.display(),
        );
        if has_debug_directive() {
            text += "enable-debug-command yes\n";
        }
        if !self.is_without_module {
            text += &format!("loadmodule {} {}\n", module_path().display(), self.module_arguments);
        }
        for line in &self.lines {
            text += line;
            text += "\n";
        }
        text
    }
}

/// A running (or just stopped) server.
pub struct Server {
    directory: PathBuf,
    setup: Setup,
    port: Option<u16>,
    child: Option<Child>,
}

impl Server {
    /// A server with the module and nothing else.
    #[track_caller]
    pub fn start() -> Server {
        Setup::default().start()
    }

    /// A server with the module and some lines of configuration.
    #[track_caller]
    pub fn with(lines: &[&str]) -> Server {
        Setup::default().lines(lines).start()
    }

    /// A new connection.
    #[track_caller]
    pub fn connect(&self) -> Client {
        let path = socket_in(&self.directory);
        Client::connect(&path).unwrap_or_else(|error| panic!("cannot connect: {error}\n{}", self.log_tail()))
    }

    /// The folder that holds the server's files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The TCP port of a server that listens.
    #[track_caller]
    pub fn port(&self) -> u16 {
        self.port.expect("the server was started listening")
    }

    /// What the server has logged.
    pub fn log(&self) -> String {
        fs::read(self.log_path())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// Ends the server at once, as a power cut would, and waits until it is gone.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Stops the server in good order, with (`SAVE`) or without (`NOSAVE`) an RDB file.
    #[track_caller]
    pub fn shut_down(&mut self, how: &str) {
        let refused = self.connect().try_call(&["SHUTDOWN", how]);
        assert!(refused.is_err(), "SHUTDOWN {how}: {refused:?}");
        let mut child = self.child.take().expect("the server runs");
        let mut gone = || matches!(child.try_wait(), Ok(Some(_)));
        assert!(became_true(DEADLINE, &mut gone), "the server does not stop");
    }

    /// Lets a server that still runs stop by itself, if it does.
    fn end_in_good_order(&mut self) {
        let Some(child) = self.child.as_mut() else { return };
        if let Ok(mut client) = Client::connect(&socket_in(&self.directory)) {
            let _ = client.try_call(&["SHUTDOWN", "NOSAVE"]);
            became_true(DEADLINE, &mut || matches!(child.try_wait(), Ok(Some(_))));
        }
    }

    /// Starts a stopped server again on the same files.
    #[track_caller]
    pub fn start_again(&mut self) {
        assert!(self.child.is_none(), "the server still runs");
        self.launch().unwrap_or_else(|log| panic!("the server did not start again:\n{log}"));
    }

    /// Starts a stopped server again with the configuration that CONFIG REWRITE left.
    #[track_caller]
    pub fn start_again_on_its_file(&mut self) {
        assert!(self.child.is_none(), "the server still runs");
        self.launch_process().unwrap_or_else(|log| panic!("the server did not start again:\n{log}"));
    }

    /// Like `start_again`, with more lines of configuration.
    #[track_caller]
    pub fn start_again_with(&mut self, lines: &[&str]) {
        self.setup.lines.extend(lines.iter().map(|line| (*line).to_owned()));
        self.start_again();
    }

    /// Like `start_again`, but without the module: the files must be such that any server reads them.
    #[track_caller]
    pub fn start_again_without_module(&mut self) {
        self.setup.is_without_module = true;
        self.start_again();
    }

    /// Whether the process still runs.
    pub fn is_alive(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Tries a few ports: another process may take one between its choice and the server's start.
    fn launch(&mut self) -> Result<(), String> {
        for _ in 0..4 {
            match self.launch_once() {
                Err(log) if log.contains("Address already in use") => continue,
                outcome => return outcome,
            }
        }
        Err(self.log_tail())
    }

    fn launch_once(&mut self) -> Result<(), String> {
        self.port = if self.setup.listens { Some(free_port()) } else { None };
        let configuration = self.directory.join("server.conf");
        let text = self.setup.configuration(&self.directory, self.port);
        fs::write(&configuration, text).map_err(|error| error.to_string())?;
        self.launch_process()
    }

    fn launch_process(&mut self) -> Result<(), String> {
        let configuration = self.directory.join("server.conf");
        let log = self.open_log().map_err(|error| error.to_string())?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let child = server_command()
            .arg(&configuration)
            .envs(self.setup.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(|error| format!("cannot run {}: {error}", server_path()))?;
        self.child = Some(child);
        let up = became_true(DEADLINE, &mut || !self.is_alive() || self.answers());
        if up && self.is_alive() {
            return Ok(());
        }
        self.kill();
        Err(self.log_tail())
    }

    /// A server that is still loading its files answers PING with an error.
    fn answers(&self) -> bool {
        let client = Client::connect(&socket_in(&self.directory));
        client.and_then(|mut client| client.try_call(&["PING"])).is_ok_and(|reply| reply == "PONG")
    }

    fn open_log(&self) -> std::io::Result<File> {
        OpenOptions::new().create(true).append(true).open(self.log_path())
    }

    fn log_path(&self) -> PathBuf {
        self.directory.join("server.log")
    }

    fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(80)..].join("\n")
    }

    /// Forgets a server that never came up: there is nothing to judge.
    fn discard(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.directory);
    }

    /// What is wrong with the process or its log, if anything.
    fn fault(&mut self) -> Option<&'static str> {
        let ended_by_itself = self.child.is_some() && !self.is_alive();
        let log = self.log();
        if log.contains("panicked at") {
            Some("the module panicked")
        } else if log.contains("BUG REPORT START") || ended_by_itself {
            Some("the server died")
        } else {
            None
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let fault = self.fault();
        if is_wrapped() && fault.is_none() {
            self.end_in_good_order();
        }
        self.kill();
        if fault.is_none() && !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.directory);
            return;
        }
        if self.directory.exists() {
            eprintln!("--- {} (kept)\n{}", self.log_path().display(), self.log_tail());
        }
        if let Some(fault) = fault
            && !std::thread::panicking()
        {
            panic!("{fault}");
        }
    }
}

/// A new empty folder; short, because a socket's path may have 107 bytes only.
pub fn fresh_directory() -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("dq-{}-{number}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap_or_else(|error| panic!("cannot make {}: {error}", path.display()));
    path
}

/// Where the server in this folder listens.
pub fn socket_in(directory: &Path) -> PathBuf {
    directory.join("socket")
}

/// A port that is free now and whose cluster bus port (10,000 above) exists.
fn free_port() -> u16 {
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("a bound address").port();
        if port < 55_000 {
            return port;
        }
    }
}
