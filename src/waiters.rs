//! Who waits for which key, and when the next of them must be woken.
//!
//! A place is a key that somebody waits for. Whatever may have changed it makes the module look at it: if something is
//! available the key is signalled, and the server calls back those who wait, the longest first; if not, one timer is set
//! for the earliest time at which one of them can be served. A timer only looks, too. Nothing is kept of other keys.
//!
//! Called by the commands that wait, by `propagate` after each change of a queue, and by the server's events.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use dq_engine::time::{Millis, UnixMs};

use crate::host::blocking::{self, block};
use crate::host::command::Command;
use crate::host::events::{Told, subscribe_to_keys};
use crate::host::timer::{self, Alarm, Timer};
use crate::host::{Context, Key, Kind, Locked, Name, Text};
use crate::sorted_set::{self, Unit};

/// A timer is set no farther ahead than this, so that a step of the wall clock delays nobody for longer.
const LOOK_AHEAD_MAX: Millis = Millis(60_000);
/// How soon to try again when something is available but must not be delivered: no event tells when it may.
const RETRY: Millis = Millis(10);

/// What a client waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Wants {
    /// It takes jobs.
    pub jobs: bool,
    /// It takes members of sorted sets whose scores are of this unit.
    pub members: Option<Unit>,
    /// It also takes what becomes due within this time.
    pub ahead: Millis,
    /// Serving it takes memory: it must wait while that is full.
    pub grows: bool,
}

impl Wants {
    /// Tells whether the server is in a state in which what is available may be delivered.
    fn may_be_had(self, context: &Context<'_>) -> bool {
        context.may_write() && !(self.grows && context.is_memory_full())
    }
}

/// A key that somebody waits for.
struct Place {
    database: i32,
    name: Name,
    /// What is waited for, and by how many.
    wants: RefCell<Vec<(Wants, usize)>>,
    /// When waits end, and how many do.
    ends: RefCell<BTreeMap<UnixMs, usize>>,
    /// What was not to be had when it was last asked for, since the key was last looked at.
    barren: RefCell<Vec<Wants>>,
    /// The timer that is set, and for when.
    timer: Cell<Option<(UnixMs, Timer<Place>)>>,
}

/// A client that waits.
struct Waiter {
    place: Rc<Place>,
    wants: Wants,
    end: Option<UnixMs>,
}

/// The places of a database, by the names of their keys.
type Keys = HashMap<Box<[u8]>, Rc<Place>>;

/// All places.
#[derive(Default)]
struct Places {
    by_database: RefCell<HashMap<i32, Keys>>,
    /// What the server tells of changed keys, which it does from the first wait on.
    told: Cell<Option<Told>>,
}

static PLACES: Locked<OnceCell<Places>> = Locked::new(OnceCell::new());

/// How many there are. A crashing server reads these in the middle of anything, from any thread.
static WAITERS: AtomicU64 = AtomicU64::new(0);
static WAITED_KEYS: AtomicU64 = AtomicU64::new(0);

/// Numbers about those who wait.
pub struct Census {
    /// Clients that wait.
    pub waiters: u64,
    /// Keys that they wait for.
    pub keys: u64,
    /// Timers that are set: at most one a key.
    pub timers: u64,
}

/// Returns how many wait now. O(1).
#[must_use]
pub fn census() -> Census {
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    Census { waiters: read(&WAITERS), keys: read(&WAITED_KEYS), timers: timer::armed() }
}

/// Lets the client of the running command wait until `wants` can be had from `key`; after `limit`, if that is not
/// zero, it gets null. In a transaction, a script or another module's call it gets null at once.
pub fn wait<C: Command>(context: &Context<'_>, key: Text, wants: Wants, limit: Millis) {
    if context.has_waited() {
        context.wait_on();
        return;
    }
    if !context.may_block() {
        context.reply_null_array();
        return;
    }
    let places = places();
    if places.told.get().is_none() {
        places.told.set(Some(subscribe_to_keys(context)));
    }
    let place = places.at(context.database(), key);
    let end = (!limit.is_zero()).then(|| now(context).plus(limit));
    place.join(wants, end);
    let waiter = Box::new(Waiter { place: Rc::clone(&place), wants, end });
    block::<C, Waiter>(context, key, waiter, limit.0);
    place.look(context);
}

