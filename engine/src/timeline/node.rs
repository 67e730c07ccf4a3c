//! The nodes of a timeline's tree: what insertion, removal, counting and search do in one node and below.
//!
//! Called by `timeline` and `walk` only. Positions come from a binary search of the same node, so plain indexing is
//! allowed here.
#![allow(clippy::indexing_slicing, reason = "positions come from partition_point on the same vector")]

use super::{Entry, Key};
use crate::slots::Slot;
use crate::time::UnixMs;

/// The most entries of a leaf and the most children of an inner node.
pub const NODE_MAX: usize = 64;
/// Two neighbours are joined when they have no more than this together.
const JOIN_MAX: usize = NODE_MAX / 2;

/// An entry with its key. Packed: 20 bytes for a plain entry.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub struct Item<E> {
    time: u64,
    sequence: u64,
    entry: E,
}

#[derive(Debug)]
pub enum Node<E: Copy> {
    Leaf(Vec<Item<E>>),
    Inner(Vec<Child<E>>),
}

/// A child, and what its parent knows of it.
#[derive(Debug)]
pub struct Child<E: Copy> {
    /// Not after any key below, and after all keys below the child before.
    first: Key,
    count: usize,
    /// The latest expiry below.
    pub latest: u64,
    pub node: Box<Node<E>>,
}

/// The place is taken.
pub struct Occupied;

impl<E: Entry> Item<E> {
    pub(super) fn new(key: Key, entry: E) -> Self {
        Item { time: key.time.0, sequence: key.sequence, entry }
    }

    pub(super) fn key(&self) -> Key {
        Key { time: UnixMs(self.time), sequence: self.sequence }
    }

    pub(super) fn slot(&self) -> Slot {
        let entry = self.entry;
        entry.slot()
    }

    pub(super) fn expires(&self) -> u64 {
        let entry = self.entry;
        entry.expires()
    }
}

impl<E: Entry> Child<E> {
    pub fn of(node: Node<E>) -> Self {
        let first = match &node {
            Node::Leaf(items) => items.first().map(Item::key),
            Node::Inner(children) => children.first().map(|child| child.first),
        };
        let (count, latest) = (node.count(), node.latest());
        Child { first: first.unwrap_or_default(), count, latest, node: Box::new(node) }
    }
}

impl<E: Entry> Node<E> {
    /// The number of entries below.
    pub fn count(&self) -> usize {
        match self {
            Node::Leaf(items) => items.len(),
            Node::Inner(children) => children.iter().map(|child| child.count).sum(),
        }
    }

    fn latest(&self) -> u64 {
        if !E::MORTAL {
            return u64::MAX;
        }
        match self {
            Node::Leaf(items) => items.iter().map(Item::expires).max(),
            Node::Inner(children) => children.iter().map(|child| child.latest).max(),
        }
        .unwrap_or(0)
    }

    fn width(&self) -> usize {
        match self {
            Node::Leaf(items) => items.len(),
            Node::Inner(children) => children.len(),
        }
    }

    /// Inserts `item`; returns the right half if the node had to split. `last`: nothing stands after this node.
    pub fn insert(&mut self, item: Item<E>, last: bool) -> Result<Option<Child<E>>, Occupied> {
        match self {
            Node::Leaf(items) => {
                let at = items.partition_point(|other| other.key() < item.key());
                if items.get(at).is_some_and(|other| other.key() == item.key()) {
                    return Err(Occupied);
                }
                Ok(insert_or_split(items, at, item, last).map(|right| Child::of(Node::Leaf(right))))
            }
            Node::Inner(children) => {
                let at = child_for(children, item.key());
                let last = last && at + 1 == children.len();
                let child = &mut children[at];
                let right = child.node.insert(item, last)?;
                child.first = child.first.min(item.key());
                child.count += 1;
                child.latest = child.latest.max(item.expires());
                let Some(right) = right else { return Ok(None) };
                child.count -= right.count;
                child.latest = child.node.latest();
                let split = insert_or_split(children, at + 1, right, last);
                Ok(split.map(|right| Child::of(Node::Inner(right))))
            }
        }
    }

