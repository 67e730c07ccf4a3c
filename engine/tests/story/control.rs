//! Pauses, times to live, purges, and what the numbers say.

use dq_engine::effect::FOREVER;
use dq_engine::job::State;
use dq_engine::orders::Census;
use dq_engine::policy::Policy;
use dq_engine::queue::{Counters, Limit, Push, Retry, When};
use dq_engine::time::{Millis, UnixMs};
use dq_engine::timeline::Key;

use super::{ALL, START, Scene, at_most, job, job_at, names};

#[test]
fn a_pause_stops_claims_while_time_goes_on() {
    let mut scene = Scene::empty();
    scene.push(job("leased"));
    let given = scene.lease_one(50);
    scene.push(job_at("b", 30));
    scene.push(job_at("a", 20));
    scene.push(Push { ttl: Some(Millis(5)), ..job_at("expires", 40) });
    scene.pause(None);
    assert_eq!(scene.info().paused_until, Some(FOREVER));
    for ms in [10, 30, 100] {
        assert_eq!((scene.at(ms).take(9), scene.available()), (vec![], None));
    }
    // Everything else works.
    scene.push(job("pushed"));
    assert!(scene.extend(&given, 0));
    assert_eq!(scene.cancel("b"), Some(State::Waiting));
    scene.restart();
    scene.resume();
    assert_eq!(scene.available(), Some(scene.now));
    assert_eq!(scene.take(9), ["a", "pushed", "leased"]);
    assert_eq!((scene.info().paused_until, scene.counters().expired), (None, 1));
}

#[test]
fn a_pause_with_a_length_ends_by_itself_and_a_second_one_replaces_the_first() {
    let mut scene = Scene::empty();
    scene.push(job("a"));
    scene.pause(Some(1_000));
    scene.at(10).pause(Some(50));
    assert_eq!(scene.info().paused_until, Some(UnixMs(START + 60)));
    assert_eq!(scene.at(59).take(9), [""; 0]);
    assert_eq!((scene.at(60).info().paused_until, scene.take(9)), (None, vec!["a".to_owned()]));
}

#[test]
fn what_expires_before_anyone_claims_it_is_not_delivered_and_is_counted() {
    let mut scene = Scene::empty();
    scene.push(Push { when: When::In(Millis(1_000)), ttl: Some(Millis(500)), ..job("a") });
    assert_eq!(scene.seen("a").and_then(|seen| seen.expires), Some(START + 1_500));
    assert_eq!(scene.fork().at(1_499).take(9), ["a"]);
    scene.at(1_500);
    assert_eq!((scene.state("a"), scene.queue.len(scene.now), scene.info().census.waiting), (None, 0, 0));
    assert_eq!(scene.take(9), [""; 0]);
    assert_eq!((scene.counters().expired, scene.queue.records()), (1, 0));
}

#[test]
fn a_push_may_have_no_time_to_live_against_the_policy_which_gives_one_to_all_others() {
    let mut scene = Scene::given(Policy { ttl: Millis(100), ..Policy::DEFAULT });
    scene.push(job("mortal"));
    scene.push(Push { ttl: Some(Millis(0)), ..job("immortal") });
    assert_eq!(scene.at(100).take(9), ["immortal"]);
}

#[test]
fn a_running_lease_outlives_the_time_to_live_and_its_ack_counts() {
    let mut scene = Scene::empty();
    scene.push(Push { ttl: Some(Millis(50)), ..job("a") });
    let given = scene.lease_one(100);
    assert_eq!(scene.at(99).state("a"), Some(State::Claimed));
    assert!(scene.fork().ack(&given));
    assert!(scene.fork().extend(&given, 1_000));
    assert_eq!((scene.at(100).state("a"), scene.take(9), scene.counters().expired), (None, vec![], 1));
}

