//! Fear: a command does one thing and says another.
//!
//! What DQ.PUSH, DQ.MPUSH, DQ.CLAIM, DQ.ACK, DQ.CANCEL, DQ.LEN and DQ.GET answer, exactly; DQ.MOVE has its own module.

use crate::harness::queue::{FUTURE, PAST, claim, claim_one, drain};
use crate::harness::refusal::line_refused_naming;
use crate::harness::server::Server;
use uuid::Uuid;

#[test]
fn a_push_answers_the_id_and_created() {
    let server = Server::start();
    let client = &mut server.connect();
    assert_eq!(client.ask("DQ.PUSH q m ID a"), "[a created]");
    assert_eq!(client.ask("DQ.LEN q"), "1");
    assert_eq!(client.ask("TYPE q"), "dq-jobset");
}

#[test]
fn a_push_without_id_answers_a_uuid_of_version_7_in_rising_order() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut ids = Vec::new();
    let before = client.now();
    for _ in 0..50 {
        let reply = client.ask("DQ.PUSH q m");
        assert_eq!(reply.items()[1], "created");
        let id = reply.items()[0].string();
        let parsed = Uuid::parse_str(&id).unwrap();
        assert_eq!((parsed.get_version_num(), parsed.to_string()), (7, id.clone()));
        let (seconds, nanos) = parsed.get_timestamp().unwrap().to_unix();
        let made = seconds * 1000 + u64::from(nanos) / 1_000_000;
        assert!(made + 1000 > before && made < client.now() + 1000, "made at {made}, now {before}");
        ids.push(id);
    }
    assert!(ids.is_sorted_by(|one, next| one < next), "{ids:?}");
}

#[test]
fn a_push_of_a_known_id_changes_nothing_and_answers_its_state() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q first ID a AT 1600000000000 PRIORITY 3");
    assert_eq!(client.ask("DQ.PUSH q second ID a DELAY 5000 PRIORITY 9 TTL 1"), "[a waiting]");
    let job = client.ask("DQ.GET q a");
    assert_eq!(*job.field("message"), "first");
    assert_eq!(*job.field("due"), "1600000000000");
    assert_eq!(*job.field("priority"), "3");
    assert!(job.field("expires").is_null());

    claim_one(client, "q LEASE 1000000");
    assert_eq!(client.ask("DQ.PUSH q second ID a"), "[a claimed]");
    client.done("DQ.APPLY q 1 BURY a nacked 1600000000000");
    assert_eq!(client.ask("DQ.PUSH q second ID a"), "[a dead]");
    assert_eq!(client.ask("DQ.CANCEL q a"), "[dead]");
    assert_eq!(client.ask("DQ.PUSH q second ID a"), "[a created]");
}

#[test]
fn replace_stores_everything_anew_in_any_state() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.APPLY q 1 PUT a old 1600000000000 PRIORITY 5 EXPIRES 4102444800000 ATTEMPTS 3");
    for state in ["waiting", "claimed", "dead"] {
        match state {
            "claimed" => drop(claim_one(client, "q LEASE 1000000")),
            "dead" => drop(client.done("DQ.APPLY q 1 BURY a nacked 1600000000000")),
            _ => {}
        }
        assert_eq!(*client.ask("DQ.GET q a").field("state"), state);
        assert_eq!(client.ask("DQ.PUSH q new ID a AT 1600000000001 REPLACE"), "[a replaced]");
        let job = client.ask("DQ.GET q a");
        assert_eq!(job, get_of_a_fresh_job("a", "new", 1_600_000_000_001, 0), "after {state}");
    }
    assert_eq!(client.ask("DQ.LEN q"), "1");
    assert_eq!(client.ask("DQ.PUSH q new ID b AT 1600000000001 REPLACE"), "[b created]");
}

#[test]
fn keepdue_keeps_a_waiting_jobs_time_only() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q old ID a AT 1600000000000 PRIORITY 4");
    assert_eq!(client.ask("DQ.PUSH q new ID a AT 4102444800000 REPLACE KEEPDUE"), "[a replaced]");
    assert_eq!(client.ask("DQ.GET q a"), get_of_a_fresh_job("a", "new", PAST, 0));
    claim_one(client, "q LEASE 1000000");
    assert_eq!(client.ask("DQ.PUSH q newer ID a AT 4102444800000 REPLACE KEEPDUE"), "[a replaced]");
    assert_eq!(client.ask("DQ.GET q a"), get_of_a_fresh_job("a", "newer", FUTURE, 0));
    assert_eq!(client.ask("DQ.PUSH q m ID b AT 4102444800000 REPLACE KEEPDUE"), "[b created]");
    assert_eq!(*client.ask("DQ.GET q b").field("due"), FUTURE.to_string());
}

