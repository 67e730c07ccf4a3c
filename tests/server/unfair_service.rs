//! Fear: who waits longest is not served first, or one who cannot use what came keeps it from those who can.

use crate::harness::client::Client;
use crate::harness::server::Server;
use crate::harness::waiting::{Waiting, rounds, slowly, until_past, until_waiting};
use std::collections::VecDeque;

fn claimers(server: &Server, count: usize) -> Vec<Waiting> {
    (0..count).map(|_| Waiting::start(server, "DQ.CLAIM q BLOCK 0")).collect()
}

#[test]
fn who_came_first_is_served_first() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut waiting = claimers(&server, 10);
    for (number, waiting) in waiting.iter_mut().take(5).enumerate() {
        client.done(&format!("DQ.PUSH q m{number} DELAY {}", number % 2 * 20));
        assert_eq!(waiting.message(), format!("m{number}"));
    }
    client.done("DQ.MPUSH q DELAY 20 a m5 20 b m6 20 c m7 20 d m8 20 e m9");
    for (number, waiting) in waiting.iter_mut().enumerate().skip(5) {
        assert_eq!(waiting.message(), format!("m{number}"));
    }
}

#[test]
fn whoever_waits_again_stands_behind_the_others() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut waiting: VecDeque<Waiting> = claimers(&server, 3).into();
    for number in 0..9 {
        client.done(&format!("DQ.PUSH q m{number} DELAY 10"));
        let mut first = waiting.pop_front().unwrap();
        assert_eq!(first.message(), format!("m{number}"));
        waiting.push_back(Waiting::on(first.into_client(), &server, "DQ.CLAIM q BLOCK 0"));
    }
}

#[test]
fn the_longest_waiter_takes_up_to_its_count_and_the_next_takes_on() {
    let server = Server::start();
    let client = &mut server.connect();
    for delay in [0, 30] {
        let mut three = Waiting::start(&server, "DQ.CLAIM q COUNT 3 BLOCK 0");
        let mut leased = Waiting::start(&server, "DQ.CLAIM q COUNT 2 LEASE 100000 BLOCK 0");
        let mut ten = Waiting::start(&server, "DQ.CLAIM q COUNT 10 BLOCK 0");
        let mut last = Waiting::start(&server, "DQ.CLAIM q COUNT 10 BLOCK 0");
        let items: Vec<String> = (0..7).map(|number| format!("{delay} id{number} m{number}")).collect();
        client.done(&format!("DQ.MPUSH q DELAY {}", items.join(" ")));
        assert_eq!(three.messages(), ["m0", "m1", "m2"]);
        assert_eq!(leased.messages(), ["m3", "m4"]);
        assert_eq!(ten.messages(), ["m5", "m6"]);
        until_waiting(&server, 1);
        client.done("DQ.PUSH q m7");
        assert_eq!(last.messages(), ["m7"], "nobody waits for a full count");
        client.done("DEL q");
    }
}

#[test]
fn one_of_five_hundred_gets_the_only_job() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut waiting = claimers(&server, 500);
    for (number, first) in waiting.iter_mut().enumerate().take(3) {
        client.done(&format!("DQ.PUSH q m{number} DELAY 20"));
        assert_eq!(first.message(), format!("m{number}"));
        until_waiting(&server, 499 - number as u64);
    }
    assert_eq!(client.ask("DQ.LEN q"), "0");
}

#[test]
fn many_jobs_of_one_millisecond_go_round_once_each() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut waiting: Vec<Waiting> =
        (0..50).map(|_| Waiting::start(&server, "DQ.CLAIM q COUNT 20 BLOCK 0")).collect();
    let at = client.now() + slowly(30);
    let items: Vec<String> = (0..1000).map(|number| format!("{at} id{number} m{number}")).collect();
    client.done(&format!("DQ.MPUSH q AT {}", items.join(" ")));
    let served: Vec<String> = waiting.iter_mut().flat_map(Waiting::messages).collect();
    let pushed: Vec<String> = (0..1000).map(|number| format!("m{number}")).collect();
    assert_eq!(served, pushed);
}

#[test]
fn another_type_serves_nobody_and_stops_nobody() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut claimer = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
    let mut mover = Waiting::start(&server, "DQ.MOVE q list BLOCK 0");
    let mut reader = Waiting::start(&server, "BLPOP q 0");
    let mut scored = Waiting::start(&server, "BZPOPMIN q 0");
    client.done("RPUSH q element");
    assert_eq!(reader.reply(), "[q element]");
    client.done("ZADD q 4102444800000 member");
    assert_eq!(scored.reply().items()[1], "member");
    for line in ["SET q string", "DEL q", "HSET q field value", "DEL q", "XADD q * field value", "DEL q"] {
        client.done(line);
        until_waiting(&server, 2);
    }
    client.done("DQ.PUSH q m1");
    assert_eq!(claimer.message(), "m1");
    client.done("DQ.PUSH q m2");
    assert_eq!(mover.reply(), "1");
}

#[test]
fn a_reader_of_lists_that_waits_longer_does_not_get_a_queue() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut reader = Waiting::start(&server, "BLPOP q 0");
    let mut claimer = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
    client.done("DQ.PUSH q m DELAY 20");
    assert_eq!(claimer.message(), "m");
    until_waiting(&server, 1);
    client.done("DEL q");
    client.done("RPUSH q element");
    assert_eq!(reader.reply(), "[q element]");
}