    /// Takes the entry at `key` out.
    pub fn remove(&mut self, key: Key) -> Option<E> {
        match self {
            Node::Leaf(items) => {
                let at = items.partition_point(|other| other.key() < key);
                items.get(at).filter(|found| found.key() == key)?;
                Some(items.remove(at).entry)
            }
            Node::Inner(children) => {
                let at = child_for(children, key);
                let child = &mut children[at];
                let entry = child.node.remove(key)?;
                child.count -= 1;
                if E::MORTAL && child.latest == entry.expires() {
                    child.latest = child.node.latest();
                }
                if child.count == 0 {
                    children.remove(at);
                } else if child.node.width() < JOIN_MAX {
                    join_neighbours(children, at);
                }
                Some(entry)
            }
        }
    }

    /// Replaces an inner node that has one child by that child.
    pub fn lower(&mut self) {
        while let Node::Inner(children) = self {
            if children.len() != 1 {
                return;
            }
            let Some(only) = children.pop() else { return };
            *self = *only.node;
        }
    }

    /// How many entries have a time that is not after `time`.
    pub fn rank(&self, time: UnixMs) -> usize {
        match self {
            Node::Leaf(items) => items.partition_point(|item| item.key().time <= time),
            Node::Inner(children) => {
                let end = children.partition_point(|child| child.first.time <= time);
                let Some((edge, before)) = children[..end].split_last() else { return 0 };
                before.iter().map(|child| child.count).sum::<usize>() + edge.node.rank(time)
            }
        }
    }

    /// The first entry that has not expired at `now`.
    pub fn first_alive(&self, now: UnixMs) -> Option<(Key, Slot)> {
        match self {
            Node::Leaf(items) => {
                items.iter().find(|item| item.expires() > now.0).map(|item| (item.key(), item.slot()))
            }
            Node::Inner(children) => {
                children.iter().find(|child| child.latest > now.0)?.node.first_alive(now)
            }
        }
    }

    /// Tells whether what each parent knows of its children is true, and no node is empty or too wide.
    pub fn is_sound(&self) -> bool {
        let Node::Inner(children) = self else { return (1..=NODE_MAX).contains(&self.width()) };
        (1..=NODE_MAX).contains(&self.width())
            && children.iter().all(|child| {
                let (count, latest) = (child.node.count(), child.node.latest());
                child.count == count && child.latest == latest && child.node.is_sound()
            })
    }
}

/// The child below which `key` stands or would stand.
pub fn child_for<E: Copy>(children: &[Child<E>], key: Key) -> usize {
    children.partition_point(|child| child.first <= key).saturating_sub(1)
}

/// Inserts at `at`; a full vector is split first and its right part returned. At the end of the whole order the new
/// element starts the right part alone.
fn insert_or_split<T>(all: &mut Vec<T>, at: usize, new: T, last: bool) -> Option<Vec<T>> {
    if all.len() < NODE_MAX {
        all.insert(at, new);
        return None;
    }
    if last && at == all.len() {
        return Some(vec![new]);
    }
    let half = NODE_MAX / 2;
    let mut right = all.split_off(half);
    if at <= half {
        all.insert(at, new);
    } else {
        right.insert(at - half, new);
    }
    Some(right)
}

/// Joins the child at `at` with a neighbour if both are small together.
fn join_neighbours<E: Entry>(children: &mut Vec<Child<E>>, at: usize) {
    for left in [at.wrapping_sub(1), at] {
        let Some(right) = left.checked_add(1).filter(|&right| right < children.len()) else { continue };
        if children[left].node.width() + children[right].node.width() > JOIN_MAX {
            continue;
        }
        let gone = children.remove(right);
        let stays = &mut children[left];
        stays.count += gone.count;
        stays.latest = stays.latest.max(gone.latest);
        match (&mut *stays.node, *gone.node) {
            (Node::Leaf(items), Node::Leaf(more)) => items.extend(more),
            (Node::Inner(items), Node::Inner(more)) => items.extend(more),
            (Node::Leaf(_), Node::Inner(_)) | (Node::Inner(_), Node::Leaf(_)) => {}
        }
        return;
    }
}
