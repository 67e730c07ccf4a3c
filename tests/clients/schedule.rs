//! A queue library as the producer, unmodified: RQ keeps its schedule in a sorted set of Unix seconds, and DQ takes from it what
//! is due.

use crate::harness::client::Client;
use crate::harness::server::{Server, Setup};
use std::path::PathBuf;
use std::process::Command;

/// Where RQ keeps the jobs that a queue is to get later: the registry of the queue `default`.
const SCHEDULE: &str = "rq:scheduled:default";

/// Lets RQ schedule jobs; their ids, in the order of their times: two in the past, one in two seconds, one tomorrow.
#[track_caller]
fn schedule(server: &Server) -> Vec<String> {
    let folder = PathBuf::from(std::env::var_os("DQ_CLIENTS").expect("make test-clients sets DQ_CLIENTS"));
    let mut command = Command::new(folder.join("rq").join("run"));
    let output = command.env("REDIS_PORT", server.port().to_string()).output().expect("the producer runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("it prints text");
    let ids: Vec<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(ids.len(), 4, "{ids:?}");
    ids
}

/// The second at which a job is due.
#[track_caller]
fn due_second(client: &mut Client, id: &str) -> u64 {
    client.done(&format!("ZSCORE {SCHEDULE} {id}")).string().parse().expect("RQ's scores are whole seconds")
}

#[ignore = "make test-clients fetches the library"]
#[test]
fn rq_schedules_and_a_claim_takes_what_is_due() {
    let server = Setup::default().listening().start();
    let client = &mut server.connect();
    let ids = schedule(&server);
    assert_eq!(client.done(&format!("DQ.LEN {SCHEDULE}")), "4");
    let error = client.refused(&format!("DQ.CLAIM {SCHEDULE} COUNT 10"));
    assert!(error.contains("add SECONDS"), "{error}");

    let soon = due_second(client, &ids[2]);
    let mut claimed = client.done(&format!("DQ.CLAIM {SCHEDULE} COUNT 10 SECONDS")).items().to_vec();
    if claimed.len() < 3 {
        let waited = client.done(&format!("DQ.CLAIM {SCHEDULE} COUNT 10 SECONDS BLOCK 0"));
        assert!(client.now() >= soon * 1000, "never early");
        claimed.extend(waited.items().iter().cloned());
    }
    let claimed: Vec<String> = claimed.iter().map(|id| id.string()).collect();
    assert_eq!(claimed, ids[..3], "in the order of their times");
    assert_eq!(client.done(&format!("ZRANGE {SCHEDULE} 0 -1")).items()[0].string(), ids[3]);
}

/// What RQ's own scheduler does: it puts the ids of due jobs on the queue's list, where RQ's workers find them.
#[ignore = "make test-clients fetches the library"]
#[test]
fn rq_schedules_and_a_move_puts_the_due_ids_on_its_queue() {
    let server = Setup::default().listening().start();
    let client = &mut server.connect();
    let ids = schedule(&server);
    let line = format!("DQ.MOVE {SCHEDULE} rq:queue:default RPUSH SECONDS BLOCK 0");
    let mut moved = 0;
    while moved < 3 {
        moved += client.done(&line).int();
    }
    let queued: Vec<String> =
        client.done("LRANGE rq:queue:default 0 -1").items().iter().map(|id| id.string()).collect();
    assert_eq!(queued, ids[..3]);
    assert!(
        client.done(&format!("HEXISTS rq:job:{} data", ids[0])) == "1",
        "the list names jobs that RQ has"
    );
}
