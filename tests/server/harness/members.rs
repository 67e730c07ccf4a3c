//! Shorthand for plain sorted sets that serve as queues.

use crate::harness::client::Client;

/// Members of one `ZADD` that fills a set.
const PART: usize = 1000;

/// Adds `count` members `m0000000`, `m0000001` and so on, the score of each one more than that of the last.
#[track_caller]
pub fn fill(client: &mut Client, key: &str, count: usize, first_score: u64) {
    let numbers: Vec<usize> = (0..count).collect();
    for part in numbers.chunks(PART) {
        let mut words = vec!["ZADD".to_owned(), key.to_owned()];
        for number in part {
            words.extend([(first_score + *number as u64).to_string(), member(*number)]);
        }
        assert_eq!(client.call(&words).int(), part.len() as i64, "{key} is filled");
    }
}

/// The name of a member that `fill` adds. Their order by bytes is that of their numbers.
pub fn member(number: usize) -> String {
    format!("m{number:07}")
}

/// All members and their scores, as the server itself tells them.
#[track_caller]
pub fn scored(client: &mut Client, key: &str) -> String {
    client.done(&format!("ZRANGE {key} 0 -1 WITHSCORES")).text()
}

/// All members, in their order.
#[track_caller]
pub fn members(client: &mut Client, key: &str) -> String {
    client.done(&format!("ZRANGE {key} 0 -1")).text()
}

/// How the server keeps a set: `ziplist` or `listpack` for a small one, `skiplist` for a large one.
#[track_caller]
pub fn encoding(client: &mut Client, key: &str) -> String {
    client.done(&format!("OBJECT ENCODING {key}")).text()
}

/// What a claim of sorted sets delivers, as text.
#[track_caller]
pub fn claimed(client: &mut Client, words: &str) -> Vec<String> {
    let reply = client.done(&format!("DQ.CLAIM {words}"));
    reply.items().iter().map(|member| member.bytes().escape_ascii().to_string()).collect()
}
