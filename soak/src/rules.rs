//! What must hold of a job's history, whatever happened in between. Each rule says `None` or what is wrong.
//!
//! A client knows of each command only from when to when it happened (`Span`), and of some not whether (`Outcome`). So a
//! rule speaks only when no order and no outcome that is possible would make it right.

use crate::clock::{Moment, SLACK_MS};
use crate::event::{Due, Event, Outcome, Queue, Sweep, What, Whole};

/// What the rules must know beside the job's own events.
pub struct Around<'a> {
    pub wholes: &'a [Whole],
    /// When which queue was certainly paused.
    pub pauses: &'a [(Queue, Moment, Moment)],
}

/// The rules of the delivery that is event `at`.
pub fn of_delivery(events: &[Event], at: usize, around: &Around<'_>) -> Option<String> {
    let given = &events[at];
    early(events, at, around)
        .or_else(|| outdated(events, given))
        .or_else(|| shared(events, at))
        .or_else(|| miscounted(events, at, around))
        .or_else(|| risen(events, given))
        .or_else(|| undead(events, given, around))
        .or_else(|| expired(events, given, around))
        .or_else(|| paused(given, around))
}

/// Nothing is delivered before its due time, and that is one that somebody, or a lease, gave it.
fn early(events: &[Event], at: usize, around: &Around<'_>) -> Option<String> {
    let given = &events[at];
    let What::Delivered { due, .. } = given.what else { return None };
    if given.span.latest_ms() < due {
        return Some(format!("delivered {} ms before it is due", due - given.span.latest_ms()));
    }
    let others = events.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, event)| event);
    (!gave_due(others, around, due)).then(|| format!("due at {due}, a time that nothing gave to it"))
}

/// Whether `due` is a time that one of these events, or a claim or redrive of its queue, can have given to the job.
pub fn gave_due<'e>(mut events: impl Iterator<Item = &'e Event>, around: &Around<'_>, due: u64) -> bool {
    events.any(|event| event.is_possible() && event_gave_due(event, due))
        || around.wholes.iter().any(|whole| whole.outcome.is_possible() && whole_gave_due(whole, due))
}

fn event_gave_due(event: &Event, due: u64) -> bool {
    match &event.what {
        What::Pushed { due: at, .. } | What::Nacked { due: at, .. } => at.admits(event.span, due),
        What::Rescheduled { due: at } | What::Redriven { due: at } => at.admits(event.span, due),
        What::Delivered { lease_ms: Some(ms), .. } | What::Extended { lease_ms: ms, .. } => {
            Due::after(*ms).admits(event.span, due)
        }
        What::Seen(seen) => seen.due == due || seen.lease_until == Some(due),
        _ => false,
    }
}

fn whole_gave_due(whole: &Whole, due: u64) -> bool {
    match whole.sweep {
        Sweep::Claim { lease_ms: Some(ms), .. } if whole.is_unresolved_claim() => {
            Due::after(ms).admits(whole.span, due)
        }
        Sweep::Redrive { delay_ms } => Due::after(delay_ms).admits(whole.span, due),
        _ => false,
    }
}

/// A message that was certainly replaced before is not delivered.
fn outdated(events: &[Event], given: &Event) -> Option<String> {
    let What::Delivered { version, .. } = given.what else { return None };
    let pushed = |event: &Event| match &event.what {
        What::Pushed { version, .. } => Some(*version),
        What::Seen(seen) => Some(seen.version),
        _ => None,
    };
    let mine: Vec<&Event> = events.iter().filter(|event| event.is_possible()).collect();
    let ends = mine.iter().filter(|event| pushed(event) == Some(version)).map(|event| event.span.end).max();
    let Some(end) = ends else { return Some(format!("message of version {version}, which nobody pushed")) };
    let replaced = mine.iter().find(|event| {
        let other = pushed(event).is_some_and(|other| other != version);
        other && event.is_sure() && event.span.start > end && event.span.end < given.span.start
    });
    replaced.map(|event| format!("message of version {version}, replaced by {:?}", event.what))
}

/// No delivery while the lease of another one certainly runs.
fn shared(events: &[Event], at: usize) -> Option<String> {
    let given = &events[at];
    events.iter().enumerate().filter(|(index, other)| *index != at && other.is_sure()).find_map(
        |(_, other)| {
            let (first, second) = in_order(other, given)?;
            let until = lease_end(events, first)?;
            let taken = second.span.end / 1000 < until && !disturbed(events, first, second.span.end);
            taken.then(|| format!("delivered within the lease of {:?}, which runs until {until}", first.what))
        },
    )
}

