//! Fear: a claim of a plain sorted set loses a member, doubles it, takes it out of order, or replies in another form
//! than the server does.

use crate::harness::client::Client;
use crate::harness::members::{claimed, encoding, fill, member, members, scored};
use crate::harness::queue::{FUTURE, PAST};
use crate::harness::refusal::{changes, line_refused_naming};
use crate::harness::server::{Server, Setup};
use crate::harness::server_binary::tells_modules_the_protocol;
use std::collections::BTreeSet;

#[test]
fn a_claim_takes_what_is_due_and_leaves_the_rest() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done(&format!("ZADD s {PAST} a {} b {FUTURE} later", PAST + 1));
    assert_eq!(client.ask("DQ.CLAIM s"), "[a]");
    assert_eq!(members(client, "s"), "[b later]");
    assert_eq!(client.ask("DQ.CLAIM s COUNT 10"), "[b]");
    assert_eq!(client.ask("DQ.CLAIM s COUNT 10"), "[]");
    assert_eq!(members(client, "s"), "[later]");
}

#[test]
fn a_set_whose_last_member_was_claimed_is_gone() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done(&format!("ZADD s {PAST} a"));
    client.done("DQ.CLAIM s");
    assert_eq!(client.ask("EXISTS s"), "0");
    assert_eq!(client.ask("DQ.CLAIM s"), "[]");
    assert_eq!(client.ask("DQ.LEN s"), "0");
    assert_eq!(client.ask("DBSIZE"), "0");
}

#[test]
fn equal_scores_come_in_the_order_of_their_bytes() {
    let server = Server::start();
    let client = &mut server.connect();
    for member in ["b", "ab", "B", "aa", "\u{7f}", "zz", "a"] {
        client.call(&["ZADD", "s", &PAST.to_string(), member]);
    }
    client.call(&[b"ZADD".as_slice(), b"s", PAST.to_string().as_bytes(), b"\xff\x00"]);
    client.call(&["ZADD", "s", &PAST.to_string(), ""]);
    let order = client.ask("ZRANGE s 0 -1");
    let first = client.ask("DQ.CLAIM s COUNT 4");
    let rest = client.ask("DQ.CLAIM s COUNT 100");
    let both =
        format!("[{} {}]", first.text().trim_matches(['[', ']']), rest.text().trim_matches(['[', ']']));
    assert_eq!(order, both);
    assert_eq!(first.items().len(), 4);
}

#[test]
fn a_score_may_be_anything_that_the_server_takes() {
    let server = Server::start();
    let client = &mut server.connect();
    let due = "-inf lowest -1.7976931348623157e308 huge -4102444800000 negative -0.5 half -0 zero 5e-324 least 1.5 small \
               99999999.999 early";
    client.done(&format!("ZADD s {due} inf never {FUTURE} later 1e300 absurd"));
    let order = ["lowest", "huge", "negative", "half", "zero", "least", "small", "early"];
    assert_eq!(claimed(client, "s COUNT 3"), order[..3]);
    assert_eq!(claimed(client, "s COUNT 100"), order[3..]);
    assert_eq!(members(client, "s"), "[later absurd never]");
    assert_eq!(client.ask("DQ.CLAIM s"), "[]");
    assert_eq!(client.ask("DQ.MOVE s list AHEAD 1000000000000"), "0");
}

#[test]
fn a_set_that_holds_nothing_but_plus_infinity_is_never_due() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("ZADD s inf a +inf b");
    for line in ["DQ.CLAIM s", "DQ.CLAIM s SECONDS", "DQ.CLAIM s WITHSCORES COUNT 10"] {
        assert_eq!(client.ask(line), "[]", "{line}");
    }
    assert_eq!(client.ask("DQ.MOVE s list AHEAD 1000000000000 SECONDS"), "0");
    assert_eq!(client.ask("DQ.LEN s"), "2");
}

#[test]
fn scores_are_shown_as_zrange_shows_them_in_both_protocols() {
    let server = Server::start();
    let client = &mut server.connect();
    let scores =
        "-inf a -3e300 b -1.5 c -0 d 0.1 e 12345.678 f 99999999 g 100000000000 h 1600000000000.25 i 1.7e12 j";
    for _ in 0..2 {
        for count in [1, 3, 100] {
            client.done("DEL s");
            client.done(&format!("ZADD s {scores}"));
            let shown = client.ask(&format!("ZRANGE s 0 {} WITHSCORES", count - 1));
            let claimed = client.ask(&format!("DQ.CLAIM s COUNT {count} WITHSCORES"));
            // Compared by form, too: what is a double in one must be one in the other.
            assert!(claimed == shown, "COUNT {count}: {claimed} is not {shown}");
        }
        assert_eq!(client.ask("DQ.CLAIM s WITHSCORES"), "[]");
        if !tells_modules_the_protocol(client) {
            return eprintln!("skipped in part: this server tells no module which protocol a client speaks");
        }
        client.speak_resp3();
    }
}

