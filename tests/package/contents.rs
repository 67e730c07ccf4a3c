//! Fear: the package says of the module what is not so, or carries a file that does not load.

use crate::harness::client::Client;
use crate::harness::queue::claim_one;
use crate::harness::reply::Reply;
use crate::harness::server::{Server, Setup, fresh_directory};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The zip, unpacked in a folder of its own.
pub struct Package {
    folder: PathBuf,
    /// What module.json says.
    pub says: Value,
}

impl Package {
    /// Unpacks the zip that `make package` has made, with the files' modes.
    #[track_caller]
    pub fn unpack() -> Package {
        let folder = fresh_directory();
        let script = "import os, sys, zipfile\n\
                      for entry in zipfile.ZipFile(sys.argv[1]).infolist():\n    \
                          os.chmod(zipfile.ZipFile(sys.argv[1]).extract(entry, sys.argv[2]), entry.external_attr >> 16)";
        output(Command::new("python3").args(["-c", script]).arg(archive()).arg(&folder));
        let text = fs::read_to_string(folder.join("module.json")).expect("module.json is in the package");
        Package { folder, says: serde_json::from_str(&text).expect("module.json is JSON") }
    }

    /// The module's file.
    pub fn module(&self) -> PathBuf {
        self.folder.join(self.text("module_file"))
    }

    /// A server that loads this file.
    pub fn setup(&self, lines: &[&str]) -> Setup {
        let load = format!("loadmodule {}", self.module().display());
        Setup::default().without_module().listening().lines(&[&load]).lines(lines)
    }

    /// A string of module.json.
    #[track_caller]
    pub fn text(&self, name: &str) -> &str {
        self.says[name].as_str().unwrap_or_else(|| panic!("{name} is no text: {}", self.says[name]))
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What the command prints; fails the test when it fails.
#[track_caller]
pub fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).expect("it prints text")
}

/// The folder that `make package` fills.
pub fn package_folder() -> PathBuf {
    std::env::var_os("DQ_PACKAGE").map(PathBuf::from).expect("make test-package sets DQ_PACKAGE")
}

/// The one zip in it.
fn archive() -> PathBuf {
    let entries = fs::read_dir(package_folder()).expect("make package has run");
    let paths = entries.map(|entry| entry.unwrap().path());
    let zips: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|name| name == "zip")).collect();
    let [zip] = &zips[..] else { panic!("one package is expected: {zips:?}") };
    zip.clone()
}

/// Arity, first key, last key and step, and the flags in order.
type Shape = (Vec<i64>, Vec<String>);

fn packed_shape(command: &Value) -> (String, Shape) {
    let numbers =
        ["command_arity", "first_key", "last_key", "step"].map(|name| command[name].as_i64().unwrap());
    let mut flags: Vec<String> = command["flags"].as_array().unwrap().iter().map(string).collect();
    flags.sort();
    (string(&command["command_name"]), (numbers.to_vec(), flags))
}

fn served_shape(info: &Reply) -> (String, Shape) {
    let items = info.items();
    let numbers = [1, 3, 4, 5].map(|place| items[place].int());
    let mut flags: Vec<String> = items[2].items().iter().map(Reply::string).collect();
    flags.sort();
    (items[0].string(), (numbers.to_vec(), flags))
}

