//! Fear: a message or an id is altered somewhere on its way through the queue, a file or another server.

use crate::harness::aof::{self, AOF};
use crate::harness::client::Client;
use crate::harness::queue::{Delivery, claim, claim_one};
use crate::harness::random::Random;
use crate::harness::replica::{promote, start_pair, wait_in_step};
use crate::harness::server::Server;

/// All byte values, twice, so that each also stands beside others; as id it is cut to its limit anyway.
fn every_byte() -> Vec<u8> {
    (0..=255).chain((0..=255).rev()).collect()
}

fn push_every_byte(client: &mut Client, key: &str) {
    let bytes = every_byte();
    let reply = client.call(&[b"DQ.PUSH", key.as_bytes(), &bytes, b"ID", &bytes]);
    assert_eq!(reply.items()[0].bytes(), bytes);
    assert_eq!(reply.items()[1], "created");
}

#[track_caller]
fn assert_every_byte(client: &mut Client, key: &str) {
    let bytes = every_byte();
    let job = client.call(&[b"DQ.GET", key.as_bytes(), &bytes]);
    assert_eq!(job.field("message").bytes(), bytes);
    let claimed = claim_one(client, key);
    assert_eq!((claimed.id, claimed.message), (bytes.clone(), bytes));
}

#[test]
fn all_byte_values_survive_a_claim() {
    let server = Server::start();
    push_every_byte(&mut server.connect(), "q");
    assert_every_byte(&mut server.connect(), "q");
}

#[test]
fn all_byte_values_survive_every_move() {
    let server = Server::start();
    let client = &mut server.connect();
    let bytes = every_byte();
    push_every_byte(client, "q");
    assert_eq!(client.ask("DQ.MOVE q other PUSH"), "1");
    assert_every_byte(client, "other");
    for (verb, read) in [("RPUSH", "LPOP d"), ("LPUSH", "LPOP d")] {
        push_every_byte(client, "q");
        assert_eq!(client.ask(&format!("DQ.MOVE q d {verb}")), "1");
        assert_eq!(client.ask(read).bytes(), bytes);
    }
    push_every_byte(client, "q");
    assert_eq!(client.ask("DQ.MOVE q stream XADD"), "1");
    let entries = client.ask("XRANGE stream - +");
    let fields = &entries.items()[0].items()[1];
    assert_eq!(fields.field("id").bytes(), bytes);
    assert_eq!(fields.field("msg").bytes(), bytes);
}

#[test]
fn all_byte_values_survive_restart_dump_and_restore() {
    for lines in [["appendonly no", "appendfsync always"], AOF] {
        let mut server = Server::with(&lines);
        push_every_byte(&mut server.connect(), "q");
        server.connect().done("SAVE");
        server.kill();
        server.start_again();
        let client = &mut server.connect();
        let payload = client.done("DUMP q").bytes().to_vec();
        assert_eq!(client.call(&[b"RESTORE".as_slice(), b"restored", b"0", &payload]), "OK");
        assert_every_byte(client, "q");
        assert_every_byte(client, "restored");
    }
}

#[test]
fn all_byte_values_survive_an_aof_rewrite_and_a_promotion() {
    let (mut master, replica) = start_pair(&[AOF[0], AOF[1], "aof-use-rdb-preamble no"]);
    push_every_byte(&mut master.connect(), "q");
    aof::rewrite(&master);
    wait_in_step(&replica, &master);
    master.kill();
    promote(&replica);
    assert_every_byte(&mut replica.connect(), "q");
    master.start_again();
    assert_every_byte(&mut master.connect(), "q");
}

#[test]
fn sixteen_mebibytes_survive_claim_restart_replica_and_restore() {
    let (mut master, replica) = start_pair(&AOF);
    let huge = Random::seeded(1).bytes(16 << 20);
    let client = &mut master.connect();
    client.call(&[b"DQ.PUSH".as_slice(), b"q", &huge, b"ID", b"huge"]);
    let payload = client.done("DUMP q").bytes().to_vec();
    assert_eq!(client.call(&[b"RESTORE".as_slice(), b"restored", b"0", &payload]), "OK");
    wait_in_step(&replica, &master);
    promote(&replica);
    aof::rewrite(&master);
    master.kill();
    master.start_again();
    for server in [&master, &replica] {
        for key in ["q", "restored"] {
            assert!(claim_one(&mut server.connect(), key).message == huge, "{key}");
        }
    }
}

#[test]
fn equal_messages_stay_two_jobs() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q same");
    client.done("DQ.PUSH q same");
    let claimed = claim(client, "q COUNT 10");
    assert_eq!(claimed.iter().map(|job| job.message.as_slice()).collect::<Vec<_>>(), [b"same", b"same"]);
    assert_ne!(Delivery::id(&claimed[0]), Delivery::id(&claimed[1]));
}
