//! When jobs become due: never early, at their own time whatever else there is, and by the clock as it is.

use dq_engine::error::Refusal;
use dq_engine::job::State;
use dq_engine::queue::{Outcome, Push, When};
use dq_engine::time::{Millis, UnixMs};

use super::{START, Scene, job, job_at};

#[test]
fn a_job_is_not_claimable_before_it_is_due_and_is_from_that_millisecond_on() {
    for delay in 1..300 {
        let mut scene = Scene::empty();
        scene.at(900 + delay).push(Push { when: When::In(Millis(delay)), ..job("a") });
        let due = 900 + 2 * delay;
        for early in [900 + delay, due - 1] {
            assert_eq!(scene.at(early).take(1), [""; 0]);
            assert_eq!(scene.available(), Some(UnixMs(START + due)));
            assert_eq!(scene.info().next_due, Some(UnixMs(START + due)));
        }
        assert_eq!(scene.at(due).take(1), ["a"]);
    }
}

#[test]
fn a_nearer_job_that_is_pushed_later_comes_first_and_the_far_one_stays() {
    let (mut scene, year) = (Scene::empty(), 31_536_000_000);
    scene.push(job_at("far", year));
    scene.push(job_at("near", 200));
    assert_eq!(scene.info().next_due, Some(UnixMs(START + 200)));
    assert_eq!(scene.at(200).take(9), ["near"]);
    assert_eq!(
        (scene.state("far"), scene.info().next_due),
        (Some(State::Waiting), Some(UnixMs(START + year)))
    );
    assert_eq!(scene.at(year).take(9), ["far"]);
}

#[test]
fn a_job_that_is_rescheduled_nearer_is_due_then() {
    let mut scene = Scene::empty();
    scene.push(job_at("a", 60_000));
    assert_eq!(scene.at(100).reschedule("a", When::In(Millis(200))), Some(State::Waiting));
    assert_eq!(scene.available(), Some(UnixMs(START + 300)));
    assert_eq!(scene.at(299).take(1), [""; 0]);
    assert_eq!(scene.at(300).take(1), ["a"]);
}

#[test]
fn a_job_that_is_rescheduled_farther_is_not_due_at_the_old_time_and_its_delay_counts_from_that_command() {
    let mut scene = Scene::empty();
    scene.push(job_at("a", 300));
    assert_eq!(scene.at(100).reschedule("a", When::In(Millis(2_000))), Some(State::Waiting));
    for early in [300, 2_099] {
        assert_eq!(scene.at(early).take(1), [""; 0]);
    }
    assert_eq!(scene.at(2_100).take(1), ["a"]);
}

#[test]
fn a_delay_of_zero_and_no_delay_are_the_same() {
    let mut scene = Scene::empty();
    scene.push(job("a"));
    scene.push(job_at("b", 0));
    scene.push(Push { when: When::In(Millis(0)), ..job("c") });
    assert_eq!(scene.take(9), ["a", "b", "c"]);
}

#[test]
fn a_time_in_the_past_is_due_at_once_before_what_was_due_later() {
    let mut scene = Scene::empty();
    scene.at(7_200_000).push(job("now"));
    scene.push(job_at("past", 3_600_000));
    assert_eq!(scene.info().oldest_due, Some(UnixMs(START + 3_600_000)), "the lag counts from the due time");
    assert_eq!(scene.take(9), ["past", "now"]);
}

#[test]
fn a_large_delay_is_kept_to_the_millisecond_or_refused_and_is_never_now() {
    let (last, now) = (UnixMs::MAX.0, START);
    let day = 86_400_000u64;
    let edges =
        [1 << 31, 1 << 32, 25 * day, 50 * day, 3_650 * day, last - now, 1 << 53, (1 << 63) - now, 1 << 63];
    for delay in edges.into_iter().flat_map(|edge| [edge - 1, edge, edge + 1]).chain([u64::MAX]) {
        let mut scene = Scene::empty();
        let pushed = scene.try_push(Push { when: When::In(Millis(delay)), ..job("a") });
        if delay <= last - now {
            assert_eq!(pushed, Ok(Outcome::Created));
            assert_eq!(scene.seen("a").map(|seen| seen.due), Some(now + delay));
        } else {
            assert_eq!(pushed, Err(Refusal::TimeTooLarge { what: "DELAY" }));
            assert_eq!(scene.queue.len(scene.now), 0);
        }
        assert_eq!(scene.take(1), [""; 0]);
    }
}

#[test]
fn a_clock_that_steps_forward_and_back_neither_loses_nor_hangs_anything() {
    let (mut scene, hour) = (Scene::empty(), 3_600_000);
    scene.at(hour).push(job("leased"));
    let given = scene.lease_one(30_000);
    scene.push(job_at("delayed", hour + 60_000));
    // Forward: what was to come is due.
    assert_eq!(scene.at(2 * hour).listed(State::Waiting), ["leased", "delayed"]);
    // Back: it is not due any more, and the lease runs again until its absolute end.
    scene.at(hour);
    assert_eq!((scene.state("leased"), scene.take(9)), (Some(State::Claimed), vec![]));
    // Far back: leases are longer by the step, nothing is negative or gone.
    scene.at(0);
    let seen = scene.seen("leased").expect("it is there");
    assert_eq!((seen.state, seen.lease_until), (State::Claimed, Some(START + hour + 30_000)));
    scene.push(Push { when: When::In(Millis(100)), ..job("fresh") });
    assert_eq!(scene.at(99).take(9), [""; 0]);
    assert_eq!(scene.at(100).take(9), ["fresh"]);
    assert!(scene.ack(&given));
    assert_eq!(scene.at(hour + 60_000).take(9), ["delayed"]);
}

#[test]
fn what_was_pushed_before_a_step_back_keeps_its_place_among_equal_times() {
    let mut scene = Scene::empty();
    scene.at(500).push(job_at("first", 1_000));
    scene.at(0).push(job_at("second", 1_000));
    scene.at(300).push(job_at("third", 1_000));
    assert_eq!(scene.at(1_000).take(9), ["first", "second", "third"]);
}

#[test]
fn a_restart_and_a_failover_keep_absolute_times() {
    let mut scene = Scene::empty();
    scene.push(job_at("a", 10_000));
    scene.push(job_at("b", 3_000));
    scene.at(4_000).restart();
    scene.fail_over();
    assert_eq!(scene.take(9), ["b"], "what became due while the server was down is due at once");
    assert_eq!(scene.at(9_999).take(9), [""; 0]);
    assert_eq!(scene.at(10_000).take(9), ["a"]);
}