#[test]
fn a_replaced_delivery_goes_on_but_its_receipt_ends() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q old ID a");
    let old = claim_one(client, "q LEASE 1000000");
    client.done("DQ.PUSH q new ID a REPLACE");
    assert_eq!(client.ask(&format!("DQ.ACK q {}", old.receipt())), "[0]");
    let new = claim_one(client, "q LEASE 1000000");
    assert_eq!((new.message.as_slice(), new.attempt), (b"new".as_slice(), 1));
    assert_eq!(client.ask(&format!("DQ.ACK q {}", new.receipt())), "[1]");
}

#[test]
fn an_mpush_answers_each_item_and_treats_repeats_from_left_to_right() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q old ID known");
    let reply = client.ask("DQ.MPUSH q DELAY 0 a m1 60000 b m2 0 known m3 0 a m4 0 * m5");
    let items = reply.items();
    assert_eq!(items[0], "[a created]");
    assert_eq!(items[1], "[b created]");
    assert_eq!(items[2], "[known waiting]");
    assert_eq!(items[3], "[a waiting]");
    assert_eq!(Uuid::parse_str(&items[4].items()[0].string()).unwrap().get_version_num(), 7);
    assert_eq!(*client.ask("DQ.GET q a").field("message"), "m1");
    assert_eq!(*client.ask("DQ.GET q known").field("message"), "old");
    assert_eq!(client.ask("DQ.LEN q"), "4");
}

#[test]
fn an_mpush_with_options_applies_them_to_every_item() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q old ID a AT 4102444800000");
    let reply = client.ask(
        "DQ.MPUSH q AT REPLACE PRIORITY 7 TTL 1000 4102444800001 a m1 4102444800002 b m2 4102444800003 b m3",
    );
    assert_eq!(reply, "[[a replaced] [b created] [b replaced]]");
    for (id, message, due) in [("a", "m1", FUTURE + 1), ("b", "m3", FUTURE + 3)] {
        let job = client.ask(&format!("DQ.GET q {id}"));
        assert_eq!(*job.field("message"), message);
        assert_eq!(*job.field("due"), due.to_string());
        assert_eq!(*job.field("priority"), "7");
        assert_eq!(*job.field("expires"), (due + 1000).to_string());
    }
    let other_order = client.ask("DQ.MPUSH q AT TTL 1000 PRIORITY 7 REPLACE 4102444800001 a m1");
    assert_eq!(other_order, "[[a replaced]]");
}

#[test]
fn an_mpush_with_one_bad_item_pushes_none() {
    let server = Server::start();
    let client = &mut server.connect();
    line_refused_naming(client, "DQ.MPUSH q DELAY 0 a m 0 b m x c m 0 d m", &["must be", "x"]);
    assert_eq!(client.ask("EXISTS q"), "0");
    client.done("DQ.PUSH q old ID a");
    line_refused_naming(client, "DQ.MPUSH q AT REPLACE 1600000000000 a new 5 b m", &["seconds"]);
    assert_eq!(*client.ask("DQ.GET q a").field("message"), "old");
    assert_eq!(client.ask("DQ.LEN q"), "1");
}

#[test]
fn a_claim_without_lease_takes_the_job_out_and_gives_no_receipt() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.MPUSH q AT 1600000000000 a m1 1600000000001 b m2 4102444800000 later m3");
    assert_eq!(client.ask("DQ.CLAIM q"), "[[a m1 1 1600000000000 nil]]");
    assert_eq!(client.ask("DQ.CLAIM q COUNT 10 LEASE 0"), "[[b m2 1 1600000000001 nil]]");
    assert_eq!(client.ask("DQ.CLAIM q COUNT 10"), "[]");
    assert_eq!(client.ask("DQ.LEN q"), "1");
    assert!(client.ask("DQ.GET q a").is_null());
}

#[test]
fn a_claim_with_lease_keeps_the_job_and_names_the_delivery() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.MPUSH q AT 1600000000000 a-b m1 1600000000001 c m2");
    let before = client.now();
    let claimed = claim(client, "q COUNT 10 LEASE 1000000");
    let after = client.now();
    assert_eq!(claimed.len(), 2);
    let (token, id) = claimed[0].receipt().split_once('-').unwrap();
    assert_eq!(id, "a-b");
    assert!(token.parse::<u64>().is_ok(), "{token}");
    assert_eq!(claimed[1].receipt(), format!("{token}-c"));
    assert_eq!(claim(client, "q COUNT 10 LEASE 1000000"), []);

    let job = client.ask("DQ.GET q a-b");
    assert_eq!(*job.field("state"), "claimed");
    assert_eq!(*job.field("attempts"), "1");
    assert_eq!(*job.field("receipt"), claimed[0].receipt());
    let until = job.field("lease_until").int() as u64;
    assert!(before + 1_000_000 <= until && until <= after + 1_000_000, "{until}");
    assert_eq!(client.ask("DQ.LEN q"), "2");
}

