//! Which server and which module the tests run, and what that server's configuration knows.
//!
//! DQ_SERVER names the server's binary (default: redis-server on the PATH), DQ_MODULE the module's file
//! (default: libdq.so beside the test's own build folder). DQ_WRAPPER names a tool that servers are to run under.

use crate::harness::client::Client;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The server's binary.
pub fn server_path() -> String {
    std::env::var("DQ_SERVER").unwrap_or_else(|_| "redis-server".into())
}

/// The server's command: its binary, behind the words of DQ_WRAPPER if the server is to run under a tool.
pub fn server_command() -> Command {
    let wrapper = std::env::var("DQ_WRAPPER").unwrap_or_default();
    let mut words = wrapper.split_whitespace();
    let Some(tool) = words.next() else { return Command::new(server_path()) };
    let mut command = Command::new(tool);
    command.args(words).arg(server_path());
    command
}

/// Whether servers run under a tool, which tells what it found when they end in good order.
pub fn is_wrapped() -> bool {
    std::env::var("DQ_WRAPPER").is_ok_and(|wrapper| !wrapper.trim().is_empty())
}

/// The module's file; fails the test when there is none.
pub fn module_path() -> PathBuf {
    let named = std::env::var_os("DQ_MODULE").map(PathBuf::from);
    let path = named.unwrap_or_else(|| {
        let test = std::env::current_exe().expect("the test knows its own file");
        let profile = test.ancestors().nth(2).expect("the test lies in <profile>/deps");
        profile.join("libdq.so")
    });
    path.canonicalize().unwrap_or_else(|error| {
        panic!("no module at {}: {error}; run cargo build first, or name it in DQ_MODULE", path.display())
    })
}

/// Whether the server has the configuration directive that DEBUG needs from Redis 7.0 on.
///
/// Earlier servers allow DEBUG without being asked.
pub fn has_debug_directive() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| knows_directive("enable-debug-command yes"))
}

/// Whether the server tells modules which protocol a client speaks, so that they can give scores in pairs in RESP3: that
/// came with Redis 7.0, as COMMAND DOCS did.
pub fn tells_modules_the_protocol(client: &mut Client) -> bool {
    !client.ask("COMMAND DOCS PING").is_error()
}

/// Asks the server by a configuration whose second line is certainly wrong: which line does it blame?
fn knows_directive(line: &str) -> bool {
    let mut child = Command::new(server_path())
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", server_path()));
    let mut input = child.stdin.take().expect("the server's input is a pipe");
    // A server that has already refused the first line may have closed its input.
    let _ = write!(input, "{line}\nno-such-directive-at-all 1\n");
    drop(input);
    let output = child.wait_with_output().expect("the server says what it blames");
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&said).contains("no-such-directive-at-all")
}
