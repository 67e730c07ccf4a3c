//! The stored form: what is written is read back, and what no queue could have written is refused.
//!
//! Damage is in `damage.rs`, the form itself in `golden.rs`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

mod random;

use dq_engine::error::EffectFault;
use dq_engine::id::{Id, IdRef};
use dq_engine::job::{Job, Reason, Standing, State};
use dq_engine::queue::{Claim, Limit, Loaded, Queue};
use dq_engine::time::{Millis, UnixMs};
use proptest::prelude::*;

use random::chunks::{chunk_of, jobs_of, loaded, stored};
use random::perform::{Book, Hands, perform};
use random::{NARROW, START, Step, WIDE, configured, steps};

/// A queue after `steps`.
fn queue_of(policy: dq_engine::policy::Policy, steps: &[Step]) -> Queue {
    let mut queue = Queue::new(policy);
    let (mut now, mut book) = (START, Book::default());
    for step in steps {
        now = step.tick.after(now);
        let answer = perform(&mut queue, now, &step.op, &book, &mut Default::default());
        book.note(&answer);
    }
    queue
}

proptest! {
    #![proptest_config(configured(300))]
    #[test]
    fn a_queue_is_read_back_as_it_was_written(policy in random::policy(), steps in steps(NARROW, 0..80)) {
        let queue = queue_of(policy, &steps.0);
        let chunks = stored(&queue);
        let again = loaded(&chunks);
        prop_assert_eq!(again.check(), Ok(()));
        prop_assert_eq!(chunks, stored(&again));
        prop_assert_eq!(queue.bytes(), again.bytes());
        let mut copy = queue.clone();
        copy.purge(UnixMs(START), State::Waiting, usize::MAX, &mut Default::default());
        prop_assert_eq!((queue.check(), stored(&queue)), (Ok(()), stored(&again)), "a copy is a queue of its own");
    }
}

proptest! {
    #![proptest_config(configured(4))]
    #[test]
    fn a_queue_with_many_jobs_is_read_back_as_it_was_written(
        policy in random::policy(),
        steps in steps(WIDE, 3_000..4_000),
    ) {
        let chunks = stored(&queue_of(policy, &steps.0));
        let again = loaded(&chunks);
        prop_assert_eq!(again.check(), Ok(()));
        prop_assert_eq!(chunks, stored(&again));
    }
}

#[test]
fn a_large_queue_is_cut_into_chunks_that_tell_how_many_jobs_they_hold() {
    let mut queue = Queue::default();
    let message = [7; 1_000];
    for number in 0..1_000u64 {
        let (id, message) = (number.to_string(), &message[..number as usize]);
        let put = dq_engine::effect::Put {
            id: IdRef::of(id.as_bytes()),
            message,
            due: UnixMs(number / 3),
            priority: (number % 3) as u8,
            expires: None,
            attempts: 0,
        };
        queue.receive(UnixMs(0), put, &mut Default::default()).expect("room");
    }
    let chunks = stored(&queue);
    let most = 64 * 1024 + 1_100;
    assert!(chunks.len() > 5 && chunks.iter().all(|chunk| chunk.len() <= most));
    let mut again = Queue::default();
    let counts = chunks.iter().map(|chunk| again.load(chunk).expect("a sound chunk")).collect::<Vec<_>>();
    assert_eq!(counts[0], Loaded::Header { jobs: 1_000 });
    let jobs = counts[1..].iter().map(|count| if let Loaded::Jobs(jobs) = count { *jobs } else { 0 });
    assert_eq!(jobs.sum::<u64>(), 1_000);
    assert_eq!((again.check(), stored(&again)), (Ok(()), chunks));
}

#[test]
fn chunks_of_jobs_may_come_in_any_order() {
    let chunks = stored(&random::rich::rich());
    let mut queue = loaded(&chunks[..1]);
    for job in jobs_of(&chunks).into_iter().rev() {
        assert_eq!(queue.load(&chunk_of(&[job])), Ok(Loaded::Jobs(1)));
    }
    assert_eq!((queue.check(), stored(&queue)), (Ok(()), chunks));
}

#[test]
fn a_header_is_refused_by_a_queue_that_has_jobs() {
    let chunks = stored(&random::rich::rich());
    let mut queue = loaded(&chunks);
    assert_eq!(queue.load(&chunks[0]), Err(EffectFault::Duplicate));
    assert_eq!((queue.check(), stored(&queue)), (Ok(()), chunks));
}

