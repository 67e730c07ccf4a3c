//! What DQ.INFO says of a queue: its states, its counters.

use crate::harness::client::Client;
use crate::harness::reply::Reply;

/// The names of the counters, in the order in which they are shown.
pub const COUNTERS: [&str; 10] =
    ["pushed", "claimed", "acked", "nacked", "lapsed", "expired", "died", "dropped", "moved", "cancelled"];

/// The reply of DQ.INFO on a queue that exists.
#[track_caller]
pub fn info(client: &mut Client, key: &str) -> Reply {
    let reply = client.done(&format!("DQ.INFO {key}"));
    assert!(!reply.is_null(), "there is no queue {key}");
    reply
}

/// One number of a DQ.INFO reply.
#[track_caller]
pub fn number(info: &Reply, name: &str) -> i64 {
    info.field(name).int()
}

/// One counter; it stands behind the states, one of which may have the same name.
#[track_caller]
pub fn counter(client: &mut Client, key: &str, name: &str) -> i64 {
    let reply = info(client, key);
    let pairs: Vec<(String, Reply)> = match &reply {
        Reply::Map(pairs) => pairs.iter().map(|(name, value)| (name.string(), value.clone())).collect(),
        flat => flat.items().chunks_exact(2).map(|pair| (pair[0].string(), pair[1].clone())).collect(),
    };
    let found = pairs.into_iter().rfind(|(other, _)| other == name);
    found.unwrap_or_else(|| panic!("no counter {name} in {reply}")).1.int()
}

/// All counters as one text, to be compared with that of a copy.
#[track_caller]
pub fn counters(client: &mut Client, key: &str) -> String {
    let shown = COUNTERS.map(|name| format!("{name} {}", counter(client, key, name)));
    shown.join(", ")
}

/// The numbers of waiting, claimed and dead jobs, as `1 waiting, 2 claimed, 3 dead`; fails the test if their
/// sum is not what DQ.LEN says in the same transaction.
#[track_caller]
pub fn states(client: &mut Client, key: &str) -> String {
    client.done("MULTI");
    client.done(&format!("DQ.INFO {key}"));
    client.done(&format!("DQ.LEN {key}"));
    let both = client.done("EXEC");
    let [info, length] = both.items() else { panic!("two replies: {both}") };
    let [waiting, claimed, dead] = ["waiting", "claimed", "dead"].map(|name| number(info, name));
    assert_eq!(waiting + claimed + dead, length.int(), "{info}");
    let [new, retry] = ["waiting_new", "waiting_retry"].map(|name| number(info, name));
    assert_eq!(new + retry, waiting, "{info}");
    assert!(number(info, "due") <= waiting, "{info}");
    format!("{waiting} waiting, {claimed} claimed, {dead} dead")
}
