//! Fear: a reply has a form that client libraries read as something else, or not at all.

use crate::harness::reply::Reply;
use crate::harness::server::Server;
use redis::{Client, Connection, ProtocolVersion, Value, cmd};
use std::collections::HashMap;

fn library(server: &Server, protocol: &str) -> Connection {
    let socket = server.directory().join("socket");
    let address = format!("redis+unix://{}?protocol={protocol}", socket.display());
    let client = Client::open(address).unwrap();
    let expected = if protocol == "resp3" { ProtocolVersion::RESP3 } else { ProtocolVersion::RESP2 };
    assert_eq!(client.get_connection_info().redis_settings().protocol(), expected);
    client.get_connection().unwrap()
}

#[test]
fn a_library_reads_every_reply_in_both_protocols() {
    let server = Server::start();
    for protocol in ["resp2", "resp3"] {
        let connection = &mut library(&server, protocol);
        cmd("DEL").arg("q").exec(connection).unwrap();
        let (id, outcome): (String, String) =
            cmd("DQ.PUSH").arg("q").arg("m").arg("ID").arg("a").query(connection).unwrap();
        assert_eq!((id.as_str(), outcome.as_str()), ("a", "created"));
        let pushed: Vec<(String, String)> =
            cmd("DQ.MPUSH").arg("q").arg("DELAY").arg(60_000).arg("b").arg("m2").query(connection).unwrap();
        assert_eq!(pushed, [("b".into(), "created".into())]);

        type Delivered = Vec<(String, Vec<u8>, u64, u64, Option<String>)>;
        let claimed: Delivered =
            cmd("DQ.CLAIM").arg("q").arg("LEASE").arg(100_000_000).query(connection).unwrap();
        let (_, message, attempt, _, receipt) = &claimed[0];
        assert_eq!((message.as_slice(), *attempt), (b"m".as_slice(), 1));
        let acked: Vec<bool> = cmd("DQ.ACK").arg("q").arg(receipt).arg("1-a").query(connection).unwrap();
        assert_eq!(acked, [true, false]);

        let job: HashMap<String, Value> = cmd("DQ.GET").arg("q").arg("b").query(connection).unwrap();
        assert_eq!(job.len(), 12);
        assert_eq!(job["receipt"], Value::Nil);
        let missing: Option<HashMap<String, Value>> =
            cmd("DQ.GET").arg("q").arg("none").query(connection).unwrap();
        assert_eq!(missing, None);
        let cancelled: Vec<Option<String>> =
            cmd("DQ.CANCEL").arg("q").arg("b").arg("none").query(connection).unwrap();
        assert_eq!(cancelled, [Some("waiting".into()), None]);
        let empty: Delivered = cmd("DQ.CLAIM").arg("q").query(connection).unwrap();
        assert!(empty.is_empty());
        assert_eq!(cmd("DQ.LEN").arg("q").query::<u64>(connection).unwrap(), 0);
        assert_eq!(cmd("DQ.MOVE").arg("q").arg("l").query::<u64>(connection).unwrap(), 0);
    }
}

#[test]
fn a_get_is_a_map_in_resp3_and_a_flat_array_in_resp2() {
    let server = Server::start();
    let client = &mut server.connect();
    client.done("DQ.PUSH q m ID a AT 1600000000000");
    let flat = client.ask("DQ.GET q a");
    assert_eq!(flat.items().len(), 24);
    client.speak_resp3();
    let map = client.ask("DQ.GET q a");
    let Reply::Map(pairs) = &map else {
        // Modules cannot reply with maps to a server that has no COMMAND DOCS either: both came with Redis 7.0.
        assert!(client.ask("COMMAND DOCS PING").is_error(), "no map: {map}");
        return eprintln!("skipped: this server lets no module reply with a map");
    };
    let names: Vec<String> = pairs.iter().map(|(name, _)| name.string()).collect();
    let expected = "id message state due priority attempts expires lease_until receipt error died reason";
    assert_eq!(names.join(" "), expected);
    for (number, (name, value)) in pairs.iter().enumerate() {
        assert_eq!(flat.items()[2 * number].text(), name.text());
        assert_eq!(flat.items()[2 * number + 1].text(), value.text());
    }
}

#[test]
fn null_has_the_form_of_its_protocol() {
    let server = Server::start();
    let client = &mut server.connect();
    for _ in 0..2 {
        client.done("DEL q");
        client.done("DQ.PUSH q m ID a");
        let null = client.ask("GET none");
        assert_eq!(client.ask("DQ.GET q none"), null, "of a missing job");
        assert_eq!(client.ask("DQ.GET none a"), null, "of a missing key");
        assert_eq!(*client.ask("DQ.GET q a").field("expires"), null, "of a field");
        assert_eq!(client.ask("DQ.CANCEL q none").items()[0], null, "of an id");
        assert_eq!(client.ask("DQ.CLAIM q").items()[0].items()[4], null, "of a receipt");
        assert_eq!(client.ask("DQ.CLAIM q"), Reply::Array(Vec::new()));
        client.speak_resp3();
    }
}

#[test]
fn numbers_are_integers_and_words_are_strings() {
    let server = Server::start();
    let client = &mut server.connect();
    client.speak_resp3();
    client.done("DQ.PUSH q 12 ID 7 AT 1600000000000");
    let job = client.ask("DQ.GET q 7");
    for field in ["due", "priority", "attempts"] {
        job.field(field).int();
    }
    for field in ["id", "message", "state"] {
        job.field(field).bytes();
    }
    assert_eq!(client.ask("DQ.CLAIM q"), r#"[["7" "12" 1 1600000000000 nil]]"#);
}
