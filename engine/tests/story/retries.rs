//! Giving back, backoff, death and redrive.

use dq_engine::job::{Reason, State};
use dq_engine::policy::{Backoff, Policy};
use dq_engine::queue::{Push, Retry};
use dq_engine::time::Millis;

use super::{START, Scene, at_most, job, job_at, names};

#[test]
fn a_job_given_back_with_a_delay_comes_again_then_and_is_the_same() {
    let mut scene = Scene::empty();
    scene.push(Push { message: b"payload", ..job("a") });
    let given = scene.lease_one(10_000);
    assert_eq!(scene.at(100).nack(&given, Retry::After(Millis(300))), Some(State::Waiting));
    assert_eq!(scene.at(399).lease(9, 1), []);
    let again = scene.at(400).lease_one(10_000);
    assert_eq!((again.id, again.message), (given.id, b"payload".to_vec()));
    assert_eq!((again.attempt, again.due), (2, START + 400));
}

#[test]
fn the_delay_of_a_nack_survives_a_restart_as_an_absolute_time() {
    let mut scene = Scene::empty();
    scene.push(job("a"));
    let given = scene.lease_one(10_000);
    scene.nack(&given, Retry::After(Millis(5_000)));
    scene.at(1_000).restart();
    scene.fail_over();
    assert_eq!(scene.at(4_999).take(9), [""; 0]);
    assert_eq!(scene.at(5_000).take(9), ["a"]);
}

#[test]
fn a_job_that_nobody_finished_dies_after_the_last_permitted_attempt_with_what_became_of_it() {
    let mut scene = Scene::given(at_most(3));
    scene.push_all("lapses nacked");
    for attempt in 1..=3u64 {
        let given = scene.at(1_000 * attempt).lease(9, 100);
        assert_eq!(given.len(), 2);
        let nacked = given.iter().find(|one| one.id == b"nacked").expect("it is among them");
        let state =
            scene.nack_with(nacked, Retry::After(Millis(0)), Some(format!("failure {attempt}").as_bytes()));
        assert_eq!(state, Some(if attempt < 3 { State::Waiting } else { State::Dead }));
    }
    // No sweeper: the lease's end alone kills, for every reader, at once.
    assert_eq!(scene.at(3_099).state("lapses"), Some(State::Claimed));
    assert_eq!(scene.at(3_100).state("lapses"), Some(State::Dead));
    assert_eq!(scene.lease(9, 100), []);
    let (lapsed, nacked) = (scene.seen("lapses").expect("dead"), scene.seen("nacked").expect("dead"));
    assert_eq!((lapsed.reason, lapsed.died), (Some(Reason::LeaseExpired), Some(START + 3_100)));
    assert_eq!((nacked.reason, nacked.died), (Some(Reason::Nacked), Some(START + 3_000)));
    assert_eq!((lapsed.attempts, nacked.attempts), (3, 3));
    assert_eq!(nacked.error, Some(b"failure 3".to_vec()));
    assert_eq!(scene.listed(State::Dead), ["nacked", "lapses"]);
    assert_eq!((scene.counters().died, scene.counters().lapsed, scene.counters().nacked), (2, 3, 3));
    scene.fail_over();
    assert_eq!(scene.listed(State::Dead), ["nacked", "lapses"]);
}

#[test]
fn a_rejected_job_dies_at_once_and_one_not_used_counts_no_attempt() {
    let mut scene = Scene::given(at_most(2));
    scene.push_all("hopeless unused");
    let given = scene.lease(2, 100);
    assert_eq!(scene.nack_with(&given[0], Retry::Never, Some(b"no such customer")), Some(State::Dead));
    assert_eq!(scene.seen("hopeless").and_then(|seen| seen.reason), Some(Reason::Rejected));
    assert_eq!(scene.at(10).nack(&given[1], Retry::Unused), Some(State::Waiting));
    for _ in 0..5 {
        let again = scene.lease_one(100);
        assert_eq!((again.attempt, again.due), (1, START + 10));
        assert_eq!(scene.nack(&again, Retry::Unused), Some(State::Waiting), "also on what would be the last");
    }
    let last = [scene.lease_one(1).attempt, scene.at(11).lease_one(100).attempt];
    assert_eq!(last, [1, 2]);
}

#[test]
fn a_last_attempt_that_was_not_used_is_not_the_last() {
    let mut scene = Scene::given(at_most(1));
    scene.push(job("a"));
    let given = scene.lease_one(100);
    assert_eq!(scene.at(50).nack(&given, Retry::Unused), Some(State::Waiting));
    assert_eq!(scene.at(500).lease_one(100).attempt, 1);
    assert_eq!(scene.at(600).state("a"), Some(State::Dead));
}

#[test]
fn without_a_delay_retries_wait_by_the_backoff_of_their_attempt() {
    let backoff = Backoff { base: Millis(100), factor: 3, max: Millis(1_000), jitter_percent: 0 };
    let mut scene = Scene::given(Policy { backoff, ..Policy::DEFAULT });
    scene.push(job("a"));
    let mut now = 0;
    for wait in [100, 300, 900, 1_000, 1_000] {
        let given = scene.at(now).lease_one(10);
        scene.nack(&given, Retry::Backoff { draw: u64::MAX });
        assert_eq!(scene.at(now + wait - 1).lease(9, 10), []);
        now += wait;
    }
}