#[test]
fn a_claim_without_scores_is_a_flat_array_in_both_protocols() {
    let server = Server::start();
    let client = &mut server.connect();
    for _ in 0..2 {
        client.done("ZADD s 1 a 2 b");
        assert_eq!(client.ask("DQ.CLAIM s COUNT 2"), "[a b]");
        assert_eq!(client.ask("DQ.CLAIM s COUNT 2"), "[]");
        client.speak_resp3();
    }
}

#[test]
fn options_of_a_claim_come_in_any_order_and_case() {
    let server = Server::start();
    let client = &mut server.connect();
    for line in [
        "DQ.CLAIM s COUNT 1 WITHSCORES SECONDS",
        "dq.claim s seconds withscores count 1",
        "DQ.CLAIM s WithScores Count 1 Seconds BLOCK 1",
        "DQ.CLAIM s BLOCK 1000 SECONDS WITHSCORES",
    ] {
        client.done("ZADD s 1600000000.5 a 1600000001 b");
        assert_eq!(client.ask(line), r#"[a 1600000000.5]"#, "{line}");
        client.done("DEL s");
    }
}

#[test]
fn an_option_of_a_claim_given_twice_or_wrongly_is_refused() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done(&format!("ZADD s {PAST} a"));
    for (line, fact) in [
        ("DQ.CLAIM s WITHSCORES WITHSCORES", "WITHSCORES"),
        ("DQ.CLAIM s SECONDS SECONDS", "SECONDS"),
        ("DQ.CLAIM s LEASE 5 SECONDS", "LEASE"),
        ("DQ.CLAIM s LEASE 5 WITHSCORES", "LEASE"),
        ("DQ.CLAIM s COUNT 0", "COUNT"),
        ("DQ.CLAIM s SECONDS 5", "5"),
        ("DQ.CLAIM s MILLISECONDS", "MILLISECONDS"),
        ("DQ.CLAIM s ZSET", "ZSET"),
    ] {
        line_refused_naming(client, line, &[fact]);
    }
    assert_eq!(members(client, "s"), "[a]");
}

/// Sets of these sizes are kept in either encoding: up to 128 members in the small one.
const SIZES: [usize; 4] = [1, 127, 128, 129];

#[test]
fn small_and_large_sets_are_claimed_alike() {
    let server = Server::start();
    let client = &mut server.connect();
    let mut encodings = BTreeSet::new();
    for size in SIZES {
        for count in [1, 3, 127, 128, 1000] {
            fill(client, "s", size, PAST);
            encodings.insert(encoding(client, "s"));
            let mut all = Vec::new();
            while client.ask("EXISTS s") == "1" {
                let part = claimed(client, &format!("s COUNT {count}"));
                assert_eq!(part.len(), count.min(size - all.len()), "{size} members, COUNT {count}");
                all.extend(part);
            }
            assert_eq!(all, (0..size).map(member).collect::<Vec<_>>(), "{size} members, COUNT {count}");
        }
    }
    assert_eq!(encodings.len(), 2, "both encodings were tried: {encodings:?}");
}

#[test]
fn a_set_of_long_messages_is_claimed_like_one_of_short_ones() {
    let server = Server::start();
    let client = &mut server.connect();
    let long = |number: u8| vec![b'a' + number; 100_000];
    for number in [2, 0, 1] {
        client.call(&[b"ZADD".as_slice(), b"s", PAST.to_string().as_bytes(), &long(number)]);
    }
    assert_eq!(encoding(client, "s"), "skiplist");
    let reply = client.ask("DQ.CLAIM s COUNT 2");
    let got: Vec<&[u8]> = reply.items().iter().map(|member| member.bytes()).collect();
    assert_eq!(got, [long(0), long(1)]);
    assert_eq!(client.ask("ZCARD s"), "1");
}

#[test]
fn a_reply_ends_with_the_member_that_passes_the_limit() {
    let server = Setup::default().module_arguments("max-reply-bytes 10").start();
    let client = &mut server.connect();
    client.done("ZADD s 1 12345678901234 2 aaaa 3 bbbb 4 cccc 5 dddd");
    assert_eq!(claimed(client, "s COUNT 100"), ["12345678901234"]);
    assert_eq!(claimed(client, "s COUNT 100"), ["aaaa", "bbbb", "cccc"]);
    assert_eq!(client.ask("DQ.MOVE s list"), "1");
}

