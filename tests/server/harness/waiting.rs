//! Clients that wait inside the server: making one wait, telling how many do, reading what one gets.

use crate::harness::client::Client;
use crate::harness::eventually::{DEADLINE, eventually};
use crate::harness::reply::Reply;
use crate::harness::server::Server;

/// A client whose command waits inside the server.
pub struct Waiting {
    client: Client,
    line: String,
    id: i64,
}

impl Waiting {
    /// Sends a blocking command on a new connection and returns once the server lets it wait.
    #[track_caller]
    pub fn start(server: &Server, line: &str) -> Waiting {
        Waiting::on(server.connect(), server, line)
    }

    /// The same on a connection of its own kind: another protocol, another database.
    #[track_caller]
    pub fn on(mut client: Client, server: &Server, line: &str) -> Waiting {
        let watcher = &mut server.connect();
        let before = waiting(watcher);
        let id = client.done("CLIENT ID").int();
        client.send_line(line);
        eventually(&format!("{line} waits"), DEADLINE, || waiting(watcher) > before);
        Waiting { client, line: line.to_owned(), id }
    }

    /// The id that CLIENT KILL and CLIENT UNBLOCK take.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// What the waiting command got. The deadline is below the minute after which the module looks at a key by itself: a
    /// reply that nobody but that look brought is too late.
    #[track_caller]
    pub fn reply(&mut self) -> Reply {
        let reply = self.client.receive_within(DEADLINE);
        reply.unwrap_or_else(|error| panic!("{} got no reply: {error}", self.line))
    }

    /// The one job that a waiting DQ.CLAIM got, as its message.
    #[track_caller]
    pub fn message(&mut self) -> String {
        let reply = self.reply();
        assert!(!reply.is_null() && !reply.is_error(), "{}: {reply}", self.line);
        assert_eq!(reply.items().len(), 1, "{}: {reply}", self.line);
        reply.items()[0].items()[1].string()
    }

    /// The messages of all jobs that it got.
    #[track_caller]
    pub fn messages(&mut self) -> Vec<String> {
        self.reply().items().iter().map(|job| job.items()[1].string()).collect()
    }

    /// Whether the server closed the connection instead of a reply.
    #[track_caller]
    pub fn is_closed(&mut self) -> bool {
        self.client.receive_within(DEADLINE).is_err()
    }

    /// The connection, when the wait is over.
    pub fn into_client(self) -> Client {
        self.client
    }
}

/// How many clients wait, by the server's count.
#[track_caller]
pub fn waiting(client: &mut Client) -> u64 {
    client.info("clients", "blocked_clients").parse().expect("a number of clients")
}

/// Waits until that many clients wait.
#[track_caller]
pub fn until_waiting(server: &Server, count: u64) {
    let watcher = &mut server.connect();
    eventually(&format!("{count} clients wait"), DEADLINE, || waiting(watcher) == count);
}

/// Waits until the server's clock is past `time`.
#[track_caller]
pub fn until_past(client: &mut Client, time: u64) {
    eventually("the time passes", DEADLINE, || client.now() > time);
}

/// How often a test of chances tries its chance: 10,000 times with DQ_LARGE=1, else a few times.
pub fn rounds(few: usize) -> usize {
    if std::env::var("DQ_LARGE").as_deref() == Ok("1") { 10_000 } else { few }
}
