//! Fear: a file that ends in the middle, as after a full disk, is not loaded, or loaded by half a transaction.
//!
//! What a damaged value does to the loader is shown in `damaged_payload`: an RDB file is not damaged here, since
//! the checker that Redis 7.0 runs on a bad one does not end at the file's end.

use crate::harness::aof::AOF;
use crate::harness::client::Client;
use crate::harness::digest::digest;
use crate::harness::queue::push_many;
use crate::harness::server::Server;
use std::fs;

fn work(client: &mut Client) {
    push_many(client, "q", "j", 50, 1_600_000_000_000);
    client.done("DQ.CLAIM q COUNT 5 LEASE 100000000");
    client.done("DQ.MOVE q list COUNT 5");
    client.done("DQ.MOVE q other PUSH COUNT 5");
}

#[test]
fn an_aof_that_ends_in_the_middle_loads_up_to_there() {
    let mut server = Server::with(&AOF);
    work(&mut server.connect());
    let folder = server.directory().join("appendonlydir");
    let increment = fs::read_dir(&folder).ok().and_then(|entries| {
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths.find(|path| path.to_str().unwrap().ends_with(".incr.aof"))
    });
    let file = increment.unwrap_or_else(|| server.directory().join("appendonly.aof"));
    server.kill();
    let intact = fs::read(&file).unwrap();
    for left in [1, 20, 200, 400] {
        fs::write(&file, &intact[..intact.len() - left]).unwrap();
        server.start_again();
        let client = &mut server.connect();
        let moved = client.ask("LLEN list").int() + client.ask("DQ.LEN other").int();
        assert_eq!(client.ask("DQ.LEN q").int() + moved, 50, "a transaction was replayed by half");
        digest(client, "q");
        server.kill();
    }
}