#[test]
fn an_ack_answers_for_each_receipt_from_left_to_right() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.MPUSH q DELAY 0 a m 0 b m");
    let claimed = claim(client, "q COUNT 2 LEASE 1000000");
    let (a, b) = (claimed[0].receipt(), claimed[1].receipt());
    assert_eq!(client.ask(&format!("DQ.ACK q {a} 1-a {a} {b} {b}")), "[1 0 0 1 0]");
    assert_eq!(client.ask("DQ.LEN q"), "0");
    assert_eq!(client.ask("TYPE q"), "dq-jobset", "an empty queue lives until DEL");
    assert_eq!(client.ask(&format!("DQ.ACK q {a}")), "[0]");
}

#[test]
fn a_cancel_answers_the_state_of_each_id_from_left_to_right() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.MPUSH q DELAY 0 a m 60000 b m 0 c m");
    let claimed = claim_one(client, "q LEASE 1000000");
    assert_eq!(claimed.id(), "a");
    client.done("DQ.APPLY q 1 BURY c rejected 1600000000000");
    assert_eq!(client.ask("DQ.CANCEL q a b c none a"), "[claimed waiting dead nil nil]");
    assert_eq!(client.ask("DQ.LEN q"), "0");
    assert_eq!(client.ask(&format!("DQ.ACK q {}", claimed.receipt())), "[0]");
    assert_eq!(client.ask("DQ.PUSH q m ID b"), "[b created]");
    assert_eq!(drain(client, "q"), ["b"]);
}

#[test]
fn a_get_shows_every_field_and_null_for_what_does_not_apply() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a AT 1600000000000 PRIORITY 3");
    assert_eq!(client.ask("DQ.GET q a"), get_of_a_fresh_job("a", "m", PAST, 3));
    assert!(client.ask("DQ.GET q none").is_null());

    client.done("DQ.APPLY q 1 LEASE 1600000000500 77 1 a");
    let lapsed = client.ask("DQ.GET q a");
    assert_eq!(*lapsed.field("state"), "waiting", "a lapsed job is waiting");
    assert_eq!(*lapsed.field("attempts"), "1");

    client.call(&["DQ.APPLY", "q", "1", "ERROR", "a", "no disk"]);
    client.done("DQ.APPLY q 1 BURY a rejected 1600000000900");
    let dead = client.ask("DQ.GET q a");
    assert_eq!(*dead.field("state"), "dead");
    assert_eq!(*dead.field("died"), "1600000000900");
    assert_eq!(*dead.field("reason"), "rejected");
    assert_eq!(*dead.field("error"), "\"no disk\"");
    assert!(dead.field("lease_until").is_null() && dead.field("receipt").is_null());
}

#[test]
fn a_missing_key_answers_what_an_empty_queue_would() {
    let server = Server::start();
    let client = &mut server.connect();
    for (line, reply) in [
        ("DQ.LEN none", "0"),
        ("DQ.CLAIM none", "[]"),
        ("DQ.CLAIM none COUNT 5 LEASE 5", "[]"),
        ("DQ.ACK none 1-a 2-b", "[0 0]"),
        ("DQ.CANCEL none a b", "[nil nil]"),
        ("DQ.GET none a", "nil"),
        ("DQ.MOVE none l", "0"),
        ("DQ.MOVE none s XADD", "0"),
        ("DQ.MOVE none q PUSH", "0"),
    ] {
        assert_eq!(client.ask(line), reply, "{line}");
    }
    assert_eq!(client.ask("DBSIZE"), "0");
}

#[test]
fn a_push_may_be_retried_without_a_second_job() {
    let server = Server::start();
    let client = &mut server.connect();
    let lines = vec!["DQ.PUSH q m ID order-1 DELAY 60000".to_owned(); 3];
    let replies = client.pipeline(&lines);
    assert_eq!(replies, vec!["[order-1 created]", "[order-1 waiting]", "[order-1 waiting]"]);
}

#[test]
fn a_job_past_its_ttl_is_gone_for_every_command() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID gone AT 1600000000000 TTL 1000");
    client.done("DQ.PUSH q m ID there AT 1600000000000 TTL 0");
    assert!(client.ask("DQ.GET q gone").is_null());
    assert_eq!(client.ask("DQ.LEN q"), "1");
    assert_eq!(client.ask("DQ.CANCEL q gone"), "[nil]");
    assert_eq!(client.ask("DQ.PUSH q again ID gone"), "[gone created]");
    assert_eq!(drain(client, "q"), ["there", "gone"]);
}

fn get_of_a_fresh_job(id: &str, message: &str, due: u64, priority: u8) -> String {
    format!(
        "[id {id} message {message} state waiting due {due} priority {priority} attempts 0 expires nil \
         lease_until nil receipt nil error nil died nil reason nil]"
    )
}
