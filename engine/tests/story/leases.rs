//! Claims, leases and acknowledgements: one owner at a time, none for ever, and late ones know it.

use std::collections::HashMap;

use dq_engine::job::State;
use dq_engine::policy::Policy;
use dq_engine::queue::{Outcome, Retry};
use dq_engine::time::{Millis, UnixMs};

use super::{START, Scene, at_most, job, job_at, names};

#[test]
fn no_two_claimers_get_one_job() {
    let mut scene = Scene::large(Policy::DEFAULT);
    let mut left: HashMap<String, u32> = (0..20_000).map(|number| (number.to_string(), 0)).collect();
    left.keys().for_each(|id| assert_eq!(scene.push(job(id)), Outcome::Created));
    for claimer in 0.. {
        let taken = scene.take(1 + claimer * 37 % 100);
        if taken.is_empty() {
            break;
        }
        taken.into_iter().for_each(|id| *left.get_mut(&id).expect("it was pushed") += 1);
    }
    assert!(left.values().all(|&times| times == 1));
    assert_eq!((scene.queue.len(scene.now), scene.counters().claimed), (0, 20_000));
}

#[test]
fn waiting_does_not_eat_the_lease() {
    let mut scene = Scene::given(Policy { lease: Millis(30_000), ..Policy::DEFAULT });
    scene.push(job_at("a", 45_000));
    assert_eq!(scene.at(44_999).claim(1, None), []);
    let given = scene.at(45_000).claim(1, None);
    assert_eq!((given[0].attempt, given[0].due), (1, START + 45_000));
    assert_eq!(scene.at(74_999).claim(1, None), []);
    let again = scene.at(75_000).claim(1, None);
    assert_eq!((again[0].attempt, again[0].due), (2, START + 75_000), "its lease's end is its new due time");
}

#[test]
fn the_length_of_a_lease_belongs_to_its_claim() {
    let mut scene = Scene::given(Policy { lease: Millis(1_000), ..Policy::DEFAULT });
    scene.push(job("a"));
    scene.lease_one(10_000);
    for ms in (1_000..10_000).step_by(1_000) {
        assert_eq!(scene.at(ms).claim(9, None), []);
    }
    assert_eq!(names(&scene.at(10_000).claim(9, None)), ["a"]);
    assert_eq!(scene.seen("a").and_then(|seen| seen.lease_until), Some(START + 11_000));
}

#[test]
fn a_late_ack_after_a_new_claim_is_refused_and_the_new_owner_is_untouched() {
    let mut scene = Scene::empty();
    scene.push(job("a"));
    let first = scene.lease_one(100);
    let second = scene.at(150).lease_one(100);
    let before = scene.seen("a");
    assert!(!scene.at(160).ack(&first));
    assert!(!scene.extend(&first, 9_000));
    assert_eq!(scene.nack(&first, Retry::Never), None);
    assert_eq!(scene.seen("a"), before);
    assert!(scene.ack(&second) && !scene.ack(&second));
    assert_eq!((scene.state("a"), scene.counters().acked, scene.counters().nacked), (None, 1, 0));
}

#[test]
fn a_late_ack_before_a_new_claim_counts_and_leaves_no_ghost() {
    let mut scene = Scene::empty();
    scene.push(job("a"));
    let given = scene.lease_one(100);
    assert_eq!(scene.at(5_000).state("a"), Some(State::Waiting));
    assert!(scene.ack(&given));
    assert_eq!((scene.take(9), scene.queue.records()), (vec![], 0));
}

#[test]
fn a_job_that_died_only_by_its_leases_end_can_be_acked_before_and_after_that_was_written_down() {
    for tidied in [false, true] {
        let mut scene = Scene::given(at_most(1));
        scene.push(job("a"));
        let given = scene.lease_one(100);
        assert_eq!(scene.at(100).state("a"), Some(State::Dead));
        if tidied {
            scene.tidy();
        }
        assert_eq!(scene.at(9_000).state("a"), Some(State::Dead));
        assert!(scene.ack(&given) && !scene.ack(&given));
        assert_eq!((scene.state("a"), scene.counters().acked), (None, 1));
    }
}

#[test]
fn an_ack_of_what_is_not_there_answers_no_and_counts_nothing() {
    let mut scene = Scene::empty();
    scene.push(job("a"));
    let given = scene.lease_one(100);
    let mut other = given.clone();
    other.id = b"unknown".to_vec();
    let mut forged = given.clone();
    forged.token = Some(0);
    assert!(!scene.ack(&other) && !scene.ack(&forged));
    assert!(scene.ack(&given));
    assert_eq!(scene.counters().acked, 1);
}