fn string(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The module's entry in MODULE LIST.
fn listed(client: &mut Client) -> Reply {
    let list = client.done("MODULE LIST");
    let [module] = list.items() else { panic!("one module is loaded: {list}") };
    module.clone()
}

#[ignore = "make test-package builds what it reads"]
#[test]
fn the_package_says_of_each_command_what_the_server_says() {
    let package = Package::unpack();
    let server = package.setup(&[]).start();
    let all = server.connect().done("COMMAND");
    let ours = all.items().iter().filter(|info| info.items()[0].string().to_uppercase().starts_with("DQ."));
    let served: BTreeMap<String, Shape> = ours.map(served_shape).collect();
    let commands = package.says["commands"].as_array().unwrap();
    let packed: BTreeMap<String, Shape> = commands.iter().map(packed_shape).collect();
    assert!(served.len() > 15, "the server knows {} commands", served.len());
    assert_eq!(packed.len(), commands.len(), "a command is in the package twice");
    assert_eq!(packed, served);
    assert_eq!(packed["DQ.MOVE"].0, [-3, 1, 2, 1]);
    assert_eq!(packed["DQ.RESCHEDULE"].0, [5, 1, 1, 1]);
}

#[ignore = "make test-package builds what it reads"]
#[test]
fn name_and_version_are_those_of_the_module() {
    let package = Package::unpack();
    let server = package.setup(&[]).start();
    let module = listed(&mut server.connect());
    assert_eq!(package.text("module_name"), module.field("name").string());
    assert_eq!(package.says["version"].as_f64().unwrap(), module.field("ver").int() as f64);
    assert_eq!(package.text("semantic_version"), env!("CARGO_PKG_VERSION"));
    let numbers: Vec<i64> = env!("CARGO_PKG_VERSION").split('.').map(|part| part.parse().unwrap()).collect();
    let [major, minor, patch] = numbers[..] else { panic!("a version has three parts") };
    assert_eq!(module.field("ver").int(), major * 10_000 + minor * 100 + patch);
    assert_eq!(package.text("license"), env!("CARGO_PKG_LICENSE"));
    assert_eq!(package.text("min_redis_version"), "6.2");
    assert_eq!(package.text("architecture"), std::env::consts::ARCH);
    let sum = output(Command::new("sha256sum").arg(package.module()));
    assert_eq!(package.text("sha256"), sum.split(' ').next().unwrap());
}

#[ignore = "make test-package builds what it reads"]
#[test]
fn the_packed_file_is_executable_stripped_and_works() {
    let package = Package::unpack();
    let mode = fs::metadata(package.module()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755, "the server loads no module that is not executable");
    let sections = output(Command::new("readelf").args(["-S", "--wide"]).arg(package.module()));
    assert!(sections.contains(".dynsym"), "{sections}");
    assert!(!sections.contains(".symtab") && !sections.contains(".debug_info"), "{sections}");

    let server = package.setup(&[]).start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    let delivery = claim_one(client, "q LEASE 100000000");
    assert_eq!(client.ask(&format!("DQ.ACK q {}", delivery.receipt())), "[1]");
    assert_eq!(client.ask("DQ.LEN q"), "0");
}

#[ignore = "make test-package builds what it reads"]
#[test]
fn ramp_itself_unpacks_the_package() {
    let folder = fresh_directory();
    let ramp = package_folder().join("ramp/bin/ramp");
    let said = output(Command::new(ramp).arg("unpack").arg(archive()).current_dir(&folder));
    let files: Vec<&Path> = said.lines().map(Path::new).collect();
    assert_eq!(files, [folder.join("dq.json"), folder.join("libdq.so")]);
    let unpacked = fs::read(folder.join("libdq.so")).unwrap();
    assert_eq!(unpacked, fs::read(package_folder().join("libdq.so")).unwrap());
    fs::remove_dir_all(folder).unwrap();
}

/// The module as a running server keeps it must not depend on the file that was there at its start.
#[ignore = "make test-package builds what it reads"]
#[test]
fn a_server_goes_on_when_its_file_is_replaced_by_a_new_one() {
    let package = Package::unpack();
    let server: Server = package.setup(&[]).start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    let module = package.module();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/install");
    let folder = module.parent().unwrap();
    output(
        Command::new(script)
            .arg(package_folder().join("libdq.so"))
            .env("MODULE_DIR", folder)
            .env("CONF_DIR", folder.join("conf"))
            .env_remove("DESTDIR"),
    );
    assert_eq!(client.ask("DQ.LEN q"), "1");
    client.done("DQ.CLAIM q");
}
