//! The page: everything that was found, in the order in which a reader asks.

use crate::contestant::BATCH;
use crate::growth::{Growth, LONG};
use crate::jobs::Ids;
use crate::listening::Listener;
use crate::machine::Machine;
use crate::memory::{Filling, Memory};
use crate::options::{Options, Scale};
use crate::statistics::Spread;
use crate::targets::{self, COMPARISONS, Comparison};
use crate::text;
use crate::throughput::{CONNECTIONS, Cell, PIPELINES, Ratio, Results, SLICE_REQUESTS, background};

/// Written by people, not by this program: what a profile of the server says.
const PROFILE: &str = "bench/profile.md";

/// What a run found out.
pub struct Findings {
    /// On what.
    pub machine: Machine,
    /// Operations a second without a file.
    pub throughput: Option<Results>,
    /// Operations a second with the append-only file.
    pub aof: Option<Results>,
    /// Bytes a job.
    pub memory: Option<Memory>,
    /// The longest push.
    pub growth: Option<Vec<Growth>>,
    /// A native command beside the module.
    pub listening: Option<Vec<Listener>>,
}

impl Findings {
    /// Nothing yet.
    pub fn new(machine: Machine) -> Findings {
        Findings { machine, throughput: None, aof: None, memory: None, growth: None, listening: None }
    }
}

/// The whole page, in Markdown.
pub fn page(options: &Options, findings: &Findings) -> String {
    let mut sections = vec![head(options, findings)];
    sections.push(format!("## What we aim at\n\n{}\n{}", AIMS, targets::table(findings)));
    if let Some(results) = &findings.throughput {
        sections.push(format!("## How it is measured\n\n{}", method(results)));
        sections.push(format!("## Against what people use\n\n{}", comparisons(results)));
        sections.push(format!("## Jobs a second\n\n{}", speeds(results)));
    }
    if let Some(results) = &findings.aof {
        let body = format!("{AOF}\n{}\n{}", comparisons(results), speeds(results));
        sections.push(format!("## With an append-only file\n\n{body}"));
    }
    sections.extend(findings.memory.as_ref().map(memory));
    sections.extend(findings.growth.as_deref().map(growth));
    sections.extend(findings.listening.as_deref().map(listening));
    if let Ok(profile) = std::fs::read_to_string(PROFILE) {
        sections.push(format!("## Where the time goes\n\n{}\n", profile.trim()));
    }
    sections.join("\n")
}

const AIMS: &str = "\
Ratios of jobs a second in this run at pipeline 16, for each number of jobs present: the median of the rounds' ratios, with
the lowest and the highest round; beside it the same by server CPU a job. The longest push is judged by the server's own
watch, since a round trip also waits for the machine's scheduler.
";

const AOF: &str = "\
The same on a server of its own with `appendonly yes` and `appendfsync everysec`. Preparations go to the file as well, but
no clock runs meanwhile. The server's CPU counts its main thread only; syncing is another thread's work.
";

const GROWTH: &str = "\
One connection, one job, one round trip at a time, from an empty store; ZADD and HSET go out together as one round trip.
A round trip holds the client, two context switches and whatever the machine did meanwhile; PING on the idle server shows how
much that is. The last two columns are the server's own view (`SLOWLOG`, commands slower than 5 ms): what the command itself
took, though still with whatever interrupted the server meanwhile.
";

const LISTENING: &str = "\
One server for each row, all with a sorted set of the same size; single ZADDs of new members, 16 at once on each connection. From
the first `BLOCK` on the module is told of each change of a sorted set, and looks whether somebody waits for that key.
";

const MEMORY: &str = "\
The growth of `used_memory` on a fresh server, divided by the number of jobs. \"Beyond\" is what is left after id and
message, each counted once. The sorted set with a hash keeps id, due time and message, and no state, attempts or order.
";

