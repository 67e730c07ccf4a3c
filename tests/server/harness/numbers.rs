//! What DQ.INFO says of a queue: its states, its counters.

use crate::harness::client::Client;
use crate::harness::reply::Reply;

/// What is counted, in the order in which it is shown; the fields' names end in `_total`.
pub const COUNTERS: [&str; 11] = [
    "pushed",
    "claimed",
    "acked",
    "nacked",
    "lapsed",
    "expired",
    "died",
    "dropped",
    "moved",
    "cancelled",
    "purged",
];

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

/// One counter.
#[track_caller]
pub fn counter(client: &mut Client, key: &str, name: &str) -> i64 {
    number(&info(client, key), &format!("{name}_total"))
}

/// All counters as one text, to be compared with that of a copy.
#[track_caller]
pub fn counters(client: &mut Client, key: &str) -> String {
    let shown = COUNTERS.map(|name| format!("{name} {}", counter(client, key, name)));
    shown.join(", ")
}

/// The numbers of waiting, claimed and dead jobs, as `1 waiting, 2 claimed, 3 dead`; fails the test if their
/// sum is not what DQ.LEN says.
#[track_caller]
pub fn states(client: &mut Client, key: &str) -> String {
    let before = sum_of_states(&info(client, key));
    let length = client.done(&format!("DQ.LEN {key}")).int();
    let info = info(client, key);
    // Time alone can only make a queue shorter.
    let after = sum_of_states(&info);
    assert!(before >= length && length >= after, "{before}, then DQ.LEN {length}, then {info}");
    let [waiting, claimed, dead] = ["waiting", "claimed", "dead"].map(|name| number(&info, name));
    format!("{waiting} waiting, {claimed} claimed, {dead} dead")
}

#[track_caller]
fn sum_of_states(info: &Reply) -> i64 {
    let [waiting, claimed, dead] = ["waiting", "claimed", "dead"].map(|name| number(info, name));
    let [new, retry] = ["waiting_new", "waiting_retry"].map(|name| number(info, name));
    assert_eq!(new + retry, waiting, "{info}");
    assert!(number(info, "due") <= waiting, "{info}");
    waiting + claimed + dead
}
