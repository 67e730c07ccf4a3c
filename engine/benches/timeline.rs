//! The timeline against the standard library's ordered map, and the longest single push while a queue grows.
//!
//! `cargo bench -p dq-engine --bench timeline -- [--largest N] [--grow N]`: the largest order that is measured (default
//! 1,000,000; 10,000,000 takes a minute and 2 GB), and how many jobs are pushed (default 1,000,000).

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a bench talks, and may stop"
)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use dq_engine::effect::Effects;
use dq_engine::id::IdRef;
use dq_engine::policy::Policy;
use dq_engine::queue::{Push, Queue, Replace, When};
use dq_engine::slots::Slot;
use dq_engine::time::{Millis, UnixMs};
use dq_engine::timeline::{Key, Timeline};

const SIZES: [usize; 4] = [1_000, 100_000, 1_000_000, 10_000_000];
/// So many operations at least are timed for each line.
const OPERATIONS: usize = 200_000;

/// Repeatable numbers without order: every key once.
struct Keys {
    state: u64,
}

impl Keys {
    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// `count` places in time, the times random or, as jobs with one delay have them, rising.
    fn places(count: usize, order: Order) -> Vec<(u64, u64)> {
        let mut keys = Keys { state: 0x9E37_79B9_7F4A_7C15 };
        let time = |number: u64, random: u64| match order {
            Order::Random => random % (1 << 40),
            Order::Rising => number / 3,
        };
        (0..count as u64).map(|number| (time(number, keys.next()), number)).collect()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Random,
    Rising,
}

/// What is measured of either structure.
trait Ordered: Default {
    fn insert(&mut self, place: (u64, u64));
    fn first(&self) -> Option<(u64, u64)>;
    fn remove(&mut self, place: (u64, u64)) -> bool;
    fn rank(&self, time: u64) -> usize;
}

#[derive(Default)]
struct Ours(Timeline<Slot>);

#[derive(Default)]
struct Standard(BTreeMap<(u64, u64), u32>);

fn key((time, sequence): (u64, u64)) -> Key {
    Key { time: UnixMs(time), sequence }
}

impl Ordered for Ours {
    fn insert(&mut self, place: (u64, u64)) {
        self.0.insert(key(place), Slot(place.1 as u32));
    }

    fn first(&self) -> Option<(u64, u64)> {
        self.0.first().map(|(key, _)| (key.time.0, key.sequence))
    }

    fn remove(&mut self, place: (u64, u64)) -> bool {
        self.0.remove(key(place)).is_some()
    }

    fn rank(&self, time: u64) -> usize {
        self.0.rank(UnixMs(time))
    }
}

impl Ordered for Standard {
    fn insert(&mut self, place: (u64, u64)) {
        self.0.insert(place, place.1 as u32);
    }

    fn first(&self) -> Option<(u64, u64)> {
        self.0.first_key_value().map(|(place, _)| *place)
    }

    fn remove(&mut self, place: (u64, u64)) -> bool {
        self.0.remove(&place).is_some()
    }

    fn rank(&self, time: u64) -> usize {
        self.0.range(..=(time, u64::MAX)).count()
    }
}

/// Nanoseconds an operation: insert, first, rank, remove anywhere, remove the first.
fn measure<T: Ordered>(places: &[(u64, u64)]) -> [f64; 5] {
    let count = places.len();
    let rounds = OPERATIONS.div_ceil(count);
    let mut spent = [Duration::ZERO; 5];
    let ranks = if count > 10_000 { 20 } else { 2_000 };
    for _ in 0..rounds {
        let mut order = T::default();
        spent[0] += timed(|| places.iter().for_each(|&place| order.insert(place)));
        spent[1] += timed(|| {
            for _ in 0..count {
                black_box(black_box(&order).first());
            }
        });
        let times = places.iter().step_by(count.div_ceil(ranks));
        let asked = times.len() as u32;
        let ranked = timed(|| {
            for place in times {
                black_box(order.rank(place.0));
            }
        });
        spent[2] += ranked * count as u32 / asked;
        // Half of them from anywhere, and the other half as claims take them.
        let anywhere = timed(|| places.iter().step_by(2).for_each(|&place| assert!(order.remove(place))));
        spent[3] += anywhere * 2;
        let first = timed(|| {
            while let Some(place) = order.first() {
                order.remove(place);
            }
        });
        spent[4] += first * 2;
    }
    spent.map(|spent| spent.as_secs_f64() * 1e9 / (rounds * count) as f64)
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn compare(count: usize, order: Order) {
    let places = Keys::places(count, order);
    let (ours, standard) = (measure::<Ours>(&places), measure::<Standard>(&places));
    let how = if order == Order::Random { "random" } else { "rising" };
    let names = ["insert", "first", "rank", "remove", "take first"];
    for (number, name) in names.into_iter().enumerate() {
        let (ours, standard) = (ours[number], standard[number]);
        println!("{count:>10} {how} {name:<10} {ours:>9.1} ns {standard:>12.1} ns {:>10.2}", standard / ours);
    }
}

/// Pushes `count` jobs, each at another time, and tells how long they took: on average, the longest, and where.
fn grow(count: usize) {
    let places = Keys::places(count, Order::Random);
    let (mut queue, now) = (Queue::new(Policy::DEFAULT), UnixMs(0));
    let (mut longest, mut sum) = ((Duration::ZERO, 0), Duration::ZERO);
    let (mut slow, mut before) = ([0u32; 3], waited());
    for (number, &(time, _)) in places.iter().enumerate() {
        let id = format!("order:{number:030}");
        let push = Push {
            id: IdRef::of(id.as_bytes()),
            message: &[b'm'; 32],
            when: When::At(UnixMs(time)),
            priority: 0,
            ttl: Some(Millis::ZERO),
            replace: Replace::No,
        };
        let mut effects = Effects::default();
        let started = Instant::now();
        queue.push(now, &push, &mut effects).expect("a time in range");
        let mut spent = started.elapsed();
        sum += spent;
        if spent > Duration::from_micros(200) {
            // What it stood in line for a processor is not its own time; every such wait makes some push slow.
            let now_waited = waited();
            spent = spent.saturating_sub(now_waited - before);
            before = now_waited;
        }
        longest = longest.max((spent, number));
        for (limit, count) in [1, 2, 5].into_iter().zip(&mut slow) {
            *count += u32::from(spent >= Duration::from_millis(limit));
        }
    }
    let average = sum.as_secs_f64() * 1e9 / count.max(1) as f64;
    println!(
        "{count:>10} pushes: {average:.0} ns on average, the longest {:?}, the {}th",
        longest.0,
        longest.1 + 1
    );
    println!("{:>10} of them took 1 ms or more, {} 2 ms, {} 5 ms", slow[0], slow[1], slow[2]);
    println!(
        "{:>10} bytes a job, id and message of 68 bytes included, by the queue's own account",
        queue.bytes() / count.max(1)
    );
}

/// How long this thread has stood in line for a processor so far, where the system tells it.
fn waited() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = told.split(' ').nth(1).and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

fn argument(name: &str) -> Option<usize> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)?.parse().ok()
}

fn main() {
    let largest = argument("--largest").unwrap_or(1_000_000);
    println!("{:>10} {:<17} {:>12} {:>15} {:>10}", "entries", "operation", "timeline", "BTreeMap", "ratio");
    for order in [Order::Random, Order::Rising] {
        SIZES.into_iter().filter(|&count| count <= largest).for_each(|count| compare(count, order));
    }
    // What stops the world does so every time; what others on this machine take is another push each time.
    (0..3).for_each(|_| grow(argument("--grow").unwrap_or(1_000_000)));
}
