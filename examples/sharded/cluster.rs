//! A cluster of three masters on this machine, made without any tool; it ends with its value.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use redis::cluster::ClusterClient;

use crate::Result;

const MASTERS: usize = 3;
const SLOTS: usize = 16_384;
/// How long the cluster may take to come together.
const START: Duration = Duration::from_secs(20);
/// How long a reply may take; longer than any claim waits.
const REPLY: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

/// One server process and its port.
pub struct Node {
    pub port: u16,
    process: Child,
}

/// The nodes and the folder of their files.
pub struct Cluster {
    nodes: Vec<Node>,
    folder: PathBuf,
}

impl Cluster {
    /// Starts the nodes, deals out the slots, and waits until every node knows all of them.
    pub fn start() -> Result<Cluster> {
        let folder = std::env::temp_dir().join(format!("dq-sharded-{}", std::process::id()));
        fs::create_dir(&folder)?;
        let mut cluster = Cluster { nodes: Vec::new(), folder };
        for number in 0..MASTERS {
            let folder = cluster.folder.join(number.to_string());
            fs::create_dir(&folder)?;
            cluster.nodes.push(Node::start(&folder)?);
        }
        for number in 0..MASTERS {
            cluster.until("a server answers", |cluster| cluster.ask(number, "PING").is_ok())?;
            cluster.join(number)?;
        }
        cluster.until("the nodes know who has which slot", |cluster| {
            (0..MASTERS).all(|number| {
                cluster.ask(number, "CLUSTER INFO").is_ok_and(|info| {
                    info.contains("cluster_state:ok") && info.contains("cluster_slots_assigned:16384")
                })
            })
        })?;
        Ok(cluster)
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A client of the whole cluster, as an application has it: one address is enough to begin with.
    pub fn client(&self) -> Result<ClusterClient> {
        let addresses = self.nodes.iter().map(|node| node.address());
        Ok(ClusterClient::builder(addresses).response_timeout(REPLY).build()?)
    }

    /// The slot of a key.
    pub fn slot(&self, key: &str) -> Result<usize> {
        let mut connection = self.node(0)?.connection()?;
        Ok(redis::cmd("CLUSTER").arg("KEYSLOT").arg(key).query(&mut connection)?)
    }

    /// The number of the node that has a slot: each has one third, in order.
    pub fn owner(slot: usize) -> usize {
        (0..MASTERS).rfind(|number| slot >= first_slot(*number)).unwrap_or(0)
    }

    fn join(&self, number: usize) -> Result<()> {
        // Two nodes that claimed the same epoch would have to settle first who gives way.
        self.ask(number, &format!("CLUSTER SET-CONFIG-EPOCH {}", number + 1))?;
        let slots: Vec<String> =
            (first_slot(number)..first_slot(number + 1)).map(|slot| slot.to_string()).collect();
        self.ask(number, &format!("CLUSTER ADDSLOTS {}", slots.join(" ")))?;
        self.ask(number, &format!("CLUSTER MEET 127.0.0.1 {}", self.node(0)?.port))?;
        Ok(())
    }

    fn ask(&self, number: usize, line: &str) -> Result<String> {
        let mut words = line.split(' ');
        let mut command = redis::cmd(words.next().unwrap_or_default());
        words.for_each(|word| {
            command.arg(word);
        });
        Ok(command.query(&mut self.node(number)?.connection()?)?)
    }

    fn node(&self, number: usize) -> Result<&Node> {
        Ok(self.nodes.get(number).ok_or("no such node")?)
    }

    fn until(&self, what: &str, condition: impl Fn(&Cluster) -> bool) -> Result<()> {
        let deadline = Instant::now() + START;
        while Instant::now() < deadline {
            if condition(self) {
                return Ok(());
            }
            thread::sleep(PAUSE);
        }
        let log = fs::read_to_string(self.folder.join("0/server.log"))?;
        Err(format!("not within {START:?}: {what}; the first server's log:\n{log}").into())
    }
}

fn first_slot(number: usize) -> usize {
    SLOTS * number / MASTERS
}

impl Node {
    fn start(folder: &Path) -> Result<Node> {
        let module = std::env::var("DQ_MODULE").unwrap_or_else(|_| "target/release/libdq.so".into());
        let module =
            fs::canonicalize(&module).map_err(|error| format!("{module}: {error} (make builds it)"))?;
        let program = std::env::var("DQ_SERVER").unwrap_or_else(|_| "redis-server".into());
        let port = free_port()?;
        let output = File::create(folder.join("server.log"))?;
        let process = Command::new(&program)
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"])
            .arg(folder)
            .args(["--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--loadmodule"])
            .arg(module)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .map_err(|error| format!("{program} does not start: {error}"))?;
        Ok(Node { port, process })
    }

    fn address(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    fn connection(&self) -> Result<redis::Connection> {
        Ok(redis::Client::open(self.address())?.get_connection()?)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended already, which is all that is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.clear();
        // A folder that stays behind in the temporary folder harms nobody.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A port that nobody uses now, and neither the one 10,000 above, on which the nodes talk to each other.
fn free_port() -> Result<u16> {
    loop {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let above = port.checked_add(10_000);
        if above.is_some_and(|above| TcpListener::bind(("127.0.0.1", above)).is_ok()) {
            return Ok(port);
        }
    }
}
