//! The only place with `unsafe`: thin, safe wrappers over the server's module API.
//!
//! Everything above works with the types defined here. Each function of the API is looked up by name when the module is
//! loaded, so what a server lacks is a null pointer: what every supported server has goes through [`api`], what only
//! some have is asked for with `Option`. Callbacks that the server calls go through [`guard`].
#![allow(unsafe_code, reason = "this is the border to C")]

mod alloc;
mod arguments;
pub mod blocking;
pub mod command;
mod config;
mod context;
mod description;
mod entry;
pub mod events;
mod key;
mod locked;
pub mod module_type;
mod section;
pub mod sorted_set;
mod text;
pub mod timer;

pub use arguments::Arguments;
pub use config::{Setting, Unit};
pub use context::{Context, EventClass};
pub use entry::Module;
pub use key::{Key, Kind};
pub use locked::Locked;
pub use section::Section;
pub use text::{Name, Text};

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns a function of the API that every supported server has.
#[allow(clippy::panic, reason = "caught by guard; happens only on a server that is too old, at load")]
fn api<T>(function: Option<T>) -> T {
    match function {
        Some(function) => function,
        None => {
            panic!("this server lacks a function of the module API that every server since Redis 6.2 has")
        }
    }
}

/// Runs the body of a callback. A panic must not cross into C, where it would end the server: it becomes `otherwise`.
fn guard<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}
