//! What `make package` and `make install` make, held against a real server: what the package says of the module is so,
//! what it can do is shown, and what is installed loads as the documentation tells it.
//!
//! `make test-package` builds the package and runs these tests; DQ_PACKAGE names its folder. A plain `cargo test` has
//! no package and lists them as ignored.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "server/harness/mod.rs"]
#[allow(dead_code, reason = "it is made for the server tests; these need a part of it")]
mod harness;

#[path = "package/capabilities.rs"]
mod capabilities;
#[path = "package/contents.rs"]
mod contents;
#[path = "stack/foreign_server.rs"]
#[allow(dead_code, reason = "the tests with Redis Stack need more of it")]
mod foreign_server;
#[path = "package/installed.rs"]
mod installed;
#[path = "package/requirements.rs"]
mod requirements;