fn head(options: &Options, findings: &Findings) -> String {
    let quick = text::smoke_test(options.scale == Scale::Quick);
    let machine = &findings.machine;
    format!(
        "# How fast\n\n\
         `make bench` writes this page; write into `{PROFILE}` what it is to say about where the time goes.\n\
         How late waiting consumers are woken, and what waiting costs: [wake.md](wake.md).\n\
         What ten million jobs, and a hundred thousand queues, cost: [sizes.md](sizes.md).\n{quick}\n\
         - Command: `{}`\n- Server: {}\n- Module: {}\n- Processor: {}\n- Cores: {}\n- Rounds: {}\n",
        options.command(),
        machine.server,
        machine.module,
        machine.processor,
        machine.pinning,
        options.rounds,
    )
}

fn method(results: &Results) -> String {
    let smallest = results.sizes.first().copied().unwrap_or(0);
    let low = background(smallest);
    format!(
        "\
- One server, nothing written to disk, {CONNECTIONS} connections over a unix socket served by one client thread. Requests are
  encoded before the clock starts; replies are counted off, not read. A connection sends its next batch when the last one's
  replies are there.
- Rounds alternate: in each round every contestant has one turn of a fixed number of requests for every population and pipeline.
  A first round warms up and does not count. Numbers are the median of the rounds (lowest..highest).
- \"Jobs present\": one sorted set (with a hash of messages for ZADD + HSET) and one job queue of that many jobs that are not
  due, with distinct 36-byte ids (UUIDs) and distinct milliseconds, random within 49 days. What is added has such times too,
  so it goes anywhere into the order, not to its end. What is claimed was due at random milliseconds of 49 other days.
- The population keeps its size: a turn is cut into slices of {SLICE_REQUESTS} requests; before a slice the due jobs that it takes
  are put in, after it the jobs that it added are taken out, while the clock stands. At \"{}\" between {low} and {} are present.
  Batches of {BATCH} have more in flight: up to {} jobs on top with pipeline 16. After each turn the size is checked.
- Sorted sets hold ids alone, as do the replies of ZPOPMIN and of the scripts, while DQ stores and returns a {}-byte message as
  well; ZADD + HSET is the pair that stores as much. The scripts get the time from the client. Lease and acknowledgement are
  both measured and count as one job; the acknowledgements are encoded in between, while the clock stands.
- Server CPU is the main thread's, from the kernel's scheduler: where the client limits the speed (pipeline 1), it tells more.
",
        text::grouped(smallest as u64),
        text::grouped((low + SLICE_REQUESTS) as u64),
        text::grouped((CONNECTIONS * 16 * BATCH) as u64),
        crate::throughput::MESSAGE_BYTES,
    )
}

/// Each row one comparison, each column a population and a pipeline.
fn comparisons(results: &Results) -> String {
    let by_speed = comparison_table(results, Cell::speed_ratio);
    let by_cpu = comparison_table(results, Cell::cpu_ratio);
    format!(
        "How many times as many jobs a second, by jobs present and pipeline:\n\n{by_speed}\n\
         How many times as little server CPU a job:\n\n{by_cpu}"
    )
}

fn comparison_table(results: &Results, ratio: Ratio) -> String {
    let columns = columns(results);
    let mut head = vec!["ours / theirs".to_string()];
    head.extend(
        columns.iter().map(|(size, pipeline)| format!("{}, P{pipeline}", text::grouped(*size as u64))),
    );
    let row = |comparison: &Comparison| {
        let cells: Option<Vec<String>> = columns
            .iter()
            .map(|(size, pipeline)| {
                let ours = results.cell(comparison.ours, *size, *pipeline)?;
                let theirs = results.cell(comparison.theirs, *size, *pipeline)?;
                Some(text::spread(ratio(ours, theirs), text::decimal))
            })
            .collect();
        let mut row = vec![format!("{} / {}", comparison.ours, comparison.theirs)];
        row.extend(cells?);
        Some(row)
    };
    let rows: Vec<_> = COMPARISONS.iter().filter_map(row).collect();
    match rows.is_empty() {
        true => "(no pair was measured in this run)\n".to_string(),
        false => text::table(&head, &rows),
    }
}

