//! Moves to another key: only what is due, bounded, in order, and each job in exactly one place.

use dq_engine::effect::{Effects, Put};
use dq_engine::id::IdRef;
use dq_engine::job::{Reason, State};
use dq_engine::lane::Horizon;
use dq_engine::queue::{Limit, Push, Replace};
use dq_engine::time::{Millis, UnixMs};

use super::{ALL, START, Scene, at_most, job, job_at};
use crate::random::perform::{Given, Seen};

/// Moves up to `count` jobs that are due within `ahead` ms to a place that takes everything.
fn move_out(scene: &mut Scene, count: usize, ahead: u64) -> Vec<Seen> {
    scene.change(|queue, now, effects: &mut Effects<'_>| {
        let horizon = Horizon { now, waiting: UnixMs(now.0 + ahead) };
        let picked = queue.pick(horizon, Limit { count, ..ALL });
        let seen =
            picked.iter().filter_map(|&slot| queue.view(slot, now)).map(|view| Seen::of(&view)).collect();
        picked.into_iter().for_each(|slot| queue.move_out(slot, effects));
        seen
    })
}

/// Moves up to `count` jobs to another queue, as the module does.
fn move_to(source: &mut Scene, destination: &mut Scene, count: usize) -> usize {
    let mut moved = 0;
    destination.now = source.now;
    source.change(|queue, now, effects: &mut Effects<'_>| {
        for slot in queue.pick(Horizon::at(now), Limit { count, ..ALL }) {
            let view = queue.view(slot, now).expect("it was picked");
            let Seen { id, message, due, priority, expires, attempts, .. } = Seen::of(&view);
            let put = Put {
                id: IdRef::of(&id),
                message: &message,
                due: UnixMs(due),
                priority,
                expires: expires.map(UnixMs),
                attempts,
            };
            let taken = destination.change(|queue, now, effects| queue.receive(now, put, effects));
            if taken == Ok(true) {
                queue.move_out(slot, effects);
                moved += 1;
            } else {
                queue.refuse_move(now, slot, effects);
            }
        }
    });
    moved
}

pub fn move_all_out(scene: &mut Scene, _: &Given) {
    assert!(!move_out(scene, 99, 0).is_empty());
}

/// Tries to move what is due to a place that has all these ids.
pub fn refuse_all(scene: &mut Scene) {
    scene.change(|queue, now, effects: &mut Effects<'_>| {
        queue.pick(Horizon::at(now), ALL).into_iter().for_each(|slot| queue.refuse_move(now, slot, effects));
    });
}

fn ids(seen: &[Seen]) -> Vec<u32> {
    seen.iter().map(|one| String::from_utf8_lossy(&one.id).parse().expect("a number")).collect()
}

#[test]
fn only_due_jobs_are_moved_the_earliest_first_and_no_more_than_asked_for() {
    let mut scene = Scene::empty();
    for number in 0..200u64 {
        // The even ones are due, from the last to the first.
        let due = if number % 2 == 0 { 200 - number } else { 1_000 };
        scene.push(job_at(&number.to_string(), due));
    }
    scene.at(500);
    let expected: Vec<u32> = (0..100).rev().map(|half| 2 * half).collect();
    assert_eq!(ids(&move_out(&mut scene, 30, 0)), expected[..30]);
    assert_eq!(ids(&move_out(&mut scene, 100, 0)), expected[30..]);
    assert_eq!(move_out(&mut scene, 100, 0), []);
    assert_eq!((scene.queue.len(scene.now), scene.counters().moved), (100, 100));
}

#[test]
fn looking_ahead_takes_waiting_jobs_and_no_lease_before_its_end() {
    let mut scene = Scene::empty();
    scene.push(job("0"));
    scene.lease_one(50);
    for (id, due) in [("1", 10), ("2", 60), ("3", 61)] {
        scene.push(job_at(id, due));
    }
    scene.push(Push { priority: 1, ..job_at("4", 60) });
    assert_eq!(ids(&move_out(&mut scene.fork(), 99, 60)), [4, 1, 2]);
    assert_eq!(ids(&move_out(scene.at(50), 99, 10)), [4, 1, 0, 2], "now the lease has ended");
    assert_eq!(scene.listed(State::Waiting), ["3"]);
}

