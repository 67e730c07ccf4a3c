//! Fear: a number or word that was not understood is taken for "now", for "never" or for nothing.
//!
//! Refused means: an error that names the option, its range and the value, and no effect at all.

use crate::harness::client::Client;
use crate::harness::refusal::{line_refused_naming, refused_naming};
use crate::harness::server::Server;

const NO_NUMBERS: [&str; 14] = [
    "-1",
    "1.5",
    "1e3",
    "abc",
    "",
    " 10",
    "10 ",
    "+10",
    "0x10",
    "2030-01-01",
    "99999999999999999999",
    "-0",
    "18446744073709551616",
    "\u{0663}",
];

#[test]
fn a_delay_that_is_no_number_of_the_range_is_refused() {
    let server = Server::start();
    let client = &mut server.connect();
    for bad in NO_NUMBERS {
        refused_naming(client, &["DQ.PUSH", "q", "m", "DELAY", bad], &["DELAY", "must be"]);
        refused_naming(client, &["DQ.MPUSH", "q", "DELAY", bad, "a", "m"], &["must be"]);
    }
    for bad in ["-1", "1.5", "abc", "1000000000001"] {
        refused_naming(client, &["DQ.PUSH", "q", "m", "DELAY", bad], &[bad, "1000000000000"]);
    }
    assert_eq!(client.ask("EXISTS q"), "0");
}

#[test]
fn a_delay_that_looks_like_a_unix_time_is_told_to_use_at() {
    let server = Server::start();
    let client = &mut server.connect();
    line_refused_naming(client, "DQ.PUSH q m DELAY 1700000000000", &["DELAY", "1700000000000", "AT"]);
    line_refused_naming(client, "DQ.MPUSH q DELAY 1700000000000 a m", &["1700000000000", "AT"]);
}

#[test]
fn a_unix_time_outside_the_range_is_refused() {
    let server = Server::start();
    let client = &mut server.connect();
    for bad in NO_NUMBERS {
        refused_naming(client, &["DQ.PUSH", "q", "m", "AT", bad], &["AT", "must be"]);
        refused_naming(client, &["DQ.MPUSH", "q", "AT", bad, "a", "m"], &["must be"]);
    }
    line_refused_naming(client, "DQ.PUSH q m AT 9007199254740992", &["AT", "9007199254740992"]);
    line_refused_naming(client, "DQ.PUSH q m AT 9223372036854775807", &["AT", "9223372036854775807"]);
    line_refused_naming(client, "DQ.PUSH q m AT 9223372036854775808", &["AT", "9223372036854775808"]);
}

#[test]
fn a_unix_time_in_seconds_is_refused_and_the_error_says_so() {
    let server = Server::start();
    let client = &mut server.connect();
    for seconds in ["1700000000", "0", "1", "99999999999"] {
        line_refused_naming(client, &format!("DQ.PUSH q m AT {seconds}"), &["AT", seconds, "seconds"]);
        line_refused_naming(client, &format!("DQ.MPUSH q AT {seconds} a m"), &[seconds, "seconds"]);
    }
}

#[test]
fn the_ends_of_each_range_are_inside() {
    let server = Server::start();
    let client = &mut server.connect();
    for (id, options, due) in [
        ("first", "AT 100000000000", 100_000_000_000_u64),
        ("last", "AT 9007199254740991", 9_007_199_254_740_991),
        ("past", "AT 1600000000000 PRIORITY 255", 1_600_000_000_000),
        ("ttl", "AT 1600000000000 PRIORITY 0 TTL 1000000000000", 1_600_000_000_000),
    ] {
        assert_eq!(client.ask(&format!("DQ.PUSH q m ID {id} {options}")), format!("[{id} created]"));
        let job = client.ask(&format!("DQ.GET q {id}"));
        assert_eq!(*job.field("due"), due.to_string(), "{job}");
    }
    assert_eq!(*client.ask("DQ.GET q ttl").field("expires"), "2600000000000");
}

#[test]
fn a_delay_counts_from_the_servers_clock_to_the_millisecond() {
    let server = Server::start();
    let client = &mut server.connect();
    let delays = [
        0,
        1,
        2_147_483_647,
        2_147_483_648,
        4_294_967_295,
        4_294_967_296,
        2_160_000_000,
        4_320_000_000,
        315_360_000_000,
        1_000_000_000_000,
    ];
    for delay in delays {
        let before = client.now();
        client.done(&format!("DQ.PUSH q m ID d{delay} DELAY {delay}"));
        let after = client.now();
        let due = client.ask(&format!("DQ.GET q d{delay}")).field("due").int() as u64;
        assert!(
            before + delay <= due && due <= after + delay,
            "{before}+{delay} <= {due} <= {after}+{delay}"
        );
    }
}

#[test]
fn a_sum_outside_the_range_is_refused() {
    let server = Server::start();
    let client = &mut server.connect();
    line_refused_naming(client, "DQ.PUSH q m AT 9007199254740991 TTL 1", &["TTL"]);
    line_refused_naming(client, "DQ.MPUSH q AT TTL 1 9007199254740991 a m", &[]);
}

