//! The keys that stand for one queue, and which of them a job belongs to.

/// The shards of one queue.
pub struct Shards {
    keys: Vec<String>,
}

impl Shards {
    /// `name:{0}`, `name:{1}` and so on. Only what stands in braces decides the slot.
    pub fn new(name: &str, count: usize) -> Shards {
        Shards { keys: (0..count).map(|number| format!("{name}:{{{number}}}")).collect() }
    }

    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The shard of a job. The same id always has the same shard: so a push that is repeated finds the job that is there
    /// already, and who wants to cancel a job knows where it is.
    pub fn key_of(&self, id: &str) -> &str {
        let place = usize::try_from(fnv1a(id.as_bytes())).map(|hash| hash % self.keys.len());
        place.ok().and_then(|place| self.keys.get(place)).map_or("", String::as_str)
    }
}

/// FNV-1a with 32 bits. Any hash does that every producer computes alike, in each language, today and next year; the
/// standard library's hashers promise nothing of that kind.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::{Shards, fnv1a};

    #[test]
    fn the_hash_is_the_one_that_others_compute_under_that_name() {
        // The offset basis itself, and two of the published test values.
        for (text, hash) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
            assert_eq!(fnv1a(text.as_bytes()), hash, "{text}");
        }
    }

    #[test]
    fn every_shard_gets_jobs_and_an_id_always_the_same_one() {
        let shards = Shards::new("orders", 16);
        let keys: Vec<&str> = (0..1000).map(|number| shards.key_of(&format!("order-{number}"))).collect();
        assert!(shards.keys().iter().all(|key| keys.contains(&key.as_str())));
        assert_eq!(keys[7], shards.key_of("order-7"));
    }
}
