//! Goes through a timeline in order, skipping what has expired.

use super::node::{Child, Item, Node};
use super::{Entry, Key};
use crate::slots::Slot;
use crate::time::UnixMs;

/// The entries of a timeline, in order.
#[derive(Debug)]
pub struct Walk<'a, E: Copy> {
    /// The children that remain, on each level from the root down.
    above: Vec<std::slice::Iter<'a, Child<E>>>,
    leaf: std::slice::Iter<'a, Item<E>>,
    now: UnixMs,
}

impl<'a, E: Entry> Walk<'a, E> {
    pub(super) fn new(root: Option<&'a Node<E>>, from: Key, now: UnixMs) -> Self {
        let mut walk = Walk { above: Vec::new(), leaf: [].iter(), now };
        let mut next = root;
        while let Some(node) = next {
            next = match node {
                Node::Leaf(items) => {
                    let at = items.partition_point(|item| item.key() < from);
                    walk.leaf = items.get(at..).unwrap_or_default().iter();
                    None
                }
                Node::Inner(inner) => {
                    let mut rest = inner.from(from).iter();
                    let child = rest.next();
                    walk.above.push(rest);
                    child.map(|child| &child.node)
                }
            };
        }
        walk
    }

    /// Goes on to the next leaf in which something is alive.
    fn next_leaf(&mut self) -> Option<()> {
        loop {
            let now = self.now.0;
            let Some(child) = self.above.last_mut()?.find(|child| child.latest > now) else {
                self.above.pop();
                continue;
            };
            match &child.node {
                Node::Inner(inner) => self.above.push(inner.all().iter()),
                Node::Leaf(items) => {
                    self.leaf = items.iter();
                    return Some(());
                }
            }
        }
    }
}

impl<E: Entry> Iterator for Walk<'_, E> {
    type Item = (Key, Slot);

    fn next(&mut self) -> Option<(Key, Slot)> {
        loop {
            let now = self.now.0;
            if let Some(item) = self.leaf.find(|item| item.expires() > now) {
                return Some((item.key(), item.slot()));
            }
            self.next_leaf()?;
        }
    }
}
