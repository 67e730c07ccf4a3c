//! Fear: DQ.APPLY, which any user with the right may send, does something half, wrong or fatal.
//!
//! Good effects work; a bad one refuses the whole command, and the queue's digest is what it was.

use crate::harness::aof::{self, AOF};
use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::queue::{FUTURE, claim, drain, fill_with_every_kind};
use crate::harness::refusal::changes;
use crate::harness::reply::Reply;
use crate::harness::server::Server;

#[test]
fn each_good_effect_does_what_it_says() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut apply = |line: &str| assert_eq!(client.ask(&format!("DQ.APPLY q 1 {line}")), "OK", "{line}");
    apply("PUT a m 1600000000000 PRIORITY 3 EXPIRES 4102444800000 ATTEMPTS 2");
    apply("PUT b m 1600000000001 PUT c m 1600000000002");
    apply("LEASE 4102444800000 55 2 a b");
    apply("EXTEND 4102444900000 1 b");
    apply("RELEASE a 4102444700000 3");
    apply("RESCHEDULE c 4102444800002");
    apply("ERROR c broken");
    let a = client.ask("DQ.GET q a");
    assert_eq!(
        a,
        "[id a message m state waiting due 4102444700000 priority 3 attempts 3 expires 4102444800000 \
                   lease_until nil receipt nil error nil died nil reason nil]"
    );
    let b = client.ask("DQ.GET q b");
    assert_eq!(
        (b.field("state").string().as_str(), b.field("lease_until").int()),
        ("claimed", 4_102_444_900_000)
    );
    assert_eq!(*b.field("receipt"), "55-b");
    assert_eq!(*b.field("attempts"), "1");
    let c = client.ask("DQ.GET q c");
    assert_eq!((c.field("due").int(), c.field("error").string().as_str()), (FUTURE as i64 + 2, "broken"));

    let mut apply = |line: &str| assert_eq!(client.ask(&format!("DQ.APPLY q 1 {line}")), "OK", "{line}");
    apply("BURY c conflict 1600000000005");
    apply("REMOVE cancelled 2 a b");
    assert_eq!(client.ask("DQ.LEN q"), "1");
    assert_eq!(*client.ask("DQ.GET q c").field("reason"), "conflict");
    assert_eq!(client.ask("DQ.APPLY q 1 REDRIVE 1600000000006 1 c"), "OK");
    assert_eq!(drain(client, "q"), ["c"]);
}

#[test]
fn a_paused_queue_gives_nothing_until_the_pause_is_over() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    client.done(&format!("DQ.APPLY q 1 PAUSE {FUTURE}"));
    assert_eq!(claim(client, "q"), []);
    assert_eq!(client.ask("DQ.MOVE q list"), "0");
    client.done("DQ.APPLY q 1 PAUSE 0");
    assert_eq!(drain(client, "q"), ["a"]);
}

#[test]
fn a_policy_gives_claims_their_lease_and_ends_the_last_attempt() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.APPLY q 1 POLICY 1000000 0 1000 2 3600000 0 10000 0");
    client.done("DQ.PUSH q m ID a");
    let claimed = claim(client, "q");
    assert!(claimed[0].receipt.is_some(), "the policy's lease holds for claims that name none");
    assert_eq!(client.ask(&format!("DQ.ACK q {}", claimed[0].receipt())), "[1]");

    client.done("DQ.APPLY q 1 POLICY 0 2 1000 2 3600000 0 10000 0");
    client.done("DQ.APPLY q 1 PUT b m 1600000000000 ATTEMPTS 1");
    client.done("DQ.APPLY q 1 LEASE 1600000000001 66 1 b");
    let job = client.ask("DQ.GET q b");
    assert_eq!(*job.field("state"), "dead", "{job}");
    assert_eq!(*job.field("reason"), "\"lease expired\"", "{job}");
    assert_eq!(*job.field("died"), "1600000000001");
    assert_eq!(claim(client, "q"), []);
    assert_eq!(client.ask("DQ.ACK q 66-b"), "[1]", "the work of the last attempt was done");
}

