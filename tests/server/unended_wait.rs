//! Fear: a wait ends in another way than with a job, and something of it stays: a client counted as waiting, a job given to
//! nobody, memory, or half a reply.

use crate::harness::client::Client;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::server::{Server, Setup};
use crate::harness::waiting::{Waiting, rounds, until_waiting, waiting};
use crate::harness::wire::encode;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;

const LINES: [&str; 4] = [
    "DQ.CLAIM q BLOCK 0",
    "DQ.CLAIM q COUNT 5 LEASE 100000 BLOCK 100000",
    "DQ.MOVE q list BLOCK 0",
    "DQ.MOVE q list AHEAD 5 BLOCK 90000",
];

/// After a wait has ended nobody is counted, and the next who waits gets the next job.
#[track_caller]
fn nothing_stays(server: &Server) {
    until_waiting(server, 0);
    let mut next = Waiting::start(server, "DQ.CLAIM q BLOCK 0");
    server.connect().done("DQ.PUSH q next DELAY 5");
    assert_eq!(next.message(), "next");
    assert_eq!(server.connect().ask("DQ.LEN q"), "0");
}

#[test]
fn the_end_of_the_time_is_a_null() {
    let server = Server::start();
    for line in ["DQ.CLAIM q BLOCK 20", "DQ.MOVE q list BLOCK 20"] {
        let mut client = server.connect();
        client.send_line(line);
        let mut bytes = [0; 5];
        client.read_bytes(&mut bytes);
        assert_eq!(&bytes, b"*-1\r\n", "{line}");
        client.speak_resp3();
        client.send_line(line);
        let mut bytes = [0; 3];
        client.read_bytes(&mut bytes);
        assert_eq!(&bytes, b"_\r\n", "{line}");
        assert_eq!(client.ask("PING"), "PONG");
        nothing_stays(&server);
    }
}

#[test]
fn many_waits_on_one_key_end_each_at_its_time() {
    let server = Server::start();
    let mut clients: Vec<Client> = (0..100).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send_line(&format!("DQ.CLAIM q BLOCK {}", 1 + number * 37 % 100));
    }
    for client in &mut clients {
        assert!(client.receive_within(DEADLINE).unwrap().is_null());
    }
    nothing_stays(&server);
}

#[test]
fn client_unblock_ends_a_wait_as_it_says() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in LINES {
        for (how, expected) in [
            ("", "nil"),
            ("TIMEOUT", "nil"),
            ("ERROR", "(error) UNBLOCKED client unblocked via CLIENT UNBLOCK"),
        ] {
            let mut ended = Waiting::start(&server, line);
            assert_eq!(client.ask(&format!("CLIENT UNBLOCK {} {how}", ended.id())), "1");
            assert_eq!(ended.reply(), expected, "{line} {how}");
            assert_eq!(ended.into_client().ask("PING"), "PONG");
            nothing_stays(&server);
        }
    }
}

#[test]
fn a_killed_client_leaves_nothing() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in LINES {
        let mut killed = Waiting::start(&server, line);
        assert_eq!(client.ask(&format!("CLIENT KILL ID {}", killed.id())), "1");
        assert!(killed.is_closed());
        nothing_stays(&server);
    }
}

#[test]
fn a_client_that_goes_away_leaves_nothing() {
    let server = Server::start();
    for line in LINES {
        drop(Waiting::start(&server, line));
        nothing_stays(&server);
    }
}

/// A connection whose client waits, made by hand: over TCP, or to be ended in a way of its own.
fn wait_by_hand<S: Read + Write>(server: &Server, mut stream: S, line: &str) -> S {
    let watcher = &mut server.connect();
    let before = waiting(watcher);
    stream.write_all(b"PING\r\n").unwrap();
    stream.write_all(&encode(&line.split(' ').collect::<Vec<_>>())).unwrap();
    eventually("the client waits", DEADLINE, || waiting(watcher) > before);
    stream
}

#[test]
fn a_reset_connection_leaves_nothing() {
    let server = Setup::default().listening().start();
    for line in LINES {
        // A socket that is closed before its input is read is reset: the server gets no regular end.
        let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        drop(wait_by_hand(&server, stream, line));
        nothing_stays(&server);
    }
}

#[test]
fn a_connection_that_is_half_closed_leaves_nothing() {
    let server = Server::start();
    for line in LINES {
        let stream = UnixStream::connect(server.directory().join("socket")).unwrap();
        let stream = wait_by_hand(&server, stream, line);
        stream.shutdown(Shutdown::Write).unwrap();
        nothing_stays(&server);
    }
}

