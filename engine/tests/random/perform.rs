//! Does a random operation to a queue and tells, in plain values, what came of it.

use dq_engine::effect::{Effects, Put};
use dq_engine::error::Refusal;
use dq_engine::id::IdRef;
use dq_engine::job::{Reason, State, View};
use dq_engine::lane::Horizon;
use dq_engine::queue::{Claim, Deliver, Delivery, Limit, Nack, Outcome, Push, Queue, Receipt};
use dq_engine::time::UnixMs;

use super::{NAMES, Op, Pick, Twist};

/// What an operation replied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing was changed.
    Refused,
    Pushed(Outcome),
    Given(Vec<Given>),
    Flag(bool),
    State(Option<State>),
    Count(usize),
    Moved(Vec<Seen>),
    Nothing,
}

/// A delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    pub id: Vec<u8>,
    pub message: Vec<u8>,
    pub attempt: u32,
    pub due: u64,
    pub token: Option<u64>,
}

/// A job as a reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub id: Vec<u8>,
    pub message: Vec<u8>,
    pub state: State,
    pub due: u64,
    pub priority: u8,
    pub attempts: u32,
    pub expires: Option<u64>,
    pub lease_until: Option<u64>,
    pub token: u64,
    pub error: Option<Vec<u8>>,
    pub died: Option<u64>,
    pub reason: Option<Reason>,
}

/// The receipts that were given so far.
#[derive(Clone, Debug, Default)]
pub struct Book(Vec<(u64, Vec<u8>)>);

/// Keeps what a claim delivers.
#[derive(Debug, Default)]
pub struct Hands {
    pub given: Vec<Given>,
    expected: usize,
}

impl Deliver for Hands {
    fn expect(&mut self, count: usize) {
        self.expected = count;
    }

    fn deliver(&mut self, delivery: Delivery<'_>) {
        self.given.push(Given {
            id: delivery.id.text().to_vec(),
            message: delivery.message.to_vec(),
            attempt: delivery.attempt,
            due: delivery.due.0,
            token: delivery.token,
        });
    }
}

impl Book {
    pub fn note(&mut self, answer: &Answer) {
        let Answer::Given(given) = answer else { return };
        self.0.extend(given.iter().filter_map(|one| Some((one.token?, one.id.clone()))));
    }

    pub fn receipt(&self, pick: Pick) -> (u64, Vec<u8>) {
        let at = self.0.len().checked_sub(1 + pick.back.min(self.0.len().saturating_sub(1)));
        let (token, id) = at.map_or((7, NAMES[1].clone()), |at| self.0[at].clone());
        match pick.twist {
            Twist::None => (token, id),
            Twist::Token(0) => (0, id),
            Twist::Token(by) => (token + 2 * by - 3, id),
            Twist::Name(name) => (token, NAMES[name].clone()),
        }
    }
}

impl Seen {
    pub fn of(view: &View<'_>) -> Seen {
        Seen {
            id: view.id.text().to_vec(),
            message: view.message.to_vec(),
            state: view.state,
            due: view.due.0,
            priority: view.priority,
            attempts: view.attempts,
            expires: view.expires.map(|at| at.0),
            lease_until: view.lease_until.map(|at| at.0),
            token: view.token,
            error: view.error.map(<[u8]>::to_vec),
            died: view.died.map(|at| at.0),
            reason: view.reason,
        }
    }
}

/// The id at this index of [`NAMES`].
pub fn id(name: usize) -> IdRef<'static> {
    IdRef::new(&NAMES[name]).expect("a valid id")
}

/// Does `op` at `now`.
pub fn perform<'a>(
    queue: &mut Queue,
    now: u64,
    op: &'a Op,
    book: &Book,
    effects: &mut Effects<'a>,
) -> Answer {
    let at = UnixMs(now);
    match op {
        Op::Push { .. } | Op::Receive { .. } => put(queue, now, op, effects),
        Op::Claim { count, bytes, lease, token } => {
            let limit = Limit { count: *count, bytes: *bytes };
            let mut hands = Hands::default();
            let claim = Claim { limit, lease: *lease, token: *token };
            queue.claim(at, &claim, &mut hands, effects);
            assert_eq!(hands.given.len(), hands.expected);
            Answer::Given(hands.given)
        }
        Op::Move { count, bytes, ahead, conflicts } => {
            let horizon = Horizon { now: at, waiting: UnixMs(now + ahead) };
            let limit = Limit { count: *count, bytes: *bytes };
            move_out(queue, horizon, limit, *conflicts, effects)
        }
        Op::Ack(_) | Op::Nack { .. } | Op::Extend { .. } => settle(queue, at, op, book, effects),
        _ => control(queue, now, op, effects),
    }
}