const HOSTILE: &str = "
    2 PUT x m 1600000000000
    0 PUT x m 1600000000000
    -1 PUT x m 1600000000000
    v1 PUT x m 1600000000000
    1 BOGUS
    1 BOGUS x m 1600000000000 0 0 0
    1 PUT
    1 PUT x
    1 PUT x m
    1 PUT x m -1
    1 PUT x m 1e3
    1 PUT x m 1600000000000 PRIORITY
    1 PUT x m 1600000000000 PRIORITY 256
    1 PUT x m 1600000000000 PRIORITY -1
    1 PUT x m 1600000000000 PRIORITY 1 PRIORITY 1
    1 PUT x m 1600000000000 EXPIRES
    1 PUT x m 1600000000000 EXPIRES x
    1 PUT x m 1600000000000 EXPIRES 1599999999999
    1 PUT x m 1600000000000 ATTEMPTS
    1 PUT x m 1600000000000 ATTEMPTS -1
    1 PUT x m 1600000000000 ATTEMPTS 99999999999999999999
    1 PUT x m 1600000000000 0 0 0
    1 PUT x m 99999999999999999999
    1 PUT x m 18446744073709551615
    1 PUT x m 1600000000000 trailing
    1 PRIORITY 5
    1 EXPIRES 1600000000000
    1 ATTEMPTS 5
    1 acked
    1 LEASE
    1 LEASE 4102444800000 5 1
    1 LEASE 4102444800000 5 1 nosuch
    1 LEASE 4102444800000 5 2 plain
    1 LEASE 4102444800000 5 2 plain nosuch
    1 LEASE 4102444800000 5 -1 plain
    1 LEASE 4102444800000 5 1000000000 plain
    1 LEASE 4102444800000 5 18446744073709551615 plain
    1 LEASE 4102444800000 5 99999999999999999999 plain
    1 LEASE 4102444800000 18446744073709551616 1 plain
    1 LEASE x 5 1 plain
    1 REMOVE acked 1
    1 REMOVE acked 1 nosuch
    1 REMOVE acked 2 plain nosuch
    1 REMOVE acked 2 plain plain
    1 REMOVE bogus 1 plain
    1 REMOVE acked x plain
    1 REMOVE acked 9223372036854775807 plain
    1 EXTEND 4102444800000 1 nosuch
    1 EXTEND 4102444800000 1 plain
    1 EXTEND x 1 claimed
    1 RELEASE nosuch 1600000000000 1
    1 RELEASE claimed x 1
    1 RELEASE claimed 1600000000000 x
    1 RELEASE claimed 1600000000000 99999999999
    1 ERROR nosuch text
    1 ERROR plain
    1 BURY nosuch nacked 1600000000000
    1 BURY plain bogus 1600000000000
    1 BURY plain nacked x
    1 RESCHEDULE nosuch 1600000000000
    1 RESCHEDULE plain x
    1 RESCHEDULE plain 1600000000000 EXPIRES x
    1 REDRIVE 1600000000000 1 nosuch
    1 REDRIVE x 1 failed
    1 REDRIVE 1600000000000 5 failed
    1 POLICY
    1 POLICY 0 0 1000 2 3600000 0 10000
    1 POLICY 0 65536 1000 2 3600000 0 10000 0
    1 POLICY 0 0 1000 101 3600000 0 10000 0
    1 POLICY 0 0 1000 2 3600000 101 10000 0
    1 POLICY x 0 1000 2 3600000 0 10000 0
    1 POLICY 1000000000001 0 1000 2 3600000 0 10000 0
    1 PAUSE
    1 PAUSE x
    1 PAUSE -1
    1 LOAD
    1 LOAD garbage
    1 PUT x m 1600000000000 BOGUS
    1 PUT x m 1600000000000 LEASE 4102444800000 5 1 nosuch
    1 REMOVE acked 1 plain REMOVE acked 1 plain
    1 REMOVE acked 1 plain LEASE 4102444800000 5 1 plain
    1 PAUSE 4102444800000 PUT x m 1600000000000 PRIORITY x
    1 POLICY 5 5 1000 2 3600000 0 10000 0 PAUSE x
    1 BURY plain nacked 1600000000000 BURY nosuch nacked 1600000000000
    1 ERROR plain text LOAD garbage
    1 RELEASE claimed 1600000000000 1 RELEASE claimed 1600000000000 99999999999
";

#[test]
fn each_hostile_effect_is_refused_and_changes_nothing() {
    let server = Server::start();
    let client = &mut server.connect();
    fill_with_every_kind(client, "q");
    for line in HOSTILE.lines().map(str::trim).filter(|line| !line.is_empty()) {
        assert_refused_without_effect(client, line);
    }
}

