//! Fear: a push meant for a sorted set lands in a job queue or the other way round, replaces what it should not, or says
//! that it did something else than it did.

use crate::harness::members::{claimed, members, scored};
use crate::harness::queue::{FUTURE, PAST};
use crate::harness::refusal::{changes, line_refused_naming};
use crate::harness::server::{Server, Setup};

#[test]
fn the_word_zset_makes_a_sorted_set_and_nothing_else_does() {
    let server = Server::start();
    let client = &mut server.connect();
    assert_eq!(client.ask("DQ.PUSH s m ZSET"), "[nil created]");
    assert_eq!(client.ask("TYPE s"), "zset");
    let error = client.refused("DQ.PUSH s m");
    assert!(error.starts_with("WRONGTYPE ") && error.contains("ZSET"), "{error}");
    assert_eq!(claimed(client, "s"), ["m"], "it was due at once");
    client.done("DQ.PUSH s m");
    assert_eq!(client.ask("TYPE s"), "dq-jobset");
    let error = client.refused("DQ.PUSH s m ZSET");
    assert!(error.starts_with("WRONGTYPE "), "{error}");
}

#[test]
fn a_message_that_is_there_stays_as_it_is() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done(&format!("DQ.PUSH s m ZSET AT {PAST}"));
    let before = changes(client);
    assert_eq!(client.ask(&format!("DQ.PUSH s m ZSET AT {FUTURE}")), "[nil waiting]");
    assert_eq!(client.ask("DQ.PUSH s m ZSET DELAY 1000"), "[nil waiting]");
    assert_eq!((changes(client), scored(client, "s")), (before, format!("[m \"{PAST}\"]")));
}

#[test]
fn replace_gives_a_message_its_new_time() {
    let server = Server::start();
    let client = &mut server.connect();
    assert_eq!(client.ask(&format!("DQ.PUSH s m ZSET REPLACE AT {FUTURE}")), "[nil created]");
    assert_eq!(client.ask(&format!("DQ.PUSH s m AT {PAST} REPLACE ZSET")), "[nil replaced]");
    assert_eq!(scored(client, "s"), format!("[m \"{PAST}\"]"));
    assert_eq!(client.ask("DQ.LEN s"), "1");
}

