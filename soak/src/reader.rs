//! Those who read, on the replica too, which must answer whatever its master goes through.

use crate::event::Queue;
use crate::harness::reply::Reply;
use crate::producer::known_job;
use crate::shared::Session;
use crate::worker::Worker;

/// One look at the replica.
pub fn act(worker: &mut Worker<'_>) {
    let Some(mut session) = Session::to_replica(worker.shared) else { return };
    let queue = Queue::ALL[worker.random.below(3) as usize];
    let id = known_job(worker, queue).map(|(_, id)| id).unwrap_or_default();
    let key = queue.key();
    let commands: [Vec<&[u8]>; 4] = [
        vec![b"DQ.LEN", key.as_bytes()],
        vec![b"DQ.GET", key.as_bytes(), &id],
        vec![b"DQ.PEEK", key.as_bytes(), b"WAITING", b"COUNT", b"3"],
        vec![b"DQ.INFO", key.as_bytes()],
    ];
    for command in commands {
        worker.shared.count(&format!("replica {}", String::from_utf8_lossy(command[0])));
        match session.client.try_call(&command) {
            Ok(Reply::Error(error)) => {
                let error = String::from_utf8_lossy(&error).into_owned();
                let expected =
                    ["LOADING", "MASTERDOWN", "ERR id must be"].iter().any(|word| error.starts_with(word));
                if !expected {
                    worker.shared.ledger().violations.push(format!("the replica said {error}"));
                }
            }
            Ok(_) => {}
            Err(_) => return,
        }
    }
}
