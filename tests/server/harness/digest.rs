//! Equality of keys by the server's own DEBUG DIGEST-VALUE, and of what DQ.GET shows.

use crate::harness::client::Client;

/// The digest of one key's value; two equal values have equal digests on any server.
#[track_caller]
pub fn digest(client: &mut Client, key: &str) -> String {
    let reply = client.done(&format!("DEBUG DIGEST-VALUE {key}"));
    reply.items()[0].string()
}

/// What DQ.GET shows of each of these jobs, one text.
///
/// Beside the digest it proves that a copy not only hashes but also reads the same.
#[track_caller]
pub fn shown_jobs(client: &mut Client, key: &str, ids: &[&str]) -> String {
    let mut lines = vec![format!("length {}", client.done(&format!("DQ.LEN {key}")))];
    lines.extend(ids.iter().map(|id| client.done(&format!("DQ.GET {key} {id}")).text()));
    lines.join("\n")
}
