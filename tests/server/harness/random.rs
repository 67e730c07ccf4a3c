//! A small repeatable source of random numbers whose seed a failing test prints.

use std::time::{SystemTime, UNIX_EPOCH};

/// A xorshift generator; not for secrets.
pub struct Random {
    state: u64,
}

impl Random {
    /// Seeds from SEED in the environment, else from the time, and prints which seed it was.
    pub fn announced(test: &str) -> Random {
        let fresh = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
        let seed = std::env::var("SEED").ok().and_then(|text| text.parse().ok()).unwrap_or_else(fresh);
        eprintln!("{test}: SEED={seed}");
        Random::seeded(seed)
    }

    /// The generator of one seed.
    pub fn seeded(seed: u64) -> Random {
        Random { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 }
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    /// That many random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count + 8);
        while bytes.len() < count {
            bytes.extend_from_slice(&self.next().to_le_bytes());
        }
        bytes.truncate(count);
        bytes
    }
}