/// Two deliveries in the order in which the server made them, if that is known. A job is seen when nobody works, before or
/// after all else.
fn in_order<'e>(one: &'e Event, other: &'e Event) -> Option<(&'e Event, &'e Event)> {
    let token = |event: &Event| match &event.what {
        What::Delivered { token, .. } => *token,
        _ => None,
    };
    match (&one.what, &other.what) {
        (What::Seen(_), What::Delivered { .. }) | (What::Delivered { .. } | What::Seen(_), What::Seen(_)) => {
            return Some((one, other));
        }
        (What::Delivered { .. }, What::Delivered { .. }) => {}
        _ => return None,
    }
    let by_token = one.queue == other.queue && token(one).is_some() && token(other).is_some();
    let first = if by_token { token(one) < token(other) } else { one.span.end < other.span.start };
    let last = if by_token { token(one) > token(other) } else { one.span.start > other.span.end };
    if first { Some((one, other)) } else { last.then_some((other, one)) }
}

/// The earliest end that the lease of a delivery can have.
pub fn lease_end(events: &[Event], delivery: &Event) -> Option<u64> {
    let (token, mut end) = match &delivery.what {
        What::Delivered { token: Some(token), lease_ms: Some(ms), .. } => {
            (*token, delivery.span.earliest_ms() + ms)
        }
        What::Seen(seen) => (seen.token?, seen.lease_until?),
        _ => return None,
    };
    for event in events.iter().filter(|event| event.is_possible() && event.queue == delivery.queue) {
        if let What::Extended { token: extended, lease_ms } = event.what
            && extended == token
        {
            let until = event.span.earliest_ms() + lease_ms;
            end = if event.is_sure() { until } else { end.min(until) };
        }
    }
    Some(end)
}

/// Whether something that gives the job back, or makes it another one, may have happened from a delivery to `to`.
fn disturbed(events: &[Event], delivery: &Event, to: Moment) -> bool {
    events.iter().any(|event| {
        let disturbs = matches!(
            event.what,
            What::Pushed { .. }
                | What::Acked { .. }
                | What::Nacked { .. }
                | What::Cancelled
                | What::Redriven { .. }
                | What::Rescheduled { .. }
        );
        disturbs && event.is_possible() && event.span.touches(delivery.span.start, to)
    })
}

/// Attempts count up by one a claim, unless something began them anew.
fn miscounted(events: &[Event], at: usize, around: &Around<'_>) -> Option<String> {
    let What::Delivered { attempt, .. } = events[at].what else { return None };
    miscount(events, at, around, attempt)
}

/// The rule of attempts for a delivery, or for a job as it was seen, whose attempts were counted before the event `at`.
pub fn miscount(events: &[Event], at: usize, around: &Around<'_>, attempt: u64) -> Option<String> {
    let given = &events[at];
    let before: Vec<&Event> = events
        .iter()
        .enumerate()
        .filter(|(index, event)| *index != at && event.is_sure())
        .filter_map(|(_, event)| in_order(event, given).filter(|(first, _)| std::ptr::eq(*first, event)))
        .map(|(first, _)| first)
        .collect();
    let last = before.iter().max_by_key(|event| attempts_of(event));
    let (from, counted) = match last {
        Some(event) => (event.span.start, attempts_of(event)),
        None => (events.first()?.span.start, 0),
    };
    let anew = |event: &Event| match event.what {
        What::Nacked { unused, .. } => unused,
        What::Pushed { .. } => last.is_some() || event.span.start > from,
        What::Redriven { .. } => true,
        _ => false,
    };
    let to = given.span.end;
    let begun = events.iter().any(|event| event.is_possible() && anew(event) && event.span.touches(from, to))
        || around
            .wholes
            .iter()
            .any(|whole| matches!(whole.sweep, Sweep::Redrive { .. }) && whole.span.touches(from, to));
    let unknown =
        around.wholes.iter().filter(|whole| whole.is_unresolved_claim() && whole.span.touches(from, to));
    let doubtful = events.iter().filter(|event| {
        matches!(event.what, What::Delivered { .. }) && !event.is_sure() && event.is_possible()
    });
    let most = counted + 1 + (unknown.count() + doubtful.count()) as u64;
    let right = begun || (attempt > counted && attempt <= most);
    (!right).then(|| format!("attempt {attempt}, where {} to {most} were possible", counted + 1))
}

fn attempts_of(event: &Event) -> u64 {
    match &event.what {
        What::Delivered { attempt, .. } => *attempt,
        What::Seen(seen) => seen.attempts,
        _ => 0,
    }
}

/// What was acknowledged, cancelled, moved or given away is not delivered again.
fn risen(events: &[Event], given: &Event) -> Option<String> {
    let ended = events.iter().find(|event| {
        event.is_sure()
            && event.ends_job()
            && event.span.end < given.span.start
            && !may_begin_after(events, event)
    })?;
    Some(format!("delivered after its end: {:?}", ended.what))
}

/// Whether a push may have come after this event.
pub fn may_begin_after(events: &[Event], event: &Event) -> bool {
    events.iter().any(|other| {
        matches!(other.what, What::Pushed { .. }) && other.is_possible() && other.span.end >= event.span.start
    })
}

