//! The server that the demo talks to: its own, or one that runs already.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use redis::Connection;

use crate::Result;
use crate::staff::Process;

/// How long a server of our own may take to answer.
const START: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(10);

/// A server to talk to; one of our own ends with this value.
pub struct Server {
    pub url: String,
    process: Option<Process>,
}

impl Server {
    /// The server that runs on that port of this machine.
    pub fn running(port: u16) -> Server {
        Server { url: format!("redis://127.0.0.1:{port}/"), process: None }
    }

    /// Starts a server with the module, its socket and its data in `folder`.
    pub fn start(folder: &Path) -> Result<Server> {
        let module = std::env::var("DQ_MODULE").unwrap_or_else(|_| "target/release/libdq.so".into());
        let module =
            fs::canonicalize(&module).map_err(|error| format!("{module}: {error} (make builds it)"))?;
        let program = std::env::var("DQ_SERVER").unwrap_or_else(|_| "redis-server".into());
        let (log, socket) = (folder.join("server.log"), folder.join("server.sock"));
        let output = File::create(&log)?;
        let mut command = Command::new(&program);
        command.args(["--port", "0", "--unixsocket"]).arg(&socket);
        command.arg("--dir").arg(folder).args([
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            "everysec",
        ]);
        command.arg("--loadmodule").arg(&module);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let process = Process::start(&program, &mut command)?;
        let mut server = Server { url: format!("unix://{}", socket.display()), process: Some(process) };
        match server.wait_until_up() {
            Ok(()) => Ok(server),
            Err(error) => Err(format!("{error}; its log:\n{}", fs::read_to_string(log)?).into()),
        }
    }

    pub fn connect(&self) -> Result<Connection> {
        Ok(redis::Client::open(self.url.as_str())?.get_connection()?)
    }

    fn wait_until_up(&mut self) -> Result<()> {
        let deadline = Instant::now() + START;
        while Instant::now() < deadline {
            if self.connect().is_ok_and(|mut connection| redis::cmd("PING").exec(&mut connection).is_ok()) {
                return Ok(());
            }
            if let Some(process) = &mut self.process {
                process.has_ended()?;
            }
            thread::sleep(PAUSE);
        }
        Err(format!("the server did not answer within {START:?}").into())
    }
}
