//! Fear: the module needs a newer machine than the documentation says.

use crate::contents::{output, package_folder};
use std::path::Path;
use std::process::Command;

/// docs/install.md, as one line.
fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/install.md");
    let text = std::fs::read_to_string(path).expect("docs/install.md is there");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A version of glibc as numbers: "2.2.5" is [2, 2, 5].
fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().expect("a version is numbers")).collect()
}

#[ignore = "make test-package builds what it reads"]
#[test]
fn it_needs_no_newer_glibc_than_the_documentation_says() {
    let module = package_folder().join("libdq.so");
    let symbols = output(Command::new("objdump").arg("-T").arg(module));
    let versions = symbols.split("(GLIBC_").skip(1).filter_map(|rest| rest.split(')').next());
    let needed = versions.map(numbers).max().expect("a module of Rust needs glibc");
    let page = page();
    let said = page.split("**glibc ").nth(1).and_then(|rest| rest.split("**").next());
    let said = numbers(said.expect("docs/install.md says **glibc NUMBER**"));
    assert!(needed <= said, "built here it needs glibc {needed:?}, docs/install.md says {said:?}");
}

/// The compiler was told of no instructions beyond those that every x86-64 processor has.
#[ignore = "make test-package builds what it reads"]
#[test]
fn it_needs_no_newer_processor_than_the_documentation_says() {
    assert!(page().contains("any x86-64 processor"));
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let mut compiler = Command::new("rustc");
    compiler.args(flags.split_whitespace()).args(["--print", "cfg"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let told = output(&mut compiler);
    let features: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("target_feature=")).collect();
    let baseline = ["\"fxsr\"", "\"sse\"", "\"sse2\"", "\"x87\""];
    assert!(features.iter().all(|feature| baseline.contains(feature)), "{features:?}");
}
