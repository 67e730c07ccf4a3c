//! Fear: a damaged DUMP payload kills the server that it is restored on, or one that touches it later.
//!
//! The payload's checksum is put right after each damage, so that the module's own loader meets it. What
//! loads must answer; whether it loads is the loader's choice.

use crate::harness::client::Client;
use crate::harness::dump::{seal, split_footer};
use crate::harness::queue::{fill_with_every_kind, push_many};
use crate::harness::random::Random;
use crate::harness::server::Server;

fn rich_payload(client: &mut Client) -> Vec<u8> {
    fill_with_every_kind(client, "q");
    push_many(client, "q", "bulk", 20, 1_600_000_000_000);
    client.done("DUMP q").bytes().to_vec()
}

/// Restores the payload and uses whatever came of it.
#[track_caller]
fn restore_and_use(client: &mut Client, payload: &[u8], damage: &str) {
    let reply = client.call(&[b"RESTORE".as_slice(), b"d", b"0", payload, b"REPLACE"]);
    if reply.is_error() {
        assert_eq!(client.ask("EXISTS d"), "0", "{damage}: refused and stored all the same");
        return;
    }
    // Another type is possible, when the damage hits the payload's first byte.
    if client.ask("TYPE d") == "dq-jobset" {
        client.done("DQ.LEN d");
        client.done("DQ.GET d plain");
        client.done("DQ.CLAIM d COUNT 3 LEASE 5");
        client.done("DQ.PUSH d m ID fresh");
        client.done("DQ.CANCEL d claimed failed fresh");
        client.done("DQ.CLAIM d COUNT 100");
        client.done("DUMP d");
        client.done("DEBUG DIGEST-VALUE d");
    }
    client.done("DEL d");
}

#[track_caller]
fn alive(client: &mut Client, damage: &str) {
    assert_eq!(client.ask("PING"), "PONG", "{damage}");
}

#[test]
fn an_intact_payload_with_a_fresh_seal_is_restored() {
    let server = Server::start();
    let client = &mut server.connect();
    let payload = rich_payload(client);
    assert_eq!(seal(payload.clone()), payload);
    restore_and_use(client, &payload, "no damage");
}

#[test]
fn a_flipped_bit_anywhere_is_refused_or_harmless() {
    let server = Server::start();
    let client = &mut server.connect();
    let payload = rich_payload(client);
    let (value, _) = split_footer(&payload);
    for place in 0..value.len() {
        for mask in [1 << (place % 8), 0x80, 0xff] {
            let mut damaged = payload.clone();
            damaged[place] ^= mask;
            let damage = format!("byte {place} of {} flipped by {mask:#x}", value.len());
            restore_and_use(client, &seal(damaged), &damage);
            alive(client, &damage);
        }
    }
}

#[test]
fn a_payload_cut_anywhere_is_refused_or_harmless() {
    let server = Server::start();
    let client = &mut server.connect();
    let payload = rich_payload(client);
    let (value, footer) = split_footer(&payload);
    for length in 0..value.len() {
        let damage = format!("cut to {length} of {}", value.len());
        let cut = seal([&value[..length], footer].concat());
        restore_and_use(client, &cut, &damage);
        alive(client, &damage);
    }
}

#[test]
fn a_payload_with_bytes_put_in_swapped_or_made_huge_is_refused_or_harmless() {
    let server = Server::start();
    let client = &mut server.connect();
    let payload = rich_payload(client);
    let (value, footer) = split_footer(&payload);
    let random = &mut Random::announced("a_payload_with_bytes_put_in");
    for round in 0..3000 {
        let mut damaged = value.to_vec();
        for _ in 0..=random.below(3) {
            let place = random.below(damaged.len() as u64) as usize;
            let other = random.below(damaged.len() as u64) as usize;
            let length = random.below(9) as usize;
            match random.below(5) {
                0 => damaged.swap(place, other),
                1 => drop(damaged.splice(place..place, random.bytes(length))),
                2 => drop(damaged.drain(place..(place + length).min(damaged.len() - 1).max(place))),
                3 => damaged[place..].iter_mut().take(9).for_each(|byte| *byte = 0xff),
                _ => {
                    drop(damaged.splice(place..place, [0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]))
                }
            }
        }
        let damage = format!("random damage {round}");
        restore_and_use(client, &seal([&damaged, footer].concat()), &damage);
        alive(client, &damage);
    }
}

#[test]
fn a_wrong_seal_is_refused_by_the_server_itself() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut payload = rich_payload(client);
    let last = payload.len() - 1;
    payload[last] ^= 1;
    let reply = client.call(&[b"RESTORE".as_slice(), b"d", b"0", &payload]);
    assert!(reply.error().contains("checksum"), "{reply}");
}