/// What died of a NACK is not delivered unless it was redriven or pushed anew.
fn undead(events: &[Event], given: &Event, around: &Around<'_>) -> Option<String> {
    let died = events
        .iter()
        .filter(|event| event.outcome == Outcome::Died && event.span.end < given.span.start)
        .find(|event| {
            let woken = events.iter().any(|other| {
                let wakes = matches!(other.what, What::Redriven { .. } | What::Pushed { .. });
                wakes && other.is_possible() && other.span.end >= event.span.start
            });
            let redriven = around.wholes.iter().any(|whole| {
                matches!(whole.sweep, Sweep::Redrive { .. }) && whole.span.end >= event.span.start
            });
            !woken && !redriven
        })?;
    Some(format!("delivered after it died: {:?}", died.what))
}

/// What was seen with an expiry is not delivered after it, unless it was given another, or died and was redriven.
fn expired(events: &[Event], given: &Event, around: &Around<'_>) -> Option<String> {
    let What::Seen(seen) = &events.first()?.what else { return None };
    let over = given.span.earliest_ms() > seen.expires? + SLACK_MS;
    let renewed = events.iter().any(|event| {
        let renews =
            matches!(event.what, What::Pushed { .. } | What::Rescheduled { .. } | What::Redriven { .. });
        renews && event.is_possible()
    });
    let redriven = around.wholes.iter().any(|whole| {
        matches!(whole.sweep, Sweep::Redrive { .. })
            && whole.queue == given.queue
            && whole.outcome.is_possible()
    });
    (over && !renewed && !redriven).then(|| format!("delivered after its TTL, {:?}", seen.expires))
}

/// A paused queue delivers nothing.
fn paused(given: &Event, around: &Around<'_>) -> Option<String> {
    let within = around
        .pauses
        .iter()
        .any(|(queue, from, to)| *queue == given.queue && given.span.start > *from && given.span.end < *to);
    within.then(|| "delivered while its queue was paused".into())
}

/// The rules of a reply to a receipt, which is event `at`: what is current is taken, what is stale is not.
pub fn of_receipt(events: &[Event], at: usize, around: &Around<'_>) -> Option<String> {
    let asked = &events[at];
    let token = match asked.what {
        What::Acked { token } | What::Nacked { token, .. } | What::Extended { token, .. } => token,
        _ => return None,
    };
    if asked.is_sure() {
        return taken_though_stale(events, asked, token);
    }
    let delivery = events.iter().find(|event| {
        event.is_sure()
            && event.queue == asked.queue
            && match &event.what {
                What::Delivered { token: given, .. } => *given == Some(token),
                What::Seen(seen) => seen.token == Some(token),
                _ => false,
            }
    })?;
    let until = lease_end(events, delivery)?;
    let purged = around.wholes.iter().any(|whole| {
        matches!(whole.sweep, Sweep::Purge { .. }) && whole.span.touches(delivery.span.start, asked.span.end)
    });
    let alone: Vec<Event> =
        events.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, event)| event.clone()).collect();
    let refused = asked.outcome == Outcome::Refused && asked.span.end / 1000 < until;
    (refused && !purged && !disturbed(&alone, delivery, asked.span.end))
        .then(|| format!("{:?} was refused within its lease, which runs until {until}", asked.what))
}

fn taken_though_stale(events: &[Event], asked: &Event, token: u64) -> Option<String> {
    let newer = events.iter().find(|event| {
        event.is_sure()
            && event.queue == asked.queue
            && event.span.end < asked.span.start
            && match &event.what {
                What::Delivered { token: given, .. } => given.is_some_and(|given| given > token),
                What::Acked { token: other } | What::Nacked { token: other, .. } => *other == token,
                What::Cancelled => !may_begin_after(events, event),
                _ => false,
            }
    })?;
    Some(format!("{:?} was taken after {:?}", asked.what, newer.what))
}

/// Whether the job was certainly in `queue` from `from` to `to`.
pub fn is_certainly_there(
    events: &[Event],
    around: &Around<'_>,
    queue: Queue,
    from: Moment,
    to: Moment,
) -> bool {
    let proof = events.iter().rfind(|event| {
        let shows = matches!(
            event.what,
            What::Pushed { .. }
                | What::Seen(_)
                | What::Delivered { lease_ms: Some(_), .. }
                | What::Nacked { .. }
        );
        shows && event.is_sure() && event.queue == queue && event.span.end < from
    });
    let Some(proof) = proof else { return false };
    let ended = events
        .iter()
        .any(|event| event.is_possible() && event.ends_job() && event.span.touches(proof.span.start, to));
    let swept = around.wholes.iter().any(|whole| {
        let takes = match whole.sweep {
            Sweep::Move { .. } | Sweep::Purge { .. } => true,
            Sweep::Claim { lease_ms, .. } => lease_ms.is_none(),
            Sweep::Redrive { .. } => false,
        };
        takes && whole.queue == queue && whole.span.touches(proof.span.start, to)
    });
    !ended && !swept
}
