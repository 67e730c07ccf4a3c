//! A producer: pushes each job to the shard of its id.

use redis::cluster::ClusterClient;

use crate::Result;
use crate::shards::Shards;

/// The longest delay of a job.
pub const DELAY_MAX_MS: usize = 1_000;

/// Pushes one job a number.
pub fn run(client: &ClusterClient, shards: &Shards, numbers: impl Iterator<Item = usize>) -> Result<()> {
    let mut connection = client.get_connection()?;
    for number in numbers {
        let id = format!("order-{number}");
        let (_, outcome): (String, String) = redis::cmd("DQ.PUSH")
            .arg(shards.key_of(&id))
            .arg(format!("message of {id}"))
            .arg("DELAY")
            .arg(number * 37 % DELAY_MAX_MS)
            .arg("ID")
            .arg(&id)
            .query(&mut connection)?;
        if outcome != "created" {
            return Err(format!("pushing {id} answered {outcome}").into());
        }
    }
    Ok(())
}
