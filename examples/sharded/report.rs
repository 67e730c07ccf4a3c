//! What came of it: the jobs of each shard and each node, and whether every job was worked on once.

use std::collections::HashSet;
use std::fmt;

use crate::Result;
use crate::cluster::Cluster;
use crate::shards::Shards;

struct Shard {
    key: String,
    slot: usize,
    node: usize,
    jobs: usize,
}

/// The numbers of the table.
pub struct Account {
    shards: Vec<Shard>,
    ports: Vec<u16>,
    pushed: usize,
    /// How many different jobs were worked on.
    different: usize,
}

impl Account {
    /// Adds up the ids that were worked on, one list a shard.
    pub fn of(cluster: &Cluster, shards: &Shards, pushed: usize, worked: &[Vec<String>]) -> Result<Account> {
        let rows = shards.keys().iter().zip(worked).map(|(key, ids)| {
            let slot = cluster.slot(key)?;
            Ok(Shard { key: key.clone(), slot, node: Cluster::owner(slot), jobs: ids.len() })
        });
        let different = worked.iter().flatten().collect::<HashSet<_>>().len();
        let ports = cluster.nodes().iter().map(|node| node.port).collect();
        Ok(Account { shards: rows.collect::<Result<_>>()?, ports, pushed, different })
    }

    /// Each promise that was not kept.
    pub fn faults(&self) -> Vec<String> {
        let lost = self.pushed.saturating_sub(self.different);
        let twice = self.worked().saturating_sub(self.different);
        [(lost, "lost"), (twice, "worked on twice")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect()
    }

    fn worked(&self) -> usize {
        self.shards.iter().map(|shard| shard.jobs).sum()
    }
}

impl fmt::Display for Account {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{:<12} {:>6} {:>6} {:>8}", "shard", "slot", "node", "jobs")?;
        for shard in &self.shards {
            writeln!(out, "{:<12} {:>6} {:>6} {:>8}", shard.key, shard.slot, shard.node + 1, shard.jobs)?;
        }
        writeln!(out)?;
        for (number, port) in self.ports.iter().enumerate() {
            let own = || self.shards.iter().filter(|shard| shard.node == number);
            let jobs: usize = own().map(|shard| shard.jobs).sum();
            writeln!(out, "node {} (port {port}): {} shards, {jobs} jobs", number + 1, own().count())?;
        }
        write!(
            out,
            "total: {} pushed, {} worked on, {} different",
            self.pushed,
            self.worked(),
            self.different
        )
    }
}
