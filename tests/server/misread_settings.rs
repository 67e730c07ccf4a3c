//! Fear: a setting given when the module is loaded is ignored, or a wrong one is taken for something.

use crate::harness::queue::{claim, push_many};
use crate::harness::refusal::{line_refused_naming, refused_naming};
use crate::harness::server::{Server, Setup};

fn server(arguments: &str) -> Server {
    Setup::default().module_arguments(arguments).start()
}

#[test]
fn a_wrong_setting_keeps_the_server_from_starting() {
    for arguments in [
        "max-count",
        "max-count x",
        "max-count 0",
        "max-count -1",
        "max-reply-bytes x",
        "max-reply-bytes mb",
        "max-reply-bytes 0kb",
        "max-reply-bytes 1.5mb",
        "max-reply-bytes 1tb",
        "max-reply-bytes 1025gb",
        "max-reply-bytes 99999999999gb",
        "max-message-bytes 1e3",
        "max-message-bytes 5gb",
        "max-count 1kb",
        "policy-lease 1000000000001",
        "policy-max-attempts 65536",
        "policy-backoff-base -5",
        "policy-backoff-factor 0",
        "policy-backoff-max 99999999999999999999",
        "policy-backoff-jitter 101",
        "policy-dead-max 4294967296",
        "policy-ttl 1s",
        "dq.max-count 5",
        "no-such-setting 1",
        "max-count 5 no-such-setting 1",
    ] {
        let started = Setup::default().module_arguments(arguments).try_start();
        let log = started.err().unwrap_or_else(|| panic!("started with {arguments:?}"));
        let name = arguments.split(' ').rfind(|word| word.contains('-') && !word.starts_with('-')).unwrap();
        assert!(log.contains(name), "the log does not name {name}:\n{log}");
    }
}

#[test]
fn max_count_is_the_largest_count() {
    let server = server("max-count 5");
    let client = &mut server.connect();
    line_refused_naming(client, "DQ.CLAIM q COUNT 6", &["COUNT", "5", "6"]);
    line_refused_naming(client, "DQ.MOVE q list COUNT 6", &["COUNT", "5", "6"]);
    push_many(client, "q", "j", 10, 1_600_000_000_000);
    assert_eq!(claim(client, "q COUNT 5").len(), 5);
}

#[test]
fn a_reply_stops_after_the_job_that_passes_max_reply_bytes() {
    let server = server("max-reply-bytes 2500");
    let client = &mut server.connect();
    for number in 0..10 {
        client.call(&[
            "DQ.PUSH",
            "q",
            &"x".repeat(1000),
            "AT",
            &format!("{}", 1_600_000_000_000_u64 + number),
        ]);
    }
    assert_eq!(claim(client, "q COUNT 10 LEASE 100000000").len(), 3);
    assert_eq!(claim(client, "q COUNT 10").len(), 3);
    client.done("DEL q");
    for _ in 0..2 {
        client.call(&["DQ.PUSH", "q", &"x".repeat(5000)]);
    }
    assert_eq!(claim(client, "q COUNT 10").len(), 1, "never before the first");
}

#[test]
fn a_message_above_max_message_bytes_is_refused() {
    let server = server("max-message-bytes 1000");
    let client = &mut server.connect();
    let (largest, too_large) = ("x".repeat(1000), "x".repeat(1001));
    refused_naming(client, &["DQ.PUSH", "q", &too_large], &["1000", "1001"]);
    refused_naming(
        client,
        &["DQ.MPUSH", "q", "DELAY", "0", "a", "m", "0", "b", &too_large],
        &["1000", "1001"],
    );
    assert_eq!(client.ask("EXISTS q"), "0");
    assert_eq!(client.call(&["DQ.PUSH", "q", &largest, "ID", "a"]), "[a created]");
    assert_eq!(client.ask("PING"), "PONG");
}

#[test]
fn several_settings_are_given_at_once() {
    let server = server("max-count 2 max-message-bytes 10 max-reply-bytes 1000000");
    let client = &mut server.connect();
    line_refused_naming(client, "DQ.CLAIM q COUNT 3", &["2"]);
    line_refused_naming(client, "DQ.PUSH q 12345678901", &["10"]);
}

#[test]
fn bytes_can_be_given_with_a_unit() {
    for (value, bytes) in [("2kb", 2048), ("2K", 2000), ("2000b", 2000), ("2000", 2000), ("0002Kb", 2048)] {
        let server = server(&format!("max-message-bytes {value}"));
        let client = &mut server.connect();
        let (largest, too_large) = ("x".repeat(bytes), "x".repeat(bytes + 1));
        refused_naming(client, &["DQ.PUSH", "q", &too_large], &[&bytes.to_string()]);
        assert_eq!(client.call(&["DQ.PUSH", "q", &largest, "ID", "a"]), "[a created]", "{value}");
    }
}
