//! What the workers wrote down, as a row of the table; the only source of the demo's verdict.

use std::collections::HashSet;
use std::fmt;

use crate::arguments::Options;
use crate::scene::Scene;
use crate::worker::Work;

/// The names of the columns.
pub fn head() -> String {
    let (commands, races, lateness) = ("commands", "lost races", "lateness p50 / p99 / max, ms");
    columns("", &[commands, races, "duplicates", "lost", lateness])
}

fn columns(name: &str, values: &[&str; 5]) -> String {
    let [commands, races, duplicates, lost, lateness] = values;
    format!("{name:<33}{commands:>10}{races:>12}{duplicates:>12}{lost:>6}{lateness:>31}")
}

/// How the table is to be read.
pub const NOTES: &str = "\
Commands are all that consumers and movers sent; the work on a message takes 1 ms. A race is lost when a message that was found
has been taken by another one. Lateness is from a message's time to the beginning of the work on it.";

/// What one way of delivering came to; lateness in microseconds, in order.
#[derive(Default)]
pub struct Row {
    name: &'static str,
    is_ours: bool,
    commands: u64,
    lost_races: u64,
    duplicates: usize,
    lost: usize,
    lateness_us: Vec<i64>,
}

impl Row {
    /// Adds up what the workers of a scene did.
    pub fn of(scene: &Scene, options: &Options, all: &[Work]) -> Row {
        let row = Row { name: scene.name, is_ours: scene.is_ours, ..Row::default() };
        row.with(options.messages, all)
    }

    fn with(mut self, messages: usize, all: &[Work]) -> Row {
        let mut seen = HashSet::new();
        for work in all {
            self.commands += work.commands;
            self.lost_races += work.lost_races;
            for (number, late_us) in &work.deliveries {
                self.duplicates += usize::from(!seen.insert(*number));
                self.lateness_us.push(*late_us);
            }
        }
        self.lost = messages - seen.len();
        self.lateness_us.sort_unstable();
        self
    }

    /// Each promise that was not kept: of any way that nothing is lost or early, of ours that nobody looks in vain.
    pub fn faults(&self) -> Vec<String> {
        let early = self.lateness_us.iter().filter(|lateness| **lateness < 0).count();
        let races = if self.is_ours { self.lost_races } else { 0 };
        [
            (self.lost as u64, "lost"),
            (self.duplicates as u64, "delivered twice"),
            (early as u64, "delivered before their time"),
            (races, "races lost"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{}: {count} {what}", self.name))
        .collect()
    }

    /// The lateness that `percent` of the deliveries do not exceed, in milliseconds.
    fn lateness_ms(&self, percent: usize) -> f64 {
        let last = self.lateness_us.len().saturating_sub(1);
        self.lateness_us.get(last * percent / 100).map_or(0.0, |lateness| *lateness as f64 / 1_000.0)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let lateness = [50, 99, 100].map(|percent| format!("{:.1}", self.lateness_ms(percent))).join(" / ");
        let [commands, races] = [self.commands, self.lost_races].map(|count| count.to_string());
        let [duplicates, lost] = [self.duplicates, self.lost].map(|count| count.to_string());
        out.write_str(&columns(self.name, &[&commands, &races, &duplicates, &lost, &lateness]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(deliveries: &[(usize, i64)]) -> Work {
        Work { commands: 3, lost_races: 1, deliveries: deliveries.to_vec() }
    }

    #[test]
    fn a_row_adds_up_what_all_workers_did() {
        let row = Row::default().with(3, &[work(&[(0, 2_000), (2, 1_000)]), work(&[(1, 9_000)])]);
        assert_eq!((row.commands, row.lost_races, row.duplicates, row.lost), (6, 2, 0, 0));
        assert_eq!(row.lateness_us, [1_000, 2_000, 9_000]);
        assert_eq!((row.lateness_ms(50), row.lateness_ms(100)), (2.0, 9.0));
        assert!(row.faults().is_empty(), "races are lost by those who poll");
    }

    #[test]
    fn what_was_promised_and_not_kept_is_named() {
        let row = Row { is_ours: true, ..Row::default() };
        let row = row.with(3, &[work(&[(0, -1), (2, 1)]), work(&[(2, 5)])]);
        let told = row.faults().join(",");
        assert_eq!(told, ": 1 lost,: 1 delivered twice,: 1 delivered before their time,: 2 races lost");
    }
}