#[test]
fn nacks_do_not_move_the_time_to_live_and_a_reschedule_does() {
    let mut scene = Scene::empty();
    scene.push(Push { ttl: Some(Millis(500)), ..job("a") });
    let given = scene.lease_one(100);
    scene.nack(&given, Retry::After(Millis(200)));
    assert_eq!(scene.seen("a").and_then(|seen| seen.expires), Some(START + 500));
    scene.reschedule("a", When::At(UnixMs(START + 1_200)));
    assert_eq!(scene.seen("a").and_then(|seen| seen.expires), Some(START + 1_500));
    assert_eq!(scene.at(1_499).take(9), ["a"]);
}

#[test]
fn a_reschedule_moves_waiting_jobs_only_and_tells_what_forbade_it() {
    let mut scene = Scene::given(at_most(1));
    scene.push_all("claimed dead");
    let given = scene.lease(2, 1_000);
    scene.nack(&given[1], Retry::Never);
    let when = When::In(Millis(5));
    assert_eq!(scene.reschedule("claimed", when), Some(State::Claimed));
    assert_eq!(scene.reschedule("dead", when), Some(State::Dead));
    assert_eq!(scene.reschedule("unknown", when), None);
    assert!(scene.ack(&given[0]));
}

#[test]
fn the_numbers_tell_what_is_due_how_late_it_is_and_what_comes_next() {
    let mut scene = Scene::empty();
    for (id, due) in [("a", 5_000), ("b", 5_000), ("c", 5_001), ("later", 20_000)] {
        scene.push(job_at(id, due));
    }
    let info = scene.at(10_000).info();
    assert_eq!(info.census, Census { waiting: 4, waiting_new: 4, due: 3, claimed: 0, dead: 0 });
    assert_eq!(info.oldest_due, Some(UnixMs(START + 5_000)));
    assert_eq!(info.next_due, Some(UnixMs(START + 20_000)));
    let due: Vec<u64> =
        scene.listed(State::Waiting).iter().map(|id| scene.seen(id).expect("listed").due - START).collect();
    assert_eq!(due, [5_000, 5_000, 5_001, 20_000]);
}

#[test]
fn never_claimed_nacked_leased_and_dead_jobs_are_separate_numbers_whose_sum_is_all() {
    let mut scene = Scene::given(at_most(2));
    scene.push_all("a b c d e f");
    scene.push(job_at("later", 50_000));
    let given = scene.lease(5, 1_000);
    scene.nack(&given[0], Retry::After(Millis(9_000)));
    scene.nack(&given[1], Retry::Never);
    scene.extend(&given[2], 10);
    scene.at(10);
    let info = scene.info();
    // f is due and c has lapsed; a and one that is for later wait; d and e are claimed; b is dead.
    assert_eq!(info.census, Census { waiting: 4, waiting_new: 2, due: 2, claimed: 2, dead: 1 });
    assert_eq!(scene.queue.len(scene.now), 7);
    assert_eq!(scene.listed(State::Waiting), ["f", "c", "a", "later"]);
    assert_eq!(scene.listed(State::Claimed), ["d", "e"]);
}

#[test]
fn counters_survive_a_restart_and_are_not_counted_twice() {
    let mut scene = Scene::given(at_most(1));
    scene.push_all("a b c d");
    scene.push(Push { ttl: Some(Millis(5)), ..job_at("e", 1) });
    let given = scene.lease(3, 100);
    scene.ack(&given[0]);
    scene.nack(&given[1], Retry::Never);
    scene.cancel("d");
    scene.at(100).tidy();
    let counted = scene.counters();
    let expected = Counters {
        pushed: 5,
        claimed: 3,
        acked: 1,
        nacked: 1,
        lapsed: 1,
        expired: 1,
        died: 2,
        ..Counters::default()
    };
    assert_eq!(counted, Counters { cancelled: 1, ..expected });
    scene.restart();
    scene.fail_over();
    scene.tidy();
    assert_eq!(scene.counters(), counted);
}

