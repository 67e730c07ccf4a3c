//! The module against real servers: every test starts its own, and each module is named by what it fears.
//!
//! DQ_SERVER names the server's binary, DQ_MODULE the module's file; see `harness::server_binary`.
//! A test that needs what a server lacks asks the server and says that it was skipped.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod harness;

mod altered_bytes;
mod client_libraries;
mod crossed_slots;
mod damaged_payload;
mod diverging_copies;
mod double_delivery;
mod full_memory;
mod garbled_json;
mod half_moved;
mod harness_lies;
mod hostile_effects;
mod hostile_input;
mod late_replay;
mod lost_after_kill;
mod misplaced_key;
mod misread_options;
mod misread_settings;
mod open_doors;
mod overruled_options;
mod silent_writes;
mod stale_receipt;
mod starved_waiters;
mod unreadable_file;
mod wrong_metadata;
mod wrong_order;
mod wrong_propagation;
mod wrong_reply;
mod wrong_type;
