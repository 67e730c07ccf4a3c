//! The disasters, one after the other, and between them the moments in which nobody works and everything is inspected.

use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use crate::clock::now;
use crate::event::Queue;
use crate::harness::aof;
use crate::harness::client::Client;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::random::Random;
use crate::harness::replica::{follow, wait_in_step};
use crate::harness::server::Server;
use crate::inspection::{self, Losses, compare, picture};
use crate::sentinel::Served;
use crate::shared::{Shared, pause};

/// The one who brings them about, and owns the servers.
pub struct Director<'a> {
    pub shared: &'a Shared,
    pub servers: [Server; 2],
    pub random: Random,
    pub served: Receiver<Served>,
    pub losses: Losses,
}

type Disaster = fn(&mut Director<'_>);

/// Every disaster, by the name under which it is counted. The first ones come more often.
const DISASTERS: [(&str, Disaster); 19] = [
    ("kill -9 of the master, restart", |director| director.kill_master()),
    ("kill -9 of the master, promotion of the replica", |director| director.succeed()),
    ("FAILOVER", |director| director.fail_over()),
    ("kill -9 of the replica, restart", |director| director.kill_replica()),
    ("BGREWRITEAOF", |director| director.rewrite()),
    ("BGREWRITEAOF without an RDB preamble", |director| director.rewrite_as_commands()),
    ("BGSAVE", |director| director.save()),
    ("full memory", |director| director.fill_memory()),
    ("CLIENT PAUSE WRITE", |director| director.pause_writes()),
    ("CLIENT KILL of everyone", |director| director.kill_clients()),
    ("CLIENT UNBLOCK of all who wait", |director| director.unblock_with_null()),
    ("CLIENT UNBLOCK ERROR of the sentinel", |director| director.unblock_with_error()),
    ("DEBUG RELOAD", |director| director.reload()),
    ("DEBUG LOADAOF", |director| director.load_aof()),
    ("CONFIG SET appendonly no, and yes again", |director| director.toggle_aof()),
    ("DQ.PAUSE and DQ.RESUME", |director| director.pause_queue()),
    ("COPY", |director| director.copy()),
    ("RENAME there and back", |director| director.rename()),
    ("RESTORE of its own DUMP", |director| director.transplant()),
];

impl Director<'_> {
    fn master(&self) -> &Server {
        &self.servers[self.shared.master.load(Ordering::SeqCst)]
    }

    fn replica(&self) -> &Server {
        &self.servers[1 - self.shared.master.load(Ordering::SeqCst)]
    }

    fn master_mut(&mut self) -> &mut Server {
        let index = self.shared.master.load(Ordering::SeqCst);
        &mut self.servers[index]
    }

    fn some_queue(&mut self) -> Queue {
        Queue::ALL[self.random.below(3) as usize]
    }

    /// Lets clients work, and disasters happen, until `end`; then inspects everything once more.
    pub fn direct(&mut self, end: u64, only: Option<&str>) {
        let mut disasters: Vec<_> = DISASTERS.iter().collect();
        disasters.retain(|(name, _)| only.is_none_or(|only| name.contains(only)));
        while now() < end && self.shared.ledger().violations.is_empty() && !self.shared.stopped() {
            for _ in 0..1 + self.random.below(4) {
                pause(100 + self.random.below(900));
                if let Some((name, disaster)) =
                    disasters.get(self.random.below(disasters.len().max(1) as u64) as usize)
                {
                    self.shared.chronicle(name);
                    disaster(self);
                    self.assert_alive(name);
                }
                if now() >= end || !self.shared.ledger().violations.is_empty() || self.shared.stopped() {
                    break;
                }
            }
            self.inspect();
        }
        self.shared.stop.store(true, Ordering::SeqCst);
    }

    /// Nobody works: replica and ledger are held against the master.
    fn inspect(&mut self) {
        let shared = self.shared;
        let wake = || unblock(self.master(), "TIMEOUT", |_| true);
        let Some(_silence) = shared.silence(wake) else {
            shared.ledger().violations.push("a command was not answered within a minute".into());
            return;
        };
        self.settle();
        wait_in_step(self.replica(), self.master());
        let mut client = self.master().connect();
        compare(
            shared,
            "the replica is not its master",
            &picture(&mut client),
            &picture(&mut self.replica().connect()),
        );
        match self.random.below(4) {
            0 => self.restart_both(),
            1 => self.change_places(),
            _ => {}
        }
        let mut client = self.master().connect();
        let mut losses = self.losses;
        inspection::take_stock(shared, &mut client, &mut losses);
        self.losses = losses;
        let delay = self.random.below(80);
        inspection::wake_sentinel(shared, &mut client, &self.served, delay);
        wait_in_step(self.replica(), self.master());
        shared.ledger().turn_page();
        shared.resume();
    }

    /// Waits until both servers' files are complete: until then a kill may lose anything.
    fn settle(&self) {
        for server in &self.servers {
            aof::wait_until_rewritten(server);
        }
    }

    fn assert_alive(&mut self, after: &str) {
        let alive = self.servers.iter_mut().all(Server::is_alive);
        assert!(alive, "a server died by itself after: {after}");
    }

    /// Both are killed and read their files.
    fn restart_both(&mut self) {
        self.shared.chronicle("restart of both, nobody working");
        let before = picture(&mut self.master().connect());
        for server in &mut self.servers {
            server.kill();
            server.start_again();
        }
        compare(
            self.shared,
            "not what it was before the restart",
            &before,
            &picture(&mut self.master().connect()),
        );
        follow(self.replica(), self.master());
        self.settle();
    }

    /// The replica, which has everything, becomes the master.
    fn change_places(&mut self) {
        self.shared.chronicle("promotion of the replica, nobody working");
        let before = picture(&mut self.master().connect());
        self.replica().connect().done("REPLICAOF NO ONE");
        let next = 1 - self.shared.master.load(Ordering::SeqCst);
        self.shared.master.store(next, Ordering::SeqCst);
        follow(self.replica(), self.master());
        compare(
            self.shared,
            "not what it was before the promotion",
            &before,
            &picture(&mut self.master().connect()),
        );
        self.settle();
    }

    fn kill_master(&mut self) {
        self.settle();
        self.master_mut().kill();
        self.master_mut().start_again();
        follow(self.replica(), self.master());
        self.settle();
    }

    fn kill_replica(&mut self) {
        let index = 1 - self.shared.master.load(Ordering::SeqCst);
        self.servers[index].kill();
        self.servers[index].start_again();
        follow(self.replica(), self.master());
        self.settle();
    }

    /// What the replica had not got yet is lost: the ledger is told up to when it certainly had everything.
    fn succeed(&mut self) {
        self.settle();
        // The replica must be one, or its promotion would lose what nobody doubts.
        wait_in_step(self.replica(), self.master());
        self.master_mut().kill();
        let confirmed = self.shared.confirmed.load(Ordering::SeqCst);
        let next = 1 - self.shared.master.load(Ordering::SeqCst);
        self.replica().connect().done("REPLICAOF NO ONE");
        self.shared.ledger().begin_reign(confirmed);
        self.shared.master.store(next, Ordering::SeqCst);
        self.servers[1 - next].start_again();
        follow(self.replica(), self.master());
        self.settle();
    }

    /// The server's own way of handing over: it pauses writes until the replica has everything.
    fn fail_over(&mut self) {
        self.settle();
        wait_in_step(self.replica(), self.master());
        let asked = self.master().connect().ask("FAILOVER TIMEOUT 10000");
        if asked.is_error() {
            self.shared.count("refused FAILOVER");
            return;
        }
        let mut old = self.master().connect();
        eventually("the failover is over", DEADLINE, || {
            old.info("replication", "master_failover_state") == "no-failover"
        });
        if old.info("replication", "role") == "slave" {
            let next = 1 - self.shared.master.load(Ordering::SeqCst);
            self.shared.master.store(next, Ordering::SeqCst);
        } else {
            self.shared.count("failovers that ran out of time");
        }
        eventually("the new master is one", DEADLINE, || {
            self.master().connect().info("replication", "role") == "master"
        });
        wait_in_step(self.replica(), self.master());
        self.settle();
    }

    fn rewrite(&mut self) {
        self.settle();
        aof::rewrite(self.master());
    }

    fn rewrite_as_commands(&mut self) {
        self.settle();
        let mut client = self.master().connect();
        client.done("CONFIG SET aof-use-rdb-preamble no");
        aof::rewrite(self.master());
        client.done("CONFIG SET aof-use-rdb-preamble yes");
    }

    fn save(&mut self) {
        self.settle();
        let mut client = self.master().connect();
        client.done("BGSAVE");
        eventually("the RDB file is written", DEADLINE, || {
            client.info("persistence", "rdb_bgsave_in_progress") == "0"
        });
        assert_eq!(client.info("persistence", "rdb_last_bgsave_status"), "ok");
    }

    /// No memory for what grows; what drains must go on.
    fn fill_memory(&mut self) {
        let mut client = self.master().connect();
        let from = now();
        *self.shared.pressure.lock().expect("no one panics here") = (from, u64::MAX);
        client.done("CONFIG SET maxmemory 1");
        pause(200 + self.random.below(400));
        client.done("CONFIG SET maxmemory 0");
        *self.shared.pressure.lock().expect("no one panics here") = (from, now());
    }

    /// While writes are paused nothing changes, however many wait and whatever becomes due.
    fn pause_writes(&mut self) {
        let mut client = self.master().connect();
        let ms = 200 + self.random.below(400);
        client.done(&format!("CLIENT PAUSE {ms} WRITE"));
        let until = now() + ms * 1000;
        let before = queues(&mut client);
        pause(ms.saturating_sub(60));
        let after = queues(&mut client);
        if now() < until {
            compare(self.shared, "something was written while writes were paused", &before, &after);
        }
        pause(60);
    }

    fn kill_clients(&mut self) {
        self.master().connect().done("CLIENT KILL TYPE normal SKIPME yes");
    }

    fn unblock_with_null(&mut self) {
        unblock(self.master(), "TIMEOUT", |_| true);
    }

    /// Only who certainly waits: a client that the server has served but a moment ago gets this error behind its reply, on
    /// every server that we know, and takes it for the reply to its next command.
    fn unblock_with_error(&mut self) {
        unblock(self.master(), "ERROR", |line| line.contains(" name=sentinel "));
    }

    fn reload(&mut self) {
        self.settle();
        self.master().connect().done("DEBUG RELOAD");
    }

    fn load_aof(&mut self) {
        self.settle();
        self.master().connect().done("DEBUG LOADAOF");
    }

    /// In between nothing is durable, so nothing is killed.
    fn toggle_aof(&mut self) {
        self.settle();
        let mut client = self.master().connect();
        client.done("CONFIG SET appendonly no");
        pause(self.random.below(200));
        client.done("CONFIG SET appendonly yes");
        self.settle();
    }

    fn pause_queue(&mut self) {
        let queue = self.some_queue();
        let mut client = self.master().connect();
        let ms = 200 + self.random.below(500);
        let sent = now();
        client.done(&format!("DQ.PAUSE {} {ms}", queue.key()));
        let from = now();
        let mut to = sent + ms * 1000;
        self.shared.ledger().paused(queue, from, to);
        pause(self.random.below(ms));
        if self.random.below(2) == 0 {
            to = to.min(now());
            self.shared.ledger().pauses.retain(|(other, start, _)| *other != queue || *start != from);
            self.shared.ledger().paused(queue, from, to);
            client.done(&format!("DQ.RESUME {}", queue.key()));
        }
        pause(to.saturating_sub(now()) / 1000 + 1);
    }

    /// A copy is equal, in the midst of all.
    fn copy(&mut self) {
        let key = self.some_queue().key();
        let mut client = self.master().connect();
        for command in [
            "MULTI",
            &format!("COPY {key} copied REPLACE"),
            &format!("DEBUG DIGEST-VALUE {key} copied"),
            "DEL copied",
        ] {
            client.done(command);
        }
        let replies = client.done("EXEC");
        let digests = replies.items()[1].items();
        compare(self.shared, "the copy", &[digests[0].string()], &[digests[1].string()]);
    }

    fn rename(&mut self) {
        let key = self.some_queue().key();
        let mut client = self.master().connect();
        for command in
            ["MULTI", &format!("RENAME {key} elsewhere"), &format!("RENAME elsewhere {key}"), "EXEC"]
        {
            client.done(command);
        }
    }

    /// The queue is taken out as bytes and put in its own place, in one step.
    fn transplant(&mut self) {
        let key = self.some_queue().key();
        let script = "return redis.call('RESTORE', KEYS[1], 0, redis.call('DUMP', KEYS[1]), 'REPLACE')";
        let reply = self.master().connect().call(&["EVAL", script, "1", key]);
        assert!(!reply.is_error(), "{reply}");
    }
}

/// The digests of the queues.
fn queues(client: &mut Client) -> Vec<String> {
    Queue::ALL.iter().map(|queue| crate::harness::digest::digest(client, queue.key())).collect()
}

/// Unblocks those who wait on a server and are meant by their line of CLIENT LIST.
fn unblock(server: &Server, how: &str, means: impl Fn(&str) -> bool) {
    let mut client = server.connect();
    let listed = client.call(&["CLIENT", "LIST"]);
    for line in listed.string().lines() {
        let field = |name: &str| line.split(' ').find_map(|word| word.strip_prefix(name));
        if means(line)
            && field("flags=").is_some_and(|flags| flags.contains('b'))
            && let Some(id) = field("id=")
        {
            client.done(&format!("CLIENT UNBLOCK {id} {how}"));
        }
    }
}