#[test]
fn jitter_shortens_a_wait_and_never_makes_it_longer() {
    let backoff = Backoff { base: Millis(100), factor: 1, max: Millis(100), jitter_percent: 40 };
    let waits = (0..500u64).map(|draw| {
        let mut scene = Scene::given(Policy { backoff, ..Policy::DEFAULT });
        scene.push(job("a"));
        let given = scene.lease_one(10);
        scene.nack(&given, Retry::Backoff { draw: draw.wrapping_mul(0x9E37_79B9_7F4A_7C15) });
        scene.seen("a").expect("it waits").due - START
    });
    let waits: Vec<u64> = waits.collect();
    assert_eq!((waits.iter().min(), waits.iter().max()), (Some(&60), Some(&100)));
}

#[test]
fn an_error_text_is_kept_up_to_its_first_1024_bytes_until_the_next_one() {
    let mut scene = Scene::empty();
    scene.push(job("a"));
    let mut error = |text: Option<&[u8]>| {
        let given = scene.lease_one(10);
        scene.nack_with(&given, Retry::After(Millis(0)), text);
        scene.seen("a").and_then(|seen| seen.error)
    };
    assert_eq!(error(None), None);
    assert_eq!(error(Some(&[b'e'; 2_000])), Some(vec![b'e'; 1_024]));
    assert_eq!(error(None), Some(vec![b'e'; 1_024]));
    assert_eq!(error(Some(b"\0\r\n\xff")), Some(b"\0\r\n\xff".to_vec()));
}

#[test]
fn dead_jobs_are_redriven_oldest_death_first_with_no_attempt_counted_and_their_priority() {
    let mut scene = Scene::given(at_most(1));
    for (id, priority) in [("a", 0), ("b", 9), ("c", 0)] {
        scene.push(Push { priority, ..job(id) });
    }
    let given = scene.lease(3, 100);
    assert_eq!(names(&given), ["b", "a", "c"]);
    // c dies by hand at 50, the others by time at 100.
    scene.at(50).nack(&given[2], Retry::Never);
    assert_eq!(scene.at(200).listed(State::Dead), ["c", "b", "a"]);
    assert_eq!(scene.redrive(0, 2), 2);
    assert_eq!(scene.listed(State::Waiting), ["c", "b"]);
    assert_eq!(scene.redrive(1_000, 9), 1);
    assert_eq!(scene.redrive(0, 9), 0);
    let again = scene.lease(9, 100);
    assert_eq!(
        (names(&again), again[0].attempt, again[0].due),
        (vec!["b".into(), "c".into()], 1, START + 200)
    );
    assert_eq!(names(&scene.at(1_200).lease(9, 100)), ["a"]);
}

#[test]
fn a_redrive_by_id_takes_each_dead_job_once_and_no_other() {
    use dq_engine::id::IdRef;
    let mut scene = Scene::given(at_most(1));
    scene.push_all("dead claimed");
    let given = scene.lease(2, 100);
    scene.extend(&given[1], 1_000);
    scene.at(100).push(job("waiting"));
    let ids = ["dead", "dead", "claimed", "waiting", "unknown", "dead"].map(|id| IdRef::of(id.as_bytes()));
    let redriven = scene.change(|queue, now, effects| queue.redrive_ids(now, Millis(0), &ids, effects));
    assert_eq!(redriven, 1);
    assert_eq!(
        (scene.listed(State::Waiting), scene.state("claimed")),
        (vec!["waiting".into(), "dead".into()], Some(State::Claimed))
    );
}

#[test]
fn a_redriven_job_is_not_gone_by_a_time_to_live_that_ended_long_ago() {
    let mut scene = Scene::given(at_most(1));
    scene.push(Push { ttl: Some(Millis(50)), ..job("a") });
    let given = scene.lease_one(100);
    scene.nack(&given, Retry::Never);
    assert_eq!((scene.at(9_000).redrive(0, 9), scene.take(9)), (1, vec!["a".to_owned()]));
}

#[test]
fn no_more_dead_jobs_are_kept_than_the_policy_says_the_oldest_goes_and_is_counted() {
    let mut scene = Scene::given(Policy { dead_max: Some(3), ..Policy::DEFAULT });
    for number in 0..8u64 {
        scene.at(number).push(job(&number.to_string()));
        let given = scene.lease_one(100);
        scene.nack(&given, Retry::Never);
    }
    scene.tidy();
    assert_eq!(
        (scene.listed(State::Dead), scene.counters().dropped),
        (vec!["5".into(), "6".into(), "7".into()], 5)
    );
    assert_eq!((scene.state("0"), scene.cancel("0")), (None, None));
    scene.set_policy(Policy { dead_max: Some(0), ..Policy::DEFAULT });
    scene.tidy();
    assert_eq!((scene.info().census.dead, scene.counters().dropped), (0, 8));
    scene.set_policy(Policy { dead_max: None, ..Policy::DEFAULT });
    scene.push(job_at("a", 0));
    let given = scene.lease_one(100);
    scene.nack(&given, Retry::Never);
    scene.tidy();
    assert_eq!(scene.info().census.dead, 1);
}
