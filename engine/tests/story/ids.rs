//! Ids: pushes that meet them, replacement, cancellation, batches.

use dq_engine::effect::Effects;
use dq_engine::id::IdRef;
use dq_engine::job::State;
use dq_engine::policy::Policy;
use dq_engine::queue::{Outcome, Push, Queue, Replace, Retry, When};
use dq_engine::time::{Millis, UnixMs};

use super::{START, Scene, at_most, job, job_at};
use crate::random::chunks::stored;

/// A scene in which job `a`, with its message of old, is in this state at 100.
fn with_a(state: &str) -> Scene {
    let mut scene = Scene::given(at_most(1));
    let old = Push { message: b"old", ..job("a") };
    match state {
        "later" => scene.push(Push { when: When::In(Millis(5_000)), ..old }),
        "expired" => scene.push(Push { ttl: Some(Millis(50)), ..old }),
        _ => scene.push(old),
    };
    match state {
        "acked" => {
            let given = scene.lease_one(10);
            assert!(scene.ack(&given));
        }
        "claimed" => drop(scene.lease_one(1_000)),
        "dead by time" => drop(scene.lease_one(50)),
        "dead" => {
            let given = scene.lease_one(50);
            scene.nack(&given, Retry::Never);
        }
        _ => {}
    }
    scene.at(100);
    scene
}

#[test]
fn a_push_tells_the_state_of_the_job_that_has_its_id_and_leaves_it_alone() {
    let exists = Outcome::Exists;
    let table = [
        ("absent", Outcome::Created),
        ("acked", Outcome::Created),
        ("expired", Outcome::Created),
        ("later", exists(State::Waiting)),
        ("due", exists(State::Waiting)),
        ("claimed", exists(State::Claimed)),
        ("dead", exists(State::Dead)),
        ("dead by time", exists(State::Dead)),
    ];
    for (state, outcome) in table {
        let mut scene = if state == "absent" { Scene::given(at_most(1)) } else { with_a(state) };
        let before = scene.seen("a");
        assert_eq!(scene.push(Push { message: b"new", ..job("a") }), outcome, "{state}");
        if outcome != Outcome::Created {
            assert_eq!(scene.seen("a"), before);
        }
        assert_eq!(outcome.word(), before.map_or("created", |seen| seen.state.word()));
    }
}

#[test]
fn a_replacement_is_a_new_job_in_every_state() {
    for state in ["later", "due", "claimed", "dead", "dead by time"] {
        let mut scene = with_a(state);
        let new = Push {
            message: b"new",
            priority: 3,
            ttl: Some(Millis(7)),
            replace: Replace::Yes,
            ..job_at("a", 200)
        };
        assert_eq!(scene.push(new), Outcome::Replaced, "{state}");
        let seen = scene.seen("a").expect("it waits");
        assert_eq!((seen.state, seen.due, seen.priority), (State::Waiting, START + 200, 3), "{state}");
        assert_eq!((seen.attempts, seen.expires, seen.error), (0, Some(START + 207), None), "{state}");
        assert_eq!((seen.message, seen.token, seen.reason), (b"new".to_vec(), 0, None), "{state}");
        assert_eq!(scene.at(200).take(9), ["a"]);
    }
}

#[test]
fn a_job_replaced_while_it_is_claimed_is_delivered_anew_and_the_old_receipt_is_worth_nothing() {
    let mut scene = Scene::empty();
    scene.push(Push { message: b"old", ..job("a") });
    let old = scene.lease_one(1_000);
    scene.at(10).push(Push { message: b"new", replace: Replace::Yes, ..job("a") });
    assert!(!scene.ack(&old));
    let new = scene.lease_one(1_000);
    assert_eq!((new.message.as_slice(), new.attempt), (&b"new"[..], 1));
    assert!(!scene.ack(&old) && scene.ack(&new));
}

#[test]
fn a_throttle_keeps_the_due_time_of_a_waiting_job_and_a_debounce_does_not() {
    for (replace, due) in [(Replace::KeepDue, 5_000), (Replace::Yes, 300)] {
        let mut scene = with_a("later");
        let push =
            Push { message: b"new", ttl: Some(Millis(7)), replace, when: When::In(Millis(200)), ..job("a") };
        assert_eq!(scene.push(push), Outcome::Replaced);
        let seen = scene.seen("a").expect("it waits");
        assert_eq!(
            (seen.message, seen.due, seen.expires),
            (b"new".to_vec(), START + due, Some(START + due + 7))
        );
    }
    // Who does not wait has no due time to keep.
    for state in ["claimed", "dead", "dead by time", "acked", "expired"] {
        let mut scene = with_a(state);
        scene.push(Push { replace: Replace::KeepDue, ..job_at("a", 300) });
        assert_eq!(scene.seen("a").map(|seen| seen.due), Some(START + 300), "{state}");
    }
}

