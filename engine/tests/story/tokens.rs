//! Tokens: larger with every claim, whatever the clock does, so that no receipt ever fits a later delivery.

use dq_engine::effect::Effects;
use dq_engine::queue::{Claim, Limit};
use dq_engine::time::Millis;

use super::{Scene, job};
use crate::random::perform::Hands;

fn claim_with(scene: &mut Scene, token: u64, lease: u64) -> Option<u64> {
    let limit = Limit { count: 1, bytes: 0 };
    let claim = Claim { limit, lease: Some(Millis(lease)), token };
    let mut hands = Hands::default();
    scene.change(|queue, now, effects: &mut Effects<'_>| queue.claim(now, &claim, &mut hands, effects));
    hands.given.first().and_then(|one| one.token)
}

#[test]
fn a_token_is_what_the_clock_says_if_that_is_larger_than_the_last_and_else_the_next() {
    let mut scene = Scene::empty();
    scene.push_all("0 1 2 3 4 5 6 7");
    for (clock, token) in
        [(1_000, 1_000), (5_000, 5_000), (5_000, 5_001), (17, 5_002), (0, 5_003), (5_004, 5_004)]
    {
        assert_eq!(claim_with(&mut scene, clock, 100), Some(token), "the clock said {clock}");
        assert_eq!(scene.queue.last_token(), token);
    }
    // Without a lease there is no receipt and no token is used up.
    assert_eq!(claim_with(&mut scene, 9_000, 0), None);
    assert_eq!(claim_with(&mut scene, 0, 100), Some(5_005));
    assert_eq!(claim_with(&mut scene, 9_000, 100), None, "nothing is due");
    assert_eq!(scene.queue.last_token(), 5_005);
}

#[test]
fn all_jobs_of_one_claim_have_one_token() {
    let mut scene = Scene::empty();
    scene.push_all("a b c");
    let given = scene.lease(2, 100);
    assert_eq!(given[0].token, given[1].token);
    assert!(scene.lease_one(100).token > given[0].token);
}

#[test]
fn a_receipt_from_before_a_step_back_of_the_clock_fits_no_later_delivery() {
    let mut scene = Scene::empty();
    scene.push(job("a"));
    let before = scene.at(3_600_000).lease_one(10);
    scene.at(3_600_010).cancel("a");
    scene.at(0).push(job("a"));
    let after = scene.lease_one(10);
    assert!(after.token > before.token && !scene.ack(&before) && scene.ack(&after));
}

#[test]
fn a_receipt_from_before_a_restart_or_a_failover_fits_only_the_delivery_it_names() {
    let mut scene = Scene::empty();
    scene.push_all("a b");
    let given = scene.lease(2, 100);
    scene.restart();
    scene.fail_over();
    assert!(scene.ack(&given[0]), "it is the current one still");
    scene.at(0).push(job("a"));
    let again = scene.lease_one(100);
    assert!(again.token > given[0].token && !scene.ack(&given[0]));
    assert!(scene.ack(&given[1]) && scene.ack(&again));
}
