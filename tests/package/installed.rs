//! Fear: what `make install` puts down is not found by the server, or an operator's settings are lost by it.

use crate::contents::{output, package_folder};
use crate::foreign_server::ForeignServer;
use crate::harness::client::Client;
use crate::harness::queue::claim_one;
use crate::harness::server::fresh_directory;
use crate::harness::server_binary::server_path;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Debian's package has its configuration; Debian's redis-server brings it.
const DEBIAN: &str = "/etc/redis/redis.conf";

/// A folder in the place of the machine's root.
struct Machine {
    root: PathBuf,
}

impl Machine {
    fn new() -> Machine {
        Machine { root: fresh_directory() }
    }

    /// scripts/install, as the Makefile calls it.
    fn script(&self, what: &Path) -> Command {
        let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/install"));
        for name in ["PREFIX", "DESTDIR", "MODULE_DIR", "CONF_DIR"] {
            command.env_remove(name);
        }
        command.arg(what);
        command
    }

    /// Installs as if this folder's `usr` and `etc` were the machine's.
    fn install(&self) -> String {
        output(self.places(&mut self.script(&package_folder().join("libdq.so"))))
    }

    fn remove(&self) -> String {
        output(self.places(&mut self.script(Path::new("--remove"))))
    }

    fn places<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("PREFIX", self.root.join("usr")).env("CONF_DIR", self.conf().parent().unwrap())
    }

    fn module(&self) -> PathBuf {
        self.root.join("usr/lib/redis/modules/libdq.so")
    }

    fn conf(&self) -> PathBuf {
        self.root.join("etc/redis/dq.conf")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Sentinel rewrites the configuration at each failover; the server must start from what it has written.
#[ignore = "make test-package builds what it reads"]
#[test]
fn debians_configuration_with_the_two_lines_starts_also_after_a_rewrite() {
    let machine = Machine::new();
    let said = machine.install();
    let lines = [
        format!("loadmodule {}", machine.module().display()),
        format!("include {}", machine.conf().display()),
    ];
    for wanted in &lines {
        assert!(said.lines().any(|line| line.trim() == wanted), "{said}");
    }
    let debian = fs::read_to_string(DEBIAN).unwrap_or_else(|error| panic!("{DEBIAN}: {error}"));
    let configuration = machine.root.join("redis.conf");
    fs::write(&configuration, format!("{debian}\n{}\n", lines.join("\n"))).unwrap();
    let with_configuration = || {
        let mut command = Command::new(server_path());
        command.arg(&configuration);
        command
    };
    let mut server = ForeignServer::start(with_configuration());
    assert_works(&mut server.connect());
    server.connect().done("CONFIG SET dq.max-count 77");
    server.connect().done("CONFIG REWRITE");
    server.start_again(with_configuration());
    assert_works(&mut server.connect());
    assert_eq!(server.connect().ask("CONFIG GET dq.max-count").items()[1].string(), "77");
}

#[track_caller]
fn assert_works(client: &mut Client) {
    client.done("DQ.PUSH q m ID a");
    assert_eq!(claim_one(client, "q").id(), "a");
    let module = client.done("MODULE LIST").items()[0].clone();
    assert_eq!(module.field("name").string(), "dq");
    assert_eq!(client.ask("CONFIG GET maxclients").items()[1].string(), "10000", "Debian's settings hold");
}

#[ignore = "make test-package builds what it reads"]
#[test]
fn a_staged_installation_names_the_final_place() {
    let machine = Machine::new();
    output(machine.script(&package_folder().join("libdq.so")).env("DESTDIR", &machine.root));
    let module = fs::metadata(machine.module()).unwrap();
    assert_eq!(module.permissions().mode() & 0o777, 0o755);
    let conf = fs::read_to_string(machine.conf()).unwrap();
    assert!(conf.contains("loadmodule /usr/lib/redis/modules/libdq.so"), "{conf}");
    assert!(!conf.contains(machine.root.to_str().unwrap()) && !conf.contains("/path/to"), "{conf}");
    output(machine.script(Path::new("--remove")).env("DESTDIR", &machine.root));
    assert!(!machine.module().exists() && !machine.conf().exists());
}

#[ignore = "make test-package builds what it reads"]
#[test]
fn an_operators_settings_outlive_an_upgrade_and_a_removal() {
    let machine = Machine::new();
    machine.install();
    let edited = "dq.max-count 7\n";
    fs::write(machine.conf(), edited).unwrap();
    assert!(machine.install().contains("Kept "));
    assert_eq!(fs::read_to_string(machine.conf()).unwrap(), edited);
    assert!(machine.remove().contains("Kept "));
    assert_eq!(fs::read_to_string(machine.conf()).unwrap(), edited);
    assert!(!machine.module().exists());
    assert!(!machine.module().parent().unwrap().exists(), "an empty folder stays behind");
}