#[test]
fn a_chunk_that_brings_something_twice_changes_nothing() {
    let chunks = stored(&random::rich::rich());
    let (expiring, lasting): (Vec<Job>, Vec<Job>) =
        jobs_of(&chunks).into_iter().partition(|job| job.vanishes().is_some());
    let present = [&expiring[..1], &lasting[..1]].concat();
    let fresh = [&expiring[1..], &lasting[1..]].concat();
    let other = |job: &Job| Job { id: IdRef::of(b"other").to_id(), ..job.clone() };
    let earlier = UnixMs(expiring[0].time.0 - 1);
    // The same id; the same place in the order; the same place among the expiries.
    for again in [lasting[0].clone(), other(&lasting[0]), Job { time: earlier, ..other(&expiring[0]) }] {
        let mut queue = loaded(&[chunks[0].clone(), chunk_of(&present)]);
        let before = stored(&queue);
        let chunk = chunk_of(&[&fresh[..], std::slice::from_ref(&again)].concat());
        assert_eq!(queue.load(&chunk), Err(EffectFault::Duplicate));
        assert_eq!((queue.check(), stored(&queue)), (Ok(()), before));

        let mut empty = loaded(&chunks[..1]);
        let chunk = chunk_of(&[&present[..], std::slice::from_ref(&again)].concat());
        assert_eq!(empty.load(&chunk), Err(EffectFault::Duplicate));
        assert_eq!(
            (empty.check(), empty.records(), empty.bytes()),
            (Ok(()), 0, loaded(&chunks[..1]).bytes())
        );
    }
}

#[test]
fn a_job_that_no_queue_could_hold_is_refused() {
    let chunks = stored(&random::rich::rich());
    let jobs = jobs_of(&chunks);
    let queue = loaded(&chunks);
    let find = |standing| jobs.iter().find(|job| job.standing == standing).expect("there is one").clone();
    let (waiting, leased, dead) = (find(Standing::Waiting), find(Standing::Leased), find(Standing::Dead));
    let with = |job: &Job, change: &dyn Fn(&mut Job)| {
        let mut job = job.clone();
        change(&mut job);
        job
    };
    let impossible = [
        with(&waiting, &|job| job.extra_mut().token = 1),
        with(&waiting, &|job| job.extra_mut().reason = Some(Reason::Nacked)),
        with(&waiting, &|job| job.sequence = queue.next_sequence()),
        with(&waiting, &|job| job.time = UnixMs(UnixMs::MAX.0 + 1)),
        with(&waiting, &|job| job.id = Id::Long(Box::default())),
        with(&waiting, &|job| job.id = Id::Long([b'x'; 1025].into())),
        with(&waiting, &|job| job.extra_mut().error = Some(Box::default())),
        with(&waiting, &|job| job.extra_mut().error = Some([b'x'; 1025].into())),
        with(&leased, &|job| job.extra_mut().token = 0),
        with(&leased, &|job| job.extra_mut().token = queue.last_token() + 1),
        with(&leased, &|job| job.extra_mut().reason = Some(Reason::LeaseExpired)),
        with(&leased, &|job| job.attempts = 0),
        with(&dead, &|job| job.extra_mut().reason = None),
        with(&dead, &|job| (job.extra_mut().token, job.extra_mut().reason) = (1, Some(Reason::Nacked))),
    ];
    for (number, job) in impossible.iter().enumerate() {
        let mut empty = loaded(&chunks[..1]);
        let fault = empty.load(&chunk_of(std::slice::from_ref(job)));
        assert!(matches!(fault, Err(EffectFault::Damaged { .. })), "{number}: {fault:?}");
        assert_eq!(empty.records(), 0);
    }
}

#[test]
fn what_a_loaded_queue_numbers_is_new() {
    let chunks = stored(&random::rich::rich());
    let (mut queue, mut hands) = (loaded(&chunks), Hands::default());
    let last = queue.last_token();
    queue.resume(&mut Default::default());
    let claim = Claim { limit: Limit { count: 1, bytes: 0 }, lease: Some(Millis(1)), token: 5 };
    queue.claim(UnixMs(UnixMs::MAX.0 - 1), &claim, &mut hands, &mut Default::default());
    assert_eq!(hands.given.last().and_then(|one| one.token), Some(last + 1));
}