fn put<'a>(queue: &mut Queue, now: u64, op: &'a Op, effects: &mut Effects<'a>) -> Answer {
    match op {
        Op::Push { name, message, due, priority, ttl, replace } => {
            let (id, when, replace) = (id(*name), due.when(now), *replace);
            let push = Push { id, message, when, priority: *priority, ttl: *ttl, replace };
            // As the module does, so that a bad item of many refuses them all.
            if queue.check_pushes(UnixMs(now), &[push]).is_err() {
                return Answer::Refused;
            }
            answer(queue.push(UnixMs(now), &push, effects), Answer::Pushed)
        }
        Op::Receive { name, message, due, priority, ttl, attempts } => {
            let expires = ttl.map(|ttl| UnixMs(due + ttl));
            let (id, due, priority, attempts) = (id(*name), UnixMs(*due), *priority, *attempts);
            let put = Put { id, message, due, priority, expires, attempts };
            answer(queue.receive(UnixMs(now), put, effects), Answer::Flag)
        }
        _ => Answer::Nothing,
    }
}

fn move_out(
    queue: &mut Queue,
    horizon: Horizon,
    limit: Limit,
    conflicts: u8,
    effects: &mut Effects<'_>,
) -> Answer {
    let mut moved = Vec::new();
    for (turn, slot) in queue.pick(horizon, limit).into_iter().enumerate() {
        if conflicts >> (turn % 8) & 1 == 1 {
            queue.refuse_move(horizon.now, slot, effects);
        } else {
            moved.extend(queue.view(slot, horizon.now).map(|view| Seen::of(&view)));
            queue.move_out(slot, effects);
        }
    }
    Answer::Moved(moved)
}

fn settle(queue: &mut Queue, now: UnixMs, op: &Op, book: &Book, effects: &mut Effects<'_>) -> Answer {
    let (Op::Ack(pick) | Op::Nack { pick, .. } | Op::Extend { pick, .. }) = op else {
        return Answer::Nothing;
    };
    let (token, id) = book.receipt(*pick);
    let receipt = Receipt { token, id: IdRef::of(&id) };
    match op {
        Op::Nack { how, error, .. } => {
            let nack = Nack { retry: *how, error: error.as_deref() };
            Answer::State(queue.nack(now, receipt, nack, effects))
        }
        Op::Extend { lease, .. } => Answer::Flag(queue.extend(now, receipt, *lease, effects)),
        _ => Answer::Flag(queue.ack(now, receipt, effects)),
    }
}

fn control(queue: &mut Queue, now: u64, op: &Op, effects: &mut Effects<'_>) -> Answer {
    let at = UnixMs(now);
    match op {
        Op::Cancel(name) => Answer::State(queue.cancel(at, id(*name), effects)),
        Op::Reschedule { name, due } => {
            answer(queue.reschedule(at, id(*name), due.when(now), effects), Answer::State)
        }
        Op::Redrive { delay, count } => Answer::Count(queue.redrive(at, *delay, *count, effects)),
        Op::RedriveIds { delay, names } => {
            let ids: Vec<IdRef<'_>> = names.iter().map(|&name| id(name)).collect();
            Answer::Count(queue.redrive_ids(at, *delay, &ids, effects))
        }
        Op::Purge { state, count } => Answer::Count(queue.purge(at, *state, *count, effects)),
        Op::Pause(length) => {
            queue.pause(at, *length, effects);
            Answer::Nothing
        }
        Op::Resume => {
            queue.resume(effects);
            Answer::Nothing
        }
        Op::SetPolicy(policy) => {
            queue.set_policy(*policy, effects);
            Answer::Nothing
        }
        Op::Tidy => {
            queue.tidy(at, effects);
            Answer::Nothing
        }
        _ => Answer::Nothing,
    }
}

fn answer<T>(result: Result<T, Refusal>, map: impl FnOnce(T) -> Answer) -> Answer {
    result.map_or(Answer::Refused, map)
}
