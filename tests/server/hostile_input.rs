//! Fear: some input kills the server, or is stored as something else than what was sent.
//!
//! Every argument place of every command gets every kind of hostile bytes. The answer may be an error or a
//! success; the server must live, its connection must stay in step, and what it stored must be what it got.

use crate::harness::client::Client;
use crate::harness::queue::claim_one;
use crate::harness::random::Random;
use crate::harness::server::Server;
use crate::harness::wire::encode;

const MIB: usize = 1 << 20;

/// Bytes that have killed servers, or that a careless reader takes for something else.
fn hostile() -> Vec<Vec<u8>> {
    let small: [&[u8]; 16] = [
        b"",
        b"\0",
        b"a\0b",
        b"\r\n",
        b"+OK\r\n-ERR injected\r\n",
        b"%s%n%s%n%x",
        b"{}",
        b"{0} {:?}",
        b"\xff\xfe\xfd",
        b"\xc3\x28",
        b"\xed\xa0\x80",
        b"*",
        b"-",
        b"-1",
        b"18446744073709551615",
        b"NaN",
    ];
    let mut all: Vec<Vec<u8>> = small.iter().map(|bytes| bytes.to_vec()).collect();
    all.push(vec![b'x'; 65_536]);
    all.push(vec![b'9'; 65_536]);
    all.push(vec![0xff; 65_536]);
    all
}

/// One good form of every command, with every option in it.
const FORMS: [&str; 27] = [
    "DQ.PUSH q m DELAY 0 ID a REPLACE KEEPDUE PRIORITY 1 TTL 1000000",
    "DQ.PUSH q m AT 1600000000000 ID b",
    "DQ.MPUSH q DELAY REPLACE PRIORITY 1 TTL 1000000 0 a m 0 b m",
    "DQ.MPUSH q AT 1600000000000 c m",
    "DQ.CLAIM q COUNT 2 LEASE 1000",
    "DQ.ACK q 5-a 6-b",
    "DQ.CANCEL q a b",
    "DQ.MOVE q list RPUSH COUNT 1 AHEAD 5 JSON",
    "DQ.MOVE q stream XADD MAXLEN 100 COUNT 1",
    "DQ.MOVE q zset ZADD COUNT 1",
    "DQ.MOVE q other PUSH COUNT 1",
    "DQ.NACK q DELAY 0 ERROR text 5-a 6-b",
    "DQ.NACK q ERROR text UNUSED 5-a",
    "DQ.EXTEND q LEASE 1000 5-a 6-b",
    "DQ.RESCHEDULE q a DELAY 5",
    "DQ.RESCHEDULE q b AT 1600000000000",
    "DQ.REDRIVE q DELAY 0 ID a b",
    "DQ.REDRIVE q COUNT 5",
    "DQ.POLICY q LEASE 5 MAXATTEMPTS 3 BACKOFF 1000 2 5000 10 DEADMAX UNLIMITED TTL 1000000",
    "DQ.PAUSE q 5",
    "DQ.PURGE q DEAD COUNT 5",
    "DQ.PEEK q WAITING COUNT 5 FROM 5-5",
    "DQ.INFO q",
    "DQ.LEN q",
    "DQ.GET q a",
    "DQ.APPLY q 1 PUT a m 1600000000000 PRIORITY 1 EXPIRES 4102444800000 ATTEMPTS 1 LEASE 1600000000000 5 1 a ERROR a text BURY a nacked 5",
    "DQ.APPLY q 1 POLICY 1 2 3 4 5 6 7 8 PAUSE 0 REDRIVE 5 1 a RESCHEDULE a 5 EXPIRES 9 EXTEND 5 1 a RELEASE a 5 1 REMOVE acked 1 a LOAD x",
];

#[test]
fn no_bytes_in_any_place_of_any_command_kill_the_server() {
    let server = Server::start();
    let client = &mut server.connect();
    let kinds = hostile();
    for form in FORMS {
        let good: Vec<&[u8]> = form.split(' ').map(str::as_bytes).collect();
        for place in 1..good.len() {
            for bytes in &kinds {
                let mut words = good.clone();
                words[place] = bytes;
                // An error or a success, but a whole reply; `call` fails on anything else.
                client.call(&words);
                assert_eq!(
                    client.ask("PING"),
                    "PONG",
                    "after {form}, place {place}, {}",
                    bytes.escape_ascii()
                );
            }
        }
        client.done("FLUSHALL");
    }
}

#[test]
fn no_bytes_in_place_of_a_whole_option_kill_the_server() {
    let server = Server::start();
    let client = &mut server.connect();
    for form in FORMS {
        let good: Vec<&[u8]> = form.split(' ').map(str::as_bytes).collect();
        for bytes in hostile() {
            for place in 1..=good.len() {
                let mut words = good.clone();
                words.insert(place, &bytes);
                client.call(&words);
            }
            for length in 1..good.len() {
                client.call(&good[..length]);
            }
            assert_eq!(client.ask("PING"), "PONG", "after {form}");
        }
    }
}

#[test]
fn sixteen_mebibytes_in_every_place_are_taken_or_refused() {
    let server = Server::start();
    let client = &mut server.connect();
    let huge = Random::seeded(16).bytes(16 * MIB);
    for form in FORMS {
        let good: Vec<&[u8]> = form.split(' ').map(str::as_bytes).collect();
        for place in 1..good.len() {
            let mut words = good.clone();
            words[place] = &huge;
            client.call(&words);
            assert_eq!(client.ask("PING"), "PONG", "after {form}, place {place}");
        }
        client.done("FLUSHALL");
    }
}

