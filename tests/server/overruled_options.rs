//! Fear: a queue's policy overrules what a command says, or is not followed where the command says nothing.
//!
//! DQ.POLICY comes later; the effect that it will send sets the policies here: lease, attempts, base, factor,
//! max, jitter, dead-max, ttl.

use crate::harness::client::Client;
use crate::harness::queue::{PAST, claim_one};
use crate::harness::server::Server;

fn set_policy(client: &mut Client, lease_ms: u64, ttl_ms: u64) {
    client.done(&format!("DQ.APPLY q 1 POLICY {lease_ms} 0 1000 2 3600000 0 10000 {ttl_ms}"));
}

#[test]
fn a_claim_that_names_no_lease_has_the_policys() {
    let server = Server::start();
    let client = &mut server.connect();
    set_policy(client, 100_000_000, 0);
    client.done("DQ.MPUSH q AT 1600000000000 a m 1600000000001 b m 1600000000002 c m");
    let before = client.now();
    claim_one(client, "q");
    let until = client.ask("DQ.GET q a").field("lease_until").int() as u64;
    assert!(until >= before + 100_000_000 && until <= client.now() + 100_000_000, "{until}");

    claim_one(client, "q LEASE 5000000000");
    let until = client.ask("DQ.GET q b").field("lease_until").int() as u64;
    assert!(until >= before + 5_000_000_000, "{until}");

    assert_eq!(claim_one(client, "q LEASE 0").receipt, None);
    assert_eq!(client.ask("DQ.LEN q"), "2");
}

#[test]
fn a_push_that_names_no_ttl_has_the_policys_and_ttl_0_has_none() {
    let server = Server::start();
    let client = &mut server.connect();
    set_policy(client, 0, 1_000_000_000_000);
    client.done(&format!("DQ.PUSH q m ID policys AT {PAST}"));
    client.done(&format!("DQ.PUSH q m ID own AT {PAST} TTL 999999999999"));
    client.done(&format!("DQ.PUSH q m ID none AT {PAST} TTL 0"));
    client.done(&format!("DQ.MPUSH q AT {PAST} many m"));
    client.done(&format!("DQ.MPUSH q AT TTL 0 {PAST} many-none m"));
    for (id, expires) in [
        ("policys", "2600000000000"),
        ("own", "2599999999999"),
        ("none", "nil"),
        ("many", "2600000000000"),
        ("many-none", "nil"),
    ] {
        assert_eq!(*client.ask(&format!("DQ.GET q {id}")).field("expires"), expires, "{id}");
    }
}

#[test]
fn a_running_lease_outlives_the_ttl_and_its_ack_counts() {
    let server = Server::start();
    let client = &mut server.connect();
    let expired = "PUT a m 1600000000000 EXPIRES 1600000000005";
    client.done(&format!("DQ.APPLY q 1 {expired} LEASE 4102444800000 7 1 a"));
    assert_eq!(*client.ask("DQ.GET q a").field("state"), "claimed");
    assert_eq!(client.ask("DQ.LEN q"), "1");
    assert_eq!(client.ask("DQ.ACK q 7-a"), "[1]");

    client.done(&format!("DQ.APPLY q 1 {expired} LEASE 1600000000009 8 1 a"));
    assert!(client.ask("DQ.GET q a").is_null(), "with its lease over it is gone");
    assert_eq!(client.ask("DQ.CLAIM q"), "[]");
    assert_eq!(client.ask("DQ.LEN q"), "0");
}

#[test]
fn all_items_of_one_command_have_one_now() {
    let server = Server::start();
    let client = &mut server.connect();
    let ids: Vec<String> = (0..500).map(|number| format!("j{number}")).collect();
    let items: Vec<String> = ids.iter().map(|id| format!("60000 {id} m")).collect();
    client.done(&format!("DQ.MPUSH q DELAY {}", items.join(" ")));
    let mut dues: Vec<i64> =
        ids.iter().map(|id| client.ask(&format!("DQ.GET q {id}")).field("due").int()).collect();
    dues.dedup();
    assert_eq!(dues.len(), 1);
}
