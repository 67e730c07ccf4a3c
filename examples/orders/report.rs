//! What the ledgers add up to: the only source of the demo's table and of its verdict.

use std::collections::BTreeMap;
use std::fmt;

use crate::ledger::Event;

/// One worker's ledger, and when it was killed.
pub struct Record {
    pub events: Vec<Event>,
    pub killed_at_us: Option<u64>,
}

/// The numbers of the table; lateness in microseconds, one a first delivery, in order.
#[derive(Default)]
pub struct Account {
    pushed: usize,
    cancelled: usize,
    cancelled_in_work: usize,
    paid_too_late: usize,
    delivered: usize,
    redelivered: usize,
    twice: usize,
    after_cancel: usize,
    refused: usize,
    lost: usize,
    lateness_us: Vec<i64>,
}

/// What one order went through.
#[derive(Default)]
struct History<'a> {
    pushed: bool,
    /// The job's state when it was cancelled.
    cancelled: Option<&'a str>,
    deliveries: Vec<Delivery>,
}

struct Delivery {
    worker: usize,
    killed_at_us: Option<u64>,
    due_ms: u64,
    at_us: u64,
    done: bool,
    acked: Option<bool>,
}

impl Account {
    /// Adds up the shop's ledger and the workers'.
    pub fn of(shop: &[Event], workers: &[Record]) -> Account {
        let mut account = Account::default();
        for mut history in histories(shop, workers).into_values() {
            history.deliveries.sort_by_key(|delivery| delivery.at_us);
            account.add(&history);
        }
        account.lateness_us.sort_unstable();
        account
    }

    fn add(&mut self, history: &History) {
        self.pushed += usize::from(history.pushed);
        match history.cancelled {
            Some("waiting") => self.cancelled += 1,
            Some("claimed") => self.cancelled_in_work += 1,
            Some(_) => self.paid_too_late += 1,
            None => {}
        }
        if let Some(first) = history.deliveries.first() {
            self.delivered += 1;
            self.lateness_us.push(first.at_us as i64 - first.due_ms as i64 * 1_000);
        }
        for (earlier, later) in history.deliveries.iter().zip(history.deliveries.iter().skip(1)) {
            *(if earlier.is_cut_off_before(later) { &mut self.redelivered } else { &mut self.twice }) += 1;
        }
        let in_queue = !matches!(history.cancelled, Some("waiting" | "claimed"));
        self.lost += usize::from(history.pushed && in_queue && !history.is_done());
        self.after_cancel +=
            usize::from(history.cancelled == Some("waiting") && history.is_with_the_living());
        self.refused += usize::from(in_queue && history.is_refused());
    }

    /// Each promise that the queue did not keep.
    pub fn faults(&self) -> Vec<String> {
        let early = self.lateness_us.iter().filter(|lateness| **lateness < 0).count();
        [
            (self.lost, "lost"),
            (self.twice, "delivered twice though the first worker lived"),
            (early, "delivered before they were due"),
            (self.after_cancel, "delivered though they had been cancelled"),
            (self.refused, "acknowledged in time and refused"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect()
    }

    /// The lateness that `percent` of the deliveries do not exceed, in milliseconds.
    fn lateness_ms(&self, percent: usize) -> f64 {
        let last = self.lateness_us.len().saturating_sub(1);
        self.lateness_us.get(last * percent / 100).map_or(0.0, |lateness| *lateness as f64 / 1_000.0)
    }
}

impl Delivery {
    /// Whether its worker had died with it in hand by then; only that excuses another delivery.
    fn is_cut_off_before(&self, later: &Delivery) -> bool {
        self.acked.is_none() && self.killed_at_us.is_some_and(|killed_at_us| killed_at_us < later.at_us)
    }
}

impl History<'_> {
    fn is_done(&self) -> bool {
        self.deliveries.iter().any(|delivery| delivery.done)
    }

    fn is_with_the_living(&self) -> bool {
        self.deliveries.iter().any(|delivery| delivery.killed_at_us.is_none())
    }

    /// Whether the last delivery, which nobody overtook, was refused when acked.
    fn is_refused(&self) -> bool {
        self.deliveries.last().is_some_and(|last| last.acked == Some(false))
    }
}

fn histories<'a>(shop: &'a [Event], workers: &'a [Record]) -> BTreeMap<&'a str, History<'a>> {
    let mut histories: BTreeMap<&str, History> = BTreeMap::new();
    for (worker, record) in workers.iter().enumerate() {
        for event in &record.events {
            note(&mut histories, event, worker, record.killed_at_us);
        }
    }
    for event in shop {
        note(&mut histories, event, workers.len(), None);
    }
    histories
}