#[test]
fn what_was_taken_is_given_back_byte_for_byte() {
    let server = Server::start();
    let client = &mut server.connect();
    for bytes in hostile() {
        let message = client.call(&[b"DQ.PUSH".as_slice(), b"q", &bytes, b"ID", b"fixed", b"REPLACE"]);
        assert_eq!(message.items()[0], "fixed");
        assert_eq!(claim_one(client, "q").message, bytes);
        let pushed = client.call(&[b"DQ.PUSH".as_slice(), b"q", b"m", b"ID", &bytes]);
        if pushed.is_error() {
            let is_no_id = bytes.is_empty() || bytes.len() > 1024 || bytes == b"*";
            assert!(is_no_id, "{} is a good id: {pushed}", bytes.escape_ascii());
            continue;
        }
        if bytes == b"*" {
            claim_one(client, "q");
            continue;
        }
        assert_eq!(pushed.items()[0].bytes(), bytes);
        let job = client.call(&[b"DQ.GET".as_slice(), b"q", &bytes]);
        assert_eq!(job.field("id").bytes(), bytes);
        let claimed = claim_by_bytes(client);
        assert_eq!(claimed.0, bytes);
        let mut receipt = claimed.1.clone();
        assert!(receipt.ends_with(&bytes), "{}", receipt.escape_ascii());
        assert_eq!(client.call(&[b"DQ.ACK".as_slice(), b"q", &receipt]), "[1]");
        receipt.push(b'x');
        assert_eq!(client.call(&[b"DQ.ACK".as_slice(), b"q", &receipt]), "[0]");
        assert_eq!(client.call(&[b"DQ.CANCEL".as_slice(), b"q", &bytes]), "[nil]");
    }
    assert_eq!(client.ask("DQ.LEN q"), "0");
}

#[test]
fn an_error_never_breaks_out_of_its_line() {
    let server = Server::start();
    let forms: [&[&[u8]]; 5] = [
        &[b"DQ.PUSH", b"q", b"m", b"DELAY", b"5\r\n+OK\r\n"],
        &[b"DQ.PUSH", b"q", b"m", b"BAD\r\n-ERR two\r\n"],
        &[b"DQ.ACK", b"q", b"x\r\n:1\r\n"],
        &[b"DQ.CLAIM", b"q", b"COUNT", b"\r\n\r\n"],
        &[b"DQ.APPLY", b"q", b"1", b"NO\r\n+OK\r\n"],
    ];
    for words in forms {
        let mut sent = encode(words);
        sent.extend(encode(&["PING"]));
        let answer = server.connect().exchange_raw(&sent);
        let text = answer.escape_ascii().to_string();
        assert!(answer.starts_with(b"-") && answer.ends_with(b"\r\n+PONG\r\n"), "{text}");
        assert_eq!(answer.windows(2).filter(|pair| pair == b"\r\n").count(), 2, "{text}");
    }
}

#[test]
fn broken_protocol_around_a_command_does_not_reach_the_module() {
    let server = Server::start();
    let inputs: [&[u8]; 6] = [
        b"*3\r\n$7\r\nDQ.PUSH\r\n$1\r\nq\r\n$5\r\nm\r\n",
        b"*2\r\n$6\r\nDQ.LEN\r\n$-1\r\n",
        b"*-1\r\n",
        b"DQ.PUSH q inline-message\r\n",
        b"DQ.PUSH q \"unbalanced\r\n",
        b"*1000000000\r\n$7\r\nDQ.PUSH\r\n",
    ];
    for input in inputs {
        server.connect().exchange_raw(input);
        assert_eq!(server.connect().ask("PING"), "PONG");
    }
    assert_eq!(server.connect().ask("DQ.LEN q"), "1", "the inline push was whole");
}

#[test]
fn deeply_nested_json_does_not_exhaust_the_stack() {
    let server = Server::start();
    let client = &mut server.connect();
    for message in
        ["[".repeat(MIB), "{\"a\":".repeat(100_000), format!("{}{}", "[".repeat(50_000), "]".repeat(50_000))]
    {
        client.call(&["DQ.PUSH", "q", &message]);
        assert_eq!(client.ask("DQ.MOVE q list JSON"), "1");
        assert_eq!(client.ask("PING"), "PONG");
    }
    assert_eq!(client.ask("LLEN list"), "3");
}

#[test]
fn random_words_do_not_kill_the_server() {
    let server = Server::start();
    let client = &mut server.connect();
    let random = &mut Random::announced("random_words_do_not_kill_the_server");
    let words: Vec<Vec<u8>> =
        FORMS.iter().flat_map(|form| form.split(' ')).map(|word| word.as_bytes().to_vec()).collect();
    let commands: Vec<&str> = FORMS.iter().map(|form| form.split(' ').next().unwrap()).collect();
    for _ in 0..5000 {
        let mut command =
            vec![commands[random.below(commands.len() as u64) as usize].as_bytes().to_vec(), b"q".to_vec()];
        for _ in 0..random.below(8) {
            let noise = random.below(8) == 0;
            let length = random.below(12) as usize;
            let word = if noise {
                random.bytes(length)
            } else {
                words[random.below(words.len() as u64) as usize].clone()
            };
            command.push(word);
        }
        client.call(&command);
    }
    assert_eq!(client.ask("PING"), "PONG");
}

/// The id and the receipt, as bytes that need not be text.
fn claim_by_bytes(client: &mut Client) -> (Vec<u8>, Vec<u8>) {
    let reply = client.done("DQ.CLAIM q LEASE 1000000");
    let job = &reply.items()[0];
    (job.items()[0].bytes().to_vec(), job.items()[4].bytes().to_vec())
}
