//! The page `bench/wake.md`: what was found, in the order in which a reader asks.

use std::time::Duration;

use super::beanstalk;
use super::deliveries::{Lateness, Row};
use super::herd;
use super::options::Options;
use super::probe::Readings;
use super::resting;
use super::throng::{self, Throng};
use super::waking::IDLE;
use crate::machine::Machine;
use crate::statistics::Spread;
use crate::text;

/// Written by people, not by this program: where the lateness comes from.
const PROFILE: &str = "bench/wake-profile.md";

/// The column without what the machine does.
const UNDISTURBED: &str = "max less waits for a core";

/// What a run found out.
pub struct Findings {
    machine: Machine,
    load: [String; 2],
    length: Duration,
    /// The probe alone.
    pub baseline: Option<Vec<Readings>>,
    /// Ways of waiting on the server that is measured.
    pub rows: Vec<Row>,
    /// The same with beanstalkd, or why not.
    pub beanstalkd: Option<beanstalk::Outcome>,
    /// Many jobs at once.
    pub herd: Option<Vec<herd::Round>>,
    /// Many waiters on one key.
    pub throng: Option<throng::Outcome>,
    /// What waiting costs.
    pub resting: Option<Vec<resting::Round>>,
}

impl Findings {
    /// Nothing yet.
    pub fn new(machine: Machine) -> Findings {
        Findings {
            machine,
            load: [load(), String::new()],
            length: Duration::ZERO,
            baseline: None,
            rows: Vec::new(),
            beanstalkd: None,
            herd: None,
            throng: None,
            resting: None,
        }
    }

    /// The run is over and took so long.
    pub fn finish(&mut self, length: Duration) {
        self.load[1] = load();
        self.length = length;
    }

    fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }
}

/// The whole page, in Markdown.
pub fn page(options: &Options, findings: &Findings) -> String {
    let mut sections = vec![head(options, findings)];
    sections.push(format!("## What we aim at\n\n{AIMS}\n{}", aims(findings)));
    sections.push(format!("## How it is measured\n\n{METHOD}"));
    sections.extend(lateness(findings));
    sections.extend(findings.herd.as_deref().map(herd));
    sections.extend(findings.resting.as_deref().map(|rounds| resting(options, rounds)));
    sections.extend(findings.throng.as_ref().map(|outcome| throng(options, outcome)));
    sections.extend(findings.baseline.as_deref().map(baseline));
    if let Ok(profile) = std::fs::read_to_string(PROFILE) {
        sections.push(format!("## Where the lateness comes from\n\n{}\n", profile.trim()));
    }
    sections.join("\n")
}

const AIMS: &str = "\
Median of the rounds, with the lowest and the highest; what must never be is judged by the highest. PINGs are told less the time
in which server or probe waited for a core, since others may use the machine; the tables below have the whole round trips too.
";

const METHOD: &str = "\
- Lateness is the client's `CLOCK_REALTIME`, read when the whole reply is there, minus the due time that the reply names (for what
  has no due time in the reply: the one that was asked for). Server and client are on one host, so this is the clock by which
  the server judges what is due. Due times are whole milliseconds. The way back to the client and its wake-up are included.
