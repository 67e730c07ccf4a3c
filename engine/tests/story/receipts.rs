//! The fate of a receipt, as one table: in every state of its job, and after everything that can happen to it.

use dq_engine::job::State;
use dq_engine::policy::Policy;
use dq_engine::queue::{Outcome, Push, Replace, Retry, When};
use dq_engine::time::{Millis, UnixMs};

use super::{Scene, at_most, job};
use crate::random::perform::Given;

/// What ack, extend and nack say of a receipt, each asked in a scene of its own.
fn fate(scene: &Scene, given: &Given) -> (bool, bool, Option<State>) {
    let nacked = scene.fork().nack(given, Retry::After(Millis(5)));
    (scene.fork().ack(given), scene.fork().extend(given, 5), nacked)
}

const CURRENT: (bool, bool, Option<State>) = (true, true, Some(State::Waiting));
const STALE: (bool, bool, Option<State>) = (false, false, None);
/// Of a job that died by its lease's end: the work may have been done, but it is not waited for any more.
const DIED: (bool, bool, Option<State>) = (true, false, Some(State::Dead));

#[test]
fn in_every_state_of_its_job() {
    let ttl = |ms| Push { ttl: Some(Millis(ms)), ..job("a") };
    let table = [
        ("the lease runs", Policy::DEFAULT, job("a"), 99, CURRENT),
        ("the lease has ended", Policy::DEFAULT, job("a"), 100, CURRENT),
        ("long ago", Policy::DEFAULT, job("a"), 1_000_000_000, CURRENT),
        ("the lease outlives the time to live", Policy::DEFAULT, ttl(50), 99, CURRENT),
        ("the lease has ended, the time to live not", Policy::DEFAULT, ttl(101), 100, CURRENT),
        ("both have ended", Policy::DEFAULT, ttl(101), 101, STALE),
        ("both ended with the lease", Policy::DEFAULT, ttl(50), 100, STALE),
        ("the last lease runs", at_most(1), job("a"), 99, (true, true, Some(State::Dead))),
        ("the last lease has ended", at_most(1), job("a"), 100, DIED),
        ("the last lease and the time to live have ended", at_most(1), ttl(50), 100, DIED),
        ("no time has passed", Policy::DEFAULT, job("a"), 0, CURRENT),
    ];
    for (story, policy, push, then, expected) in table {
        let mut scene = Scene::given(policy);
        scene.at(0).push(push);
        let given = scene.lease_one(100);
        assert_eq!(fate(scene.at(then), &given), expected, "{story}");
    }
}

type Event = fn(&mut Scene, &Given);

fn given_back(scene: &mut Scene, given: &Given, retry: Retry) {
    let state = if retry == Retry::Never { State::Dead } else { State::Waiting };
    assert_eq!(scene.nack(given, retry), Some(state));
}

fn replaced(scene: &mut Scene, replace: Replace) {
    assert_eq!(scene.push(Push { replace, ..job("a") }), Outcome::Replaced);
}

fn pushed_again(scene: &mut Scene, state: State) {
    assert_eq!(scene.push(job("a")), Outcome::Exists(state));
}

fn rescheduled(scene: &mut Scene, when: When, state: State) {
    assert_eq!(scene.reschedule("a", when), Some(state));
}

