//! A subscriber of keyspace events.

use crate::harness::client::Client;
use crate::harness::server::Server;

/// What all keyspace channels begin with; what follows is the database and the key.
const PREFIX: &str = "__keyspace@";
/// A channel that is none, on which the end of a list of events is told.
const END: &str = "__keyspace@end";

/// A connection that is told of events on keys.
pub struct Listener(Client);

impl Listener {
    /// Subscribes to the events of all keys, and lets the server fire those of `classes` (`K` and letters of classes).
    #[track_caller]
    pub fn start(server: &Server, classes: &str) -> Listener {
        server.connect().done(&format!("CONFIG SET notify-keyspace-events {classes}"));
        let mut client = server.connect();
        client.done(&format!("PSUBSCRIBE {PREFIX}*"));
        Listener(client)
    }

    /// The events that were fired since the last call, each as `key event`, or `database:key event` outside of the first
    /// database. `publisher` must be the server's or its master's client that caused them.
    #[track_caller]
    pub fn events(&mut self, publisher: &mut Client) -> Vec<String> {
        publisher.done(&format!("PUBLISH {END} end"));
        let mut events = Vec::new();
        loop {
            let message = self.0.receive().expect("the subscription lives");
            let [_, _, channel, event] = message.items() else { panic!("not a message: {message}") };
            let channel = channel.string();
            if channel == END {
                return events;
            }
            let (database, key) = channel[PREFIX.len()..].split_once("__:").expect("a database and a key");
            let place = if database == "0" { String::new() } else { format!("{database}:") };
            events.push(format!("{place}{key} {}", event.string()));
        }
    }
}
