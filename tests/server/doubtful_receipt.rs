//! Fear: what a receipt is worth depends on more than the table in docs/design.md says.

use crate::harness::client::Client;
use crate::harness::server::Server;

/// What happens after job `a` was claimed under token 55; then what DQ.ACK, DQ.NACK and DQ.EXTEND answer to its receipt.
const FATES: [(&str, [&str; 3]); 22] = [
    ("nothing", CURRENT),
    ("DQ.APPLY q 1 EXTEND 1600000001000 1 a", CURRENT),
    ("DQ.EXTEND q LEASE 5000000 55-a", CURRENT),
    ("DQ.EXTEND q LEASE 0 55-a", CURRENT),
    ("DQ.PUSH q m ID a", CURRENT),
    ("DQ.PAUSE q", CURRENT),
    ("DQ.RESCHEDULE q a DELAY 5", CURRENT),
    ("DQ.POLICY q MAXATTEMPTS 2", CURRENT),
    ("RENAME q p & RENAME p q", CURRENT),
    ("DEBUG RELOAD", CURRENT),
    ("DQ.APPLY q 1 EXTEND 1600000001000 1 a & DQ.CLAIM q LEASE 5000000", STALE),
    ("DQ.APPLY q 1 EXTEND 1600000001000 1 a & DQ.RESCHEDULE q a DELAY 5", STALE),
    ("DQ.APPLY q 1 EXTEND 1600000001000 1 a & DQ.CLAIM q", STALE),
    ("DQ.APPLY q 1 EXTEND 1600000001000 1 a & DQ.MOVE q list", STALE),
    ("DQ.ACK q 55-a", STALE),
    ("DQ.NACK q DELAY 0 55-a", STALE),
    ("DQ.NACK q UNUSED 55-a", STALE),
    ("DQ.NACK q DEAD 55-a", STALE),
    ("DQ.NACK q DEAD 55-a & DQ.REDRIVE q COUNT 1", STALE),
    ("DQ.PUSH q m ID a REPLACE", STALE),
    ("DQ.CANCEL q a", STALE),
    ("DQ.PURGE q CLAIMED", STALE),
];

const CURRENT: [&str; 3] = ["[1]", "[waiting]", "[1]"];
const STALE: [&str; 3] = ["[0]", "[nil]", "[0]"];

/// The commands that are given the receipt, in the order of the answers.
const ASKED: [&str; 3] = ["DQ.ACK q 55-a", "DQ.NACK q DELAY 5 55-a", "DQ.EXTEND q LEASE 5 55-a"];

fn claim_and_let_happen(client: &mut Client, steps: &str) {
    client.done("FLUSHALL");
    client.done("DQ.APPLY q 1 PUT a m 1600000000000 LEASE 4102444800000 55 1 a");
    for step in steps.split(" & ").filter(|step| *step != "nothing") {
        client.done(step);
    }
}

#[test]
fn a_receipt_is_worth_what_the_table_says_after_every_command() {
    let server = Server::start();
    let client = &mut server.connect();
    for (steps, answers) in FATES {
        for (line, answer) in ASKED.iter().zip(answers) {
            claim_and_let_happen(client, steps);
            assert_eq!(client.ask(line), answer, "{line} after {steps}");
        }
    }
}

#[test]
fn the_receipt_of_a_last_lease_that_ended_is_good_for_an_ack_only() {
    let server = Server::start();
    let client = &mut server.connect();
    // Seen by time alone, and written down by another command.
    for then in ["DQ.LEN q", "DQ.CANCEL q none"] {
        for (line, answer) in ASKED.iter().zip(["[1]", "[dead]", "[0]"]) {
            client.done("FLUSHALL");
            client.done("DQ.POLICY q MAXATTEMPTS 1");
            client.done("DQ.APPLY q 1 PUT a m 1600000000000 LEASE 1600000001000 55 1 a");
            client.done(then);
            assert_eq!(client.ask(line), answer, "{line} after {then}");
        }
        for ending in ["DQ.REDRIVE q ID a", "DQ.PUSH q m ID a REPLACE", "DQ.CANCEL q a", "DQ.PURGE q DEAD"] {
            for (line, answer) in ASKED.iter().zip(STALE) {
                client.done("FLUSHALL");
                client.done("DQ.POLICY q MAXATTEMPTS 1");
                client.done("DQ.APPLY q 1 PUT a m 1600000000000 LEASE 1600000001000 55 1 a");
                client.done(ending);
                assert_eq!(client.ask(line), answer, "{line} after {ending}");
            }
        }
    }
}

#[test]
fn a_moved_job_leaves_its_receipt_behind() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in ASKED {
        claim_and_let_happen(client, "DQ.APPLY q 1 EXTEND 1600000001000 1 a & DQ.MOVE q p PUSH & RENAME p q");
        let before = client.ask("DQ.GET q a");
        assert_eq!(before.field("attempts").int(), 1, "attempts go along");
        let answer = if line.starts_with("DQ.NACK") { "[nil]" } else { "[0]" };
        assert_eq!(client.ask(line), answer, "{line}");
        assert_eq!(client.ask("DQ.GET q a"), before, "{line}");
    }
}
