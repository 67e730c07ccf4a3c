//! DQ: delay queues inside the server. This page is the module's front: its name, version, and what it registers.
//!
//! A command goes the same way each time: [`command`] -> [`args`] (everything parsed before a key is touched) -> [`key`]
//! -> [`clock`] -> an operation of the engine -> [`propagate`] -> [`reply`]. The engine decides, the skin translates.
#![deny(unsafe_code)]

mod args;
mod clock;
mod command;
mod config;
mod datatype;
mod destination;
mod error;
mod host;
mod info;
mod json;
mod key;
mod notify;
mod options;
mod propagate;
mod reply;
mod sorted_set;
mod waiters;

/// What the server is told of this module.
static MODULE: host::Module = host::Module {
    name: c"dq",
    version: 100,
    commands: &command::TABLE,
    settings: &config::SETTINGS,
    configure: config::configure,
    info: info::fill,
    // A server that was promoted draws its own salt, so that its tokens differ from those of the master it replaces.
    role_changed: clock::draw_salt,
    data_changed: waiters::all_changed,
    key_changed: waiters::changed,
};
