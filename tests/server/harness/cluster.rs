//! A real cluster of three masters and three replicas on the server under test, which dies with the test.
//!
//! Nobody is promoted by itself: a busy machine must not look like a dead node. A test that wants a failover
//! orders it.

use crate::harness::client::Client;
use crate::harness::eventually::{DEADLINE, eventually, eventually_some};
use crate::harness::replica::wait_in_step;
use crate::harness::server::{Server, Setup};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

const MASTERS: usize = 3;
const SLOTS: usize = 16_384;

/// One member of a cluster.
pub struct Node {
    /// Its process.
    pub server: Server,
    /// Its name in the cluster.
    pub id: String,
}

impl Node {
    /// A new connection to this node alone.
    #[track_caller]
    pub fn connect(&self) -> Client {
        self.server.connect()
    }

    fn start() -> Node {
        // The short time-out is for the beginning, see spread_news.
        let lines = [
            "cluster-enabled yes",
            "cluster-node-timeout 1000",
            "cluster-require-full-coverage no",
            "cluster-replica-no-failover yes",
        ];
        let server = Setup::default().listening().lines(&lines).start();
        let id = server.connect().done("CLUSTER MYID").string();
        Node { server, id }
    }

    fn is_replica(&self) -> bool {
        self.connect().done("ROLE").items()[0] == "slave"
    }

    fn sees_all_slots(&self) -> bool {
        let info = self.connect().done("CLUSTER INFO").string();
        info.contains("cluster_state:ok") && info.contains(&format!("cluster_slots_assigned:{SLOTS}\r"))
    }

    fn has_replica(&self) -> bool {
        !self.connect().done(&format!("CLUSTER REPLICAS {}", self.id)).items().is_empty()
    }

    fn owns(&self, key: &str) -> bool {
        !self.connect().call(&["EXISTS", key]).is_error()
    }
}

/// Six nodes that own all slots between them.
pub struct Cluster {
    nodes: Vec<Node>,
    waiting_for_news: AtomicUsize,
}

impl Cluster {
    /// A cluster of its own, for a test that changes the nodes' parts.
    #[track_caller]
    pub fn start() -> Cluster {
        let nodes = (0..2 * MASTERS).map(|_| Node::start()).collect();
        let cluster = Cluster { nodes, waiting_for_news: AtomicUsize::new(0) };
        cluster.deal_slots();
        cluster.introduce();
        cluster.set_replicas();
        cluster.spread_news("all nodes know who has which slot, and masters their replicas", || {
            cluster.nodes.iter().all(Node::sees_all_slots)
                && cluster.masters().iter().all(|node| node.has_replica())
        });
        cluster
    }

