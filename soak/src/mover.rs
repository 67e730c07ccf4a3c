//! Those who move what is due to where consumers look who know nothing of the module.

use crate::event::{Outcome, Queue, Sweep};
use crate::worker::Worker;

/// Where jobs are moved to; `inspection` empties them.
pub const LISTS: [&str; 3] = ["out:list", "mail:list", "plain:list"];
pub const STREAM: &str = "out:stream";
pub const SORTED_SET: &str = "out:zset";

/// One move.
pub fn act(worker: &mut Worker<'_>) {
    if !worker.connected() {
        return;
    }
    let (queue, destination, verbs): (Queue, &str, &[&str]) = match worker.random.below(10) {
        0 | 1 => (Queue::Orders, LISTS[0], &["RPUSH"]),
        2 => (Queue::Orders, LISTS[0], &["LPUSH", "JSON"]),
        3 => (Queue::Orders, STREAM, &["XADD"]),
        4 => (Queue::Orders, STREAM, &["XADD", "JSON"]),
        5 => (Queue::Orders, SORTED_SET, &["ZADD"]),
        6 | 7 => (Queue::Orders, Queue::Overflow.key(), &["PUSH"]),
        8 => (Queue::Mail, LISTS[1], &[]),
        _ => (Queue::Plain, LISTS[2], &["RPUSH"]),
    };
    let count = 1 + worker.random.below(8);
    let mut words = vec!["DQ.MOVE".to_owned(), queue.key().into(), destination.into()];
    words.extend(verbs.iter().map(|verb| (*verb).to_owned()));
    words.extend(["COUNT".into(), count.to_string()]);
    if worker.one_in(4) {
        words.extend(["AHEAD".into(), worker.random.below(200).to_string()]);
    }
    if worker.one_in(2) {
        words.extend(["BLOCK".into(), (1 + worker.random.below(800)).to_string()]);
        worker.shared.count("moves that wait");
    }
    let ticket = worker.shared.ledger().begin_whole(queue, Sweep::Move { count });
    let said = worker.ask(&words);
    let outcome = said.outcome(|reply| {
        let moved = if reply.is_null() { 0 } else { reply.int() };
        worker.shared.count_many("moved", moved as u64);
        if moved > 0 { Outcome::Done } else { Outcome::Refused }
    });
    let reign = worker.reign();
    worker.shared.ledger().finish_whole(ticket, outcome, reign);
}