- \"By the server's clock\" is another measurement of the same deliveries: the time that the server put into the receipt, in whole
  milliseconds (a waiter's claim is stamped so), minus the due time. The client has no part in it.
- Jobs are put before the first is due. One waiter: jobs 4 to 12 ms apart, at random, so that the waiter waits again when the
  next is due. Many: at random times. All waiters are served by one thread that sleeps in `poll`.
- A row's number is the median of the rounds (lowest..highest), a round's percentile over all its deliveries. \"Missing\" did not come
  within 5 s after the last due time, and is in no percentile.
- The poll loop: each worker asks `ZRANGEBYSCORE set -inf now LIMIT 0 100`, removes each id by a `ZREM` of its own, and sleeps 100 ms
  when there was nothing. A lost race is a `ZREM` that removed nothing. Each worker is a thread; all share the client's core.
- Key expiry: `SET key \"\" PXAT due`, `notify-keyspace-events Ex`, one subscriber.
- Beanstalkd takes delays in whole seconds. Each job is put so many seconds before it is to be due, all within the second before the
  first is due, and counts as due so many seconds after its put was sent. Its client deletes a job and reserves the next in one go.
- The probe is a thread that sends a PING each millisecond and waits for the answer. It shares the client's core. Its last column
  is the longest round trip less the time in which the server's main thread or the probe was ready to run and had no core (from the
  kernel's scheduler): what is left is the server's own work, and what the wake-ups take.
";

fn head(options: &Options, findings: &Findings) -> String {
    let quick = text::smoke_test(options.quick);
    let Findings { machine, load: [before, after], length, .. } = findings;
    format!(
        "# How late\n\n\
         `make bench-wake` writes this page; write into `{PROFILE}` what it is to say about where the lateness comes from.\n{quick}\n\
         - Command: `{}`\n- Server: {}\n- Module: {}\n- Processor: {}\n- Kernel: {}\n- Cores: {}\n\
         - Load of the machine before and after: {before}, {after}\n- Rounds: {}; the run took {} s\n",
        options.command(),
        machine.server,
        machine.module,
        machine.processor,
        read("/proc/sys/kernel/osrelease"),
        machine.pinning,
        options.rounds,
        length.as_secs(),
    )
}

fn aims(findings: &Findings) -> String {
    let mut rows = Vec::new();
    if let Some(row) = findings.row(IDLE) {
        let late = Spread::of(row.rounds.iter().map(|round| round.late_ms[1]));
        rows.push(aim("p99 of a wake, idle server", "<= 2 ms", late, |late| late.median <= 2.0));
    }
    if let Some(rounds) = &findings.herd {
        let longest = longest(rounds.iter().map(|round| &round.probe));
        rows.push(aim("longest PING in the herd", "<= 10 ms", longest, |longest| longest.high <= 10.0));
    }
    if let Some(rounds) = &findings.resting {
        let ratio = Spread::of(rounds.iter().map(|round| round.waiting / round.idle));
        let what = "server CPU, consumers waiting / none waiting";
        rows.push(aim(what, "<= 1.10", ratio, |ratio| ratio.median <= 1.1));
    }
    let ours = |throng: &&Throng| throng.name.starts_with("DQ") && throng.server.starts_with("Redis");
    for throng in findings.throng.iter().flat_map(|outcome| &outcome.throngs).filter(ours) {
        let what = format!("longest PING, many waiters, {}, {}", throng.name, version(&throng.server));
        let longest = longest(throng.rounds.iter());
        rows.push(aim(&what, "<= 20 ms", longest, |longest| longest.high <= 20.0));
    }
    rows.extend(faultless(findings));
    text::table(&text::owned(&["what", "aim", "this run", "reached"]), &rows)
}

fn aim(what: &str, aim: &str, found: Option<Spread>, is_reached: impl Fn(Spread) -> bool) -> Vec<String> {
    let reached = found.map_or("-", |found| if is_reached(found) { "yes" } else { "no" });
    let told = found.map_or("-".to_string(), told);
    text::owned(&[what, aim, &told, reached])
}

/// Each job once, none before its time: over all that our own waiters were to get.
fn faultless(findings: &Findings) -> Option<Vec<String>> {
    let rows = findings.rows.iter().filter(|row| row.name.starts_with("DQ")).flat_map(|row| &row.rounds);
    let herd = findings.herd.iter().flatten().map(|round| &round.lateness);
    let all: Vec<&Lateness> = rows.chain(herd).collect();
    let sum = |count: fn(&Lateness) -> usize| all.iter().map(|lateness| count(lateness)).sum::<usize>();
    let faults = [sum(|l| l.missing), sum(|l| l.doubled), sum(|l| l.early)];
    let jobs = text::grouped(sum(|l| l.jobs) as u64);
    let [missing, doubled, early] = faults;
    let told = format!("{missing} missing, {doubled} doubled, {early} early of {jobs}");
    let reached = if faults == [0; 3] { "yes" } else { "no" };
    (!all.is_empty()).then(|| text::owned(&["each job once, none early", "0", &told, reached]))
}

fn lateness(findings: &Findings) -> Option<String> {
    let beanstalkd = findings.beanstalkd.as_ref();
    let measured = beanstalkd.and_then(|outcome| outcome.as_ref().ok());
    let all: Vec<&Row> = findings.rows.iter().chain(measured.into_iter().flatten()).collect();
    let remarks = all.iter().filter(|row| !row.note.is_empty());
    let mut lines: Vec<String> = remarks.map(|row| format!("- {}: {}.", row.name, row.note)).collect();
    lines.extend(beanstalkd.and_then(|outcome| outcome.as_ref().err()).map(|why| format!("- {why}.")));
    let page = || format!("## Lateness\n\n{}\n{}\n", lateness_table(&all), lines.join("\n"));
    (!all.is_empty() || !lines.is_empty()).then(page)
}

/// Ways of waiting, a row each.
pub fn lateness_table(all: &[&Row]) -> String {
    let head = text::owned(&[
        "milliseconds late",
        "jobs",
        "missing",
        "doubled",
        "early",
        "p50",
        "p99",
        "p99.9",
        "max",
        "by the server's clock: p50",
        "p99",
        "max",
    ]);
    let rows: Vec<_> = all.iter().map(|row| lateness_row(row)).collect();
    text::table(&head, &rows)
}

fn lateness_row(row: &Row) -> Vec<String> {
    let sum = |count: fn(&Lateness) -> usize| {
        text::grouped(row.rounds.iter().map(|lateness| count(lateness) as u64).sum())
    };
    let mut cells = vec![
        row.name.clone(),
        sum(|lateness| lateness.jobs),
        sum(|lateness| lateness.missing),
        sum(|lateness| lateness.doubled),
        sum(|lateness| lateness.early),
    ];
    cells.extend((0..4).map(|place| numbers(row.rounds.iter().map(|round| round.late_ms[place]))));
    let by_server = |place: usize| {
        let rounds = row.rounds.iter().filter_map(|round| round.by_server_ms);
        text::median(Spread::of(rounds.map(|late| f64::from(late[place]))), text::whole)
    };
    cells.extend([0, 1, 3].map(by_server));
    cells
}

fn herd(rounds: &[herd::Round]) -> String {
    let jobs = rounds.first().map_or(0, |round| round.lateness.jobs);
    let sum = |count: fn(&Lateness) -> usize| {
        rounds.iter().map(|round| count(&round.lateness)).sum::<usize>().to_string()
    };
    let drained = numbers(rounds.iter().map(|round| round.drained_ms));
    let fields =
        ["drained after", "missing", "doubled", "early", "PING p50", "PING p99", "PING max", UNDISTURBED];
    let mut cells = vec![drained, sum(|l| l.missing), sum(|l| l.doubled), sum(|l| l.early)];
    cells.extend(probe_cells(rounds.iter().map(|round| &round.probe)));
    format!(
        "## Many jobs due in one millisecond\n\n{} jobs, waiters that claim up to 100 each; milliseconds. The probe begins half a \
         second before and ends\nwith the last delivery.\n\n{}",
        text::grouped(jobs as u64),
        text::table(&text::owned(&fields), &[cells])
    )
}

fn resting(options: &Options, rounds: &[resting::Round]) -> String {
    let (queues, consumers) = (options.sizes.queues, options.sizes.consumers);
    let rows: Vec<_> = rounds
        .iter()
        .zip(1..)
        .map(|(round, number)| {
            let ratio = text::decimal(round.waiting / round.idle);
            vec![number.to_string(), text::decimal(round.waiting), text::decimal(round.idle), ratio]
        })
        .collect();
    let head = text::owned(&["round", "consumers waiting", "none waiting", "ratio"]);
    format!(
        "## What waiting costs\n\n\
         Milliseconds of CPU a second, of all the server's threads, in its code and in the kernel (from the kernel's scheduler, to\n\
         the nanosecond), on two servers at the same time on the same core. Both have the module, {} queues with a job due\n\
         tomorrow and {consumers} connections; on one of them each connection waits without a limit, each for another queue. A round\n\
         has {} s; the rounds follow each other without a pause.\n\n{}",
        text::grouped(queues as u64),
        options.sizes.rest.as_secs(),
        text::table(&head, &rows)
    )
}

fn throng(options: &Options, outcome: &throng::Outcome) -> String {
    let rows: Vec<_> = outcome
        .throngs
        .iter()
        .map(|throng| {
            let mut cells = vec![format!("{}, {}", version(&throng.server), throng.name)];
            cells.extend(probe_cells(throng.rounds.iter()));
            cells
        })
        .collect();
    let absent = match outcome.absent.as_slice() {
        [] => String::new(),
        absent => format!("\nNot there, so not measured (`make servers`): {}.\n", absent.join(", ")),
    };
    let head = text::owned(&["milliseconds", "PING p50", "PING p99", "PING max", UNDISTURBED]);
    format!(
        "## Many waiters on one key\n\n\
         {} clients wait for one key, without a limit, and {} jobs come one by one, 2 ms after the last one was delivered; who\n\
         was served waits again. A probe meanwhile. BLPOP is the server's own.\n\n{}{absent}",
        text::grouped(options.sizes.throng as u64),
        text::grouped(options.sizes.throng_jobs as u64),
        text::table(&head, &rows)
    )
}

fn baseline(rounds: &[Readings]) -> String {
    let head = text::owned(&["PINGs", "PING p50", "PING p99", "PING max", UNDISTURBED]);
    let count: usize = rounds.iter().map(|readings| readings.count).sum();
    let mut cells = vec![text::grouped(count as u64)];
    cells.extend(probe_cells(rounds.iter()));
    format!(
        "## The probe alone\n\nThe same probe on an idle server: what the machine alone does; milliseconds.\n\n{}",
        text::table(&head, &[cells])
    )
}

fn probe_cells<'a>(rounds: impl Iterator<Item = &'a Readings> + Clone) -> Vec<String> {
    let round_trip = |place: usize| numbers(rounds.clone().map(|readings| readings.round_trip_ms[place]));
    let mut cells: Vec<String> = (0..3).map(round_trip).collect();
    cells.push(numbers(rounds.map(|readings| readings.undisturbed_ms)));
    cells
}