#[test]
fn a_full_memory_keeps_movers_waiting_and_serves_consumers() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut movers: Vec<Waiting> = (0..3)
        .map(|number| Waiting::start(&server, &format!("DQ.MOVE q list{number} COUNT 1 BLOCK 0")))
        .collect();
    let mut claimer = Waiting::start(&server, "DQ.CLAIM q BLOCK 0");
    let delay = slowly(300);
    let last = delay + 60;
    client.done(&format!("DQ.MPUSH q DELAY {delay} a m1 {delay} b m2 {delay} c m3 {last} d m4"));
    client.done("CONFIG SET maxmemory 1");
    assert_eq!(claimer.message(), "m1");
    let due = client.now() + last;
    until_past(client, due);
    until_waiting(&server, 3);
    client.done("CONFIG SET maxmemory 0");
    for (number, mover) in movers.iter_mut().enumerate() {
        assert_eq!(mover.reply(), "1");
        assert_eq!(client.ask(&format!("LRANGE list{number} 0 -1")), format!("[m{}]", number + 2));
    }
}

#[test]
fn a_destination_of_another_type_is_an_error_and_the_job_goes_to_the_next() {
    let server = Server::start();
    let client = &mut server.connect();
    for delay in [0, 30] {
        let mut mover = Waiting::start(&server, "DQ.MOVE q list BLOCK 0");
        let mut next = Waiting::start(&server, "DQ.MOVE q other BLOCK 0");
        client.done("SET list string");
        until_waiting(&server, 2);
        client.done(&format!("DQ.PUSH q m DELAY {delay}"));
        let reply = mover.reply();
        assert!(reply.error().starts_with("WRONGTYPE"), "{reply}");
        assert_eq!(next.reply(), "1");
        assert_eq!(client.ask("LPOP other"), "m");
        client.done("DEL list q");
    }
}

#[test]
fn whoever_looks_farther_ahead_is_served_earlier() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut exact = Waiting::start(&server, "DQ.MOVE q exact COUNT 1 BLOCK 0");
    let mut hour = Waiting::start(&server, "DQ.MOVE q hour COUNT 1 AHEAD 3600000 BLOCK 0");
    let mut day = Waiting::start(&server, "DQ.MOVE q day COUNT 1 AHEAD 86400000 BLOCK 0");
    client.done(&format!("DQ.PUSH q second DELAY {}", 3_600_000 + slowly(150)));
    assert_eq!(day.reply(), "1");
    until_waiting(&server, 2);
    client.done(&format!("DQ.PUSH q third DELAY {}", 3_600_000 + slowly(100)));
    assert_eq!(hour.reply(), "1");
    until_waiting(&server, 1);
    client.done("DQ.PUSH q first DELAY 60");
    assert_eq!(exact.reply(), "1");
    let kept = ["exact", "hour", "day"].map(|list| client.ask(&format!("LRANGE {list} 0 -1")).text());
    assert_eq!(kept, ["[first]", "[third]", "[second]"]);
}

#[test]
fn several_movers_move_each_job_once() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut pushed = Vec::new();
    for round in 0..20 {
        let mut movers: Vec<Waiting> =
            (0..4).map(|_| Waiting::start(&server, "DQ.MOVE q list COUNT 3 BLOCK 300")).collect();
        let ids: Vec<String> = (0..9).map(|number| format!("m{round}-{number}")).collect();
        let items: Vec<String> =
            ids.iter().enumerate().map(|(number, id)| format!("{} {id} {id}", number % 3 * 5)).collect();
        client.done(&format!("DQ.MPUSH q DELAY {}", items.join(" ")));
        // Each took what was there when its turn came; whom nothing was left for got null.
        let moved: i64 = movers
            .iter_mut()
            .map(Waiting::reply)
            .filter(|reply| !reply.is_null())
            .map(|reply| reply.int())
            .sum();
        assert_eq!(moved + client.ask("DQ.MOVE q list").int(), 9);
        pushed.extend(ids);
    }
    let mut arrived: Vec<String> =
        client.ask("LRANGE list 0 -1").items().iter().map(|item| item.string()).collect();
    arrived.sort_unstable();
    pushed.sort_unstable();
    assert_eq!(arrived, pushed);
}

/// The clients wait in this order: whoever sends a command after another's reply is read later.
fn wait_in_order(clients: &mut [Client], witness: &mut Client) {
    for client in clients {
        // A connection that the server has not accepted yet would be read later.
        client.done("PING");
        client.send_line("DQ.CLAIM q BLOCK 0");
        witness.done("PING");
    }
}

#[test]
fn the_end_of_a_pause_lets_nobody_jump_the_queue() {
    let server = Server::with(&["maxclients 5000"]);
    let witness = &mut server.connect();
    let count = rounds(300).min(1000);
    let mut clients: Vec<Client> = (0..count).map(|_| server.connect()).collect();
    wait_in_order(&mut clients, witness);
    until_waiting(&server, count as u64);
    let mut order: VecDeque<Client> = clients.into();
    for round in 0..rounds(40).min(200) {
        witness.done(&format!("DQ.PUSH q m{round} DELAY 3"));
        witness.done(&format!("CLIENT PAUSE {} WRITE", 12 + round % 10));
        let mut first = order.pop_front().unwrap();
        let reply = first.receive_within(std::time::Duration::from_secs(20));
        let reply = reply.unwrap_or_else(|_| {
            let left = witness.done("DQ.LEN q");
            let others = order.iter_mut().position(|other| {
                other.receive_within(std::time::Duration::from_millis(1)).is_ok()
            });
            panic!("round {round}: not the first was served, but {others:?} of those after it; {left} jobs are left")
        });
        assert_eq!(reply.items()[0].items()[1], format!("m{round}"));
        // On a slow machine the job may come before the pause; who claims in it is not the matter here.
        witness.done("CLIENT UNPAUSE");
        first.send_line("DQ.CLAIM q BLOCK 0");
        witness.done("PING");
        order.push_back(first);
    }
}
