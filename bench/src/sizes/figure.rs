//! One thing that was measured on a store, as a row of the page shows it.

use std::time::Duration;

use crate::statistics::Spread;
use crate::text;

/// Where on the page a figure stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Bytes a job.
    Memory,
    /// Jobs a second.
    Speed,
    /// Saving to an RDB file, and the fork.
    Snapshot,
    /// Rewriting the append-only file, and the fork.
    Rewrite,
    /// Restarts, and what works right after them.
    Loading,
    /// Very many stores of one job each.
    Many,
    /// The queue alone: what commands and states cost.
    Details,
}

/// A name and the values that were found, one a round.
pub struct Figure {
    /// Where it stands.
    pub section: Section,
    /// What was measured, with its unit.
    pub name: String,
    values: Vec<f64>,
    form: fn(f64) -> String,
}

impl Figure {
    /// Whole numbers, with their thousands grouped.
    pub fn whole(section: Section, name: &str, values: impl IntoIterator<Item = f64>) -> Figure {
        Figure { section, name: name.to_string(), values: values.into_iter().collect(), form: text::whole }
    }

    /// Numbers with two decimals.
    pub fn decimal(section: Section, name: &str, values: impl IntoIterator<Item = f64>) -> Figure {
        Figure { section, name: name.to_string(), values: values.into_iter().collect(), form: text::decimal }
    }

    /// Bytes, told in millions of them.
    pub fn megabytes(section: Section, name: &str, values: impl IntoIterator<Item = f64>) -> Figure {
        Figure::decimal(section, name, values.into_iter().map(|bytes| bytes / 1e6))
    }

    /// Times, told in seconds.
    pub fn seconds(section: Section, name: &str, times: impl IntoIterator<Item = Duration>) -> Figure {
        Figure::decimal(section, name, times.into_iter().map(|time| time.as_secs_f64()))
    }

    /// Times, told in milliseconds.
    pub fn milliseconds(section: Section, name: &str, times: impl IntoIterator<Item = Duration>) -> Figure {
        Figure::decimal(section, name, times.into_iter().map(|time| time.as_secs_f64() * 1e3))
    }

    /// The median, with the ends where they differ; a dash for nothing.
    pub fn told(&self) -> String {
        match self.spread() {
            Some(spread) if spread.low == spread.high => (self.form)(spread.median),
            spread => text::spread(spread, self.form),
        }
    }

    /// The median as so many times the other one's.
    pub fn ratio(&self, other: &Figure) -> Option<f64> {
        let (ours, theirs) = (self.spread()?.median, other.spread()?.median);
        (theirs > 0.0).then(|| ours / theirs)
    }

    fn spread(&self) -> Option<Spread> {
        Spread::of(self.values.iter().copied())
    }
}

/// The row of a figure: its name, ours, theirs, and how many times theirs ours is.
pub fn row(name: &str, ours: Option<&Figure>, theirs: Option<&Figure>) -> Vec<String> {
    let told = |figure: Option<&Figure>| figure.map_or("-".to_string(), Figure::told);
    let ratio = ours.zip(theirs).and_then(|(ours, theirs)| ours.ratio(theirs));
    vec![name.to_string(), told(ours), told(theirs), ratio.map_or("-".to_string(), text::decimal)]
}

#[cfg(test)]
mod tests {
    use super::{Figure, Section, row};

    fn figure(values: &[f64]) -> Figure {
        Figure::decimal(Section::Memory, "bytes", values.iter().copied())
    }

    #[test]
    fn a_row_tells_both_stores_and_the_ratio_of_their_medians() {
        let (ours, theirs) = (figure(&[1.0, 4.0, 2.0]), figure(&[8.0]));
        let told = row("bytes", Some(&ours), Some(&theirs));
        assert_eq!(told, ["bytes", "2.00 (1.00..4.00)", "8.00", "0.25"]);
    }

    #[test]
    fn what_one_store_alone_has_gets_no_ratio() {
        assert_eq!(row("bytes", Some(&figure(&[3.0])), None), ["bytes", "3.00", "-", "-"]);
        assert_eq!(figure(&[3.0]).ratio(&figure(&[0.0])), None);
        assert_eq!(figure(&[]).told(), "-");
    }
}