/// A key was made or changed, or came to hold something else. A comparison if nobody waits, a look-up in a hash table if
/// nobody waits for this key.
pub fn changed(context: &Context<'_>, key: Text) {
    if WAITED_KEYS.load(Ordering::Relaxed) == 0 {
        return;
    }
    if let Some(place) = places().find(context.database(), key) {
        place.look(context);
    }
}

/// Any key may hold something else. O(number of places).
pub fn all_changed(context: &Context<'_>) {
    let all: Vec<Rc<Place>> =
        places().by_database.borrow().values().flat_map(HashMap::values).cloned().collect();
    for place in all {
        context.select(place.database);
        place.look(context);
    }
}

fn places() -> &'static Places {
    PLACES.get().get_or_init(Places::default)
}

fn now(context: &Context<'_>) -> UnixMs {
    UnixMs(context.milliseconds())
}

/// Returns when `key` has something for `wants`; not after `now` if it has.
fn available_at(key: &mut Key, wants: Wants, now: UnixMs) -> Option<UnixMs> {
    match (key.kind(), wants.members) {
        (Kind::Queue, _) if wants.jobs => key.queue()?.available_at(now, wants.ahead),
        (Kind::SortedSet, Some(unit)) => sorted_set::available_at(key, unit, wants.ahead, now),
        _ => None,
    }
}

impl Places {
    fn find(&self, database: i32, key: Text) -> Option<Rc<Place>> {
        self.by_database.borrow().get(&database)?.get(key.bytes()).cloned()
    }

    fn at(&self, database: i32, key: Text) -> Rc<Place> {
        let place = || {
            WAITED_KEYS.fetch_add(1, Ordering::Relaxed);
            Rc::new(Place::new(database, key))
        };
        let mut by_database = self.by_database.borrow_mut();
        let keys = by_database.entry(database).or_default();
        Rc::clone(keys.entry(key.bytes().into()).or_insert_with(place))
    }

    fn remove(&self, place: &Place) {
        let mut by_database = self.by_database.borrow_mut();
        let Some(keys) = by_database.get_mut(&place.database) else { return };
        if keys.remove(place.name.text().bytes()).is_some() {
            WAITED_KEYS.fetch_sub(1, Ordering::Relaxed);
        }
        if keys.is_empty() {
            by_database.remove(&place.database);
        }
    }
}

impl Place {
    fn new(database: i32, key: Text) -> Self {
        Place {
            database,
            name: Name::copy(key),
            wants: RefCell::default(),
            ends: RefCell::default(),
            barren: RefCell::default(),
            timer: Cell::new(None),
        }
    }

    fn join(&self, wants: Wants, end: Option<UnixMs>) {
        WAITERS.fetch_add(1, Ordering::Relaxed);
        let mut all = self.wants.borrow_mut();
        match all.iter_mut().find(|(known, _)| *known == wants) {
            Some((_, waiting)) => *waiting += 1,
            None => all.push((wants, 1)),
        }
        if let Some(end) = end {
            *self.ends.borrow_mut().entry(end).or_default() += 1;
        }
    }