#[track_caller]
fn assert_refused_without_effect(client: &mut Client, line: &str) {
    let before = (digest(client, "q"), changes(client));
    let reply = client.ask(&format!("DQ.APPLY q {line}"));
    assert!(reply.is_error(), "{line} was not refused: {reply}");
    assert!(
        (digest(client, "q"), changes(client)) == before,
        "{line} was refused ({reply}) and changed the queue"
    );
    let reply = client.ask(&format!("DQ.APPLY missing {line}"));
    assert!(reply.is_error() && client.ask("EXISTS missing") == "0", "{line} on a missing key: {reply}");
}

#[test]
fn a_word_with_many_arguments_behind_a_huge_count_is_refused_quickly() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    let before = digest(client, "q");
    let mut words = vec![
        "DQ.APPLY".to_owned(),
        "q".into(),
        "1".into(),
        "REMOVE".into(),
        "acked".into(),
        "4294967296".into(),
    ];
    words.extend((0..100_000).map(|_| "a".to_owned()));
    assert!(client.call(&words).is_error());
    assert_eq!(digest(client, "q"), before);
}

/// The chunks of `q` as an AOF rewrite writes them.
fn chunks(server: &Server) -> Vec<Vec<u8>> {
    aof::rewrite(server);
    let commands = aof::commands(server);
    for command in &commands {
        assert_eq!(command[..4], [b"DQ.APPLY".to_vec(), b"q".to_vec(), b"1".to_vec(), b"LOAD".to_vec()]);
        assert_eq!(command.len(), 5);
    }
    commands.into_iter().map(|mut command| command.remove(4)).collect()
}

#[test]
fn a_damaged_load_chunk_is_refused_or_harmless() {
    let server = Server::with(&[AOF[0], AOF[1], "aof-use-rdb-preamble no"]);
    let client = &mut server.connect();
    fill_with_every_kind(client, "q");
    let chunks = chunks(&server);
    load_all(client, &chunks);
    assert_eq!(digest(client, "loaded"), digest(client, "q"));
    for (number, chunk) in chunks.iter().enumerate() {
        load_all(client, &chunks[..number]);
        let before = digest(client, "loaded");
        for place in 0..chunk.len() {
            let mut flipped = chunk.clone();
            flipped[place] ^= 1 << (place % 8);
            for damaged in [&flipped, &chunk[..place].to_vec(), &[chunk.as_slice(), b"x"].concat()] {
                if load(client, damaged).is_error() {
                    assert_eq!(
                        digest(client, "loaded"),
                        before,
                        "chunk {number}, byte {place}: refused, and kept"
                    );
                    continue;
                }
                client.done("DQ.CLAIM loaded COUNT 3 LEASE 5");
                client.done("DQ.LEN loaded");
                load_all(client, &chunks[..number]);
            }
        }
    }
}

#[test]
fn a_chunk_out_of_order_or_twice_is_refused_or_harmless() {
    let server = Server::with(&[AOF[0], AOF[1], "aof-use-rdb-preamble no"]);
    let client = &mut server.connect();
    fill_with_every_kind(client, "q");
    let chunks = chunks(&server);
    for chunk in chunks.iter().rev().chain(&chunks).chain(&chunks) {
        let before = digest(client, "loaded");
        if load(client, chunk).is_error() {
            assert_eq!(digest(client, "loaded"), before);
        }
        client.done("DQ.CLAIM loaded COUNT 3 LEASE 5");
        client.done("DUMP loaded");
    }
}

#[test]
fn a_good_effect_before_a_damaged_chunk_is_not_kept() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    let before = digest(client, "q");
    let words =
        [b"DQ.APPLY".as_slice(), b"q", b"1", b"PUT", b"b", b"m", b"1600000000000", b"LOAD", b"\x00\xff"];
    assert!(client.call(&words).is_error());
    assert_eq!(digest(client, "q"), before);
}

fn load(client: &mut Client, chunk: &[u8]) -> Reply {
    client.call(&[b"DQ.APPLY".as_slice(), b"loaded", b"1", b"LOAD", chunk])
}

/// Makes `loaded` anew from these chunks.
fn load_all(client: &mut Client, chunks: &[Vec<u8>]) {
    client.done("DEL loaded");
    for chunk in chunks {
        assert_eq!(load(client, chunk), "OK");
    }
}
