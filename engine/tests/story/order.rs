//! The order of delivery: priority, then visible time, then who got that time first.

use dq_engine::job::State;
use dq_engine::policy::Policy;
use dq_engine::queue::{Outcome, Push, Replace, Retry, When};
use dq_engine::time::{Millis, UnixMs};

use super::{START, Scene, job, job_at};

#[test]
fn ten_thousand_jobs_of_one_millisecond_come_out_in_the_order_of_their_pushes() {
    let mut scene = Scene::large(Policy::DEFAULT);
    let ids: Vec<String> = (0..10_000).map(|number| (number * 7_919 % 10_000).to_string()).collect();
    ids.iter().for_each(|id| assert_eq!(scene.push(job_at(id, 50)), Outcome::Created));
    // A third from the master, a third after a restart, the rest from a promoted replica.
    scene.at(50);
    let mut taken = Vec::new();
    while taken.len() < 3_300 {
        taken.extend(scene.take(1 + taken.len() % 100));
    }
    scene.restart();
    while taken.len() < 6_600 {
        taken.extend(scene.take(1));
    }
    scene.fail_over();
    taken.extend(scene.take(10_000));
    assert_eq!(taken, ids);
}

#[test]
fn a_higher_priority_goes_first_however_late_it_was_due() {
    let mut scene = Scene::empty();
    for (id, priority, due) in
        [("low", 0, 0), ("high", 255, 90), ("mid-2", 7, 50), ("mid-1", 7, 40), ("low-0", 0, 95)]
    {
        scene.push(Push { priority, ..job_at(id, due) });
    }
    scene.at(100);
    assert_eq!(scene.take(1), ["high"]);
    scene.push(Push { priority: 8, ..job("urgent") });
    assert_eq!(scene.take(9), ["urgent", "mid-1", "mid-2", "low", "low-0"]);
}

#[test]
fn a_higher_priority_that_is_not_due_holds_nothing_up() {
    let mut scene = Scene::empty();
    scene.push(Push { priority: 255, ..job_at("later", 100) });
    scene.push(job("now"));
    assert_eq!(scene.take(9), ["now"]);
    assert_eq!(scene.info().next_due, Some(UnixMs(START + 100)));
}

#[test]
fn a_lapsed_job_comes_behind_what_was_due_before_its_lease_ended() {
    let mut scene = Scene::empty();
    scene.push(job("slow"));
    scene.lease_one(100);
    scene.at(50).push(job("before"));
    scene.at(100).push(job("at-the-end"));
    scene.at(150).push(job("after"));
    // Of the two of that millisecond, the lease got it first: when it was given.
    assert_eq!(scene.take(9), ["before", "slow", "at-the-end", "after"]);
}

#[test]
fn a_job_that_is_given_back_comes_behind_what_was_due_before() {
    let mut scene = Scene::empty();
    scene.push_all("a b c");
    let given = scene.lease(1, 1_000);
    assert_eq!(scene.at(10).nack(&given[0], Retry::Unused), Some(State::Waiting));
    scene.push(job("d"));
    assert_eq!(scene.take(9), ["b", "c", "a", "d"]);
}

#[test]
fn who_gets_a_time_later_stands_behind_those_that_have_it() {
    let mut scene = Scene::empty();
    for id in ["a", "b", "c"] {
        scene.push(job_at(id, 100));
    }
    scene.reschedule("a", When::At(UnixMs(START + 100)));
    scene.push(Push { replace: Replace::Yes, ..job_at("b", 100) });
    assert_eq!(scene.at(100).take(9), ["c", "a", "b"]);
}

#[test]
fn a_lapsed_job_keeps_its_priority() {
    let mut scene = Scene::empty();
    scene.push(Push { priority: 9, ..job("high") });
    scene.lease_one(100);
    scene.push(job("low"));
    assert_eq!(scene.fork().at(99).take(9), ["low"]);
    assert_eq!(scene.at(100).take(9), ["high", "low"]);
}

#[test]
fn jobs_with_and_without_a_time_to_live_are_in_one_order() {
    let mut scene = Scene::empty();
    for number in 0..40 {
        let id = format!("{number:02}");
        let ttl = (number % 3 == 0).then_some(Millis(500));
        scene.push(Push { ttl, ..job_at(&id, 100 + number / 4) });
    }
    // Some are leased and lapse, so that they stand among the leases, at one time.
    scene.at(102).lease(6, 6);
    let order = scene.at(109).listed(State::Waiting);
    assert_eq!(order[30..36], ["00", "01", "02", "03", "04", "05"]);
    assert_eq!(scene.take(99), order);
}
