//! What must not grow with the queue: a claim behind a million jobs that nobody can have, the tidying of one command.

use std::time::{Duration, Instant};

use dq_engine::codec::{HEADER, JOBS, Writer};
use dq_engine::effect::Effects;
use dq_engine::id::IdRef;
use dq_engine::job::{Extra, Job, Standing, State};
use dq_engine::lane::Horizon;
use dq_engine::policy::Policy;
use dq_engine::queue::{Claim, Limit, Push, Queue};
use dq_engine::time::{Millis, UnixMs};
use dq_engine::timeline::Key;

use super::{ALL, START, Scene, at_most, job};
use crate::random::perform::Hands;

/// Far more than a thousand steps take in a slow debug build, far less than a thousand walks over a million jobs.
const GENEROUS: Duration = Duration::from_secs(20);
const MANY: u64 = 999_000;
const NOW: UnixMs = UnixMs(START);

/// By turns: a waiting job that has expired, a lapsed one that has expired, one whose last lease has ended.
fn out_of_reach(number: u64) -> Job {
    let before = UnixMs(START - 1_000 + number % 900);
    let (token, expires) = (1, Some(UnixMs(START - 1)));
    let (standing, extra, attempts) = match number % 3 {
        0 => (Standing::Waiting, Extra { expires, ..Extra::default() }, 0),
        1 => (Standing::Leased, Extra { expires, token, ..Extra::default() }, 1),
        _ => (Standing::LastLease, Extra { token, ..Extra::default() }, 1),
    };
    Job {
        id: IdRef::of(&number.to_be_bytes()).to_id(),
        message: Box::default(),
        time: before,
        sequence: number,
        extra: Some(Box::new(extra)),
        attempts,
        priority: (number % 2) as u8,
        standing,
    }
}

/// A queue whose orders begin with a million jobs that nobody can have; loaded, since pushing them would take long.
fn behind_a_million() -> Queue {
    let mut queue = Queue::default();
    let mut header = Writer::new(HEADER);
    [MANY, MANY, 1, 0].into_iter().for_each(|number| header.number(number));
    at_most(1).numbers().into_iter().for_each(|number| header.number(number));
    (0..11).for_each(|_| header.number(0));
    queue.load(header.bytes()).expect("a header");
    for first in (0..MANY).step_by(1_000) {
        let mut chunk = Writer::new(JOBS);
        (first..first + 1_000).for_each(|number| chunk.job(&out_of_reach(number)));
        queue.load(chunk.bytes()).expect("jobs");
    }
    queue
}

#[test]
fn a_claim_behind_a_million_expired_and_exhausted_jobs_costs_no_more_than_one_before_a_few() {
    let mut queue = behind_a_million();
    (0..2_100u64).for_each(|number| {
        let id = number.to_string();
        queue.push(NOW, &job(&id), &mut Effects::default()).expect("in range");
    });
    let started = Instant::now();
    for step in 0..400 {
        let count = if step % 2 == 0 { 1 } else { 9 };
        let claim = Claim { limit: Limit { count, ..ALL }, lease: Some(Millis(5)), token: 0 };
        let mut hands = Hands::default();
        queue.claim(NOW, &claim, &mut hands, &mut Effects::default());
        assert_eq!(hands.given.len(), count);
    }
    for _ in 0..100 {
        assert_eq!(queue.available_at(NOW, Millis::ZERO), Some(NOW));
        assert_eq!(queue.info(NOW).oldest_due, Some(NOW));
        assert_eq!(
            queue.len(NOW),
            2_100 + MANY as usize / 3,
            "the exhausted ones are dead, the expired ones gone"
        );
        assert_eq!(queue.walk(State::Waiting, Key::FIRST, NOW).count(), 100);
    }
    assert!(started.elapsed() < GENEROUS, "{:?}", started.elapsed());
    // Each command writes down a hundred of them.
    for tidied in 1..=20 {
        let mut effects = Effects::default();
        queue.tidy(NOW, &mut effects);
        assert_eq!(queue.counters().died + queue.counters().expired + queue.counters().dropped, 100 * tidied);
    }
}

#[test]
fn one_command_tidies_up_a_hundred_records_and_readers_see_all_of_them_gone() {
    let mut scene = Scene::given(Policy { max_attempts: Some(1), dead_max: None, ..Policy::DEFAULT });
    for number in 0..150 {
        scene.push(job(&format!("lease {number}")));
    }
    scene.lease(150, 10);
    for number in 0..130 {
        scene.push(Push { ttl: Some(Millis(10)), ..job(&format!("ttl {number}")) });
    }
    scene.at(10);
    assert_eq!((scene.queue.len(scene.now), scene.listed(State::Dead).len()), (150, 150));
    assert_eq!((scene.listed(State::Waiting), scene.take(9)), (vec![], vec![]));
    let written = |scene: &Scene| (scene.counters().died, scene.counters().expired, scene.queue.records());
    assert_eq!(written(&scene), (100, 0, 280));
    for expected in [(150, 50, 230), (150, 130, 150), (150, 130, 150)] {
        scene.tidy();
        assert_eq!(written(&scene), expected);
        assert_eq!((scene.queue.len(scene.now), scene.info().census.dead), (150, 150));
    }
    // Dead ones too many, a hundred a command.
    scene.set_policy(Policy { dead_max: Some(20), ..Policy::DEFAULT });
    for expected in [50, 20, 20] {
        assert_eq!(scene.info().census.dead, expected);
        scene.tidy();
    }
}

#[test]
fn the_states_sum_up_to_the_length_at_every_time() {
    let mut scene = Scene::given(at_most(2));
    for number in 0..60u64 {
        let ttl = (number % 3 == 0).then_some(Millis(15));
        let push = Push { ttl, priority: (number % 4) as u8, ..super::job_at("", number) };
        let id = number.to_string();
        scene.push(Push { id: IdRef::of(id.as_bytes()), ..push });
        if number % 5 == 0 {
            scene.at(number).lease(2, number % 7 + 1);
        }
    }
    for ms in 0..100 {
        scene.at(ms);
        let census = scene.info().census;
        let listed = [State::Waiting, State::Claimed, State::Dead].map(|state| scene.listed(state).len());
        assert_eq!(listed, [census.waiting, census.claimed, census.dead]);
        assert_eq!(listed.iter().sum::<usize>(), scene.queue.len(scene.now));
        assert_eq!(census.due, scene.queue.pick(Horizon::at(scene.now), ALL).len());
        let found = (0..60).filter(|number| scene.state(&number.to_string()).is_some()).count();
        assert_eq!(found, scene.queue.len(scene.now));
    }
}