#[test]
fn after_everything_that_can_happen_to_a_job_whose_lease_runs() {
    let table: [(&str, Event, _); 16] = [
        ("nothing", |_, _| (), CURRENT),
        ("an ack", |scene, given| assert!(scene.ack(given)), STALE),
        ("a nack", |scene, given| given_back(scene, given, Retry::After(Millis(0))), STALE),
        ("a nack with backoff", |scene, given| given_back(scene, given, Retry::Backoff { draw: 0 }), STALE),
        ("a nack of a delivery not used", |scene, given| given_back(scene, given, Retry::Unused), STALE),
        ("a rejection", |scene, given| given_back(scene, given, Retry::Never), STALE),
        ("an extension", |scene, given| assert!(scene.extend(given, 50)), CURRENT),
        ("a push of its id", |scene, _| pushed_again(scene, State::Claimed), CURRENT),
        ("a replacement", |scene, _| replaced(scene, Replace::Yes), STALE),
        ("a throttle", |scene, _| replaced(scene, Replace::KeepDue), STALE),
        (
            "a reschedule, which is forbidden",
            |scene, _| rescheduled(scene, When::In(Millis(1)), State::Claimed),
            CURRENT,
        ),
        ("a cancel", |scene, _| assert_eq!(scene.cancel("a"), Some(State::Claimed)), STALE),
        ("a purge", |scene, _| assert_eq!(scene.purge(State::Claimed, 9), 1), STALE),
        ("a claim, which finds nothing", |scene, _| assert_eq!(scene.lease(9, 50), []), CURRENT),
        ("a pause", |scene, _| scene.pause(None), CURRENT),
        ("another policy", |scene, _| scene.set_policy(at_most(9)), CURRENT),
    ];
    for (story, event, expected) in table {
        let mut scene = Scene::empty();
        scene.push(job("a"));
        let given = scene.lease_one(100);
        event(scene.at(10), &given);
        assert_eq!(fate(&scene, &given), expected, "after {story}");
        scene.restart();
        assert_eq!(fate(&scene, &given), expected, "after {story} and a restart");
        scene.fail_over();
        assert_eq!(fate(&scene, &given), expected, "after {story} and a failover");
    }
}

#[test]
fn after_everything_that_can_happen_to_a_job_whose_lease_has_ended() {
    let table: [(&str, Event, _); 11] = [
        ("tidying", |scene, _| scene.tidy(), CURRENT),
        ("a claim", |scene, _| drop(scene.lease_one(100)), STALE),
        ("a claim without a lease", |scene, _| assert_eq!(scene.take(9), ["a"]), STALE),
        ("a reschedule", |scene, _| rescheduled(scene, When::In(Millis(1)), State::Waiting), STALE),
        (
            "a reschedule to its own time",
            |scene, _| rescheduled(scene, When::At(UnixMs(scene.now.0)), State::Waiting),
            STALE,
        ),
        ("a late nack", |scene, given| given_back(scene, given, Retry::After(Millis(0))), STALE),
        ("a late extension", |scene, given| assert!(scene.extend(given, 50)), CURRENT),
        ("a replacement", |scene, _| replaced(scene, Replace::Yes), STALE),
        ("a throttle", |scene, _| replaced(scene, Replace::KeepDue), STALE),
        ("a purge of the waiting", |scene, _| assert_eq!(scene.purge(State::Waiting, 9), 1), STALE),
        ("a move", super::moves::move_all_out, STALE),
    ];
    for (story, event, expected) in table {
        let mut scene = Scene::empty();
        scene.push(job("a"));
        let given = scene.lease_one(100);
        event(scene.at(200), &given);
        assert_eq!(fate(&scene, &given), expected, "after {story}");
    }
}

#[test]
fn after_everything_that_can_happen_to_a_job_that_died_by_its_leases_end() {
    let table: [(&str, Event, _); 6] = [
        ("tidying", |scene, _| scene.tidy(), DIED),
        ("a redrive", |scene, _| assert_eq!(scene.redrive(0, 9), 1), STALE),
        ("a purge of the dead", |scene, _| assert_eq!(scene.purge(State::Dead, 9), 1), STALE),
        ("a cancel", |scene, _| assert_eq!(scene.cancel("a"), Some(State::Dead)), STALE),
        ("a replacement", |scene, _| replaced(scene, Replace::Yes), STALE),
        ("a push of its id", |scene, _| pushed_again(scene, State::Dead), DIED),
    ];
    for (story, event, expected) in table {
        let mut scene = Scene::given(at_most(1));
        scene.push(job("a"));
        let given = scene.lease_one(100);
        event(scene.at(200), &given);
        assert_eq!(fate(&scene, &given), expected, "after {story}");
    }
}

#[test]
fn a_move_that_its_destination_refuses_ends_the_receipt() {
    let mut scene = Scene::empty();
    scene.push(job("a"));
    let given = scene.lease_one(100);
    scene.at(200);
    super::moves::refuse_all(&mut scene);
    assert_eq!((scene.state("a"), fate(&scene, &given)), (Some(State::Dead), STALE));
}