fn longest<'a>(rounds: impl Iterator<Item = &'a Readings>) -> Option<Spread> {
    Spread::of(rounds.map(|readings| readings.undisturbed_ms))
}

fn numbers(values: impl Iterator<Item = f64>) -> String {
    Spread::of(values).map_or("-".to_string(), told)
}

/// Median and ends; one number alone if they are the same.
fn told(spread: Spread) -> String {
    if spread.low == spread.high {
        return text::decimal(spread.median);
    }
    text::spread(Some(spread), text::decimal)
}

/// A server's name without its allocator.
fn version(server: &str) -> &str {
    server.split(" (").next().unwrap_or(server)
}

/// The load of the machine, of the last minute.
pub fn load() -> String {
    read("/proc/loadavg").split(' ').next().unwrap_or_default().to_string()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::{aim, told};
    use crate::statistics::Spread;

    #[test]
    fn an_aim_is_reached_or_not_by_what_was_found() {
        let reached = |values: [f64; 2]| {
            let row = aim("PING", "<= 10 ms", Spread::of(values), |found| found.high <= 10.0);
            row.last().cloned()
        };
        assert_eq!(reached([1.0, 10.0]).as_deref(), Some("yes"));
        assert_eq!(reached([1.0, 10.1]).as_deref(), Some("no"));
    }

    #[test]
    fn one_round_is_told_as_one_number() {
        assert_eq!(Spread::of([1.0]).map(told).as_deref(), Some("1.00"));
        assert_eq!(Spread::of([1.0, 2.0]).map(told).as_deref(), Some("1.50 (1.00..2.00)"));
    }
}
