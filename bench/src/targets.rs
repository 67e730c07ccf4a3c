//! What is compared with what, what we aim at, and whether it was reached.

use crate::contestant::name;
use crate::field::Store;
use crate::growth::{Growth, LONG};
use crate::memory::Memory;
use crate::report::Findings;
use crate::statistics::Spread;
use crate::text;
use crate::throughput::{Cell, Ratio, Results};

/// The pipeline at which targets hold.
const PIPELINE: usize = 16;
/// The share of its speed that a contestant keeps when the population grows from the smallest to the largest.
const KEPT_SPEED: f64 = 0.6;
/// Bytes a job beyond its id and message.
const OVERHEAD_BYTES: f64 = 96.0;

/// Two contestants that do the same thing for a user.
pub struct Comparison {
    /// Ours.
    pub ours: &'static str,
    /// What it is measured against.
    pub theirs: &'static str,
    /// How many times as fast ours should be, if that was ever said.
    pub aim: Option<f64>,
}

/// All comparisons.
pub const COMPARISONS: [Comparison; 16] = [
    Comparison { ours: name::NO_OP, theirs: name::PING, aim: Some(0.8) },
    Comparison { ours: name::PUSH, theirs: name::ZADD, aim: Some(1.5) },
    Comparison { ours: name::PUSH_ID, theirs: name::ZADD, aim: Some(1.5) },
    Comparison { ours: name::PUSH_ID, theirs: name::ZADD_HSET, aim: None },
    Comparison { ours: name::MPUSH, theirs: name::ZADD_100, aim: None },
    Comparison { ours: name::CLAIM, theirs: name::ZPOPMIN, aim: Some(1.0) },
    Comparison { ours: name::CLAIM, theirs: name::LUA_CLAIM, aim: Some(2.5) },
    Comparison { ours: name::CLAIM_100, theirs: name::ZPOPMIN_100, aim: Some(1.0) },
    Comparison { ours: name::CLAIM_MEMBER, theirs: name::LUA_CLAIM, aim: Some(2.5) },
    Comparison { ours: name::CLAIM_MEMBER, theirs: name::ZPOPMIN, aim: Some(0.9) },
    Comparison { ours: name::CLAIM_MEMBERS, theirs: name::LUA_CLAIM_100, aim: Some(2.5) },
    Comparison { ours: name::CLAIM_MEMBERS, theirs: name::ZPOPMIN_100, aim: Some(0.9) },
    Comparison { ours: name::MOVE_MEMBERS, theirs: name::LUA_MOVE, aim: Some(2.5) },
    Comparison { ours: name::MOVE_MEMBERS, theirs: name::PLAIN_MOVE, aim: None },
    Comparison { ours: name::LEASE, theirs: name::LUA_LEASE, aim: Some(3.0) },
    Comparison { ours: name::LEASE, theirs: name::LUA_LEASE_PLAIN_ACK, aim: None },
];

/// DQ's contestants, whose speed should not suffer when the population grows.
const GROWING: [&str; 6] =
    [name::PUSH, name::PUSH_ID, name::MPUSH, name::CLAIM, name::CLAIM_100, name::LEASE];

/// The table of targets, as far as they were measured.
pub fn table(findings: &Findings) -> String {
    let mut rows = Vec::new();
    if let Some(results) = &findings.throughput {
        rows.extend(COMPARISONS.iter().filter_map(|comparison| speed_row(results, comparison)));
        rows.extend(GROWING.iter().filter_map(|name| kept_speed_row(results, name)));
    }
    rows.extend(findings.memory.as_ref().and_then(overhead_row));
    rows.extend(findings.growth.iter().flatten().find(|growth| growth.name == name::PUSH_ID).map(growth_row));
    if rows.is_empty() {
        return "Nothing of it was measured in this run.\n".to_string();
    }
    text::table(&text::owned(&["what", "aim", "this run", "by server CPU", "reached"]), &rows)
}

fn speed_row(results: &Results, comparison: &Comparison) -> Option<Vec<String>> {
    let aim = comparison.aim?;
    let by_speed = ratios(results, comparison, Cell::speed_ratio);
    if by_speed.is_empty() {
        return None;
    }
    let reached: Vec<bool> = by_speed.iter().map(|(_, spread)| spread.median >= aim).collect();
    Some(vec![
        format!("{} / {}", comparison.ours, comparison.theirs),
        format!(">= {aim:.1}"),
        told(&by_speed),
        told(&ratios(results, comparison, Cell::cpu_ratio)),
        verdict(&reached),
    ])
}

/// One ratio for each population in which both ran.
fn ratios(results: &Results, comparison: &Comparison, ratio: Ratio) -> Vec<(usize, Spread)> {
    let of_size = |size: &usize| {
        let ours = results.cell(comparison.ours, *size, PIPELINE)?;
        Some((*size, ratio(ours, results.cell(comparison.theirs, *size, PIPELINE)?)?))
    };
    results.sizes.iter().filter_map(of_size).collect()
}

fn told(ratios: &[(usize, Spread)]) -> String {
    let lines = ratios.iter().map(|(size, spread)| {
        format!("{}: {}", text::grouped(*size as u64), text::spread(Some(*spread), text::decimal))
    });
    lines.collect::<Vec<_>>().join("<br>")
}

fn kept_speed_row(results: &Results, name: &str) -> Option<Vec<String>> {
    let (small, large) = (*results.sizes.first()?, *results.sizes.last()?);
    let large_cell = results.cell(name, large, PIPELINE)?;
    let small_cell = results.cell(name, small, PIPELINE)?;
    let kept = large_cell.speed_ratio(small_cell)?;
    Some(vec![
        format!("{name}, {} / {} jobs", text::grouped(large as u64), text::grouped(small as u64)),
        format!(">= {KEPT_SPEED:.1}"),
        text::spread(Some(kept), text::decimal),
        text::spread(large_cell.cpu_ratio(small_cell), text::decimal),
        verdict(&[kept.median >= KEPT_SPEED]),
    ])
}

fn overhead_row(memory: &Memory) -> Option<Vec<String>> {
    let ours = memory.fillings.iter().filter(|filling| filling.store == Store::Queue);
    let overheads = Spread::of(ours.map(|filling| filling.overhead()))?;
    Some(vec![
        "bytes a job beyond id and message".to_string(),
        format!("<= {OVERHEAD_BYTES:.0}"),
        format!("{:.1} to {:.1}", overheads.low, overheads.high),
        String::new(),
        verdict(&[overheads.high <= OVERHEAD_BYTES]),
    ])
}

fn growth_row(growth: &Growth) -> Vec<String> {
    let [.., longest] = growth.percentiles;
    let (slow, slowest) = growth.slow_log;
    let by_server = match slow {
        0 => "none above it by the server's watch".to_string(),
        _ => format!("{slow} above it by the server's watch, up to {} ms", text::milliseconds(slowest)),
    };
    vec![
        format!("longest DQ.PUSH up to {} jobs", text::grouped(growth.count as u64)),
        format!("<= {} ms", LONG.as_millis()),
        format!("{} ms round trip; {by_server}", text::milliseconds(longest)),
        String::new(),
        verdict(&[slow == 0]),
    ]
}

fn verdict(reached: &[bool]) -> String {
    match (reached.iter().all(|yes| *yes), reached.iter().any(|yes| *yes)) {
        (true, _) => "yes",
        (false, true) => "in part",
        (false, false) => "no",
    }
    .to_string()
}