#[test]
fn a_purge_takes_jobs_of_one_state_in_the_order_of_their_list() {
    let mut scene = Scene::given(at_most(1));
    scene.push_all("c1 c2 d1 d2");
    let given = scene.lease(4, 1_000);
    scene.extend(&given[0], 2_000);
    scene.nack(&given[3], Retry::Never);
    scene.at(1).nack(&given[2], Retry::Never);
    scene.push(job_at("w1", 500));
    scene.push(job_at("w2", 400));
    for (state, first, second) in
        [(State::Waiting, "w2", "w1"), (State::Claimed, "c2", "c1"), (State::Dead, "d2", "d1")]
    {
        assert_eq!(scene.listed(state), [first, second]);
        assert_eq!((scene.purge(state, 1), scene.listed(state)), (1, vec![second.to_owned()]));
        assert_eq!((scene.purge(state, 9), scene.purge(state, 9)), (1, 0));
    }
    assert_eq!((scene.queue.records(), scene.counters().purged), (0, 6));
    assert!(!scene.ack(&given[0]));
}

#[test]
fn a_lowered_limit_of_attempts_lets_a_lapsed_job_be_tried_once_more_and_then_die() {
    let mut scene = Scene::empty();
    scene.push(job("a"));
    scene.lease_one(10);
    scene.at(10).lease_one(10);
    scene.set_policy(at_most(1));
    assert_eq!(
        scene.at(20).state("a"),
        Some(State::Waiting),
        "that lease was not the last when it was given"
    );
    assert_eq!(names(&scene.lease(9, 10)), ["a"]);
    assert_eq!(scene.at(30).state("a"), Some(State::Dead));
}

#[test]
fn a_page_ends_after_the_job_that_passes_the_bytes_and_has_at_least_one() {
    let mut scene = Scene::empty();
    for (id, length) in [("a", 10), ("b", 0), ("c", 5)] {
        scene.push(Push { message: &[b'm'; 10][..length], ..job(id) });
    }
    let page = |count, bytes| {
        let page = scene.queue.page(State::Waiting, Key::FIRST, scene.now, Limit { count, bytes });
        (page.slots.len(), page.next.is_some())
    };
    let pages = [page(9, 0), page(9, 9), page(9, 10), page(9, 15), page(3, 99), page(2, 99)];
    assert_eq!(pages, [(1, true), (1, true), (3, false), (3, false), (3, false), (2, true)]);
    let empty = scene.queue.page(State::Dead, Key::FIRST, scene.now, ALL);
    assert!(empty.slots.is_empty() && empty.next.is_none());
}

#[test]
fn a_list_that_is_read_page_by_page_is_not_disturbed_by_removals() {
    for state in [State::Waiting, State::Claimed, State::Dead] {
        let mut scene = Scene::empty();
        for number in 0..40u64 {
            let priority = (number % 3) as u8;
            scene.push(Push { priority, ..job(&format!("{number:02}")) });
        }
        let given = if state == State::Waiting { vec![] } else { scene.lease(40, 1_000) };
        if state == State::Dead {
            given.iter().for_each(|one| assert_eq!(scene.nack(one, Retry::Never), Some(State::Dead)));
        }
        let all = scene.listed(state);
        let (mut read, mut from) = (Vec::new(), Some(Key::FIRST));
        while let Some(key) = from {
            let page = scene.queue.page(state, key, scene.now, Limit { count: 7, ..ALL });
            let views = page.slots.iter().filter_map(|&slot| scene.queue.view(slot, scene.now));
            let ids: Vec<String> =
                views.map(|view| String::from_utf8_lossy(&view.id.text()).into_owned()).collect();
            assert!(!ids.is_empty(), "a page that is told of has something");
            // What was read is removed, all of the page.
            ids.iter().for_each(|id| assert_eq!(scene.cancel(id), Some(state)));
            read.extend(ids);
            from = page.next;
        }
        assert_eq!(read, all);
    }
}
