//! Fear: one command on a big queue keeps all other clients waiting.
//!
//! Five million jobs take gigabytes and minutes, so this runs only when DQ_LARGE=1 is set, with a release module
//! named in DQ_MODULE; it prints what it measured.

use crate::harness::client::Client;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::queue::PAST;
use crate::harness::server::Server;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const JOBS: u64 = 5_000_000;
const BATCH: u64 = 5000;
const WORST_PING: Duration = Duration::from_millis(50);

/// Pushes all jobs, without waiting for each batch's reply.
fn fill(client: &mut Client, key: &str) {
    for first in (0..JOBS).step_by((BATCH * 4) as usize) {
        let lines: Vec<String> = (0..4).map(|part| batch(key, first + part * BATCH)).collect();
        let replies = client.pipeline(&lines);
        assert!(replies.iter().all(|reply| !reply.is_error()), "{}", replies[0]);
    }
    assert_eq!(client.ask(&format!("DQ.LEN {key}")).int() as u64, JOBS);
}

/// A batch whose due times are spread over two weeks, in no order.
fn batch(key: &str, first: u64) -> String {
    let mut line = format!("DQ.MPUSH {key} AT");
    for number in first..first + BATCH {
        let due = PAST + number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 1_209_600_000;
        line += &format!(" {due} job-{number} message-of-some-forty-bytes-{number:012}");
    }
    line
}

/// Runs `work` while a second connection pings; returns how long `work` took and the longest ping.
fn longest_ping(server: &Server, work: impl FnOnce(&mut Client)) -> (Duration, Duration) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let pinger = scope.spawn(|| {
            let client = &mut server.connect();
            let mut longest = Duration::ZERO;
            let mut pings = 0;
            // A few more after the work is over: what it left to the server's own time counts too.
            while !done.load(Ordering::Relaxed) || pings < 1000 {
                let start = Instant::now();
                client.done("PING");
                longest = longest.max(start.elapsed());
                pings += 1;
            }
            longest
        });
        let start = Instant::now();
        work(&mut server.connect());
        let took = start.elapsed();
        done.store(true, Ordering::Relaxed);
        (took, pinger.join().unwrap())
    })
}

fn repeat(client: &mut Client, line: &str, times: usize) {
    for _ in 0..times {
        client.done(line);
    }
}

fn page_through(client: &mut Client, key: &str, pages: usize) {
    let mut cursor = "0".to_owned();
    for _ in 0..pages {
        let reply = client.done(&format!("DQ.PEEK {key} COUNT 1000 FROM {cursor}"));
        cursor = reply.items()[0].string();
    }
}

/// Deletes a queue and waits until most of its memory has been given back, by whatever thread.
fn free(client: &mut Client, line: &str) {
    let used = |client: &mut Client| client.info("memory", "used_memory").parse::<u64>().unwrap();
    let before = used(client);
    client.done(line);
    eventually("the memory is given back", DEADLINE, || used(client) + JOBS * 100 < before);
}

#[test]
fn no_command_on_five_million_jobs_stops_the_others_for_long() {
    if std::env::var("DQ_LARGE").as_deref() != Ok("1") {
        eprintln!("no_command_on_five_million_jobs_stops_the_others_for_long: skipped, DQ_LARGE is not 1");
        return;
    }
    let server = Server::start();
    let client = &mut server.connect();
    fill(client, "q");
    eprintln!("bytes of {JOBS} jobs: {}", client.ask("MEMORY USAGE q SAMPLES 0"));
    let mut slow = Vec::new();
    let mut measure = |name: &str, work: &mut dyn FnMut(&mut Client)| {
        let (took, ping) = longest_ping(&server, |client| work(client));
        eprintln!("{name:40} took {took:9.1?}, longest PING {ping:9.1?}");
        if ping >= WORST_PING {
            slow.push(format!("{name}: {ping:?}"));
        }
    };
    measure("nothing", &mut |client| repeat(client, "PING", 1000));
    measure("1,000 x INFO", &mut |client| repeat(client, "DQ.INFO q", 1000));
    measure("1,000 x LEN", &mut |client| repeat(client, "DQ.LEN q", 1000));
    measure("1,000 pages of 1,000", &mut |client| page_through(client, "q", 1000));
    measure("20 x CLAIM COUNT 10000 LEASE", &mut |client| {
        repeat(client, "DQ.CLAIM q COUNT 10000 LEASE 1000000000", 20)
    });
    measure("10 x PEEK CLAIMED COUNT 10000", &mut |client| {
        repeat(client, "DQ.PEEK q CLAIMED COUNT 10000", 10)
    });
    measure("20 x PURGE CLAIMED COUNT 10000", &mut |client| {
        repeat(client, "DQ.PURGE q CLAIMED COUNT 10000", 20)
    });
    measure("1,000 x PURGE WAITING", &mut |client| repeat(client, "DQ.PURGE q WAITING", 1000));
    measure("100 x PURGE WAITING COUNT 10000", &mut |client| {
        repeat(client, "DQ.PURGE q WAITING COUNT 10000", 100)
    });
    measure("POLICY, PAUSE, RESUME", &mut |client| {
        ["DQ.POLICY q DEADMAX 5", "DQ.PAUSE q", "DQ.RESUME q"]
            .iter()
            .for_each(|line| drop(client.done(line)));
    });
    fill(&mut server.connect(), "unlinked");
    fill(&mut server.connect(), "deleted");
    measure("UNLINK, until the memory is back", &mut |client| free(client, "UNLINK unlinked"));
    measure("DEL, until the memory is back", &mut |client| free(client, "DEL deleted"));
    assert!(slow.is_empty(), "{slow:?}");
}
