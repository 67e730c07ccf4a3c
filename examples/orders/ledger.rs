//! The ledgers: each process appends what it saw to a file of its own, one event a line; what is written survives the
//! writer's death.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::Result;

/// One thing that a process saw happen.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The order's time-out is in the queue.
    Pushed { id: String },
    /// The order was paid and its time-out cancelled; `was` is the job's state before, or `gone`.
    Cancelled { id: String, was: String },
    /// The queue delivered the time-out to this worker.
    Delivered { id: String, due_ms: u64, at_us: u64 },
    /// The worker has given up the order: the work is done.
    Done { id: String },
    /// The queue was told so; `current` is false when the job was no longer this worker's.
    Acked { id: String, current: bool },
}

impl Event {
    /// The order that it is about.
    pub fn id(&self) -> &str {
        match self {
            Event::Pushed { id }
            | Event::Cancelled { id, .. }
            | Event::Delivered { id, .. }
            | Event::Done { id }
            | Event::Acked { id, .. } => id,
        }
    }

    fn line(&self) -> String {
        match self {
            Event::Pushed { id } => format!("pushed {id}\n"),
            Event::Cancelled { id, was } => format!("cancelled {id} {was}\n"),
            Event::Delivered { id, due_ms, at_us } => format!("delivered {id} {due_ms} {at_us}\n"),
            Event::Done { id } => format!("done {id}\n"),
            Event::Acked { id, current } => format!("acked {id} {current}\n"),
        }
    }

    fn parse(line: &str) -> Result<Event> {
        let words: Vec<&str> = line.split(' ').collect();
        Ok(match *words.as_slice() {
            ["pushed", id] => Event::Pushed { id: id.into() },
            ["cancelled", id, was] => Event::Cancelled { id: id.into(), was: was.into() },
            ["delivered", id, due, at] => {
                Event::Delivered { id: id.into(), due_ms: due.parse()?, at_us: at.parse()? }
            }
            ["done", id] => Event::Done { id: id.into() },
            ["acked", id, current] => Event::Acked { id: id.into(), current: current.parse()? },
            _ => return Err(format!("no event: {line}").into()),
        })
    }
}

/// A ledger open for writing.
pub struct Ledger {
    file: File,
}

impl Ledger {
    pub fn open(file: &Path) -> Result<Ledger> {
        Ok(Ledger { file: File::options().create(true).append(true).open(file)? })
    }

    /// Appends the events in one piece.
    pub fn write(&mut self, events: &[Event]) -> Result<()> {
        let lines: String = events.iter().map(Event::line).collect();
        Ok(self.file.write_all(lines.as_bytes())?)
    }
}

/// Every event of a ledger, in order; none yet when there is no file. A line that its writer did not live to finish
/// is not an event.
pub fn read(file: &Path) -> Result<Vec<Event>> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(file)?;
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).map(Event::parse).collect()
}

/// The orders that a worker still holds: delivered, and the queue was not told that they are done.
pub fn held(events: &[Event]) -> Vec<&str> {
    let mut held = Vec::new();
    for event in events {
        match event {
            Event::Delivered { id, .. } => held.push(id.as_str()),
            Event::Acked { id, .. } => held.retain(|other| other != id),
            Event::Pushed { .. } | Event::Cancelled { .. } | Event::Done { .. } => {}
        }
    }
    held
}

/// Whether a worker has work before it, and so has not yet told the queue about anything that it holds.
pub fn is_at_work(events: &[Event]) -> bool {
    let delivered = events.iter().filter(|event| matches!(event, Event::Delivered { .. })).count();
    delivered > events.iter().filter(|event| matches!(event, Event::Done { .. })).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_read_as_it_was_written() -> Result<()> {
        let id = || "A-1".to_owned();
        for event in [
            Event::Pushed { id: id() },
            Event::Cancelled { id: id(), was: "waiting".into() },
            Event::Delivered { id: id(), due_ms: 1_700_000_000_000, at_us: 1_700_000_000_000_123 },
            Event::Done { id: id() },
            Event::Acked { id: id(), current: false },
        ] {
            assert_eq!(Event::parse(event.line().trim_end())?, event);
        }
        Ok(())
    }

    #[test]
    fn what_is_acked_is_no_longer_held() {
        let delivered = |id: &str| Event::Delivered { id: id.into(), due_ms: 1, at_us: 1_000 };
        let done = |id: &str| Event::Done { id: id.into() };
        let mut events = vec![delivered("A-1"), delivered("A-2"), done("A-1")];
        assert_eq!(held(&events), ["A-1", "A-2"]);
        assert!(is_at_work(&events));
        events.extend([done("A-2"), Event::Acked { id: "A-1".into(), current: true }]);
        assert_eq!(held(&events), ["A-2"]);
        assert!(!is_at_work(&events));
    }
}