fn columns(results: &Results) -> Vec<(usize, usize)> {
    results.sizes.iter().flat_map(|size| PIPELINES.map(|pipeline| (*size, pipeline))).collect()
}

/// A table for each population and pipeline.
fn speeds(results: &Results) -> String {
    let tables = columns(results).into_iter().map(|(size, pipeline)| {
        let cells = results.cells.iter().filter(|cell| cell.size == size && cell.pipeline == pipeline);
        let rows: Vec<_> = cells.map(speed_row).collect();
        let head = text::owned(&["", "jobs a second", "lowest..highest", "server CPU us a job"]);
        let size = text::grouped(size as u64);
        format!("{size} jobs present, pipeline {pipeline}:\n\n{}", text::table(&head, &rows))
    });
    tables.collect::<Vec<_>>().join("\n")
}

fn speed_row(cell: &Cell) -> Vec<String> {
    let speed = cell.speed();
    let ends = speed
        .map_or("-".to_string(), |speed| format!("{}..{}", text::whole(speed.low), text::whole(speed.high)));
    vec![
        cell.name.to_string(),
        text::median(speed, text::whole),
        ends,
        text::spread(cell.cpu(), text::decimal),
    ]
}

fn memory(memory: &Memory) -> String {
    let rows: Vec<_> = memory.fillings.iter().map(memory_row).collect();
    let head = text::owned(&["store", "36-byte id", "message", "bytes a job", "beyond"]);
    let jobs = text::grouped(memory.jobs as u64);
    format!("## Memory\n\n{MEMORY}\n{jobs} jobs:\n\n{}", text::table(&head, &rows))
}

fn memory_row(filling: &Filling) -> Vec<String> {
    let ids = match filling.ids {
        Ids::Uuid => "UUID",
        Ids::Other => "other text",
    };
    vec![
        filling.store.name().to_string(),
        ids.to_string(),
        text::grouped(filling.message_bytes as u64),
        format!("{:.1}", filling.bytes_per_job),
        format!("{:.1}", filling.overhead()),
    ]
}

fn growth(all: &[Growth]) -> String {
    let mut head = text::owned(&["milliseconds", "round trips", "p50", "p99", "p99.9", "p99.99", "max"]);
    let long_ms = LONG.as_millis();
    head.extend([
        format!("above {long_ms}"),
        format!("server: above {long_ms}"),
        "server: longest".to_string(),
    ]);
    let rows: Vec<_> = all.iter().map(growth_row).collect();
    let longest: Vec<String> = all.iter().map(longest_line).collect();
    format!(
        "## The longest push\n\n{GROWTH}\n{}\nThe longest round trips, with the jobs present at that moment:\n\n{}\n",
        text::table(&head, &rows),
        longest.join("\n")
    )
}

fn listening(all: &[Listener]) -> String {
    let head = text::owned(&["server", "CPU a ZADD, microseconds", "against no module"]);
    let row = |listener: &Listener| {
        let ratio = all.first().and_then(|native| listener.ratio(native));
        let cpu = Spread::of(listener.cpu_us.iter().copied());
        vec![listener.name.to_string(), text::spread(cpu, text::decimal), text::spread(ratio, text::decimal)]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    format!("## A native ZADD beside the module\n\n{LISTENING}\n{}", text::table(&head, &rows))
}

fn growth_row(growth: &Growth) -> Vec<String> {
    let (slow, slowest) = growth.slow_log;
    let mut row = vec![growth.name.to_string(), text::grouped(growth.count as u64)];
    row.extend(growth.percentiles.map(text::milliseconds));
    row.push(growth.long.to_string());
    row.push(slow.to_string());
    row.push(if slow == 0 { "-".to_string() } else { text::milliseconds(slowest) });
    row
}

fn longest_line(growth: &Growth) -> String {
    let told = growth.longest.iter().map(|(length, size)| {
        format!("{} ms at {}", text::milliseconds(*length), text::grouped(*size as u64))
    });
    format!("- {}: {}", growth.name, told.collect::<Vec<_>>().join(", "))
}