#[test]
fn priority_and_ttl_outside_their_range_are_refused() {
    let server = Server::start();
    let client = &mut server.connect();
    for bad in NO_NUMBERS {
        refused_naming(client, &["DQ.PUSH", "q", "m", "PRIORITY", bad], &["PRIORITY", "255"]);
        refused_naming(client, &["DQ.PUSH", "q", "m", "TTL", bad], &["TTL", "1000000000000"]);
    }
    line_refused_naming(client, "DQ.PUSH q m PRIORITY 256", &["PRIORITY", "255", "256"]);
    line_refused_naming(client, "DQ.PUSH q m TTL 1000000000001", &["TTL", "1000000000001"]);
    line_refused_naming(client, "DQ.MPUSH q DELAY PRIORITY 256 0 a m", &["PRIORITY", "256"]);
}

#[test]
fn an_id_has_1_to_1024_bytes() {
    let server = Server::start();
    let client = &mut server.connect();
    let longest = "x".repeat(1024);
    let too_long = "x".repeat(1025);
    assert_eq!(client.call(&["DQ.PUSH", "q", "m", "ID", &longest]), format!("[{longest} created]"));
    assert_eq!(
        client.call(&["DQ.MPUSH", "q", "DELAY", "0", &longest, "m"]),
        format!("[[{longest} waiting]]")
    );
    for bad in ["", &too_long] {
        refused_naming(client, &["DQ.PUSH", "q", "m", "ID", bad], &["id", "1024"]);
        refused_naming(client, &["DQ.MPUSH", "q", "DELAY", "0", "a", "m", "0", bad, "m"], &["1024"]);
    }
    assert_eq!(client.ask("DQ.LEN q"), "1");
}

#[test]
fn a_star_is_never_an_id() {
    let server = Server::start();
    let client = &mut server.connect();
    let reply = client.ask("DQ.PUSH q m ID *");
    assert!(reply.is_error() || reply.items()[0].bytes() != b"*", "{reply}");
    let job = client.ask("DQ.GET q *");
    assert!(job.is_error() || job.is_null(), "{job}");
    let reply = client.done("DQ.MPUSH q DELAY 0 * m 0 * m");
    let ids: Vec<_> = reply.items().iter().map(|item| item.items()[0].string()).collect();
    assert_ne!(ids[0], ids[1]);
    for id in ids {
        let id = uuid::Uuid::parse_str(&id).unwrap();
        assert_eq!(id.get_version_num(), 7);
    }
}

#[test]
fn counts_and_leases_outside_their_range_are_refused() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m");
    for bad in NO_NUMBERS.into_iter().chain(["0", "10001"]) {
        refused_naming(client, &["DQ.CLAIM", "q", "COUNT", bad], &["COUNT", "10000"]);
        refused_naming(client, &["DQ.MOVE", "q", "l", "COUNT", bad], &["COUNT", "10000"]);
    }
    for bad in NO_NUMBERS.into_iter().chain(["1000000000001", "9223372036854775807"]) {
        refused_naming(client, &["DQ.CLAIM", "q", "LEASE", bad], &["LEASE", "1000000000000"]);
        refused_naming(client, &["DQ.MOVE", "q", "l", "AHEAD", bad], &["AHEAD", "1000000000000"]);
    }
    assert_eq!(client.ask("DQ.LEN q"), "1");
    assert_eq!(client.ask("EXISTS l"), "0");
}

#[test]
fn options_come_in_any_order_and_any_case() {
    let server = Server::start();
    let client = &mut server.connect();
    let options = ["ID {}", "AT 1600000000000", "PRIORITY 7", "TTL 1000000000000", "REPLACE"];
    for start in 0..options.len() {
        let turned = [&options[start..], &options[..start]].concat().join(" ");
        for line in [turned.clone(), turned.to_lowercase()] {
            let id = format!("{start}{}", &line[..1].to_lowercase());
            let line = format!("DQ.PUSH q m {}", line.replace("{}", &id));
            client.done(&line);
            let job = client.ask(&format!("DQ.GET q {id}"));
            assert_eq!(*job.field("due"), "1600000000000", "{line}");
            assert_eq!(*job.field("priority"), "7", "{line}");
            assert_eq!(*job.field("expires"), "2600000000000", "{line}");
        }
    }
    for line in ["LEASE 5 COUNT 3", "COUNT 3 LEASE 5", "count 3 lease 5"] {
        client.done(&format!("DQ.CLAIM q {line}"));
    }
    for line in ["COUNT 5 AHEAD 0 JSON RPUSH", "JSON RPUSH COUNT 5 AHEAD 0", "rpush json ahead 0 count 5"] {
        client.done(&format!("DQ.MOVE q l {line}"));
    }
}