#[test]
fn looking_ahead_does_not_take_what_has_expired() {
    let mut scene = Scene::empty();
    scene.push(Push { ttl: Some(Millis(5)), ..job("0") });
    scene.push(Push { ttl: Some(Millis(5)), ..job_at("1", 20) });
    assert_eq!(ids(&move_out(scene.at(10), 99, 100)), [1]);
}

#[test]
fn paused_dead_and_claimed_jobs_are_not_moved() {
    let mut scene = Scene::given(at_most(1));
    scene.push_all("0 1");
    scene.lease(1, 1);
    scene.at(5).lease(1, 100);
    scene.push(job("2"));
    scene.pause(Some(10));
    assert_eq!(move_out(&mut scene, 99, 1_000), []);
    assert_eq!(ids(&move_out(scene.at(15), 99, 1_000)), [2]);
}

#[test]
fn what_is_moved_keeps_what_it_was() {
    let (mut near, mut far) = (Scene::empty(), Scene::empty());
    far.push(Push { priority: 7, ttl: Some(Millis(1_000)), message: b"\0m\xff", ..job_at("a", 10) });
    far.at(10).lease_one(20);
    far.at(30);
    let before = far.seen("a").expect("it waits");
    assert_eq!(move_to(&mut far, &mut near, 9), 1);
    let after = near.seen("a").expect("it has arrived");
    assert_eq!((after.due, after.attempts, after.priority), (START + 30, 1, 7));
    assert_eq!((after.expires, after.message.clone()), (Some(START + 1_010), before.message.clone()));
    assert_eq!(after.token, 0, "a receipt names a delivery of the other queue");
    assert_eq!((far.queue.records(), near.lease_one(5).attempt), (0, 2));
}

#[test]
fn a_job_whose_id_the_destination_has_becomes_dead_in_the_source_and_is_not_counted() {
    let (mut source, mut destination) = (Scene::empty(), Scene::empty());
    source.push_all("a b c");
    destination.push(Push { message: b"other", ..job("b") });
    assert_eq!(move_to(source.at(5), &mut destination, 9), 2);
    let dead = source.seen("b").expect("it stays");
    assert_eq!((dead.state, dead.reason, dead.died), (State::Dead, Some(Reason::Conflict), Some(START + 5)));
    assert_eq!(destination.seen("b").map(|seen| seen.message), Some(b"other".to_vec()));
    assert_eq!(destination.listed(State::Waiting), ["b", "a", "c"]);
    assert_eq!((source.counters().moved, source.counters().died), (2, 1));
    // Redriven and free, it goes.
    destination.cancel("b");
    assert_eq!((source.redrive(0, 9), move_to(&mut source, &mut destination, 9)), (1, 1));
}

#[test]
fn an_id_whose_job_has_expired_in_the_destination_is_free_there() {
    let (mut source, mut destination) = (Scene::empty(), Scene::empty());
    destination.push(Push { ttl: Some(Millis(5)), ..job("a") });
    source.at(5).push(job("a"));
    assert_eq!(move_to(&mut source, &mut destination, 9), 1);
    assert_eq!((destination.counters().expired, destination.queue.records()), (1, 1));
}

#[test]
fn a_pick_stops_after_the_job_that_passes_the_bytes_and_never_before_the_first() {
    let mut scene = Scene::empty();
    for (id, length) in [("0", 10), ("1", 0), ("2", 5), ("3", 1), ("4", 100)] {
        scene.push(Push { message: &[b'm'; 100][..length], replace: Replace::No, ..job(id) });
    }
    let picked = |bytes| scene.queue.pick(Horizon::at(scene.now), Limit { count: 9, bytes }).len();
    for (bytes, expected) in [(0, 1), (9, 1), (10, 3), (14, 3), (15, 4), (16, 5), (usize::MAX, 5)] {
        assert_eq!(picked(bytes), expected, "{bytes} bytes");
    }
}
