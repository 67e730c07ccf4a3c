//! The page `bench/sizes.md`: what was found, in the order in which a reader asks.

use std::time::Duration;

use super::figure::{self, Figure, Section};
use super::operators::Operation;
use super::options::Options;
use super::saving;
use crate::field::Store;
use crate::machine::Machine;
use crate::statistics::Spread;
use crate::text;
use crate::wake::deliveries::Row;
use crate::wake::page::{lateness_table, load};

/// Written by people, not by this program: what stands out.
const REMARKS: &str = "bench/sizes-remarks.md";

/// What a run found out.
pub struct Findings {
    machine: Machine,
    load: [String; 2],
    length: Duration,
    figures: Vec<(Store, Figure)>,
    /// What operators did.
    pub operations: Vec<Operation>,
    /// How late those were woken who waited for some of very many queues.
    pub waits: Vec<Row>,
}

impl Findings {
    /// Nothing yet.
    pub fn new(machine: Machine) -> Findings {
        Findings {
            machine,
            load: [load(), String::new()],
            length: Duration::ZERO,
            figures: Vec::new(),
            operations: Vec::new(),
            waits: Vec::new(),
        }
    }

    /// Figures of this store.
    pub fn note(&mut self, store: Store, figures: Vec<Figure>) {
        self.figures.extend(figures.into_iter().map(|figure| (store, figure)));
    }

    /// The run is over and took so long.
    pub fn finish(&mut self, length: Duration) {
        self.load[1] = load();
        self.length = length;
    }

    fn figure(&self, store: Store, section: Section, name: &str) -> Option<&Figure> {
        let mut figures = self.figures.iter().filter(|(of, _)| *of == store).map(|(_, figure)| figure);
        figures.find(|figure| figure.section == section && figure.name == name)
    }

    /// The figures of a section, each store's under the same name in one row; None if it was not measured.
    fn table(&self, section: Section) -> Option<String> {
        let mut names: Vec<&str> = Vec::new();
        for (_, figure) in self.figures.iter().filter(|(_, figure)| figure.section == section) {
            if !names.contains(&figure.name.as_str()) {
                names.push(&figure.name);
            }
        }
        let of = |store, name: &str| self.figure(store, section, name);
        let row = |name: &str| figure::row(name, of(Store::Queue, name), of(Store::SetAndHash, name));
        let mut rows: Vec<_> = names.into_iter().map(row).collect();
        let others = if section == Section::Many { "sorted set" } else { "sorted set + hash" };
        let mut head = text::owned(&["", "job queue", others, "ratio"]);
        if section == Section::Details {
            rows.iter_mut().chain([&mut head]).for_each(|cells| cells.truncate(2));
        }
        (!rows.is_empty()).then(|| text::table(&head, &rows))
    }
}

/// The whole page, in Markdown.
pub fn page(options: &Options, findings: &Findings) -> String {
    let mut sections = vec![head(options, findings)];
    if let Ok(remarks) = std::fs::read_to_string(REMARKS) {
        sections.push(format!("## What stands out\n\n{}\n", remarks.trim()));
    }
    sections.push(format!("## How it is measured\n\n{}", method(options)));
    let large = [
        (Section::Memory, "Memory", MEMORY),
        (Section::Speed, "Jobs a second", SPEED),
        (Section::Snapshot, "RDB files", SNAPSHOT),
        (Section::Rewrite, "The append-only file", REWRITE),
        (Section::Loading, "After a restart", LOADING),
    ];
    let told = |(section, title, text): (Section, &str, &str)| {
        Some(format!("## {title}\n\n{text}\n{}", findings.table(section)?))
    };
    sections.extend(large.into_iter().filter_map(told));
    sections.extend(operations(&findings.operations));
    sections.extend(many(options, findings));
    sections.extend(
        findings.table(Section::Details).map(|table| format!("## The queue alone\n\n{DETAILS}\n{table}")),
    );
    sections.join("\n")
}

const MEMORY: &str = "\
What the server has after the filling more than before it, divided by the number of jobs.
";

const SPEED: &str = "\
While so many jobs are present. Pushes are jobs that are not due; claims take what was pushed at random times before. A claim
of the sorted set is a script that hands out id and message, with a lease a script over four keys; its push is ZADD and HSET,
sent together.
";

const SNAPSHOT: &str = "\
Under load the server is given a batch each 10 ms, and copies what parent or child would change for both. A change is a job pushed
or claimed.
";

const REWRITE: &str = "\
With an RDB at its beginning (`aof-use-rdb-preamble yes`, the default) and as commands (`no`).
";

const LOADING: &str = "\
From the start of the process to the first PING that is not answered by LOADING; the files had been written a moment before,
so they come from the page cache. Then one connection claims job after job, a round trip each, beginning with the very next
request.
";

