//! Fear: the server's own instruments do not show which command was slow, failed or was sent: SLOWLOG, LATENCY, the
//! statistics of commands and errors, MONITOR.

use crate::harness::client::Client;
use crate::harness::server::Server;

/// One of a kind: a writer, a reader, one that calls a command of the server, one that fails.
const LINES: [&str; 6] = [
    "DQ.PUSH q m ID a AT 1600000000000",
    "DQ.GET q a",
    "DQ.MOVE q list",
    "dq.claim q COUNT 5",
    "DQ.PAUSE none",
    "DQ.CLAIM q COUNT x",
];

fn work(client: &mut Client) {
    LINES.iter().for_each(|line| drop(client.ask(line)));
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

#[test]
fn the_slow_log_shows_the_commands_as_they_were_sent() {
    let server = Server::with(&["slowlog-log-slower-than 0"]);
    let client = &mut server.connect();
    work(client);
    let entries = client.done("SLOWLOG GET 100");
    let logged = entries.items().iter().map(|entry| entry.items()[3].items());
    let mut logged: Vec<Vec<String>> =
        logged.map(|arguments| arguments.iter().map(|word| word.string()).collect()).collect();
    logged.reverse();
    logged.retain(|arguments| arguments[0].to_uppercase().starts_with("DQ."));
    assert_eq!(logged, LINES.map(words));
}

#[test]
fn a_long_message_is_shortened_in_the_slow_log() {
    let server = Server::with(&["slowlog-log-slower-than 0"]);
    let client = &mut server.connect();
    client.call(&["DQ.PUSH", "q", &"x".repeat(1 << 20)]);
    let entries = client.done("SLOWLOG GET 100");
    let arguments = entries.items().iter().map(|entry| entry.items()[3].items());
    let push =
        arguments.into_iter().find(|arguments| arguments[0].bytes() == b"DQ.PUSH").expect("it is logged");
    assert!(push[2].bytes().len() < 1000, "{}", push[2].bytes().len());
}

#[test]
fn the_statistics_count_calls_and_failures_by_name() {
    let server = Server::start();
    let client = &mut server.connect();
    work(client);
    client.done("CONFIG RESETSTAT");
    work(client);
    for (name, calls, failed) in
        [("DQ.PUSH", 1, 0), ("DQ.GET", 1, 0), ("DQ.MOVE", 1, 0), ("DQ.CLAIM", 2, 1), ("DQ.PAUSE", 1, 1)]
    {
        let line = client.info("commandstats", &format!("cmdstat_{name}"));
        assert!(line.starts_with(&format!("calls={calls},usec=")), "{name}: {line}");
        assert!(line.ends_with(&format!(",failed_calls={failed}")), "{name}: {line}");
    }
    assert_eq!(client.info("errorstats", "errorstat_NOQUEUE"), "count=1");
    assert_eq!(client.info("errorstats", "errorstat_ERR"), "count=1");
}

#[test]
fn a_histogram_of_each_command_is_kept() {
    let server = Server::start();
    let client = &mut server.connect();
    work(client);
    let histogram = client.ask("LATENCY HISTOGRAM dq.push DQ.CLAIM");
    if histogram.is_error() {
        eprintln!("a_histogram_of_each_command_is_kept: skipped, this server keeps no histograms");
        return;
    }
    assert_eq!(histogram.field("DQ.PUSH").field("calls").int(), 1);
    assert_eq!(histogram.field("DQ.CLAIM").field("calls").int(), 2);
}

#[test]
fn a_monitor_sees_what_was_sent_and_what_a_move_calls_but_no_effects() {
    let server = Server::start();
    let monitor = &mut server.connect();
    monitor.done("MONITOR");
    let client = &mut server.connect();
    work(client);
    client.done("ECHO end");
    let mut seen = Vec::new();
    loop {
        let line = monitor.receive().expect("the monitor lives").string();
        let (_, command) = line.split_once("] ").expect("a time, a client and a command");
        if command == r#""ECHO" "end""# {
            break;
        }
        seen.push(command.replace('"', ""));
    }
    // What DQ.MOVE does to its destination it has the server do, and that is shown first.
    let native = seen.iter().position(|command| command == "RPUSH list m").expect("the list was written");
    assert_eq!(seen.get(native + 1).map(String::as_str), Some("DQ.MOVE q list"));
    seen.remove(native);
    assert_eq!(seen, LINES);
}
