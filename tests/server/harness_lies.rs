//! Fear: the harness itself is wrong, and every other test believes it.
//!
//! These run against a server without the module.

use crate::harness::aof::{self, AOF};
use crate::harness::dump::{crc64, seal, split_footer};
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::faked_clock::FakedClock;
use crate::harness::replica::{follow, promote, wait_in_step};
use crate::harness::reply::Reply;
use crate::harness::server::{Server, Setup};
use crate::harness::wire::read_reply;

fn bare_server(lines: &[&str]) -> Server {
    Setup::default().without_module().lines(lines).start()
}

#[test]
fn every_wire_form_is_told_apart() {
    let mut wire: &[u8] = b"*9\r\n$-1\r\n*-1\r\n_\r\n:-7\r\n+OK\r\n$3\r\na\r\n\r\n%1\r\n+k\r\n:1\r\n-ERR \xff no\r\n$2\r\n12\r\n";
    let reply = read_reply(&mut wire).unwrap();
    let items = reply.items();
    assert_eq!(items[0], Reply::NullBulk);
    assert_eq!(items[1], Reply::NullArray);
    assert_eq!(items[2], Reply::Null);
    assert_eq!(reply, r#"[nil nil nil -7 OK "a\r\n" {k: 1} (error) ERR \xff no "12"]"#);
    assert!(wire.is_empty());
}

#[test]
fn the_checksum_is_that_of_the_server() {
    assert_eq!(crc64(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
    let server = bare_server(&[]);
    let mut client = server.connect();
    client.done("RPUSH list one two three");
    let payload = client.done("DUMP list").bytes().to_vec();
    assert_eq!(seal(payload.clone()), payload);

    let (value, footer) = split_footer(&payload);
    let place = value.windows(3).position(|bytes| bytes == b"two").unwrap();
    let mut damaged = [value, footer].concat();
    damaged[place] = b'T';
    let refused = client.call(&[b"RESTORE", b"copy".as_slice(), b"0", &damaged]);
    assert!(refused.is_error(), "{refused}");
    assert_eq!(client.call(&[b"RESTORE", b"copy".as_slice(), b"0", &seal(damaged)]), "OK");
    assert_eq!(client.ask("LRANGE copy 0 -1"), "[one Two three]");
}

#[test]
fn the_aof_is_read_whole_with_and_without_preamble_and_after_a_rewrite() {
    for preamble in ["yes", "no"] {
        let mut lines = AOF.to_vec();
        let directive = format!("aof-use-rdb-preamble {preamble}");
        lines.push(&directive);
        let mut server = bare_server(&lines);
        let mut client = server.connect();
        client.done("SET before 1");
        assert_eq!(aof::lines(&server), ["SET before 1"]);
        aof::rewrite(&server);
        let written = aof::lines_written_by(&server, |client| {
            client.call(&[b"SET".as_slice(), b"after", b"\r\n\xff"]);
        });
        assert_eq!(written, [r#"SET after "\r\n\xff""#]);
        server.kill();
        server.start_again();
        assert_eq!(server.connect().ask("GET before"), "\"1\"");
        assert_eq!(server.connect().ask("GET after"), r#""\r\n\xff""#);
    }
}

#[test]
fn a_replica_follows_and_can_be_promoted() {
    let master = Setup::default().without_module().listening().start();
    let replica = Setup::default().without_module().listening().start();
    master.connect().done("SET a 1");
    follow(&replica, &master);
    assert_eq!(replica.connect().ask("GET a"), "\"1\"");
    master.connect().done("SET a 2");
    wait_in_step(&replica, &master);
    assert_eq!(replica.connect().ask("GET a"), "\"2\"");
    assert!(replica.connect().refused("SET a 3").starts_with("READONLY"));
    promote(&replica);
    replica.connect().done("SET a 3");
}

#[test]
fn a_faked_clock_steps_forward_and_back() {
    let Some(clock) = FakedClock::find("a_faked_clock_steps_forward_and_back") else { return };
    let Ok(server) = clock.on(Setup::default().without_module()).try_start() else {
        return eprintln!("skipped: this server does not start under faketime");
    };
    let mut client = server.connect();
    let start = client.now();
    clock.set(3600);
    eventually("the clock is an hour ahead", DEADLINE, || client.now() >= start + 3_600_000);
    clock.set(-3600);
    eventually("the clock is an hour behind", DEADLINE, || client.now() < start);
}

#[test]
fn a_killed_server_is_started_again_on_the_same_files() {
    let mut server = bare_server(&[]);
    server.connect().done("SET a 1");
    server.shut_down("SAVE");
    assert!(!server.is_alive());
    server.start_again();
    assert_eq!(server.connect().ask("GET a"), "\"1\"");
    server.kill();
    server.start_again();
    assert!(server.is_alive());
    assert_eq!(server.connect().ask("GET a"), "\"1\"");
}
