//! What every server test stands on: real servers, byte-exact connections, their files and their clocks.
//!
//! Used by the test modules beside this folder, which import from the file that defines a name. It judges
//! nothing about queues; what a queue must do is written in the tests.

pub mod aof;
pub mod client;
pub mod cluster;
pub mod digest;
pub mod dump;
pub mod eventually;
pub mod faked_clock;
pub mod listener;
pub mod members;
pub mod migration;
pub mod numbers;
pub mod queue;
pub mod random;
pub mod refusal;
pub mod replica;
pub mod reply;
pub mod routed;
pub mod server;
pub mod server_binary;
pub mod shift;
pub mod waiting;
pub mod wire;