#[test]
fn what_is_too_many_to_ask_for_is_refused() {
    let server = Setup::default().module_arguments("max-count 5").start();
    let client = &mut server.connect();
    fill(client, "s", 20, PAST);
    line_refused_naming(client, "DQ.CLAIM s COUNT 6", &["COUNT", "5", "6"]);
    assert_eq!(claimed(client, "s COUNT 5").len(), 5);
    assert_eq!(client.ask("DQ.MOVE s list"), "5", "the default is the most that is allowed");
}

#[test]
fn a_claim_in_a_transaction_or_a_script_takes_and_replies_the_same() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("ZADD s 1 a 2.5 b 3 c 4 d");
    client.done("MULTI");
    client.done("DQ.CLAIM s");
    client.done("DQ.CLAIM s WITHSCORES BLOCK 0");
    assert_eq!(client.ask("EXEC"), "[[a] [b 2.5]]");
    let script = "return redis.call('DQ.CLAIM', KEYS[1], 'COUNT', '5', 'BLOCK', '0')";
    assert_eq!(client.call(&["EVAL", script, "1", "s"]), "[c d]");
    assert!(client.call(&["EVAL", script, "1", "s"]).is_null());
}

#[test]
fn nothing_due_changes_nothing() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done(&format!("ZADD s {FUTURE} a inf b"));
    let before = (changes(client), scored(client, "s"));
    for line in
        ["DQ.CLAIM s", "DQ.CLAIM s COUNT 9 WITHSCORES", "DQ.MOVE s list", "DQ.MOVE s queue PUSH", "DQ.LEN s"]
    {
        client.done(line);
    }
    assert_eq!((changes(client), scored(client, "s")), before);
}

/// Lets four clients claim and native ones add and remove at the same time; all that was added must have come out once.
#[test]
fn claimers_and_native_writers_beside_each_other_lose_and_double_nothing() {
    const PRODUCED: usize = 2000;
    let server = Server::start();
    let mut seen: Vec<String> = std::thread::scope(|scope| {
        let producer = scope.spawn(|| produce(&mut server.connect(), PRODUCED));
        let claimers: Vec<_> =
            (0..3).map(|_| scope.spawn(|| claim_until_end(&mut server.connect()))).collect();
        let poppers = scope.spawn(|| pop_until_end(&mut server.connect()));
        producer.join().unwrap();
        server.connect().done("SET end 1");
        let mut seen: Vec<String> =
            claimers.into_iter().flat_map(|claimer| claimer.join().unwrap()).collect();
        seen.extend(poppers.join().unwrap());
        seen
    });
    seen.sort();
    assert_eq!(seen, (0..PRODUCED).map(member).collect::<Vec<_>>());
}

fn produce(client: &mut Client, count: usize) {
    for number in 0..count {
        client.done(&format!("ZADD s {} {}", PAST + (number % 7) as u64, member(number)));
    }
}

fn claim_until_end(client: &mut Client) -> Vec<String> {
    take_until_end(client, |client| claimed(client, "s COUNT 3"))
}

fn pop_until_end(client: &mut Client) -> Vec<String> {
    take_until_end(client, |client| {
        client.done("ZPOPMIN s").items().iter().take(1).map(|member| member.string()).collect()
    })
}

fn take_until_end(client: &mut Client, mut take: impl FnMut(&mut Client) -> Vec<String>) -> Vec<String> {
    let mut taken = Vec::new();
    loop {
        let is_last = client.ask("EXISTS end") == "1";
        let part = take(client);
        if part.is_empty() && is_last {
            return taken;
        }
        taken.extend(part);
    }
}

/// A million members, unless that is too much: with DQ_LARGE=1.
#[test]
fn a_set_of_a_million_members_is_claimed_in_order() {
    let is_large = std::env::var("DQ_LARGE").as_deref() == Ok("1");
    let size = if is_large { 1_000_000 } else { 30_000 };
    let server = Server::start();
    let client = &mut server.connect();
    fill(client, "s", size, PAST);
    client.done(&format!("ZADD s {FUTURE} later"));
    for first in (0..size).step_by(10_000) {
        let part = claimed(client, "s COUNT 10000");
        let expected = first..(first + 10_000).min(size);
        assert!(
            part.iter().cloned().eq(expected.map(member)),
            "the part from {first} on is not what it should be"
        );
    }
    assert_eq!(members(client, "s"), "[later]");
}