#[test]
fn an_extended_lease_ends_when_it_was_extended_to() {
    let mut scene = Scene::empty();
    scene.push(job("a"));
    let given = scene.lease_one(200);
    assert!(scene.at(150).extend(&given, 500));
    assert_eq!(scene.at(649).take(9), [""; 0]);
    assert_eq!(names(&scene.at(650).lease(9, 100)), ["a"]);
    assert!(!scene.at(700).extend(&given, 500), "the receipt is not the current one");
    assert_eq!(scene.at(750).take(9), ["a"]);
}

#[test]
fn a_lease_can_be_extended_after_its_end_and_made_shorter() {
    let mut scene = Scene::empty();
    scene.push(job("a"));
    let given = scene.lease_one(200);
    assert!(scene.at(300).extend(&given, 100));
    assert_eq!((scene.state("a"), scene.take(9)), (Some(State::Claimed), vec![]));
    assert!(scene.at(310).extend(&given, 5));
    assert_eq!(scene.at(314).take(9), [""; 0]);
    assert!(scene.extend(&given, 0), "it is due at once");
    assert_eq!(scene.take(9), ["a"]);
}

#[test]
fn a_claim_returns_what_is_there() {
    let mut scene = Scene::empty();
    scene.push_all("a b c");
    scene.push(job_at("later", 1));
    assert_eq!(names(&scene.lease(10, 100)), ["a", "b", "c"]);
    assert_eq!(scene.lease(10, 100), []);
}

#[test]
fn a_lease_of_zero_takes_the_job_out_and_one_of_a_millisecond_ends() {
    let mut scene = Scene::empty();
    scene.push_all("a b");
    let gone = scene.lease(1, 0);
    assert_eq!((gone[0].token, gone[0].attempt, scene.state("a")), (None, 1, None));
    scene.lease_one(1);
    assert_eq!((scene.state("b"), scene.at(1).state("b")), (Some(State::Claimed), Some(State::Waiting)));
}

#[test]
fn a_lease_of_ten_years_ends_then_and_none_ends_after_all_time() {
    let mut scene = Scene::empty();
    scene.push(job("a"));
    let given = scene.lease_one(315_360_000_000);
    assert_eq!(scene.at(315_359_999_999).state("a"), Some(State::Claimed));
    // The commands take no durations of which now and they would be more than the last time.
    assert!(scene.extend(&given, u64::MAX));
    assert_eq!(scene.seen("a").and_then(|seen| seen.lease_until), Some(UnixMs::MAX.0));
    assert!(scene.ack(&given));
}

#[test]
fn attempts_count_claims_whose_consumer_never_answered_also_across_restart_and_failover() {
    let mut scene = Scene::empty();
    scene.push(job("a"));
    for attempt in 1..=3 {
        assert_eq!(scene.at(100 * u64::from(attempt)).lease_one(50).attempt, attempt);
    }
    scene.restart();
    scene.fail_over();
    assert_eq!(scene.at(400).lease_one(50).attempt, 4);
    assert_eq!(scene.counters().lapsed, 3);
}

#[test]
fn a_consumer_that_dies_leaves_its_job_to_the_next_when_the_lease_ends_once() {
    let mut scene = Scene::empty();
    scene.push(job("a"));
    scene.lease_one(1_000);
    assert_eq!(scene.at(999).take(9), [""; 0]);
    let again = scene.at(1_000).lease(9, 1_000);
    assert_eq!((names(&again), again[0].attempt, scene.lease(9, 1_000)), (vec!["a".into()], 2, vec![]));
}

#[test]
fn seventeen_of_twenty_that_extend_finish_once_and_three_that_stop_are_redelivered() {
    let mut scene = Scene::empty();
    scene.push_all("00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19");
    let given = scene.lease(20, 100);
    for ms in [50, 100, 150, 200, 250] {
        // Each works three leases long; the extender of the first three stops after the first time.
        let alive = if ms == 50 { &given[..] } else { &given[3..] };
        alive.iter().for_each(|one| assert!(scene.at(ms).extend(one, 100)));
        if ms == 150 {
            assert_eq!(names(&scene.lease(20, 1_000)), ["00", "01", "02"]);
        }
    }
    let acked = given.iter().map(|one| scene.at(300).ack(one));
    assert_eq!(acked.collect::<Vec<_>>(), [[false; 3].as_slice(), &[true; 17]].concat());
    assert_eq!(scene.info().census.claimed, 3);
}
