//! Fear: a consumer cannot read the JSON form, or reads something else than what was pushed.

use crate::harness::client::Client;
use crate::harness::server::Server;
use serde_json::Value;

/// Pushes one job and takes its JSON form from a list.
#[track_caller]
fn moved_as_json(client: &mut Client, id: &[u8], message: &[u8]) -> Vec<u8> {
    let pushed = client.call(&[b"DQ.PUSH".as_slice(), b"q", message, b"ID", id, b"AT", b"1600000000000"]);
    assert_eq!(pushed.items()[1], "created", "{pushed}");
    assert_eq!(client.ask("DQ.MOVE q list JSON"), "1");
    let form = client.ask("LPOP list").bytes().to_vec();
    serde_json::from_slice::<Value>(&form)
        .unwrap_or_else(|error| panic!("not JSON: {error}: {}", form.escape_ascii()));
    form
}

#[track_caller]
fn assert_form(client: &mut Client, id: &[u8], message: &[u8], expected: &str) {
    let form = moved_as_json(client, id, message);
    assert_eq!(String::from_utf8_lossy(&form), expected);
}

#[test]
fn an_object_or_array_is_embedded_byte_for_byte() {
    let server = Server::start();
    let client = &mut server.connect();
    for message in [
        "{}",
        "[]",
        r#"{"a":1,"a":2}"#,
        r#"{ "n" : 1.0e+2 , "big": 123456789012345678901234567890 }"#,
        r#"["\u00e9\/", "x"]"#,
        "{\"text\":\"\u{e9}\u{1f600}\"}",
        r#"[null,true,[{"deep":[]}]]"#,
    ] {
        let expected = format!(r#"{{"id":"a","msg":{message},"attempt":0,"due":1600000000000}}"#);
        assert_form(client, b"a", message.as_bytes(), &expected);
    }
}

#[test]
fn any_other_text_is_a_json_string() {
    let server = Server::start();
    let client = &mut server.connect();
    for message in [
        "",
        "plain",
        "12",
        "1.5",
        "true",
        "null",
        "\"quoted\"",
        "{",
        "[1,",
        "{a:1}",
        "[1] x",
        "{}{}",
        "tab\there",
        "line\r\nbreak",
        "nul\0",
        "back\\slash",
        "\u{7f}\u{80}\u{2028}",
        "[\"raw\nnewline\"]",
        "[01]",
        "[NaN]",
    ] {
        let form = moved_as_json(client, b"a", message.as_bytes());
        let parsed: Value = serde_json::from_slice(&form).unwrap();
        assert_eq!(parsed["msg"], Value::String(message.into()), "{}", form.escape_ascii());
    }
    assert_form(client, b"a", b"plain", r#"{"id":"a","msg":"plain","attempt":0,"due":1600000000000}"#);
}

#[test]
fn what_is_no_text_is_base64() {
    let server = Server::start();
    let client = &mut server.connect();
    assert_form(client, b"a", b"\xff", r#"{"id":"a","msg_base64":"/w==","attempt":0,"due":1600000000000}"#);
    assert_form(
        client,
        b"\xfe\xff",
        b"m",
        r#"{"id_base64":"/v8=","msg":"m","attempt":0,"due":1600000000000}"#,
    );
    assert_form(
        client,
        b"\xff",
        b"\xfe",
        r#"{"id_base64":"/w==","msg_base64":"/g==","attempt":0,"due":1600000000000}"#,
    );
    assert_form(
        client,
        b"a",
        b"{\"a\":\"\xff\"}",
        r#"{"id":"a","msg_base64":"eyJhIjoi/yJ9","attempt":0,"due":1600000000000}"#,
    );
}

#[test]
fn an_id_is_a_json_string_whatever_it_holds() {
    let server = Server::start();
    let client = &mut server.connect();
    for id in ["7", "{}", "a\"b\\c", "nul\0\r\n", "\u{1f600}"] {
        let form = moved_as_json(client, id.as_bytes(), b"m");
        let parsed: Value = serde_json::from_slice(&form).unwrap();
        assert_eq!(parsed["id"], Value::String(id.into()), "{}", form.escape_ascii());
    }
}

#[test]
fn every_destination_that_takes_json_gets_the_same_form() {
    let server = Server::start();
    let client = &mut server.connect();
    let form = r#"{"id":"a","msg":{"x":1},"attempt":2,"due":1600000000000}"#;
    let fresh = "DQ.APPLY q 1 PUT a {\"x\":1} 1600000000000 ATTEMPTS 2";
    for (verb, read) in [("RPUSH", "LINDEX d 0"), ("LPUSH", "LINDEX d 0"), ("ZADD", "ZRANGE d 0 0")] {
        client.done(fresh);
        client.done(&format!("DQ.MOVE q d {verb} {}", if verb == "ZADD" { "" } else { "JSON" }));
        let reply = client.ask(read);
        let first = if verb == "ZADD" { reply.items()[0].string() } else { reply.string() };
        assert_eq!(first, form, "{verb}");
        client.done("DEL d");
    }
    client.done(fresh);
    client.done("DQ.MOVE q d XADD JSON");
    let entries = client.ask("XRANGE d - +");
    let fields = &entries.items()[0].items()[1];
    assert_eq!(fields.field("msg").string(), form);
    assert_eq!(*fields.field("id"), "a");
}
