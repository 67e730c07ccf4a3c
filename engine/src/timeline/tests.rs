//! The tree against a sorted vector, for random keys, times and expiries.

use proptest::prelude::*;

use super::{Key, Mortal, Timeline};
use crate::slots::Slot;
use crate::time::UnixMs;

type Row = (Key, u64, u32);

#[derive(Clone, Debug)]
enum Step {
    Insert(u64, u64, u64),
    Remove(usize),
    RemoveFirst(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..2_000u64, 0..4u64, 0..2_500u64).prop_map(|(time, seq, exp)| Step::Insert(time, seq, exp)),
        2 => any::<usize>().prop_map(Step::Remove),
        1 => (0..200usize).prop_map(Step::RemoveFirst),
    ]
}

fn compare(tree: &Timeline<Mortal>, rows: &[Row], now: u64) {
    let now = UnixMs(now);
    let alive: Vec<(Key, Slot)> =
        rows.iter().filter(|row| row.1 > now.0).map(|row| (row.0, Slot(row.2))).collect();
    assert!(tree.is_sound());
    assert_eq!(tree.len(), rows.len());
    assert_eq!(tree.first_alive(now), alive.first().copied());
    assert_eq!(tree.rank(now), rows.iter().filter(|row| row.0.time <= now).count());
    assert_eq!(tree.walk(Key::FIRST, now).collect::<Vec<_>>(), alive);
    let from = Key { time: UnixMs(now.0 / 2), sequence: 2 };
    let rest: Vec<_> = alive.into_iter().filter(|row| row.0 >= from).collect();
    assert_eq!(tree.walk(from, now).collect::<Vec<_>>(), rest);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_tree_agrees_with_a_sorted_vector(steps in prop::collection::vec(step(), 1..2_000), now in 0..2_500u64) {
        let mut tree = Timeline::default();
        let mut rows: Vec<Row> = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            match *step {
                Step::Insert(time, sequence, expires) => {
                    let key = Key { time: UnixMs(time), sequence };
                    let slot = number as u32;
                    let free = rows.binary_search_by_key(&key, |row| row.0);
                    prop_assert_eq!(tree.insert(key, Mortal { expires, slot: Slot(slot) }), free.is_err());
                    if let Err(at) = free {
                        rows.insert(at, (key, expires, slot));
                    }
                }
                Step::Remove(at) if !rows.is_empty() => {
                    let row = rows.remove(at % rows.len());
                    prop_assert_eq!(tree.remove(row.0).map(|entry| entry.slot), Some(Slot(row.2)));
                    prop_assert!(tree.remove(row.0).is_none());
                }
                Step::Remove(_) => {}
                Step::RemoveFirst(count) => {
                    for row in rows.drain(..count.min(rows.len())) {
                        prop_assert!(tree.remove(row.0).is_some());
                    }
                }
            }
        }
        compare(&tree, &rows, now);
    }
}

#[test]
fn jobs_that_arrive_in_order_leave_full_nodes_and_drain_to_nothing() {
    let mut tree = Timeline::default();
    let key = |n: u64| Key { time: UnixMs(n), sequence: n };
    for n in 0..10_000 {
        assert!(tree.insert(key(n), Slot(n as u32)));
    }
    assert!(tree.is_sound());
    assert_eq!(tree.rank(UnixMs(4_999)), 5_000);
    for n in 0..10_000 {
        assert_eq!(tree.first(), Some((key(n), Slot(n as u32))));
        assert!(tree.remove(key(n)).is_some());
    }
    assert!(tree.is_empty() && tree.root.is_none());
}

#[test]
fn a_million_expired_entries_at_the_head_are_one_step() {
    let mut tree = Timeline::default();
    for n in 0..1_000_000u64 {
        let expires = if n == 999_999 { u64::MAX } else { 5 };
        tree.insert(Key { time: UnixMs(1), sequence: n }, Mortal { expires, slot: Slot(n as u32) });
    }
    let started = std::time::Instant::now();
    for _ in 0..1_000 {
        assert_eq!(tree.first_alive(UnixMs(5)).map(|(_, slot)| slot), Some(Slot(999_999)));
        assert_eq!(tree.walk(Key::FIRST, UnixMs(5)).count(), 1);
    }
    // A walk over a million entries a thousand times would take seconds even in a release build.
    assert!(started.elapsed().as_secs() < 5);
}
