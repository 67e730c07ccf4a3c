//! Finds a job by its id: a hash table that grows a little at a time.
//!
//! It is an extendible hash table (Fagin, Nievergelt, Pippenger, Strong: "Extendible hashing - a fast access method for
//! dynamic files", 1979): a directory, indexed by the first bits of the hash, of small tables ("shards") that split in
//! two when they are full. So the longest insertion moves some hundred entries, however many there are, where one
//! large table would rehash them all. The shards are `hashbrown` tables. Each entry keeps 32 bits of the hash, so that
//! growing never touches a record. Ids come from clients: the hash is keyed (SipHash, as in the standard library).

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use crate::id::IdRef;
use crate::slots::Slot;

/// A shard splits when it has as many entries: 7/8 of 512 buckets, where hashbrown would double it.
const SHARD_MAX: usize = 448;
/// The most bits of the hash that the directory uses. Beyond, shards grow.
const DEPTH_MAX: u8 = 24;

/// Maps ids to slots.
#[derive(Clone, Debug, Default)]
pub struct Index {
    hasher: RandomState,
    /// For each value of the first `depth` bits of a hash: the number of its shard.
    directory: Vec<u32>,
    depth: u8,
    shards: Vec<Shard>,
    len: usize,
}

/// The hash of an id, of one index.
#[derive(Clone, Copy, Debug)]
pub struct Hash(u32);

#[derive(Clone, Debug, Default)]
struct Shard {
    /// How many first bits all hashes here have in common.
    depth: u8,
    table: HashTable<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    slot: Slot,
}

impl Index {
    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Tells whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the hash of an id, by which it is found, inserted and removed.
    #[must_use]
    pub fn hash(&self, id: IdRef<'_>) -> Hash {
        Hash((self.hasher.hash_one(id) >> 32) as u32)
    }

    /// Finds the slot for which `is_it` holds among those whose id has this hash. O(1).
    #[must_use]
    pub fn find(&self, hash: Hash, is_it: impl Fn(Slot) -> bool) -> Option<Slot> {
        let hash = hash.0;
        let shard = self.shards.get(self.shard_of(hash)?)?;
        let entry = shard.table.find(spread(hash), |entry| entry.hash == hash && is_it(entry.slot))?;
        Some(entry.slot)
    }

    /// Adds an entry; its id must not be there. O(1), at worst the split of one shard.
    pub fn insert(&mut self, hash: Hash, slot: Slot) {
        let hash = hash.0;
        if self.directory.is_empty() {
            self.directory.push(0);
            self.shards.push(Shard::default());
        }
        while self.must_split(hash) {
            self.split(hash);
        }
        if let Some(shard) = self.shard_of(hash).and_then(|number| self.shards.get_mut(number)) {
            shard.table.insert_unique(spread(hash), Entry { hash, slot }, |entry| spread(entry.hash));
            self.len += 1;
        }
    }

    /// Removes the entry of `slot`, whose id has this hash. O(1).
    pub fn remove(&mut self, hash: Hash, slot: Slot) {
        let hash = hash.0;
        let Some(shard) = self.shard_of(hash).and_then(|number| self.shards.get_mut(number)) else { return };
        let Ok(found) = shard.table.find_entry(spread(hash), |entry| entry.slot == slot) else { return };
        found.remove();
        self.len -= 1;
        if self.len == 0 {
            (self.directory, self.shards, self.depth) = (Vec::new(), Vec::new(), 0);
        } else if shard.table.is_empty() {
            shard.table = HashTable::new();
        } else if shard.table.len() * 8 < shard.table.capacity() {
            let half = shard.table.capacity() / 2;
            shard.table.shrink_to(half, |entry| spread(entry.hash));
        }
    }

    fn shard_of(&self, hash: u32) -> Option<usize> {
        self.directory.get(first_bits(hash, self.depth)).map(|&number| number as usize)
    }

    fn must_split(&self, hash: u32) -> bool {
        let shard = self.shard_of(hash).and_then(|number| self.shards.get(number));
        shard.is_some_and(|shard| shard.table.len() >= SHARD_MAX && shard.depth < DEPTH_MAX)
    }

    /// Splits the shard of `hash` by one more bit; doubles the directory first if that has too few.
    fn split(&mut self, hash: u32) {
        let Some(number) = self.shard_of(hash) else { return };
        let fresh = self.shards.len() as u32;
        let Some(shard) = self.shards.get_mut(number) else { return };
        if shard.depth == self.depth {
            self.directory = self.directory.iter().flat_map(|&number| [number, number]).collect();
            self.depth += 1;
        }
        shard.depth += 1;
        let depth = shard.depth;
        let (stay, go): (Vec<Entry>, Vec<Entry>) =
            shard.table.drain().partition(|entry| first_bits(entry.hash, depth) & 1 == 0);
        shard.table = table_of(&stay);
        self.shards.push(Shard { depth, table: table_of(&go) });
        // The directory's entries for the old shard lie side by side; the second half becomes the new one's.
        let width = 1usize << (self.depth - depth);
        let start = (first_bits(hash, depth) | 1) * width;
        for place in self.directory.iter_mut().skip(start).take(width) {
            *place = fresh;
        }
    }
}

fn table_of(entries: &[Entry]) -> HashTable<Entry> {
    let mut table = HashTable::with_capacity(entries.len());
    for &entry in entries {
        table.insert_unique(spread(entry.hash), entry, |entry| spread(entry.hash));
    }
    table
}

fn first_bits(hash: u32, bits: u8) -> usize {
    if bits == 0 { 0 } else { (hash >> (32 - bits)) as usize }
}

/// Makes the 64 bits that hashbrown wants of the 32 that are kept; within a shard the first bits are all alike.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::{Index, SHARD_MAX};
    use crate::id::IdRef;
    use crate::slots::Slot;

    fn key(number: u32) -> [u8; 4] {
        number.to_be_bytes()
    }

    #[test]
    fn what_was_inserted_is_found_until_it_is_removed_however_often_shards_split() {
        let mut index = Index::default();
        for n in 0..20_000 {
            index.insert(index.hash(IdRef::of(&key(n))), Slot(n));
        }
        assert!(index.shards.len() > 20_000 / SHARD_MAX);
        assert!(index.shards.iter().all(|shard| shard.table.len() <= SHARD_MAX));
        for n in (0..20_000).step_by(2) {
            index.remove(index.hash(IdRef::of(&key(n))), Slot(n));
        }
        for n in 0..20_000 {
            let found = index.find(index.hash(IdRef::of(&key(n))), |slot| slot == Slot(n));
            assert_eq!(found, (n % 2 == 1).then_some(Slot(n)));
        }
        assert_eq!(index.len(), 10_000);
    }

    #[test]
    fn an_emptied_index_keeps_no_memory() {
        let mut index = Index::default();
        for n in 0..5_000 {
            index.insert(index.hash(IdRef::of(&key(n))), Slot(n));
        }
        for n in 0..5_000 {
            index.remove(index.hash(IdRef::of(&key(n))), Slot(n));
        }
        assert_eq!((index.len(), index.shards.capacity(), index.directory.capacity()), (0, 0, 0));
    }
}
