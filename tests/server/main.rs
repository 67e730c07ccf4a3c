//! The module against real servers: every test starts its own, and each module is named by what it fears.
//!
//! DQ_SERVER names the server's binary, DQ_MODULE the module's file; see `harness::server_binary`.
//! A test that needs what a server lacks asks the server and says that it was skipped.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod harness;

mod altered_bytes;
mod blocked_script;
mod busy_wait;
mod cancelled_delivery;
mod client_libraries;
mod coinciding_end;
mod confused_waiters;
mod crossed_slots;
mod damaged_payload;
mod deaf_waiters;
mod diverging_copies;
mod double_delivery;
mod doubtful_receipt;
mod early_members;
mod early_wake;
mod failed_over;
mod false_numbers;
mod forgotten_policy;
mod full_memory;
mod garbled_json;
mod half_moved;
mod half_moved_members;
mod harness_lies;
mod hostile_effects;
mod hostile_input;
mod late_replay;
mod late_wake;
mod leaky_pause;
mod locked_in;
mod lost_after_kill;
mod lost_control;
mod lost_members;
mod lost_retry;
mod meddling_module;
mod misfiled_push;
mod misled_listeners;
mod misled_operator;
mod misplaced_key;
mod misread_options;
mod misread_schedules;
mod misread_settings;
mod missed_events;
mod mistaken_seconds;
mod moved_slots;
mod open_doors;
mod overruled_options;
mod restless_dead;
mod served_in_pause;
mod silent_writes;
mod skipped_page;
mod stale_receipt;
mod stalled_server;
mod starved_waiters;
mod stranded_waiters;
mod unchanged_settings;
mod unended_wait;
mod unequal_service;
mod unfair_service;
mod unnoticed_time;
mod unreadable_file;
mod unseen_work;
mod wrong_control;
mod wrong_metadata;
mod wrong_order;
mod wrong_propagation;
mod wrong_reply;
mod wrong_totals;
mod wrong_type;
