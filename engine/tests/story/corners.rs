//! Corners where two rules meet: each of these was wrong once.

use dq_engine::codec::{HEADER, Writer};
use dq_engine::effect::{Effects, parse};
use dq_engine::id::IdRef;
use dq_engine::job::State;
use dq_engine::lane::Horizon;
use dq_engine::policy::Policy;
use dq_engine::queue::{Claim, Push, Queue, Retry, When};
use dq_engine::time::{Millis, UnixMs};

use super::{ALL, START, Scene, at_most, job, job_at};
use crate::random::chunks::stored;
use crate::random::perform::Hands;
use crate::random::words::{borrowed, words_of};

/// A wake-up was armed for the end of a last lease, at which nothing becomes due, while the next job's was forgotten.
#[test]
fn the_end_of_a_last_lease_is_not_told_as_a_time_at_which_something_becomes_due() {
    let mut scene = Scene::given(at_most(1));
    scene.push(job("dies"));
    scene.lease_one(100);
    scene.push(job("due"));
    scene.push(job_at("next", 200));
    assert_eq!(scene.info().next_due, Some(UnixMs(START + 200)));
}

#[test]
fn a_job_that_will_have_expired_before_it_is_due_again_is_not_told_as_the_next_one() {
    let mut scene = Scene::empty();
    scene.push(Push { ttl: Some(Millis(50)), ..job("expires") });
    scene.lease_one(100);
    assert_eq!(scene.info().next_due, None, "when its lease ends, its time to live is over");
    scene.push(job_at("next", 200));
    assert_eq!(scene.info().next_due, Some(UnixMs(START + 200)));
}

/// A job given back for longer than it lives is never due, so looking ahead must not deliver it.
#[test]
fn looking_ahead_does_not_take_a_job_that_expires_before_it_is_due() {
    let mut scene = Scene::empty();
    scene.push(Push { ttl: Some(Millis(50)), ..job("a") });
    let given = scene.lease_one(10);
    scene.nack(&given, Retry::After(Millis(80)));
    let horizon = Horizon { now: scene.now, waiting: UnixMs(START + 100) };
    assert_eq!(scene.queue.pick(horizon, ALL).len(), 0);
}

/// The reply was `waiting`, and the job was gone in that very millisecond.
#[test]
fn a_job_that_waits_for_longer_than_it_lives_survives_a_reschedule_to_now() {
    let mut scene = Scene::empty();
    scene.push(Push { ttl: Some(Millis(5_000)), ..job("a") });
    let given = scene.lease_one(100);
    scene.nack(&given, Retry::After(Millis(10_000)));
    assert_eq!(scene.at(2_000).reschedule("a", When::In(Millis(0))), Some(State::Waiting));
    assert_eq!(scene.take(9), ["a"]);
}

/// The expired job was taken out and its removal recorded, then the push was refused: a master that drops the effects of
/// a refused command has lost a job that its replicas have.
#[test]
fn a_refused_push_leaves_even_an_expired_job_of_its_id_alone() {
    let (mut queue, now) = (Queue::default(), UnixMs(START));
    queue.push(now, &Push { ttl: Some(Millis(1)), ..job("a") }, &mut Effects::default()).expect("in range");
    let (before, later, mut effects) = (stored(&queue), UnixMs(START + 1), Effects::default());
    let late = Push { when: When::At(UnixMs::MAX), ttl: Some(Millis(1)), ..job("a") };
    assert!(queue.push(later, &late, &mut effects).is_err());
    assert!(effects.is_empty(), "{effects:?}");
    assert_eq!(stored(&queue), before);
}

