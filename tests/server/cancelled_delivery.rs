//! Fear: a job is both cancelled and delivered, or neither, when two clients reach for it at one time.

use crate::harness::client::Client;
use crate::harness::numbers::{counter, states};
use crate::harness::queue::{claim, claim_one};
use crate::harness::server::Server;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const RACES: usize = 10_000;

/// Both connections run their part of each race at once; returns what each of them got in each race.
fn race<A: Send, B: Send>(
    server: &Server,
    claimer: impl Fn(&mut Client, usize) -> A + Sync,
    canceller: impl Fn(&mut Client, usize) -> B + Sync,
) -> Vec<(A, B)> {
    // Awake waiting, since who is woken always comes second.
    let arrived = AtomicUsize::new(0);
    let run = |number: usize| {
        arrived.fetch_add(1, Ordering::SeqCst);
        while arrived.load(Ordering::SeqCst) < 2 * (number + 1) {
            thread::yield_now();
        }
        number
    };
    thread::scope(|scope| {
        let claims = scope.spawn(|| {
            let client = &mut server.connect();
            (0..RACES).map(|number| claimer(client, run(number))).collect::<Vec<A>>()
        });
        let client = &mut server.connect();
        let cancels: Vec<B> = (0..RACES)
            .map(|number| {
                // Pushed before the start, while the other one waits there.
                client.done(&format!("DQ.PUSH q{number} m ID a"));
                run(number);
                // From none to a long head start for the other one, so that each of them wins often.
                (0..number % 100 * 30).for_each(|_| std::hint::spin_loop());
                canceller(client, number)
            })
            .collect();
        claims.join().unwrap().into_iter().zip(cancels).collect()
    })
}

#[test]
fn ten_thousand_races_of_cancel_against_claim_have_one_winner_each() {
    let server = Server::start();
    let results = race(
        &server,
        |client, number| claim(client, &format!("q{number}")).len(),
        |client, number| client.done(&format!("DQ.CANCEL q{number} a")).text(),
    );
    for (number, (claimed, cancelled)) in results.iter().enumerate() {
        let one_won = match claimed {
            1 => cancelled == "[nil]",
            _ => cancelled == "[waiting]",
        };
        assert!(one_won, "race {number}: {claimed} claimed, cancel answered {cancelled}");
    }
    let claims = results.iter().filter(|(claimed, _)| *claimed == 1).count();
    eprintln!("{claims} claims won, {} cancels", RACES - claims);
}

#[test]
fn ten_thousand_races_of_cancel_against_a_leased_claim_end_in_one_ack_or_one_cancel() {
    let server = Server::start();
    let results = race(
        &server,
        |client, number| {
            let claimed = claim(client, &format!("q{number} LEASE 100000000"));
            let receipt = claimed.first().map(|job| job.receipt().to_owned());
            receipt.map(|receipt| client.done(&format!("DQ.ACK q{number} {receipt}")).text())
        },
        |client, number| client.done(&format!("DQ.CANCEL q{number} a")).text(),
    );
    for (number, (acked, cancelled)) in results.iter().enumerate() {
        let one_won = matches!(
            (acked.as_deref(), cancelled.as_str()),
            (None, "[waiting]") | (Some("[1]"), "[nil]") | (Some("[0]"), "[claimed]")
        );
        assert!(one_won, "race {number}: ack {acked:?}, cancel {cancelled}");
    }
}

#[test]
fn a_cancelled_id_is_free_at_once_and_its_new_job_keeps_its_own_time() {
    let server = Server::start();
    let client = &mut server.connect();
    for state in ["waiting", "claimed", "dead"] {
        client.done("DQ.PUSH q old ID a AT 1600000000000");
        let receipt = match state {
            "claimed" => claim_one(client, "q LEASE 100000000").receipt().to_owned(),
            "dead" => {
                let receipt = claim_one(client, "q LEASE 100000000").receipt().to_owned();
                client.done(&format!("DQ.NACK q DEAD ERROR text {receipt}"));
                receipt
            }
            _ => "1-a".to_owned(),
        };
        assert_eq!(client.ask("DQ.CANCEL q a a"), format!("[{state} nil]"));
        assert_eq!(client.ask("DQ.PUSH q new ID a AT 4102444800000"), "[a created]", "{state}");
        assert_eq!(claim(client, "q"), [], "{state}");
        for line in ["DQ.ACK q", "DQ.EXTEND q LEASE 5"] {
            assert_eq!(client.ask(&format!("{line} {receipt}")), "[0]", "{line} after {state}");
        }
        assert_eq!(client.ask(&format!("DQ.NACK q DEAD {receipt}")), "[nil]", "{state}");
        let job = client.ask("DQ.GET q a");
        assert_eq!(
            (job.field("message").text(), job.field("due").text()),
            ("new".into(), "4102444800000".into())
        );
        assert!(job.field("error").is_null() && job.field("attempts").int() == 0, "{job}");
        client.done("DQ.CANCEL q a");
    }
    assert_eq!(counter(client, "q", "cancelled"), 6);
    assert_eq!(states(client, "q"), "0 waiting, 0 claimed, 0 dead");
}
