//! One hot queue spread over the slots of a cluster: `orders:{0}` to `orders:{15}` in the place of `orders`.
//!
//! A queue is one key, and a key lives on one node, so one queue has one node's speed. Here a producer picks a shard by a
//! hash of the job's id, each shard has a consumer that waits for it, and the shards lie on all nodes. Everything goes
//! through an ordinary cluster client, which finds the node for each key.
//!
//! `make demo-cluster` runs it: on a cluster of three masters that it starts and ends.

mod cluster;
mod consumer;
mod producer;
mod report;
mod shards;

use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cluster::Cluster;
use shards::Shards;

/// What can go wrong here is told to a person, as text; it crosses threads.
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const USAGE: &str = "sharded [--jobs N] [--shards N]
  --jobs N    how many jobs (default: 10000)
  --shards N  over how many keys they are spread (default: 16)
DQ_MODULE names the module and DQ_SERVER the server that it starts (default: target/release/libdq.so, redis-server).";
const PRODUCERS: usize = 2;
/// How long the consumers may be without any job before the rest is called lost.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(5);

struct Options {
    jobs: usize,
    shards: usize,
}

fn main() -> ExitCode {
    match options(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn options(words: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options { jobs: 10_000, shards: 16 };
    let words: Vec<String> = words.collect();
    for pair in words.chunks(2) {
        let number = match pair {
            [_, number] => number.parse().ok().filter(|number| *number > 0),
            _ => None,
        };
        match (pair.first().map(String::as_str), number) {
            (Some("--jobs"), Some(jobs)) => options.jobs = jobs,
            (Some("--shards"), Some(shards)) => options.shards = shards,
            _ => return Err(format!("{pair:?} was not understood\n{USAGE}").into()),
        }
    }
    Ok(options)
}

/// Runs the demo and prints it; success when every job was worked on once.
fn run(options: &Options) -> Result<ExitCode> {
    let cluster = Cluster::start()?;
    let shards = Shards::new("orders", options.shards);
    println!(
        "{} jobs, due within {} ms, over {} shards on {} masters",
        options.jobs,
        producer::DELAY_MAX_MS,
        options.shards,
        cluster.nodes().len()
    );
    let begin = Instant::now();
    let worked = work(&cluster, &shards, options.jobs)?;
    println!("done after {:.1} s\n", begin.elapsed().as_secs_f64());
    let account = report::Account::of(&cluster, &shards, options.jobs, &worked)?;
    println!("{account}");
    let faults = account.faults();
    for fault in &faults {
        println!("NOT AS PROMISED: {fault}");
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Lets producers and consumers work until all jobs are done; returns the ids that each shard's consumer worked on.
fn work(cluster: &Cluster, shards: &Shards, jobs: usize) -> Result<Vec<Vec<String>>> {
    let (is_over, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let client = cluster.client()?;
    thread::scope(|scope| {
        let (client, is_over, done) = (&client, &is_over, &done);
        let consumers: Vec<_> = shards
            .keys()
            .iter()
            .map(|key| scope.spawn(move || consumer::run(client, key, done, is_over)))
            .collect();
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|number| {
                scope.spawn(move || producer::run(client, shards, (number..jobs).step_by(PRODUCERS)))
            })
            .collect();
        let pushed: Result<Vec<()>> = producers.into_iter().map(joined).collect();
        if pushed.is_ok() {
            wait_for(done, jobs);
        }
        is_over.store(true, Ordering::SeqCst);
        let worked = consumers.into_iter().map(joined).collect();
        pushed.and(worked)
    })
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().unwrap_or_else(|_| Err("a thread panicked".into()))
}

/// Waits until all are done, or nothing was for long.
fn wait_for(done: &AtomicUsize, jobs: usize) {
    let mut last = (0, Instant::now());
    while last.0 < jobs && last.1.elapsed() < PATIENCE {
        thread::sleep(PAUSE);
        let now = done.load(Ordering::SeqCst);
        if now > last.0 {
            last = (now, Instant::now());
        }
    }
}
