//! What the server tells of a command: COMMAND, COMMAND INFO and COMMAND DOCS.

use crate::harness::client::Client;
use crate::harness::reply::Reply;
use std::collections::BTreeSet;

/// What COMMAND INFO and COMMAND DOCS say of one command.
pub struct Docs {
    info: Reply,
    docs: Reply,
}

/// The names of all commands of the module, in capitals.
#[track_caller]
pub fn registered(client: &mut Client) -> Vec<String> {
    let all = client.done("COMMAND");
    let names = all.items().iter().map(|command| command.items()[0].string().to_uppercase());
    names.filter(|name| name.starts_with("DQ.")).collect()
}

impl Docs {
    /// Asks the server; None, with a message, where it has no COMMAND DOCS.
    #[track_caller]
    pub fn of(client: &mut Client, name: &str) -> Option<Docs> {
        let docs = client.ask(&format!("COMMAND DOCS {name}"));
        if docs.is_error() {
            eprintln!("skipped: this server has no COMMAND DOCS");
            return None;
        }
        assert_eq!(docs.items().len(), 2, "COMMAND DOCS knows no {name}");
        let info = client.done(&format!("COMMAND INFO {name}"));
        Some(Docs { info: info.items()[0].clone(), docs: docs.items()[1].clone() })
    }

    /// The words of all options.
    pub fn tokens(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        collect_tokens(self.docs.field("arguments"), &mut found);
        found
    }

    /// What lines of the head of the command's page must say, word for word.
    pub fn said(&self) -> [(&'static str, String); 3] {
        [
            ("Available since", self.docs.field("since").string()),
            ("Time complexity", self.docs.field("complexity").string()),
            ("Command flags", self.flags().join(", ")),
        ]
    }

    /// What lines of the head must contain. Old servers know no categories of modules.
    pub fn contained(&self) -> [(&'static str, Vec<String>); 2] {
        [("ACL categories", words(&self.info.items()[6])), ("Key permissions", self.key_permissions())]
    }

    /// The flags that say what the command does; `admin` is how old servers are told of a dangerous command.
    fn flags(&self) -> Vec<String> {
        let mut flags = words(&self.info.items()[2]);
        flags.retain(|flag| flag != "module" && flag != "admin");
        flags
    }

    fn key_permissions(&self) -> Vec<String> {
        let specs = self.info.items()[8].items();
        specs.iter().map(|spec| words(spec.field("flags")).join(" ")).collect()
    }
}

fn collect_tokens(arguments: &Reply, found: &mut BTreeSet<String>) {
    for argument in arguments.items() {
        for pair in argument.items().chunks_exact(2) {
            match pair[0].string().as_str() {
                "token" => drop(found.insert(pair[1].string())),
                "arguments" => collect_tokens(&pair[1], found),
                _ => {}
            }
        }
    }
}

fn words(reply: &Reply) -> Vec<String> {
    reply.items().iter().map(Reply::string).collect()
}
