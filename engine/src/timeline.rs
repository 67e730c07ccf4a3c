//! An order of jobs in time: entries sorted by (time, sequence), with first, insert, remove, rank and skip in O(log n).
//!
//! A B+ tree whose inner nodes know, for each child, how many entries are below it (so that counting what is due
//! needs no walk) and the latest expiry below it (so that a walk skips any number of expired entries at one step).
//! `node` holds the nodes and what happens in one of them, `walk` goes through the entries in order.
//!
//! Nodes grow to 64 entries and split in half, or, at the end of the order, by starting a new one, so that jobs
//! which arrive in the order of their times leave full nodes behind.

mod node;
mod walk;

pub use node::Item;
pub use walk::Walk;

use crate::slots::Slot;
use crate::time::UnixMs;
use node::{Inner, Node};

/// A place in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Key {
    /// The time.
    pub time: UnixMs,
    /// The number among entries of the same time.
    pub sequence: u64,
}

impl Key {
    /// The first place of all.
    pub const FIRST: Key = Key { time: UnixMs(0), sequence: 0 };
}

/// What an order holds at a place.
pub trait Entry: Copy {
    /// Whether entries of this kind can expire.
    const MORTAL: bool;
    /// The job.
    fn slot(self) -> Slot;
    /// From when on the entry is skipped, in Unix ms; `u64::MAX` if never.
    fn expires(self) -> u64;
}

impl Entry for Slot {
    const MORTAL: bool = false;

    fn slot(self) -> Slot {
        self
    }

    fn expires(self) -> u64 {
        u64::MAX
    }
}

/// A job that expires.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub struct Mortal {
    /// From when on it is skipped, in Unix ms.
    pub expires: u64,
    /// The job.
    pub slot: Slot,
}

impl Entry for Mortal {
    const MORTAL: bool = true;

    fn slot(self) -> Slot {
        self.slot
    }

    fn expires(self) -> u64 {
        self.expires
    }
}

/// The order.
#[derive(Clone, Debug)]
pub struct Timeline<E: Copy> {
    root: Option<Node<E>>,
    len: usize,
}

impl<E: Copy> Default for Timeline<E> {
    fn default() -> Self {
        Timeline { root: None, len: 0 }
    }
}

impl<E: Entry> Timeline<E> {
    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Tells whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts an entry in its place, which must be free: it is left out, and `false` returned, if not. O(log n).
    pub fn insert(&mut self, key: Key, entry: E) -> bool {
        let item = Item::new(key, entry);
        let Some(root) = self.root.as_mut() else {
            self.root = Some(Node::Leaf(vec![item]));
            self.len = 1;
            return true;
        };
        match root.insert(item, true) {
            Err(node::Occupied) => return false,
            Ok(None) => {}
            Ok(Some(right)) => {
                let left = std::mem::replace(root, Node::Leaf(Vec::new()));
                *root = Node::Inner(Inner::of_halves(left, right));
            }
        }
        self.len += 1;
        true
    }

    /// Takes the entry at `key` out. O(log n).
    pub fn remove(&mut self, key: Key) -> Option<E> {
        let root = self.root.as_mut()?;
        let entry = root.remove(key)?;
        self.len -= 1;
        if self.len == 0 {
            self.root = None;
        } else {
            root.lower();
        }
        Some(entry)
    }

    /// Returns the first entry. O(log n).
    #[must_use]
    pub fn first(&self) -> Option<(Key, Slot)> {
        self.first_alive(UnixMs(0))
    }

    /// Returns the first entry that has not expired at `now`, whatever stands before it. O(log n).
    #[must_use]
    pub fn first_alive(&self, now: UnixMs) -> Option<(Key, Slot)> {
        self.root.as_ref()?.first_alive(now)
    }

    /// Returns how many entries have a time that is not after `time`. O(log n).
    #[must_use]
    pub fn rank(&self, time: UnixMs) -> usize {
        self.root.as_ref().map_or(0, |root| root.rank(time))
    }

    /// Walks, in order, through the entries from `key` on that have not expired at `now`. O(log n) to start and O(1)
    /// for each entry; skipping costs O(log n) however much is skipped.
    #[must_use]
    pub fn walk(&self, from: Key, now: UnixMs) -> Walk<'_, E> {
        Walk::new(self.root.as_ref(), from, now)
    }

    /// Returns roughly how many bytes the order takes, from the number of its entries. O(1).
    #[must_use]
    pub fn bytes(&self) -> usize {
        // Two thirds full on average, and about one byte an entry for inner nodes.
        self.len * (size_of::<Item<E>>() * 4 / 3 + 1)
    }

    /// Tells whether the tree keeps its rules: sorted, counted, no empty node. O(n).
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let counted = self.root.as_ref().map_or(0, Node::count);
        let mut keys = self.walk(Key::FIRST, UnixMs(0)).map(|(key, _)| key);
        let mut last = None;
        let sorted = keys.all(|key| last.replace(key).is_none_or(|last| last < key));
        counted == self.len && sorted && self.root.as_ref().is_none_or(Node::is_sound)
    }
}

#[cfg(test)]
mod tests;
