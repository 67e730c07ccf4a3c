//! Servers that follow each other: becoming a replica, being in step, being promoted.

use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::server::{Server, Setup};

/// A master and its replica, in step, both with the module and the same lines of configuration.
#[track_caller]
pub fn start_pair(lines: &[&str]) -> (Server, Server) {
    let master = Setup::default().listening().lines(lines).start();
    let replica = Setup::default().listening().lines(lines).start();
    follow(&replica, &master);
    (master, replica)
}

/// Makes `replica` a replica of `master` and waits until it has everything.
#[track_caller]
pub fn follow(replica: &Server, master: &Server) {
    replica.connect().done(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
    wait_in_step(replica, master);
}

/// Waits until `replica` has applied all that `master` had done when this was called.
#[track_caller]
pub fn wait_in_step(replica: &Server, master: &Server) {
    let field = |server: &Server, name: &str| server.connect().info_if_present("replication", name);
    let offset = |server: &Server, name: &str| field(server, name).and_then(|text| text.parse::<u64>().ok());
    let mut target = None;
    eventually("the replica is in step with its master", DEADLINE, || {
        if field(replica, "master_link_status").as_deref() != Some("up") {
            return false;
        }
        // An offset read before the link is up would be that of another history.
        target = target.or_else(|| offset(master, "master_repl_offset"));
        offset(replica, "slave_repl_offset") >= target
    });
}

/// Makes a replica a master.
#[track_caller]
pub fn promote(replica: &Server) {
    replica.connect().done("REPLICAOF NO ONE");
}