    /// The cluster that the tests have in common which run at the same time; the last of them ends it.
    ///
    /// Whoever takes it leaves every node in its part, and moves only slots of keys that are its own.
    #[track_caller]
    pub fn shared() -> Arc<Cluster> {
        static SHARED: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let fresh = Arc::new(Cluster::start());
            *shared = Arc::downgrade(&fresh);
            fresh
        })
    }

    /// All nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes that are masters.
    pub fn masters(&self) -> Vec<&Node> {
        self.nodes.iter().filter(|node| !node.is_replica()).collect()
    }

    /// The master that has the key's slot.
    #[track_caller]
    pub fn owner(&self, key: &str) -> &Node {
        eventually_some("one master owns the key", DEADLINE, || self.nodes.iter().find(|node| node.owns(key)))
    }

    /// A master that has not the key's slot.
    #[track_caller]
    pub fn stranger(&self, key: &str) -> &Node {
        let owner = self.owner(key);
        self.masters().into_iter().find(|node| node.id != owner.id).expect("there are three masters")
    }

    /// The replica of a master, in step with it.
    #[track_caller]
    pub fn replica_of(&self, master: &Node) -> &Node {
        let port = i64::from(master.server.port());
        let follows = |node: &&Node| {
            let role = node.connect().done("ROLE");
            role.items()[0] == "slave" && role.items()[2].int() == port
        };
        let replica = self.nodes.iter().find(follows).expect("each master has a replica");
        wait_in_step(&replica.server, &master.server);
        replica
    }

    /// The node that listens on a port.
    #[track_caller]
    pub fn at(&self, port: u16) -> &Node {
        self.nodes.iter().find(|node| node.server.port() == port).expect("a port of the cluster")
    }

    /// Waits for what the nodes have to tell each other.
    ///
    /// A node tells the others what it is when half of its time-out has passed, so this is short meanwhile; for the
    /// rest of the time it is long, and a node that a busy machine keeps waiting is not taken for a dead one.
    #[track_caller]
    pub fn spread_news(&self, what: &str, condition: impl FnMut() -> bool) {
        let set_timeout = |milliseconds: u64| {
            for node in &self.nodes {
                node.connect().done(&format!("CONFIG SET cluster-node-timeout {milliseconds}"));
            }
        };
        self.waiting_for_news.fetch_add(1, Ordering::SeqCst);
        set_timeout(1_000);
        eventually(what, DEADLINE, condition);
        if self.waiting_for_news.fetch_sub(1, Ordering::SeqCst) == 1 {
            set_timeout(30_000);
        }
    }

    /// Makes the replica of the key's owner its owner, in agreement with the old one.
    #[track_caller]
    pub fn fail_over(&self, key: &str) {
        let replica = self.replica_of(self.owner(key));
        replica.connect().done("CLUSTER FAILOVER");
        self.spread_news("the replica has taken over, and knows its own", || {
            self.owner(key).id == replica.id && replica.has_replica()
        });
    }

    /// Ends one node at once, as a power cut would, and forgets it.
    #[track_caller]
    pub fn kill(&mut self, id: &str) {
        let place = self.nodes.iter().position(|node| node.id == id).expect("a node of the cluster");
        self.nodes.remove(place).server.kill();
    }

    fn deal_slots(&self) {
        for (number, node) in self.nodes.iter().enumerate() {
            let client = &mut node.connect();
            client.done(&format!("CLUSTER SET-CONFIG-EPOCH {}", number + 1));
            if number < MASTERS {
                let share = SLOTS * number / MASTERS..SLOTS * (number + 1) / MASTERS;
                let slots: Vec<String> = share.map(|slot| slot.to_string()).collect();
                client.done(&format!("CLUSTER ADDSLOTS {}", slots.join(" ")));
            }
        }
    }

    /// Introduces each to each, so that nobody waits for gossip.
    fn introduce(&self) {
        for (number, node) in self.nodes.iter().enumerate() {
            for other in &self.nodes[number + 1..] {
                node.connect().done(&format!("CLUSTER MEET 127.0.0.1 {}", other.server.port()));
            }
        }
        eventually("all nodes know each other", DEADLINE, || {
            self.nodes.iter().all(|node| {
                let known = node.connect().done("CLUSTER NODES").string();
                known.lines().count() == self.nodes.len() && !known.contains("handshake")
            })
        });
    }

    fn set_replicas(&self) {
        let (masters, replicas) = self.nodes.split_at(MASTERS);
        for (replica, master) in replicas.iter().zip(masters) {
            replica.connect().done(&format!("CLUSTER REPLICATE {}", master.id));
        }
        for (replica, master) in replicas.iter().zip(masters) {
            wait_in_step(&replica.server, &master.server);
        }
        eventually("all nodes know who has which slot", DEADLINE, || {
            self.nodes.iter().all(|node| {
                let info = node.connect().done("CLUSTER INFO").string();
                info.contains("cluster_state:ok")
                    && info.contains(&format!("cluster_slots_assigned:{SLOTS}\r"))
            })
        });
    }
}

/// The slot of a key.
#[track_caller]
pub fn slot(client: &mut Client, key: &str) -> i64 {
    client.done(&format!("CLUSTER KEYSLOT {key}")).int()
}
