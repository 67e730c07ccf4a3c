//! The server on which a damaged payload is restored: what came of it is read, copied and used.

use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::numbers::states;

/// Restores the payload and uses whatever came of it; tells whether it was taken for a queue.
#[track_caller]
pub fn restore_and_use(client: &mut Client, payload: &[u8], damage: &str) -> bool {
    let reply = client.call(&[b"RESTORE".as_slice(), b"d", b"0", payload, b"REPLACE"]);
    if reply.is_error() {
        assert_eq!(client.ask("EXISTS d"), "0", "{damage}: refused and stored all the same");
        return false;
    }
    // A damaged name may be that of another module.
    let is_queue = client.ask("TYPE d") == "dq-jobset";
    if is_queue {
        read(client, damage);
        copy(client, damage);
        work(client);
        copy(client, damage);
    }
    client.done("DEL d");
    is_queue
}

#[track_caller]
fn read(client: &mut Client, damage: &str) {
    let told = states(client, "d");
    let mut listed = Vec::new();
    for state in ["WAITING", "CLAIMED", "DEAD"] {
        let reply = client.done(&format!("DQ.PEEK d {state} COUNT 1000"));
        listed.push(format!("{} {}", reply.items()[1].items().len(), state.to_lowercase()));
    }
    // A time in the damaged payload may be that of just now.
    if told != listed.join(", ") {
        assert_eq!(states(client, "d"), listed.join(", "), "{damage}: listed, and told {told}");
    }
    client.done("DQ.GET d plain");
}

/// What is in the server's memory can be stored and loaded, and is the same then.
#[track_caller]
fn copy(client: &mut Client, damage: &str) {
    let dump = client.done("DUMP d").bytes().to_vec();
    let reply = client.call(&[b"RESTORE".as_slice(), b"copy", b"0", &dump, b"REPLACE"]);
    assert_eq!(reply, "OK", "{damage}: what was restored cannot be stored and restored again");
    assert_eq!(digest(client, "d"), digest(client, "copy"), "{damage}");
}

#[track_caller]
fn work(client: &mut Client) {
    client.done("DQ.RESUME d");
    let claimed = client.done("DQ.CLAIM d COUNT 3 LEASE 100000");
    if let Some(job) = claimed.items().first() {
        let receipt = job.items()[4].bytes().to_vec();
        client.call(&[b"DQ.EXTEND".as_slice(), b"d", b"LEASE", b"1000", &receipt]).items();
        client.call(&[b"DQ.NACK".as_slice(), b"d", b"ERROR", b"no", &receipt]).items();
        client.call(&[b"DQ.ACK".as_slice(), b"d", &receipt]).items();
    }
    client.done("DQ.PUSH d m ID fresh");
    client.done("DQ.CANCEL d claimed failed fresh");
    client.done("DQ.REDRIVE d COUNT 5");
    client.done("DQ.PURGE d DEAD");
    client.done("DQ.CLAIM d COUNT 100 LEASE 0");
}

#[track_caller]
pub fn alive(client: &mut Client, damage: &str) {
    assert_eq!(client.ask("PING"), "PONG", "{damage}");
}
