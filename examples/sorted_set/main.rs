//! What one does with a plain sorted set of times, without DQ and with it: the same messages, added by `ZADD`, are delivered in
//! four ways, and a table says what each of them cost.
//!
//! Without DQ consumers poll: they look for what is due and remove it, and whoever removes a message has it; the others looked in
//! vain. Or a scheduled job moves what is due into a list, every minute, and consumers wait for that. With DQ the consumers wait
//! for the sorted set itself, `DQ.CLAIM ... BLOCK`, or a mover does, `DQ.MOVE ... BLOCK`. `make demo-sorted-set` runs it.

mod arguments;
mod report;
mod scene;
#[path = "../orders/server.rs"]
#[allow(dead_code, reason = "it is made for the other example; this one needs a part of it")]
mod server;
#[path = "../orders/staff.rs"]
#[allow(dead_code, reason = "it is made for the other example; this one needs a part of it")]
mod staff;
mod timetable;
mod worker;

use std::error::Error;
use std::process::ExitCode;

use arguments::Options;
use report::Row;
use scene::Scene;
use server::Server;
use staff::Folder;

/// What can go wrong here is told to a person, as text; also out of a thread.
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The ways, in the order of the table.
const SCENES: [Scene; 4] = [
    Scene { name: "poll: ZRANGEBYSCORE, ZREM", is_ours: false, consumer: worker::poll, mover: None },
    Scene { name: "DQ.CLAIM BLOCK", is_ours: true, consumer: worker::claim, mover: None },
    Scene {
        name: "scheduled job into a list, BRPOP",
        is_ours: false,
        consumer: worker::pop,
        mover: Some(worker::move_every_period),
    },
    Scene {
        name: "DQ.MOVE BLOCK into a list, BRPOP",
        is_ours: true,
        consumer: worker::pop,
        mover: Some(worker::move_when_due),
    },
];

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("sorted_set: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let options = Options::parse(std::env::args().skip(1))?;
    let folder = Folder::create()?;
    let server = match options.port {
        Some(port) => Server::running(port),
        None => Server::start(folder.path())?,
    };
    println!("{options}\n");
    println!("{}", report::head());
    let mut faults = Vec::new();
    for scene in &SCENES {
        let row = Row::of(scene, &options, &scene.play(&server, &options)?);
        println!("{row}");
        faults.extend(row.faults());
    }
    println!("\n{}", report::NOTES);
    faults.iter().for_each(|fault| println!("WRONG: {fault}"));
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
