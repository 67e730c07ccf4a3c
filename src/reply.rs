//! How deliveries, jobs and receipts look in replies.

use dq_engine::id::{ID_MAX, IdRef};
use dq_engine::job::{State, Token, View};
use dq_engine::queue::{Deliver, Delivery};

use crate::host::Context;

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

/// Replies with a job as a map; what does not apply is null.
pub fn job(context: &Context<'_>, view: &View<'_>) {
    let number = |name: &str, number: Option<u64>| {
        context.reply_bytes(name.as_bytes());
        number.map_or_else(|| context.reply_null(), |number| context.reply_integer(number));
    };
    let text = |name: &str, text: Option<&[u8]>| {
        context.reply_bytes(name.as_bytes());
        text.map_or_else(|| context.reply_null(), |text| context.reply_bytes(text));
    };
    context.reply_map(12);
    text("id", Some(&view.id.text()));
    text("message", Some(view.message));
    text("state", Some(view.state.word().as_bytes()));
    number("due", Some(view.due.0));
    number("priority", Some(u64::from(view.priority)));
    number("attempts", Some(u64::from(view.attempts)));
    number("expires", view.expires.map(|at| at.0));
    number("lease_until", view.lease_until.map(|at| at.0));
    context.reply_bytes(b"receipt");
    match view.state {
        State::Claimed => receipt(context, view.token, view.id),
        State::Waiting | State::Dead => context.reply_null(),
    }
    text("error", view.error);
    number("died", view.died.map(|at| at.0));
    text("reason", view.reason.map(|reason| reason.words().as_bytes()));
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
