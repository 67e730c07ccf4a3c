//! The stored forms of version 1, held by golden files: what today's code writes is what they hold, and what they hold is
//! read as it was meant. No test writes them.
//!
//! A form that changes gets a new version: new golden files beside these, and these are still read.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

mod random;

use dq_engine::effect::{Cause, Effect, Effects, FOREVER, Put, VERSION, WORDS, parse};
use dq_engine::id::{Id, IdRef};
use dq_engine::job::{Reason, State};
use dq_engine::policy::{Backoff, Policy};
use dq_engine::queue::Queue;
use dq_engine::time::{Millis, UnixMs};

use random::chunks::{loaded, stored};
use random::perform::Seen;
use random::rich::{MADE, rich};
use random::words::{borrowed, line_of, words_of};

/// The lines of a golden file that are not comments.
fn lines_of(name: &str) -> Vec<String> {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

/// Compares what is written today with a golden file, and tells how to make one for a new version.
fn hold(name: &str, written: &[String]) {
    let golden = lines_of(name);
    if golden == written {
        return;
    }
    panic!(
        "engine/tests/golden/{name} does not hold what today's code writes. Data of version {VERSION} is stored out \
         there: never change this file. A changed form needs the next version, a file of its own named by it, and \
         this one must still be read. What is written now:\n\n{}\n",
        written.join("\n")
    );
}

fn from_hex(line: &str) -> Vec<u8> {
    let digits = line.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16).expect("hex")).collect()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_rich_queue_is_written_as_the_golden_file_of_version_1_has_it() {
    assert_eq!(VERSION, 1);
    let written: Vec<String> = stored(&rich()).iter().map(|chunk| to_hex(chunk)).collect();
    hold("v1.chunks", &written);
}

#[test]
fn the_golden_file_of_version_1_is_read_as_it_was_meant() {
    let chunks: Vec<Vec<u8>> = lines_of("v1.chunks").iter().map(|line| from_hex(line)).collect();
    let queue = loaded(&chunks);
    assert_eq!((queue.check(), stored(&queue)), (Ok(()), chunks));
    let now = UnixMs(MADE.0 + 1_000);
    let info = queue.info(now);
    let census = (info.census.waiting, info.census.claimed, info.census.dead);
    assert_eq!((census, info.paused_until), ((5, 3, 4), Some(FOREVER)));
    assert_eq!(info.policy, *rich().policy());
    assert_eq!(info.counters.named().map(|(_, count)| count), [20, 13, 1, 5, 3, 1, 5, 1, 1, 1, 2]);
    let seen = |id: &[u8]| queue.get(now, IdRef::of(id)).map(|view| Seen::of(&view)).expect("a job");
    let token = |ms: u64| ((MADE.0 + ms) * 1000) << 12;
    let (lapsed, last) = (seen(b"lapsed"), seen(b"last"));
    assert_eq!((lapsed.state, lapsed.reason), (State::Dead, Some(Reason::LeaseExpired)));
    assert_eq!((lapsed.died, lapsed.token, lapsed.attempts), (Some(MADE.0 + 55), token(50), 2));
    assert_eq!((last.state, last.lease_until), (State::Claimed, Some(MADE.0 + 1_000_310)));
    assert_eq!((last.token, last.due, last.expires), (token(310), MADE.0 + 305, Some(MADE.0 + 86_400_300)));
    let (again, far) = (seen(b"again"), seen(b"far"));
    assert_eq!((again.due, again.attempts, again.error), (MADE.0 + 1_700, 1, Some(vec![b'e'; 200])));
    assert_eq!((far.due, far.priority, far.expires), (2_600_000_000_500, 200, Some(2_600_001_000_500)));
    assert_eq!((far.message, far.state), (b"message of far".to_vec(), State::Waiting));
    let reasons = [&b"rejected"[..], b"nacked", b"conflict"].map(|id| seen(id).reason);
    assert_eq!(reasons, [Reason::Rejected, Reason::Nacked, Reason::Conflict].map(Some));
    assert_eq!(seen(b"rejected").error.as_deref(), Some(&b"no such\r\ncustomer \xff\0"[..]));
}

fn id(text: &[u8]) -> Id {
    IdRef::of(text).to_id()
}

fn remove(cause: Cause) -> Effect<'static> {
    Effect::Remove { cause, ids: vec![id(b"a"), id(b"b-2")].into() }
}

fn bury(reason: Reason) -> Effect<'static> {
    Effect::Bury { id: id(b"a"), reason, died: MADE }
}