/// Writes one event into its order's history.
fn note<'a>(
    histories: &mut BTreeMap<&'a str, History<'a>>,
    event: &'a Event,
    worker: usize,
    killed_at_us: Option<u64>,
) {
    let history = histories.entry(event.id()).or_default();
    match event {
        Event::Pushed { .. } => history.pushed = true,
        Event::Cancelled { was, .. } => history.cancelled = Some(was),
        Event::Delivered { due_ms, at_us, .. } => {
            let (due_ms, at_us) = (*due_ms, *at_us);
            history.deliveries.push(Delivery {
                worker,
                killed_at_us,
                due_ms,
                at_us,
                done: false,
                acked: None,
            });
        }
        Event::Done { .. } | Event::Acked { .. } => {
            // A worker finishes what it was given last.
            let own = history.deliveries.iter_mut().rfind(|delivery| delivery.worker == worker);
            if let Some(delivery) = own {
                match event {
                    Event::Acked { current, .. } => delivery.acked = Some(*current),
                    _ => delivery.done = true,
                }
            }
        }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let lateness = [50, 99, 100].map(|percent| format!("{:.1}", self.lateness_ms(percent))).join(" / ");
        let rows = [
            ("pushed", self.pushed.to_string()),
            ("cancelled: paid in time", self.cancelled.to_string()),
            ("cancelled while in work", self.cancelled_in_work.to_string()),
            ("paid after the delivery", self.paid_too_late.to_string()),
            ("delivered", self.delivered.to_string()),
            ("redelivered after the kill", self.redelivered.to_string()),
            ("delivered twice", self.twice.to_string()),
            ("lost", self.lost.to_string()),
            ("lateness p50 / p99 / max, ms", lateness),
        ];
        for (what, value) in rows {
            writeln!(out, "{what:<30}{value:>20}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(id: &str) -> Event {
        Event::Pushed { id: id.into() }
    }

    fn cancelled(id: &str, was: &str) -> Event {
        Event::Cancelled { id: id.into(), was: was.into() }
    }

    fn delivered(id: &str, at_us: u64) -> Event {
        Event::Delivered { id: id.into(), due_ms: 1, at_us }
    }

    fn done(id: &str) -> Event {
        Event::Done { id: id.into() }
    }

    fn acked(id: &str) -> Event {
        Event::Acked { id: id.into(), current: true }
    }

    fn finished(id: &str, at_us: u64) -> Vec<Event> {
        vec![delivered(id, at_us), done(id), acked(id)]
    }

    fn living(events: Vec<Event>) -> Record {
        Record { events, killed_at_us: None }
    }

    fn killed(events: Vec<Event>) -> Record {
        Record { events, killed_at_us: Some(1_550) }
    }

    #[test]
    fn what_a_killed_worker_held_is_redelivered_and_no_fault() {
        let first = killed(vec![delivered("A", 1_500), delivered("B", 1_500), done("A")]);
        let second = living([finished("A", 2_000), finished("B", 2_100)].concat());
        let account = Account::of(&[pushed("A"), pushed("B")], &[first, second]);
        assert_eq!((account.delivered, account.redelivered, account.twice, account.lost), (2, 2, 0, 0));
        assert_eq!(account.lateness_us, [500, 500]);
        assert!(account.faults().is_empty());
    }

    #[test]
    fn a_second_delivery_while_the_first_worker_lives_is_a_fault() {
        let workers = [living(finished("A", 1_500)), living(finished("A", 1_600))];
        let account = Account::of(&[pushed("A")], &workers);
        assert_eq!(account.faults(), ["1 delivered twice though the first worker lived"]);
    }

    #[test]
    fn a_second_delivery_of_what_the_killed_worker_had_acked_is_a_fault() {
        let workers = [killed(finished("A", 1_500)), living(finished("A", 1_600))];
        assert_eq!(Account::of(&[pushed("A")], &workers).twice, 1);
    }

    #[test]
    fn a_second_delivery_while_the_killed_worker_still_lived_is_a_fault() {
        let workers = [killed(vec![delivered("A", 1_500)]), living(finished("A", 1_540))];
        assert_eq!(Account::of(&[pushed("A")], &workers).twice, 1);
    }

    #[test]
    fn what_was_neither_done_nor_cancelled_is_lost() {
        let shop = [pushed("A"), pushed("B"), cancelled("B", "waiting"), pushed("C"), cancelled("C", "gone")];
        let account = Account::of(&shop, &[killed(vec![delivered("A", 1_500)])]);
        assert_eq!((account.cancelled, account.paid_too_late, account.lost), (1, 1, 2));
        assert_eq!(account.faults(), ["2 lost"]);
    }

    #[test]
    fn a_delivery_before_its_time_or_after_its_cancellation_is_a_fault() {
        let shop =
            [pushed("A"), pushed("B"), cancelled("B", "waiting"), pushed("C"), cancelled("C", "claimed")];
        let worker = living([finished("A", 999), finished("B", 1_500), finished("C", 1_500)].concat());
        let account = Account::of(&shop, &[worker]);
        assert_eq!(account.cancelled_in_work, 1);
        let expected = ["1 delivered before they were due", "1 delivered though they had been cancelled"];
        assert_eq!(account.faults(), expected);
    }
}
