//! A client of a whole cluster: it goes where MOVED and ASK send it and repeats what was not done.
//!
//! It repeats a command only when the answer says that nothing has happened, so what it does is done once.

use crate::harness::client::Client;
use crate::harness::cluster::Cluster;
use crate::harness::eventually::{DEADLINE, eventually_some};
use crate::harness::reply::Reply;
use std::collections::HashMap;

/// What a node answers that cannot serve the command now, and has done nothing of it.
const NOT_NOW: [&str; 4] = ["TRYAGAIN ", "CLUSTERDOWN ", "READONLY ", "LOADING "];

/// Connections to the nodes, and a belief about who has the keys.
pub struct Routed<'a> {
    cluster: &'a Cluster,
    connections: HashMap<u16, Client>,
    believed: u16,
}

impl Routed<'_> {
    /// A client that has not asked anybody yet.
    pub fn new(cluster: &Cluster) -> Routed<'_> {
        Routed { cluster, connections: HashMap::new(), believed: cluster.nodes()[0].server.port() }
    }

    /// Sends a command of words that hold no spaces; fails the test on an error that is no redirection.
    #[track_caller]
    pub fn done(&mut self, line: &str) -> Reply {
        let words: Vec<&str> = line.split_whitespace().collect();
        let reply = eventually_some(line, DEADLINE, || self.attempt(&words));
        assert!(!reply.is_error(), "{line}: {reply}");
        reply
    }

    fn attempt(&mut self, words: &[&str]) -> Option<Reply> {
        let reply = self.connection(self.believed).call(words);
        let Reply::Error(text) = &reply else { return Some(reply) };
        let text = String::from_utf8_lossy(text);
        let redirection: Vec<&str> = text.split(' ').collect();
        match redirection[..] {
            ["MOVED", _, address] => {
                self.believed = port_in(address);
                None
            }
            ["ASK", _, address] => self.ask_elsewhere(port_in(address), words),
            ["UNBLOCKED", ..] => {
                // The server hangs up after that.
                self.connections.remove(&self.believed);
                None
            }
            _ if NOT_NOW.iter().any(|start| text.starts_with(start)) => None,
            _ => Some(reply),
        }
    }

    /// The slot is on its way and the key has arrived there already.
    fn ask_elsewhere(&mut self, port: u16, words: &[&str]) -> Option<Reply> {
        let connection = self.connection(port);
        connection.done("ASKING");
        let reply = connection.call(words);
        (!is_refusal(&reply)).then_some(reply)
    }

    fn connection(&mut self, port: u16) -> &mut Client {
        let cluster = self.cluster;
        self.connections.entry(port).or_insert_with(|| cluster.at(port).connect())
    }
}

fn is_refusal(reply: &Reply) -> bool {
    let Reply::Error(text) = reply else { return false };
    let starts = |start: &&str| text.starts_with(start.as_bytes());
    ["MOVED ", "ASK "].iter().any(starts) || NOT_NOW.iter().any(starts)
}

/// The port of `host:port`, which some servers follow with more.
fn port_in(address: &str) -> u16 {
    let port = address.rsplit(':').next().unwrap_or_default();
    port.parse().unwrap_or_else(|_| panic!("no port in {address}"))
}