const MANY: &str = "\
A job queue of one job with an id that the server makes and a 32-byte message, against a sorted set whose one member is that
message (which Redis keeps in its compact form), under the same names. A queue stays when its last job leaves, a sorted set
goes. Pipeline 16, 20 connections; claims of the sorted set are a script with ZRANGEBYSCORE and ZREM.
";

const DETAILS: &str = "\
Single numbers that the documentation names. Costs of small commands are the means of 1,000 calls, by the server's own account
(`INFO commandstats`). Bytes a job are the growth of `used_memory`, with a UUID as id and a 32-byte message (68 bytes together).
";

fn head(options: &Options, findings: &Findings) -> String {
    let quick = text::smoke_test(options.quick);
    let Findings { machine, load: [before, after], length, .. } = findings;
    format!(
        "# How large\n\n\
         `make bench-sizes` writes this page; write into `{REMARKS}` what it is to say about the numbers.\n{quick}\n\
         - Command: `{}`\n- Server: {}\n- Module: {}\n- Processor: {}\n- Cores: {}\n\
         - Load of the machine before and after: {before}, {after}\n- The run took {} s\n",
        options.command(),
        machine.server,
        machine.module,
        machine.processor,
        machine.pinning,
        length.as_secs(),
    )
}

fn method(options: &Options) -> String {
    format!(
        "\
- {} jobs with UUIDs as ids and 32-byte messages, one in ten due, at distinct random milliseconds. The two stores come one
  after the other, each with a server of its own: a job queue, and a sorted set of ids with a hash of messages.
- Each goes through the same life: filled; jobs a second; BGSAVE; killed and restarted with the RDB; AOF rewritten; restarted with
  that AOF; AOF rewritten as commands; UNLINK; restarted with these commands; DEL. After each step the jobs are counted.
- Where something was repeated, the number is the median (lowest..highest). The ratio is the queue's number to the other one, of
  the medians.
- The server has one core. What it forks has the client's core, which has little else to do then: \"under load\" it sends {}
  pushes and as many claims a second, in one batch each 10 ms. `hz` is 100, so that the end of a child is seen within 10 ms.
- Times are the clock's. CPU, of the server's main thread or of its children, tells more where others use the machine.
- All files are written with the server's default settings (compressed, with checksums).
",
        text::grouped(options.jobs as u64),
        text::grouped(saving::load_per_second()),
    )
}

fn operations(all: &[Operation]) -> Option<String> {
    let head = text::owned(&[
        "milliseconds",
        "times",
        "round trip",
        "memory back after",
        "PING p50",
        "PING p99",
        "PING max",
        "max less waits for a core",
    ]);
    let mut all: Vec<&Operation> = all.iter().collect();
    // What was done to both stores: one below the other.
    all.sort_by_key(|operation| operation.freed_after.map(|_| &operation.command));
    let rows: Vec<_> = all.into_iter().map(operation_row).collect();
    let page = || {
        format!(
            "## What operators do\n\n\
             On the whole store, while a second connection sends a PING each millisecond. Threads that free memory share the\n\
             server's core, which is what the last column leaves out. Memory is back when a fifth of it is left. PURGE removes due\n\
             jobs.\n\n{}",
            text::table(&head, &rows)
        )
    };
    (!rows.is_empty()).then(page)
}

fn operation_row(operation: &Operation) -> Vec<String> {
    let milliseconds = |time: Duration| text::decimal(time.as_secs_f64() * 1e3);
    let lengths = Spread::of(operation.lengths.iter().map(|length| length.as_secs_f64() * 1e3));
    let times = operation.lengths.len();
    let length = match times {
        1 => text::median(lengths, text::decimal),
        _ => text::spread(lengths, text::decimal),
    };
    let mut cells = vec![
        format!("{}, {}", operation.command, operation.store.name()),
        times.to_string(),
        length,
        operation.freed_after.map_or("-".to_string(), milliseconds),
    ];
    cells.extend(operation.probe.round_trip_ms.map(text::decimal));
    cells.push(text::decimal(operation.probe.undisturbed_ms));
    cells
}

fn many(options: &Options, findings: &Findings) -> Option<String> {
    let waits: Vec<&Row> = findings.waits.iter().collect();
    let queues = text::grouped(options.queues as u64);
    let table = findings.table(Section::Many)?;
    let told = format!(
        "One waiter each (`DQ.CLAIM ... LEASE ... BLOCK 0`) for {} queues, whose jobs come due at random times within {} s; the\n\
         other queues' jobs are due tomorrow. Measured as in [wake.md](wake.md).",
        text::grouped(options.waited as u64),
        options.waiting_ms / 1_000,
    );
    Some(format!(
        "## Very many queues\n\n{queues} of each.\n\n{MANY}\n{table}\n{told}\n\n{}",
        lateness_table(&waits)
    ))
}