fn puts() -> [Effect<'static>; 2] {
    let expires = Some(UnixMs::MAX);
    let plain = Put { id: IdRef::of(b"a"), message: b"", due: MADE, priority: 0, expires: None, attempts: 0 };
    let full = Put {
        id: IdRef::of(b"\0 \xff"),
        message: b"m\r\n",
        priority: 255,
        expires,
        attempts: u32::MAX,
        ..plain
    };
    [Effect::Put(plain), Effect::Put(full)]
}

fn policies() -> [Effect<'static>; 2] {
    let backoff = Backoff { base: Millis(1), factor: 100, max: Millis(3), jitter_percent: 4 };
    let limited = Policy {
        lease: Millis(5),
        max_attempts: Some(65_535),
        backoff,
        dead_max: Some(0),
        ttl: Millis(1_000_000_000_000),
    };
    let unlimited = Policy { max_attempts: None, dead_max: None, ..Policy::DEFAULT };
    [Effect::Policy(limited), Effect::Policy(unlimited)]
}

/// Every effect, with every cause, reason and absent part.
fn every_effect() -> Vec<Effect<'static>> {
    let text = b"no such customer".as_slice().into();
    let causes =
        [Cause::Claimed, Cause::Acked, Cause::Cancelled, Cause::Moved, Cause::Expired, Cause::Dropped];
    let reasons = [Reason::Nacked, Reason::Rejected, Reason::LeaseExpired, Reason::Conflict];
    let mut effects = Vec::from(puts());
    effects.push(Effect::Lease {
        until: MADE,
        token: 6_963_200_000_000_000_123,
        ids: vec![id(b"a"), id(b"b-2")].into(),
    });
    effects.extend(causes.into_iter().chain([Cause::Purged]).map(remove));
    effects.push(Effect::Extend {
        until: UnixMs(0),
        ids: vec![id(b"0190a5d2-7b3c-7def-8123-456789abcdef")].into(),
    });
    effects.push(Effect::Release { id: id(b"a"), visible: MADE, attempts: 3 });
    effects.push(Effect::Error { id: id(b"a"), text });
    effects.push(Effect::Error { id: id(b"a"), text: Box::default() });
    effects.extend(reasons.map(bury));
    effects.push(Effect::Reschedule { id: id(b"a"), due: MADE, expires: None });
    effects.push(Effect::Reschedule { id: id(b"a"), due: MADE, expires: Some(MADE) });
    effects.push(Effect::Redrive { due: MADE, ids: vec![id(b"a")].into() });
    effects.extend(policies());
    effects.extend([None, Some(MADE), Some(FOREVER)].map(Effect::Pause));
    effects.push(Effect::Load(b"J\0\x01i"));
    effects
}

#[test]
fn every_effect_is_written_in_the_words_of_version_1() {
    let line = |effect| line_of(&words_of(&Effects(vec![effect].into())));
    let written: Vec<String> = every_effect().into_iter().map(line).collect();
    hold("v1.effects", &written);
    for word in WORDS {
        assert!(
            written.iter().any(|line| line.split(' ').any(|written| written == word)),
            "{word} is not held"
        );
    }
}

#[test]
fn the_words_of_version_1_are_read_as_they_were_meant() {
    for effect in every_effect() {
        let words = words_of(&Effects(vec![effect.clone()].into()));
        assert_eq!(parse(&borrowed(&words)), Ok(vec![effect]));
    }
    let mut together = Effects(every_effect().into());
    together.0.pop();
    let words = words_of(&together);
    assert_eq!(parse(&borrowed(&words)).as_deref(), Ok(&together.0[..]));
}

#[test]
fn the_end_of_the_stored_forms_is_not_the_end_of_a_queue() {
    // The golden queue goes on: what it was when it was stored decides what happens next.
    let chunks: Vec<Vec<u8>> = lines_of("v1.chunks").iter().map(|line| from_hex(line)).collect();
    let (mut queue, mut effects) = (loaded(&chunks), Effects::default());
    let end = UnixMs(MADE.0 + 1_000_310);
    queue.tidy(end, &mut effects);
    assert_eq!(queue.get(end, IdRef::of(b"last")).and_then(|view| view.reason), Some(Reason::LeaseExpired));
    queue.resume(&mut effects);
    assert_eq!(queue.available_at(end, Millis::ZERO), Some(end));
    let mut replica = loaded(&chunks);
    replica.apply(&effects.0).expect("fitting effects");
    assert_eq!(stored(&queue), stored(&replica));
    assert_eq!(Queue::default().len(end), 0);
}
