//! Shorthand for what nearly every test does with a queue.

use crate::harness::client::Client;
use crate::harness::reply::Reply;

/// A due time in the past that the contract takes for milliseconds: jobs of this time are due at once.
pub const PAST: u64 = 1_600_000_000_000;

/// A due time in the year 2100: jobs of this time are not due in any test.
pub const FUTURE: u64 = 4_102_444_800_000;

/// One job as DQ.CLAIM delivers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The job's id.
    pub id: Vec<u8>,
    /// The job's message.
    pub message: Vec<u8>,
    /// How many times it has been claimed, this time included.
    pub attempt: i64,
    /// Since when this delivery was possible, Unix milliseconds.
    pub due: i64,
    /// The name of this delivery, for a claim with a lease.
    pub receipt: Option<String>,
}

impl Delivery {
    /// The id as text.
    pub fn id(&self) -> String {
        self.id.escape_ascii().to_string()
    }

    /// The receipt of a delivery that must have one.
    #[track_caller]
    pub fn receipt(&self) -> &str {
        self.receipt.as_deref().expect("a claim with a lease gives a receipt")
    }

    /// One element of DQ.CLAIM's reply.
    #[track_caller]
    pub fn of(reply: &Reply) -> Delivery {
        let [id, message, attempt, due, receipt] = reply.items() else {
            panic!("a delivery has five elements: {reply}");
        };
        Delivery {
            id: id.bytes().to_vec(),
            message: message.bytes().to_vec(),
            attempt: attempt.int(),
            due: due.int(),
            receipt: (!receipt.is_null()).then(|| receipt.string()),
        }
    }
}

/// `DQ.CLAIM <words>`, as deliveries.
#[track_caller]
pub fn claim(client: &mut Client, words: &str) -> Vec<Delivery> {
    client.done(&format!("DQ.CLAIM {words}")).items().iter().map(Delivery::of).collect()
}

/// `DQ.CLAIM <words>` that must deliver exactly one job.
#[track_caller]
pub fn claim_one(client: &mut Client, words: &str) -> Delivery {
    let mut claimed = claim(client, words);
    assert_eq!(claimed.len(), 1, "DQ.CLAIM {words} delivered {claimed:?}");
    claimed.remove(0)
}

/// Pushes `count` jobs of one due time, with ids `<prefix>0`, `<prefix>1` and so on, message = id.
#[track_caller]
pub fn push_many(client: &mut Client, key: &str, prefix: &str, count: usize, due: u64) {
    let ids: Vec<String> = (0..count).map(|number| format!("{prefix}{number}")).collect();
    for part in ids.chunks(1000) {
        let mut words = vec!["DQ.MPUSH".to_owned(), key.to_owned(), "AT".to_owned()];
        for id in part {
            words.extend([due.to_string(), id.clone(), id.clone()]);
        }
        let reply = client.call(&words);
        assert_eq!(reply.items().len(), part.len(), "{reply}");
    }
}

/// The ids of all due jobs, taken out of the queue in the order in which they come.
#[track_caller]
pub fn drain(client: &mut Client, key: &str) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let claimed = claim(client, &format!("{key} COUNT 1000"));
        if claimed.is_empty() {
            return ids;
        }
        ids.extend(claimed.iter().map(Delivery::id));
    }
}

/// Fills `key` with jobs in every state that these commands can reach; returns their ids.
///
/// It holds priorities, expiries, attempts, an ended and a running lease, dead jobs of two reasons, an error
/// The ids of the jobs of a rich queue.
pub const RICH_IDS: [&str; 10] = [
    "plain",
    "same-time",
    "high",
    "later",
    "expiring",
    "claimed",
    "lapsed",
    "failed",
    "conflicting",
    "bytes",
];

/// text, equal due times, bytes of all kinds, and a policy and a pause that end in the past.
#[track_caller]
pub fn fill_with_every_kind(client: &mut Client, key: &str) -> Vec<&'static str> {
    let effects = [
        "PUT plain m 1600000000000",
        "PUT same-time m 1600000000000",
        "PUT high m 1600000000000 PRIORITY 9 ATTEMPTS 2",
        "PUT later m 4102444800000",
        "PUT expiring m 4102444800000 PRIORITY 1 EXPIRES 4102444900000",
        "PUT claimed m 1600000000000",
        "PUT lapsed m 1600000000000 PRIORITY 3 ATTEMPTS 1",
        "PUT failed m 1600000000000 ATTEMPTS 4",
        "PUT conflicting m 1600000000000 ATTEMPTS 1",
        "LEASE 4102444800000 7000000000000000001 1 claimed",
        "LEASE 1600000001000 7000000000000000002 1 lapsed",
        "BURY failed nacked 1600000002000",
        "BURY conflicting conflict 1600000003000",
        "POLICY 0 65535 1000 2 3600000 0 10000 0",
    ];
    for effect in effects {
        client.done(&format!("DQ.APPLY {key} 1 {effect}"));
    }
    client.call(&["DQ.APPLY", key, "1", "ERROR", "plain", "broke\r\n at %s%n"]);
    let every_byte: Vec<u8> = (0..=255).collect();
    let pushed =
        client.call(&[b"DQ.PUSH", key.as_bytes(), &every_byte, b"AT", b"4102444800000", b"ID", b"bytes"]);
    assert_eq!(pushed, "[bytes created]");
    RICH_IDS.to_vec()
}
