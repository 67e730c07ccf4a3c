//! How deliveries, jobs and receipts look in replies.

use dq_engine::effect::FOREVER;
use dq_engine::id::{ID_MAX, IdRef};
use dq_engine::job::{State, Token, View};
use dq_engine::policy::{Backoff, Policy};
use dq_engine::queue::{Deliver, Delivery, Info, Outcome};
use dq_engine::time::UnixMs;
use dq_engine::timeline::Key;

use crate::host::Context;
use crate::host::sorted_set::Member;

/// The most digits of a token.
const TOKEN_DIGITS: usize = 20;

/// The reply to a claim: an array of `[id, message, attempt, due, receipt]`.
pub struct Deliveries<'a>(pub &'a Context<'a>);

impl Deliver for Deliveries<'_> {
    fn expect(&mut self, count: usize) {
        self.0.reply_array(count);
    }

    fn deliver(&mut self, delivery: Delivery<'_>) {
        let context = self.0;
        context.reply_array(5);
        context.reply_bytes(&delivery.id.text());
        context.reply_bytes(delivery.message);
        context.reply_integer(u64::from(delivery.attempt));
        context.reply_integer(delivery.due.0);
        match delivery.token {
            Some(token) => receipt(context, token, delivery.id),
            None => context.reply_null(),
        }
    }
}

/// Replies with the id of a pushed job, or null if it has none, and what became of it.
pub fn pushed(context: &Context<'_>, id: Option<&[u8]>, outcome: Outcome) {
    context.reply_array(2);
    match id {
        Some(id) => context.reply_bytes(id),
        None => context.reply_null(),
    }
    context.reply_bytes(outcome.word().as_bytes());
}

/// What is replied of the members of a sorted set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The members.
    Members,
    /// Each member and its score.
    WithScores,
}

/// Replies with members of a sorted set, as `ZRANGE` does.
pub fn members(context: &Context<'_>, members: &[Member], form: Form) {
    let with_scores = form == Form::WithScores;
    let in_pairs = with_scores && context.speaks_resp3();
    let flat = with_scores && !in_pairs;
    context.reply_array(if flat { 2 * members.len() } else { members.len() });
    for member in members {
        if in_pairs {
            context.reply_array(2);
        }
        context.reply_bytes(member.bytes());
        if with_scores {
            context.reply_double(member.score);
        }
    }
}

/// Replies with a state, or null for none.
pub fn state(context: &Context<'_>, state: Option<State>) {
    match state {
        Some(state) => context.reply_bytes(state.word().as_bytes()),
        None => context.reply_null(),
    }
}

/// Replies with an array of states, or null for none.
pub fn states(context: &Context<'_>, states: &[Option<State>]) {
    context.reply_array(states.len());
    states.iter().for_each(|&one| state(context, one));
}

/// Replies with where a list goes on; `0` at its end.
pub fn cursor(context: &Context<'_>, next: Option<Key>) {
    match next {
        Some(Key { time, sequence }) => context.reply_bytes(format!("{}-{sequence}", time.0).as_bytes()),
        None => context.reply_bytes(b"0"),
    }
}

/// Replies with a job as a map; what does not apply is null.
pub fn job(context: &Context<'_>, view: &View<'_>) {
    let fields = Fields(context);
    context.reply_map(12);
    fields.text("id", Some(&view.id.text()));
    fields.text("message", Some(view.message));
    fields.text("state", Some(view.state.word().as_bytes()));
    fields.number("due", Some(view.due.0));
    fields.number("priority", Some(u64::from(view.priority)));
    fields.number("attempts", Some(u64::from(view.attempts)));
    fields.number("expires", view.expires.map(|at| at.0));
    fields.number("lease_until", view.lease_until.map(|at| at.0));
    context.reply_bytes(b"receipt");
    match view.state {
        State::Claimed => receipt(context, view.token, view.id),
        State::Waiting | State::Dead => context.reply_null(),
    }
    fields.text("error", view.error);
    fields.number("died", view.died.map(|at| at.0));
    fields.text("reason", view.reason.map(|reason| reason.words().as_bytes()));
}

/// Replies with the state of a queue as a map.
pub fn info(context: &Context<'_>, now: UnixMs, info: &Info) {
    let fields = Fields(context);
    let counters = info.counters.named();
    context.reply_map(10 + POLICY_FIELDS + counters.len());
    fields.number("waiting", Some(info.census.waiting as u64));
    fields.number("waiting_new", Some(info.census.waiting_new as u64));
    fields.number("waiting_retry", Some((info.census.waiting - info.census.waiting_new) as u64));
    fields.number("due", Some(info.census.due as u64));
    fields.number("claimed", Some(info.census.claimed as u64));
    fields.number("dead", Some(info.census.dead as u64));
    fields.number("lag_ms", Some(info.oldest_due.map_or(0, |due| now.0 - due.0)));
    fields.number("next_due", info.next_due.map(|at| at.0));
    match info.paused_until {
        Some(FOREVER) => fields.text("paused_until", Some(b"forever")),
        until => fields.number("paused_until", until.map(|at| at.0)),
    }
    fields.number("bytes", Some(info.bytes as u64));
    policy_fields(&fields, &info.policy);
    for (name, count) in counters {
        fields.number(name, Some(count));
    }
}

/// Replies with a policy as a map.
pub fn policy(context: &Context<'_>, policy: &Policy) {
    context.reply_map(POLICY_FIELDS);
    policy_fields(&Fields(context), policy);
}

const POLICY_FIELDS: usize = 5;

fn policy_fields(fields: &Fields<'_>, policy: &Policy) {
    fields.number("lease", Some(policy.lease.0));
    fields.number_or_unlimited("maxattempts", policy.max_attempts.map(u64::from));
    let Backoff { base, factor, max, jitter_percent } = policy.backoff;
    fields.0.reply_bytes(b"backoff");
    fields.0.reply_array(4);
    for number in [base.0, u64::from(factor), max.0, u64::from(jitter_percent)] {
        fields.0.reply_integer(number);
    }
    fields.number_or_unlimited("deadmax", policy.dead_max);
    fields.number("ttl", Some(policy.ttl.0));
}

/// Names and values of a map.
struct Fields<'a>(&'a Context<'a>);

impl Fields<'_> {
    fn number(&self, name: &str, number: Option<u64>) {
        self.0.reply_bytes(name.as_bytes());
        number.map_or_else(|| self.0.reply_null(), |number| self.0.reply_integer(number));
    }

    fn text(&self, name: &str, text: Option<&[u8]>) {
        self.0.reply_bytes(name.as_bytes());
        text.map_or_else(|| self.0.reply_null(), |text| self.0.reply_bytes(text));
    }

    fn number_or_unlimited(&self, name: &str, number: Option<u64>) {
        match number {
            Some(_) => self.number(name, number),
            None => self.text(name, Some(b"unlimited")),
        }
    }
}

/// Replies with the receipt of a delivery: `<token>-<id>`.
fn receipt(context: &Context<'_>, token: Token, id: IdRef<'_>) {
    let mut place = [0; TOKEN_DIGITS + 1 + ID_MAX];
    let mut digits = itoa::Buffer::new();
    let id = id.text();
    let parts = [digits.format(token).as_bytes(), b"-", &id];
    let mut length = 0;
    for part in parts {
        if let Some(place) = place.get_mut(length..length + part.len()) {
            place.copy_from_slice(part);
        }
        length += part.len();
    }
    context.reply_bytes(place.get(..length).unwrap_or_default());
}
