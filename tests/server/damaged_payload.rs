//! Fear: a damaged DUMP payload kills the server that it is restored on, or one that touches it later.
//!
//! The payload's checksum is put right after each damage, so that the module's own loader meets it. Whether a damaged
//! payload loads is the loader's choice. What loads must be a queue: it can be read, used, dumped and restored again.
//!
//! There are some hundred thousand damages of one place. A test run takes a sample of them, by a seed that it prints;
//! with SWEEP=all (`make sweep`) it takes all.

mod damage;
mod victim;

use crate::damaged_payload::damage::{Damage, all_damages, damages_at};
use crate::damaged_payload::victim::{alive, restore_and_use};
use crate::harness::client::Client;
use crate::harness::dump::{seal, split_footer};
use crate::harness::queue::{fill_with_every_kind, push_many};
use crate::harness::random::Random;
use crate::harness::server::Server;

/// How many damages are tried of each payload unless all are.
const SAMPLE: u64 = 1500;

/// The server as it compresses the strings of a payload, and as it does not: then each byte is the module's own. With it,
/// how many bits of a byte are turned over at most: what compression hides needs no more than one.
const COMPRESSION: [(&str, u32); 2] = [("rdbcompression yes", 1), ("rdbcompression no", 8)];

/// A queue with jobs in every state and with every optional part, as a payload.
fn rich_payload(client: &mut Client) -> Vec<u8> {
    fill_with_every_kind(client, "q");
    for effect in [
        "PUT doomed m 1600000000000 EXPIRES 4102444800000",
        "LEASE 4102444900000 7000000000000000003 1 doomed",
        "PUT rejected m 1600000000000 ATTEMPTS 1",
        "BURY rejected rejected 1600000004000",
        "POLICY 30000 3 1000 2 3600000 10 10000 60000",
        "PUT last m 1600000000000 PRIORITY 255 ATTEMPTS 2",
        "LEASE 4102444800000 7000000000000000004 1 last",
        "PUT expired m 1600000000000 ATTEMPTS 2",
        "LEASE 1600000005000 7000000000000000005 1 expired",
        "PAUSE 1600000000000",
    ] {
        client.done(&format!("DQ.APPLY q 1 {effect}"));
    }
    push_many(client, "q", "bulk", 20, 1_600_000_000_000);
    client.done("DUMP q").bytes().to_vec()
}

fn sweeps_all() -> bool {
    std::env::var("SWEEP").is_ok_and(|asked| asked == "all")
}

#[test]
fn an_intact_payload_with_a_fresh_seal_is_restored() {
    for (compression, _) in COMPRESSION {
        let server = Server::with(&[compression]);
        let client = &mut server.connect();
        let payload = rich_payload(client);
        assert_eq!(seal(payload.clone()), payload);
        assert!(restore_and_use(client, &payload, "no damage"), "{compression}");
    }
}

#[test]
fn a_payload_damaged_at_any_one_place_is_refused_or_harmless() {
    let random = &mut Random::announced("a_payload_damaged_at_any_one_place");
    for (compression, bits) in COMPRESSION {
        let server = Server::with(&[compression]);
        let client = &mut server.connect();
        let payload = rich_payload(client);
        let (value, footer) = split_footer(&payload);
        let damages = || all_damages(value.len()).filter(|damage| damage.bits() <= bits);
        let all = damages().count() as u64;
        let every = if sweeps_all() { 1 } else { all / SAMPLE };
        let (mut tried, mut taken) = (0, 0);
        for damage in damages().filter(|_| random.below(every) == 0) {
            taken += u64::from(try_damage(client, value, footer, &damage));
            tried += 1;
        }
        assert!(tried > SAMPLE / 2 && taken > 0 && taken < tried, "{taken} of {tried} of {all}");
        eprintln!("{compression}: {tried} of {all} damages to {} bytes, {taken} were queues", value.len());
    }
}

#[track_caller]
fn try_damage(client: &mut Client, value: &[u8], footer: &[u8], damage: &Damage) -> bool {
    let damaged = damage.done_to(value);
    let taken = restore_and_use(client, &seal([&damaged, footer].concat()), &format!("{damage:?}"));
    alive(client, &format!("{damage:?}"));
    taken
}

#[test]
fn a_payload_cut_anywhere_is_refused_or_harmless() {
    let server = Server::start();
    let client = &mut server.connect();
    let payload = rich_payload(client);
    let (value, footer) = split_footer(&payload);
    for length in 0..value.len() {
        try_damage(client, value, footer, &Damage::Cut { length });
    }
}

#[test]
fn a_payload_damaged_at_several_places_is_refused_or_harmless() {
    let server = Server::with(&["rdbcompression no"]);
    let client = &mut server.connect();
    let payload = rich_payload(client);
    let (value, footer) = split_footer(&payload);
    let random = &mut Random::announced("a_payload_damaged_at_several_places");
    for _ in 0..2000 {
        let mut damages = Vec::new();
        let mut damaged = value.to_vec();
        for _ in 0..2 + random.below(3) {
            // Cut so short, there is no other place left.
            if damaged.len() < 2 {
                break;
            }
            let place = 1 + random.below(damaged.len() as u64 - 1) as usize;
            let mut possible = damages_at(place, damaged.len());
            let damage = possible.swap_remove(random.below(possible.len() as u64) as usize);
            damaged = damage.done_to(&damaged);
            damages.push(damage);
        }
        restore_and_use(client, &seal([&damaged, footer].concat()), &format!("{damages:?}"));
        alive(client, &format!("{damages:?}"));
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
