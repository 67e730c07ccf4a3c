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

#[derive(Clone, Debug)]
pub enum Node<E: Copy> {
    Leaf(Vec<Item<E>>),
    Inner(Inner<E>),
}

/// Children in order. The keys that a search compares stand together, apart from the rest.
#[derive(Clone, Debug)]
pub struct Inner<E: Copy> {
    /// For each child: not after any key below it, and after all keys below the child before.
    firsts: Vec<Key>,
    children: Vec<Child<E>>,
}

/// A child, and what its parent knows of it.
#[derive(Clone, Debug)]
pub struct Child<E: Copy> {
    count: usize,
    /// The latest expiry below.
    pub latest: u64,
    pub node: Node<E>,
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
    fn of(node: Node<E>) -> Self {
        Child { count: node.count(), latest: node.latest(), node }
    }
}

impl<E: Entry> Inner<E> {
    /// Makes a node of two halves, the second of which begins at `first`.
    pub fn of_halves(left: Node<E>, right: (Key, Node<E>)) -> Self {
        let children = vec![Child::of(left), Child::of(right.1)];
        Inner { firsts: vec![Key::FIRST, right.0], children }
    }

    /// The children from the one on below which `key` stands or would stand.
    pub fn from(&self, key: Key) -> &[Child<E>] {
        &self.children[self.position(key)..]
    }

    /// All children.
    pub fn all(&self) -> &[Child<E>] {
        &self.children
    }

    fn position(&self, key: Key) -> usize {
        self.firsts.partition_point(|first| *first <= key).saturating_sub(1)
    }

    /// Inserts `item` below; returns the right half, with its first key, if the node had to split.
    fn insert(&mut self, item: Item<E>, last: bool) -> Result<Option<(Key, Node<E>)>, Occupied> {
        let at = self.position(item.key());
        let last = last && at + 1 == self.children.len();
        let child = &mut self.children[at];
        let right = child.node.insert(item, last)?;
        self.firsts[at] = self.firsts[at].min(item.key());
        child.count += 1;
        child.latest = child.latest.max(item.expires());
        let Some((first, right)) = right else { return Ok(None) };
        let right = Child::of(right);
        child.count -= right.count;
        child.latest = child.node.latest();
        let firsts = insert_or_split(&mut self.firsts, at + 1, first, last);
        let children = insert_or_split(&mut self.children, at + 1, right, last);
        let (Some(firsts), Some(children)) = (firsts, children) else { return Ok(None) };
        Ok(Some((firsts[0], Node::Inner(Inner { firsts, children }))))
    }

    /// Takes the entry at `key` out.
    fn remove(&mut self, key: Key) -> Option<E> {
        let at = self.position(key);
        let child = &mut self.children[at];
        let entry = child.node.remove(key)?;
        child.count -= 1;
        if E::MORTAL && child.latest == entry.expires() {
            child.latest = child.node.latest();
        }
        if child.count == 0 {
            self.children.remove(at);
            self.firsts.remove(at);
        } else if child.node.width() < JOIN_MAX {
            self.join_neighbours(at);
        }
        Some(entry)
    }

    /// Joins the child at `at` with a neighbour if both are small together.
    fn join_neighbours(&mut self, at: usize) {
        for left in [at.wrapping_sub(1), at] {
            let Some(right) = left.checked_add(1).filter(|&right| right < self.children.len()) else {
                continue;
            };
            if self.children[left].node.width() + self.children[right].node.width() > JOIN_MAX {
                continue;
            }
            let (first, gone) = (self.firsts.remove(right), self.children.remove(right));
            let stays = &mut self.children[left];
            stays.count += gone.count;
            stays.latest = stays.latest.max(gone.latest);
            stays.node.append(first, gone.node);
            return;
        }
    }
}

impl<E: Entry> Node<E> {
    /// The number of entries below.
    pub fn count(&self) -> usize {
        match self {
            Node::Leaf(items) => items.len(),
            Node::Inner(inner) => inner.children.iter().map(|child| child.count).sum(),
        }
    }

    fn latest(&self) -> u64 {
        if !E::MORTAL {
            return u64::MAX;
        }
        match self {
            Node::Leaf(items) => items.iter().map(Item::expires).max(),
            Node::Inner(inner) => inner.children.iter().map(|child| child.latest).max(),
        }
        .unwrap_or(0)
    }

    fn width(&self) -> usize {
        match self {
            Node::Leaf(items) => items.len(),
            Node::Inner(inner) => inner.children.len(),
        }
    }

    /// Inserts `item`; returns the right half, with its first key, if the node had to split. `last`: nothing stands
    /// after this node.
    pub fn insert(&mut self, item: Item<E>, last: bool) -> Result<Option<(Key, Node<E>)>, Occupied> {
        match self {
            Node::Inner(inner) => inner.insert(item, last),
            Node::Leaf(items) => {
                let at = items.partition_point(|other| other.key() < item.key());
                if items.get(at).is_some_and(|other| other.key() == item.key()) {
                    return Err(Occupied);
                }
                let right = insert_or_split(items, at, item, last);
                Ok(right.map(|items| (items[0].key(), Node::Leaf(items))))
            }
        }
    }

    /// Takes the entry at `key` out.
    pub fn remove(&mut self, key: Key) -> Option<E> {
        match self {
            Node::Inner(inner) => inner.remove(key),
            Node::Leaf(items) => {
                let at = items.partition_point(|other| other.key() < key);
                items.get(at).filter(|found| found.key() == key)?;
                Some(items.remove(at).entry)
            }
        }
    }

    /// Adds what stands after this node, which is a node of the same kind that begins at `first`.
    fn append(&mut self, first: Key, after: Node<E>) {
        match (self, after) {
            (Node::Leaf(items), Node::Leaf(more)) => items.extend(more),
            (Node::Inner(inner), Node::Inner(more)) => {
                inner.firsts.push(first);
                inner.firsts.extend(more.firsts.into_iter().skip(1));
                inner.children.extend(more.children);
            }
            (Node::Leaf(_), Node::Inner(_)) | (Node::Inner(_), Node::Leaf(_)) => {}
        }
    }

    /// Replaces an inner node that has one child by that child.
    pub fn lower(&mut self) {
        while let Node::Inner(inner) = self {
            if inner.children.len() != 1 {
                return;
            }
            let Some(only) = inner.children.pop() else { return };
            *self = only.node;
        }
    }

    /// How many entries have a time that is not after `time`.
    pub fn rank(&self, time: UnixMs) -> usize {
        match self {
            Node::Leaf(items) => items.partition_point(|item| item.key().time <= time),
            Node::Inner(inner) => {
                let end = inner.firsts.partition_point(|first| first.time <= time);
                let Some((edge, before)) = inner.children[..end].split_last() else { return 0 };
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
            Node::Inner(inner) => {
                inner.children.iter().find(|child| child.latest > now.0)?.node.first_alive(now)
            }
        }
    }

    /// Tells whether what each parent knows of its children is true, and no node is empty or too wide.
    pub fn is_sound(&self) -> bool {
        let fits = (1..=NODE_MAX).contains(&self.width());
        let Node::Inner(inner) = self else { return fits };
        let known =
            |child: &Child<E>| child.count == child.node.count() && child.latest == child.node.latest();
        let children = &inner.children;
        fits && inner.firsts.len() == children.len()
            && inner.firsts.is_sorted()
            && children.iter().all(|child| known(child) && child.node.is_sound())
    }
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