#[test]
fn an_option_given_twice_or_against_another_is_refused() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in [
        "DQ.PUSH q m DELAY 1 DELAY 2",
        "DQ.PUSH q m DELAY 1 AT 1600000000000",
        "DQ.PUSH q m AT 1600000000000 DELAY 1",
        "DQ.PUSH q m ID a ID a",
        "DQ.PUSH q m REPLACE REPLACE",
        "DQ.PUSH q m REPLACE KEEPDUE KEEPDUE",
        "DQ.PUSH q m PRIORITY 1 PRIORITY 1",
        "DQ.PUSH q m TTL 1 TTL 1",
        "DQ.PUSH q m KEEPDUE",
        "DQ.PUSH q m ID a KEEPDUE DELAY 5",
        "DQ.CLAIM q COUNT 1 COUNT 1",
        "DQ.CLAIM q LEASE 1 LEASE 1",
        "DQ.MOVE q l RPUSH LPUSH",
        "DQ.MOVE q l RPUSH RPUSH",
        "DQ.MOVE q l COUNT 1 COUNT 1",
        "DQ.MOVE q l AHEAD 1 AHEAD 1",
        "DQ.MOVE q l JSON JSON",
        "DQ.MOVE q l XADD MAXLEN 100 MAXLEN 100",
        "DQ.MOVE q l RPUSH MAXLEN 100",
        "DQ.MOVE q l MAXLEN 100",
    ] {
        line_refused_naming(client, line, &[]);
    }
    assert_eq!(client.ask("DBSIZE"), "0");
}

#[test]
fn a_word_that_is_not_understood_is_a_syntax_error_that_names_it() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in [
        "DQ.PUSH q m BOGUS",
        "DQ.PUSH q m DELAY 5 BOGUS",
        "DQ.PUSH q m BOGUS 5",
        "DQ.MPUSH q BOGUS 5 a m",
        "DQ.CLAIM q BOGUS",
        "DQ.CLAIM q COUNT 1 BOGUS 1",
        "DQ.MOVE q l BOGUS",
        "DQ.MOVE q l RPUSH COUNT 1 BOGUS",
    ] {
        line_refused_naming(client, line, &["syntax error", "BOGUS"]);
    }
    refused_naming(client, &[b"DQ.PUSH".as_slice(), b"q", b"m", b"\xff\x00%s%n\r\n"], &["syntax error"]);
}

#[test]
fn a_word_without_its_partner_is_a_syntax_error() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in [
        "DQ.PUSH q m ID",
        "DQ.PUSH q m REPLACE DELAY",
        "DQ.PUSH q m AT",
        "DQ.PUSH q m PRIORITY",
        "DQ.PUSH q m TTL",
        "DQ.CLAIM q COUNT",
        "DQ.CLAIM q COUNT 1 LEASE",
        "DQ.MOVE q l COUNT",
        "DQ.MOVE q l RPUSH AHEAD",
        "DQ.MOVE q l XADD MAXLEN",
    ] {
        line_refused_naming(client, line, &["syntax error"]);
    }
}

#[test]
fn too_few_and_too_many_words_are_refused() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in [
        "DQ.PUSH",
        "DQ.PUSH q",
        "DQ.MPUSH",
        "DQ.MPUSH q",
        "DQ.MPUSH q DELAY",
        "DQ.CLAIM",
        "DQ.ACK",
        "DQ.ACK q",
        "DQ.CANCEL",
        "DQ.CANCEL q",
        "DQ.MOVE",
        "DQ.MOVE q",
        "DQ.LEN",
        "DQ.LEN q q",
        "DQ.GET",
        "DQ.GET q",
        "DQ.GET q a b",
        "DQ.APPLY",
        "DQ.APPLY q",
        "DQ.APPLY q 1",
    ] {
        line_refused_naming(client, line, &["wrong number of arguments"]);
    }
    for line in [
        "DQ.MPUSH q DELAY 0 a",
        "DQ.MPUSH q DELAY 0 a m 0",
        "DQ.MPUSH q DELAY 0 a m 0 b",
        "DQ.MPUSH q AT REPLACE",
    ] {
        line_refused_naming(client, line, &[]);
    }
}

#[test]
fn a_malformed_receipt_refuses_the_whole_command() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a");
    let receipt = client.done("DQ.CLAIM q LEASE 1000000").items()[0].items()[4].string();
    let good = receipt.as_str();
    for bad in
        ["", "-", "a", "5", "5-", "-a", "x-a", "+5-a", " 5-a", "5.0-a", "18446744073709551616-a", "-5-a"]
    {
        refused_naming(client, &["DQ.ACK", "q", good, bad], &[]);
        refused_naming(client, &["DQ.ACK", "q", bad, good], &[]);
        refused_naming(client, &["DQ.ACK", "missing", bad], &[]);
    }
    let long_id = format!("5-{}", "x".repeat(1025));
    refused_naming(client, &["DQ.ACK", "q", good, &long_id], &[]);
    assert_state(client, "q", "a", "claimed");
    assert_eq!(client.call(&["DQ.ACK", "q", good]), "[1]");
}

#[track_caller]
fn assert_state(client: &mut Client, key: &str, id: &str, state: &str) {
    assert_eq!(*client.ask(&format!("DQ.GET {key} {id}")).field("state"), state);
}