#[test]
fn a_cancelled_job_is_never_delivered_and_the_reply_tells_what_it_was() {
    let table = [
        ("later", Some(State::Waiting)),
        ("due", Some(State::Waiting)),
        ("claimed", Some(State::Claimed)),
        ("dead", Some(State::Dead)),
        ("dead by time", Some(State::Dead)),
        ("expired", None),
        ("acked", None),
    ];
    for (state, reply) in table {
        let mut scene = with_a(state);
        assert_eq!(scene.cancel("a"), reply, "{state}");
        assert_eq!(
            (scene.cancel("a"), scene.at(9_000).take(9), scene.redrive(0, 9)),
            (None, vec![], 0),
            "{state}"
        );
        assert_eq!(scene.counters().cancelled, u64::from(reply.is_some()));
    }
}

#[test]
fn a_cancelled_id_is_free_at_once_and_the_new_time_holds() {
    let mut scene = Scene::empty();
    scene.push(job_at("a", 100));
    let claimed = scene.at(100).lease_one(1_000);
    assert_eq!(scene.cancel("a"), Some(State::Claimed));
    assert_eq!(scene.push(job_at("a", 300)), Outcome::Created);
    assert_eq!(scene.at(299).take(9), [""; 0]);
    assert!(!scene.ack(&claimed));
    assert_eq!(scene.at(300).lease_one(10).attempt, 1);
}

#[test]
fn equal_messages_are_two_jobs() {
    let mut scene = Scene::empty();
    for id in ["a", "b"] {
        scene.push(Push { message: b"same", ..job(id) });
    }
    assert_eq!(scene.take(9), ["a", "b"]);
}

#[test]
fn a_batch_with_ids_twice_goes_from_left_to_right() {
    let mut scene = Scene::empty();
    scene.push(job("c"));
    let batch = [("a", 10), ("b", 20), ("c", 30), ("d", 40), ("d", 50)];
    let outcomes = batch.map(|(id, due)| scene.push(job_at(id, due)).word());
    assert_eq!(outcomes, ["created", "created", "waiting", "created", "waiting"]);
    let due = ["a", "b", "c", "d"].map(|id| scene.seen(id).map(|seen| seen.due - START));
    assert_eq!(due, [Some(10), Some(20), Some(0), Some(40)]);
}

#[test]
fn a_bad_item_of_a_batch_is_found_before_the_first_is_put() {
    let queue = Queue::new(Policy { ttl: Millis(10), ..Policy::DEFAULT });
    let last = UnixMs::MAX;
    let check = |push| queue.check_pushes(UnixMs(START), &[job("fine"), push]);
    let at = |time| Push { when: When::At(time), ..job("a") };
    assert!(check(at(UnixMs(last.0 - 10))).is_ok());
    assert!(check(at(UnixMs(last.0 - 9))).is_err(), "by the policy's time to live");
    assert!(check(Push { ttl: Some(Millis(0)), ..at(last) }).is_ok());
    assert!(check(Push { when: When::In(Millis(last.0)), ..job("a") }).is_err());
}

#[test]
fn a_refused_push_changes_nothing() {
    let mut queue = Queue::default();
    let (mut effects, now) = (Effects::default(), UnixMs(START));
    queue.push(now, &job("a"), &mut Effects::default()).expect("in range");
    let before = stored(&queue);
    let late = |id| Push { when: When::In(Millis(u64::MAX)), ..job(id) };
    let mortal = |id| Push { when: When::At(UnixMs::MAX), ttl: Some(Millis(1)), ..job(id) };
    for replace in [Replace::No, Replace::Yes, Replace::KeepDue] {
        for push in [late("b"), mortal("b")] {
            assert!(queue.push(now, &Push { replace, ..push }, &mut effects).is_err());
        }
    }
    for push in [late("a"), mortal("a")] {
        assert!(queue.push(now, &Push { replace: Replace::Yes, ..push }, &mut effects).is_err());
    }
    assert!(effects.is_empty());
    assert_eq!(stored(&queue), before);
}

#[test]
fn ids_are_bytes_and_every_byte_counts() {
    let mut scene = Scene::empty();
    let ids = [
        &b"a"[..],
        b"a\0",
        b"A",
        b"0190a5d2-7b3c-7def-8123-456789abcdef",
        b"0190A5D2-7B3C-7DEF-8123-456789ABCDEF",
        &[b'x'; 22],
        &[b'x'; 23],
        &[0; 1024],
        &[0; 1023],
    ];
    for id in ids {
        let push = Push { id: IdRef::of(id), message: id, ..job("") };
        assert_eq!(scene.push(push), Outcome::Created);
        assert_eq!(scene.push(push), Outcome::Exists(State::Waiting));
    }
    scene.restart();
    let given = scene.lease(99, 10);
    assert_eq!(given.iter().map(|one| &one.id[..]).collect::<Vec<_>>(), ids);
    assert!(given.iter().all(|one| one.id == one.message && scene.ack(one)));
}