#[test]
fn an_envelope_keeps_equal_messages_apart() {
    let server = Server::start();
    let client = &mut server.connect();
    for (message, shown) in [
        (b"hello".as_slice(), r#""msg":"hello""#),
        (br#"{"a": [1]}"#, r#""msg":{"a": [1]}"#),
        (b"\xff", r#""msg_base64":"/w==""#),
    ] {
        let mut ids = Vec::new();
        for words in ["ZSET ENVELOPE", "ENVELOPE REPLACE ZSET"] {
            let words = words.split(' ').map(str::as_bytes);
            let command: Vec<&[u8]> =
                [b"DQ.PUSH".as_slice(), b"s", message].into_iter().chain(words).collect();
            let reply = client.call(&command);
            assert_eq!(reply.items()[1], "created");
            ids.push(reply.items()[0].string());
        }
        assert_ne!(ids[0], ids[1]);
        let reply = client.ask("DQ.CLAIM s COUNT 10");
        let mut got: Vec<String> = reply.items().iter().map(|member| member.string()).collect();
        let mut expected: Vec<String> = ids.iter().map(|id| format!(r#"{{"id":"{id}",{shown}}}"#)).collect();
        got.sort();
        expected.sort();
        assert_eq!(got, expected);
    }
}

#[test]
fn many_are_pushed_as_one_would_be() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done(&format!("ZADD s {PAST} known"));
    let reply = client.ask(
        "DQ.MPUSH s AT ZSET 1600000000001 * a 1600000000002 * known 1600000000003 * a 1600000000004 * b",
    );
    assert_eq!(reply, "[[nil created] [nil waiting] [nil waiting] [nil created]]");
    assert_eq!(scored(client, "s"), format!("[known \"{PAST}\" a \"1600000000001\" b \"1600000000004\"]"));
    let reply =
        client.ask("DQ.MPUSH s AT REPLACE ZSET 1600000000007 * a 1600000000005 * a 1600000000006 * c");
    assert_eq!(reply, "[[nil replaced] [nil replaced] [nil created]]");
    assert_eq!(members(client, "s"), "[known b a c]");
    let reply = client.ask("DQ.MPUSH other DELAY SECONDS ENVELOPE ZSET REPLACE 0 * x 0 * x");
    assert!(reply.items().iter().all(|one| one.items()[1] == "created"), "{reply}");
}

#[test]
fn a_push_of_many_with_a_bad_one_changes_nothing() {
    let server = Server::start();
    let client = &mut server.connect();
    for (line, fact) in [
        ("DQ.MPUSH s AT ZSET 1600000000001 * a 1600000000 * b", "AT"),
        ("DQ.MPUSH s DELAY ZSET 0 * a 1600000000000 * b", "DELAY"),
        ("DQ.MPUSH s DELAY ZSET 0 * a 0 id b", "ZSET"),
        ("DQ.MPUSH s DELAY ZSET 0 * a 0 *", "jobs"),
        ("DQ.MPUSH s DELAY ZSET PRIORITY 1 0 * a", "PRIORITY"),
        ("DQ.MPUSH s DELAY ZSET TTL 1 0 * a", "TTL"),
        ("DQ.MPUSH s DELAY SECONDS 0 * a", "SECONDS"),
        ("DQ.MPUSH s DELAY ENVELOPE 0 * a", "ENVELOPE"),
    ] {
        line_refused_naming(client, line, &[fact]);
    }
    assert_eq!(client.ask("EXISTS s"), "0");
}

#[test]
fn words_for_jobs_do_not_go_with_zset() {
    let server = Server::start();
    let client = &mut server.connect();
    for words in ["ID a", "PRIORITY 0", "TTL 0", "TTL 5", "REPLACE KEEPDUE", "KEEPDUE"] {
        let fact = words.split(' ').find(|word| *word != "REPLACE").unwrap();
        line_refused_naming(client, &format!("DQ.PUSH s m ZSET {words}"), &[fact]);
        line_refused_naming(client, &format!("DQ.PUSH s m {words} ZSET"), &[fact]);
    }
    for words in ["SECONDS", "ENVELOPE", "SECONDS ID a"] {
        line_refused_naming(client, &format!("DQ.PUSH s m {words}"), &["ZSET"]);
    }
    for word in ["ZSET", "SECONDS", "ENVELOPE", "REPLACE"] {
        line_refused_naming(client, &format!("DQ.PUSH s m ZSET {word} {word}"), &[word]);
    }
    assert_eq!(client.ask("EXISTS s"), "0");
}

#[test]
fn a_message_that_is_too_long_is_refused_here_too() {
    let server = Setup::default().module_arguments("max-message-bytes 5").start();
    let client = &mut server.connect();
    client.done("DQ.PUSH s 12345 ZSET");
    line_refused_naming(client, "DQ.PUSH s 123456 ZSET", &["message", "5"]);
    line_refused_naming(client, "DQ.MPUSH s DELAY ZSET 0 * ok 0 * 123456", &["message", "5"]);
    assert_eq!(claimed(client, "s COUNT 5"), ["12345"]);
}

#[test]
fn a_message_may_be_any_bytes_and_any_word() {
    let server = Server::start();
    let client = &mut server.connect();
    let every_byte: Vec<u8> = (0..=255).collect();
    for message in [every_byte.as_slice(), b"", b"NX", b"ZSET", b"XX", b"1600000000000", b"s"] {
        let words: [&[u8]; 6] = [b"DQ.PUSH", b"s", message, b"ZSET", b"AT", b"1600000000000"];
        assert_eq!(client.call(&words), "[nil created]");
        assert_eq!(client.call(&words), "[nil waiting]");
        let words: [&[u8]; 7] = [b"DQ.MPUSH", b"s", b"AT", b"ZSET", b"1600000000000", b"*", message];
        assert_eq!(client.call(&words), "[[nil waiting]]");
        assert_eq!(client.ask("DQ.CLAIM s").items()[0].bytes(), message);
    }
}

#[test]
fn what_a_native_producer_added_and_what_a_push_added_are_one_queue() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("ZADD s 1600000000001 native");
    client.done("DQ.PUSH s pushed ZSET AT 1600000000000");
    client.done("ZADD s NX 1600000000002 pushed 1600000000003 native");
    assert_eq!(claimed(client, "s COUNT 5"), ["pushed", "native"]);
    assert_eq!(client.ask("DQ.PUSH s native ZSET"), "[nil created]");
}

#[test]
fn a_length_is_the_number_of_members() {
    let server = Server::start();
    let client = &mut server.connect();
    assert_eq!(client.ask("DQ.LEN s"), "0");
    for number in 1..=150 {
        client.done(&format!("DQ.PUSH s m{number} ZSET DELAY 100000"));
        if [1, 2, 127, 128, 129, 150].contains(&number) {
            assert_eq!(client.ask("DQ.LEN s"), number.to_string());
        }
    }
    client.done("ZADD s inf never -inf ever");
    assert_eq!(client.ask("DQ.LEN s"), "152");
    client.done("DEL s");
    assert_eq!(client.ask("DQ.LEN s"), "0");
}

#[test]
fn a_full_server_refuses_what_adds_and_lets_itself_be_drained() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done(&format!("ZADD s {PAST} a {} b", PAST + 1));
    client.done("CONFIG SET maxmemory 1");
    for line in
        ["DQ.PUSH s m ZSET", "DQ.MPUSH s DELAY ZSET 0 * m", "DQ.MOVE s list", "DQ.MOVE s list BLOCK 1"]
    {
        let error = client.refused(line);
        assert!(error.starts_with("OOM "), "{line}: {error}");
    }
    assert_eq!(claimed(client, "s COUNT 5"), ["a", "b"]);
}
