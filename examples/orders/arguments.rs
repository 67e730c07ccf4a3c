//! The command line: a person's options, and the words with which the director starts the other processes.

use std::path::PathBuf;

use crate::Result;

const USAGE: &str = "orders [--port N] [--key NAME] [--orders FILE]
  --port N       use the running server on this port of this machine (default: a server of its own)
  --key NAME     the queue (default: payment-timeouts)
  --orders FILE  the orders (default: examples/orders.csv)
DQ_MODULE names the module and DQ_SERVER the server that it starts (default: target/release/libdq.so, redis-server).";

/// What this process is to be.
pub enum Role {
    Director(Options),
    /// Where it works, and the file with the orders.
    Shop(Place, PathBuf),
    /// Where it works, and the file whose appearance ends its work.
    Worker(Place, PathBuf),
}

/// What a person can choose.
pub struct Options {
    pub port: Option<u16>,
    pub key: String,
    pub orders: PathBuf,
}

/// Where a process works: what it talks to, and where it writes down what it saw.
#[derive(Clone)]
pub struct Place {
    /// The server's address as a URL.
    pub server: String,
    pub key: String,
    pub ledger: PathBuf,
}

impl Role {
    /// Reads the arguments that follow the program's name.
    pub fn from_arguments(arguments: impl Iterator<Item = String>) -> Result<Role> {
        let words: Vec<String> = arguments.collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["shop", server, key, ledger, orders] => {
                Ok(Role::Shop(place(server, key, ledger), orders.into()))
            }
            ["worker", server, key, ledger, stop] => {
                Ok(Role::Worker(place(server, key, ledger), stop.into()))
            }
            options => Options::parse(options).map(Role::Director),
        }
    }
}

impl Place {
    /// The words that start a process of that role here; `from_arguments` reads them.
    pub fn words(&self, role: &str) -> [String; 4] {
        [role.into(), self.server.clone(), self.key.clone(), self.ledger.display().to_string()]
    }
}

fn place(server: &str, key: &str, ledger: &str) -> Place {
    Place { server: server.into(), key: key.into(), ledger: ledger.into() }
}

impl Options {
    fn parse(words: &[&str]) -> Result<Options> {
        let mut options =
            Options { port: None, key: "payment-timeouts".into(), orders: "examples/orders.csv".into() };
        for pair in words.chunks(2) {
            match pair {
                ["--port", port] => {
                    options.port = Some(port.parse().map_err(|_| format!("{port} is no port"))?)
                }
                ["--key", key] => options.key = (*key).into(),
                ["--orders", file] => options.orders = file.into(),
                other => return Err(format!("{other:?} was not understood\n{USAGE}").into()),
            }
        }
        Ok(options)
    }
}
