//! What every refusal owes: an error that names the facts, and no effect at all.

use crate::harness::client::Client;

/// Sends a command that must be refused with an `ERR` that contains each of `facts`, changing nothing.
#[track_caller]
pub fn refused_naming<W: AsRef<[u8]>>(client: &mut Client, words: &[W], facts: &[&str]) {
    let before = changes(client);
    let reply = client.call(words);
    let shown = || words.iter().map(|word| shortened(word.as_ref())).collect::<Vec<_>>().join(" ");
    assert!(reply.is_error(), "{} was not refused: {reply}", shown());
    let error = reply.error();
    assert!(error.starts_with("ERR "), "{}: {error}", shown());
    for fact in facts {
        assert!(error.contains(fact), "{}: the error does not name {fact:?}: {error}", shown());
    }
    assert_eq!(changes(client), before, "{} was refused and changed the data all the same", shown());
}

/// `refused_naming` for words without spaces.
#[track_caller]
pub fn line_refused_naming(client: &mut Client, line: &str, facts: &[&str]) {
    let words: Vec<&str> = line.split_whitespace().collect();
    refused_naming(client, &words, facts);
}

/// How much the server believes to have changed since its last save, and how many keys it has.
#[track_caller]
pub fn changes(client: &mut Client) -> (String, i64) {
    (client.info("persistence", "rdb_changes_since_last_save"), client.ask("DBSIZE").int())
}

fn shortened(word: &[u8]) -> String {
    let shown = word[..word.len().min(40)].escape_ascii();
    if word.len() > 40 { format!("{shown}... ({} bytes)", word.len()) } else { shown.to_string() }
}