/// The largest token that may come from outside was accepted, and the next claim's own token was not.
#[test]
fn the_claim_after_the_largest_token_from_outside_can_be_replicated_and_stored() {
    let mut queue = Queue::new(Policy::DEFAULT);
    let now = UnixMs(START);
    queue.push(now, &job("a"), &mut Effects::default()).expect("in range");
    // The largest of all, and the largest that was accepted once.
    for token in [u64::MAX, u64::MAX - (1 << 40)] {
        let lease = format!("LEASE 1 {token} 1 a");
        let words: Vec<&[u8]> = lease.split(' ').map(str::as_bytes).collect();
        if parse(&words).is_ok_and(|effects| queue.apply(&effects).is_ok()) {
            break;
        }
    }
    let claim = Claim { limit: ALL, lease: Some(Millis(5)), token: 0 };
    let mut effects = Effects::default();
    queue.claim(now, &claim, &mut Hands::default(), &mut effects);
    let words = words_of(&effects);
    assert_eq!(parse(&borrowed(&words)).map(|effects| effects.len()), Ok(1), "a replica cannot follow");
    assert!(Queue::default().load(&stored(&queue)[0]).is_ok(), "it cannot be loaded");
}

/// A header with these numbers, no jobs and the default policy.
fn header(next_sequence: u64, last_token: u64, counter: u64) -> Vec<u8> {
    let mut header = Writer::new(HEADER);
    [0, next_sequence, last_token, 0].into_iter().for_each(|number| header.number(number));
    Policy::DEFAULT.numbers().into_iter().for_each(|number| header.number(number));
    (0..11).for_each(|_| header.number(counter));
    header.bytes().to_vec()
}

/// The counter of a hostile header overflowed: a panic in debug builds.
#[test]
fn a_queue_with_the_largest_counters_can_be_used() {
    let mut queue = Queue::default();
    if queue.load(&header(1, 0, u64::MAX)).is_ok() {
        queue.push(UnixMs(START), &job("a"), &mut Effects::default()).expect("in range");
        queue.cancel(UnixMs(START), IdRef::of(b"a"), &mut Effects::default());
        assert_eq!(queue.check(), Ok(()));
    }
}

/// A hostile header brought the sequence to its limit: the next push made a queue that no server could load.
#[test]
fn a_queue_with_the_largest_sequence_can_be_used_stored_and_loaded() {
    let mut queue = Queue::default();
    if queue.load(&header(1 << 63, 0, 0)).is_ok() {
        queue.push(UnixMs(START), &job("a"), &mut Effects::default()).expect("in range");
        let mut again = Queue::default();
        let chunks = stored(&queue);
        assert_eq!(chunks.iter().try_for_each(|chunk| again.load(chunk).map(|_| ())), Ok(()));
    }
}

/// A header on an emptied queue took its last token back, so that tokens, and with the ids the receipts, came again.
#[test]
fn a_header_that_is_loaded_into_an_emptied_queue_does_not_take_its_last_token_back() {
    let mut scene = Scene::empty();
    scene.push(job("a"));
    let given = scene.lease_one(100);
    assert!(scene.ack(&given));
    let last = scene.queue.last_token();
    let chunk = header(1, 0, 0);
    if scene.queue.load(&chunk).is_ok() {
        assert!(scene.queue.last_token() >= last);
    }
}

/// A queue made by `default()` began at another sequence than the stored form permits.
#[test]
fn a_queue_that_was_never_used_can_be_stored_and_loaded() {
    for queue in [Queue::new(Policy::DEFAULT), Queue::default()] {
        let chunks = stored(&queue);
        assert!(Queue::new(Policy::DEFAULT).load(&chunks[0]).is_ok());
    }
}

/// 250 died by time and were purged before anything had written their deaths down: nobody counted them.
#[test]
fn every_death_is_counted_however_the_dead_leave() {
    let mut scene = Scene::given(Policy { dead_max: None, ..at_most(1) });
    for number in 0..250 {
        scene.push(job(&number.to_string()));
    }
    scene.lease(250, 10);
    assert_eq!(scene.at(10).purge(State::Dead, 250), 250);
    assert_eq!((scene.counters().purged, scene.counters().died, scene.counters().lapsed), (250, 250, 250));
}