#[test]
fn a_reset_command_comes_after_the_wait() {
    let server = Server::start();
    let mut ended = Waiting::start(&server, "DQ.CLAIM q BLOCK 300");
    assert!(ended.reply().is_null());
    let mut client = ended.into_client();
    client.send_line("DQ.CLAIM q BLOCK 0");
    client.send_line("RESET");
    until_waiting(&server, 1);
    server.connect().done("DQ.PUSH q m");
    assert_eq!(client.receive().unwrap().items()[0].items()[1], "m");
    assert_eq!(client.receive().unwrap(), "RESET");
    nothing_stays(&server);
}

#[test]
fn a_master_that_becomes_a_replica_tells_who_waits() {
    let master = Setup::default().listening().start();
    let server = Server::start();
    for line in LINES {
        let mut ended = Waiting::start(&server, line);
        let client = &mut server.connect();
        client.done(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
        let reply = ended.reply();
        assert!(reply.error().starts_with("UNBLOCKED"), "{line}: {reply}");
        client.done("REPLICAOF NO ONE");
        nothing_stays(&server);
    }
}

#[test]
fn a_server_that_stops_lets_who_waits_go() {
    let mut server = Setup::default().lines(&["appendonly yes"]).start();
    server.connect().done("DQ.PUSH q m ID a DELAY 3600000");
    let mut waiting: Vec<Waiting> = LINES.iter().map(|line| Waiting::start(&server, line)).collect();
    server.shut_down("NOSAVE");
    assert!(waiting.iter_mut().all(Waiting::is_closed));
    server.start_again();
    assert_eq!(server.connect().ask("DQ.LEN q"), "1");
    server.connect().done("DEL q");
    nothing_stays(&server);
}

/// One wait and its end, of every kind in turn.
fn end_one(server: &Server, client: &mut Client, number: usize) {
    let mut waiting = server.connect();
    let id = waiting.done("CLIENT ID").int();
    let key = format!("key{}", number % 17);
    waiting.send_line(&format!("DQ.CLAIM {key} LEASE 1000000 BLOCK {}", number % 2 * 3600_000));
    client.done("PING");
    match number % 5 {
        0 => drop(client.done(&format!("CLIENT KILL ID {id}"))),
        1 => drop(client.done(&format!("CLIENT UNBLOCK {id} TIMEOUT"))),
        2 => drop(client.done(&format!("CLIENT UNBLOCK {id} ERROR"))),
        3 => drop(waiting),
        _ => {
            client.done(&format!("DQ.PUSH {key} m"));
            waiting.receive_within(DEADLINE).unwrap();
            client.done(&format!("DEL {key}"));
        }
    }
}

#[test]
fn many_waits_leave_no_memory_behind() {
    let server = Server::start();
    let client = &mut server.connect();
    let used = |client: &mut Client| client.info("memory", "used_memory").parse::<i64>().unwrap();
    let run = |client: &mut Client, count: usize| {
        (0..count).for_each(|number| end_one(&server, client, number));
        until_waiting(&server, 0);
        eventually("the connections are gone", DEADLINE, || {
            client.info("clients", "connected_clients") == "1"
        });
    };
    run(client, 300);
    let before = used(client);
    let count = rounds(1500);
    run(client, count);
    // A waiter that stayed would be some hundred bytes.
    let grown = used(client) - before;
    assert!(grown < count as i64 * 20, "{count} waits left {grown} bytes");
}

#[test]
fn a_key_that_nobody_waits_for_any_more_costs_nothing() {
    let server = Server::start();
    let client = &mut server.connect();
    let used = |client: &mut Client| client.info("memory", "used_memory").parse::<i64>().unwrap();
    let wait_for_many = |client: &mut Client, prefix: &str| {
        let lines: Vec<String> =
            (0..2000).map(|number| format!("DQ.CLAIM {prefix}-{number} BLOCK 0")).collect();
        let mut clients: Vec<Waiting> = Vec::new();
        for chunk in lines.chunks(200) {
            clients.extend(chunk.iter().map(|line| Waiting::start(&server, line)));
            for waiting in clients.drain(..) {
                client.done(&format!("CLIENT KILL ID {}", waiting.id()));
            }
        }
        until_waiting(&server, 0);
        eventually("the connections are gone", DEADLINE, || {
            client.info("clients", "connected_clients") == "1"
        });
    };
    wait_for_many(client, "warm");
    let before = used(client);
    wait_for_many(client, "key");
    let grown = used(client) - before;
    assert!(grown < 2000 * 20, "2000 keys that were waited for left {grown} bytes");
}
