//! Keyspace events: what subscribers are told of a change of a queue. `propagate` calls; docs/events.md explains each.

use std::ffi::CStr;

use dq_engine::effect::{Cause, Effect};
use dq_engine::job::Reason;

use crate::host::{Context, EventClass, Text};

/// What happened, as far as an event says it.
#[derive(Clone, Copy)]
enum Event {
    Push,
    Claim,
    Ack,
    Nack,
    Extend,
    Cancel,
    Reschedule,
    Redrive,
    Move,
    Purge,
    Policy,
    Pause,
    Resume,
    Dead,
    Expired,
    Dropped,
    Load,
}

impl Event {
    const fn name(self) -> &'static CStr {
        match self {
            Event::Push => c"dq.push",
            Event::Claim => c"dq.claim",
            Event::Ack => c"dq.ack",
            Event::Nack => c"dq.nack",
            Event::Extend => c"dq.extend",
            Event::Cancel => c"dq.cancel",
            Event::Reschedule => c"dq.reschedule",
            Event::Redrive => c"dq.redrive",
            Event::Move => c"dq.move",
            Event::Purge => c"dq.purge",
            Event::Policy => c"dq.policy",
            Event::Pause => c"dq.pause",
            Event::Resume => c"dq.resume",
            Event::Dead => c"dq.dead",
            Event::Expired => c"dq.expired",
            Event::Dropped => c"dq.dropped",
            Event::Load => c"dq.load",
        }
    }
}

/// Fires the events of one command's `effects` on `key`: each at most once, in the order in which they first happened.
pub fn fire(context: &Context<'_>, key: Text, effects: &[Effect<'_>]) {
    let mut fired = 0_u32;
    let mut once = |event: Event| {
        let bit = 1 << event as u32;
        if fired & bit == 0 {
            fired |= bit;
            context.notify(EventClass::Module, event.name(), key);
        }
    };
    for effect in effects {
        match effect {
            // A job that is rejected is given back and dies.
            Effect::Bury { reason: Reason::Nacked | Reason::Rejected, .. } => {
                once(Event::Nack);
                once(Event::Dead);
            }
            other => once(event_of(other)),
        }
    }
}

fn event_of(effect: &Effect<'_>) -> Event {
    match effect {
        Effect::Put(_) => Event::Push,
        Effect::Lease { .. } => Event::Claim,
        Effect::Remove { cause, .. } => event_of_removal(*cause),
        Effect::Extend { .. } => Event::Extend,
        // An error's text comes with a job that is given back.
        Effect::Release { .. } | Effect::Error { .. } => Event::Nack,
        Effect::Bury { .. } => Event::Dead,
        Effect::Reschedule { .. } => Event::Reschedule,
        Effect::Redrive { .. } => Event::Redrive,
        Effect::Policy(_) => Event::Policy,
        Effect::Pause(Some(_)) => Event::Pause,
        Effect::Pause(None) => Event::Resume,
        Effect::Load(_) => Event::Load,
    }
}

fn event_of_removal(cause: Cause) -> Event {
    match cause {
        Cause::Claimed => Event::Claim,
        Cause::Acked => Event::Ack,
        Cause::Cancelled => Event::Cancel,
        Cause::Moved => Event::Move,
        Cause::Expired => Event::Expired,
        Cause::Dropped => Event::Dropped,
        Cause::Purged => Event::Purge,
    }
}