    /// Signals the key if anything can be had, and sets the timer for what comes next, or to try again if it must not be
    /// had now.
    fn look(self: &Rc<Self>, context: &Context<'_>) {
        self.barren.borrow_mut().clear();
        let now = now(context);
        let mut key = Key::open(context, self.name.text());
        let wants = self.wants.borrow().iter().map(|&(wants, _)| wants).collect::<Vec<_>>();
        let times = wants.iter().map(|&wants| available_at(&mut key, wants, now)).collect::<Vec<_>>();
        drop(key);
        let mut next = times.iter().flatten().copied().filter(|&at| at > now).min();
        let here = wants.iter().zip(&times).filter(|(_, at)| at.is_some_and(|at| at <= now));
        let mut here = here.map(|(wants, _)| wants).peekable();
        if here.peek().is_some() && !self.is_being_served(context) {
            if here.any(|wants| wants.may_be_had(context)) {
                context.signal_ready(self.name.text());
            } else {
                next = Some(now.plus(RETRY));
            }
        }
        self.wake(context, now, next);
    }

    /// When a client is served, the server goes on to the next who waits for the key without being told.
    fn is_being_served(&self, context: &Context<'_>) -> bool {
        context.has_waited() && context.words().first().is_some_and(|key| key.is(self.name.text()))
    }

    /// Sets the timer for `at`, or for the next end of a wait if that is earlier: the server looks for those only a few times
    /// a second unless something wakes it. It ends a wait in the millisecond after, and may have read the clock one later.
    fn wake(self: &Rc<Self>, context: &Context<'_>, now: UnixMs, at: Option<UnixMs>) {
        let next = now.plus(Millis(1));
        let end = self
            .ends
            .borrow()
            .range(UnixMs(now.0.saturating_sub(1))..)
            .next()
            .map(|(end, _)| end.plus(Millis(1)).max(next));
        let Some(at) = at.into_iter().chain(end).min() else { return };
        let at = at.min(now.plus(LOOK_AHEAD_MAX));
        if let Some((earlier, timer)) = self.timer.take() {
            if earlier <= at {
                // That one looks, and then sets the next.
                self.timer.set(Some((earlier, timer)));
                return;
            }
            timer.stop(context);
        }
        let delay = Millis(at.0.saturating_sub(now.0));
        self.timer.set(Some((at, Timer::set(context, delay, Rc::clone(self)))));
    }

    fn leave(&self, context: &Context<'_>, wants: Wants, end: Option<UnixMs>) {
        WAITERS.fetch_sub(1, Ordering::Relaxed);
        if let Some(end) = end {
            let mut ends = self.ends.borrow_mut();
            match ends.get_mut(&end) {
                Some(ending) if *ending > 1 => *ending -= 1,
                _ => drop(ends.remove(&end)),
            }
        }
        let mut all = self.wants.borrow_mut();
        if let Some((_, waiting)) = all.iter_mut().find(|(known, _)| *known == wants) {
            *waiting -= 1;
        }
        all.retain(|(_, waiting)| *waiting > 0);
        if all.is_empty() {
            places().remove(self);
            if let Some((_, timer)) = self.timer.take() {
                timer.stop(context);
            }
        }
    }
}

impl Alarm for Place {
    fn ring(self: Rc<Self>, context: &Context<'_>) {
        self.timer.take();
        context.select(self.database);
        self.look(context);
    }
}

impl blocking::Waiter for Waiter {
    /// After the first who finds nothing, whoever wants the same costs a comparison.
    fn may_be_served(&self, context: &Context<'_>) -> bool {
        let Waiter { place, wants, .. } = self;
        if place.barren.borrow().contains(wants) {
            return false;
        }
        let now = now(context);
        let at = available_at(&mut Key::open(context, place.name.text()), *wants, now);
        let next = match at {
            Some(at) if at <= now && wants.may_be_had(context) => return true,
            Some(at) if at <= now => Some(now.plus(RETRY)),
            // What was seen when the key was signalled has gone since, and no timer was set for what comes next.
            later => later,
        };
        place.wake(context, now, next);
        // Those behind must not be served if one before them was not: a pause can end in between. Where not everything is told,
        // though, a key that was made since the last look is known from this call alone.
        if places().told.get() == Some(Told::Everything) {
            place.barren.borrow_mut().push(*wants);
        }
        false
    }

    fn leave(self: Box<Self>, context: &Context<'_>) {
        self.place.leave(context, self.wants, self.end);
    }
}
