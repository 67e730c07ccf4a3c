//! The few numbers in which many measurements are told.

/// The middle of some values, and how far they lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

impl Spread {
    /// Sums up the values; None if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let upper = *sorted.get(sorted.len() / 2)?;
        let lower = *sorted.get((sorted.len() - 1) / 2)?;
        Some(Spread { median: (lower + upper) / 2.0, low: *sorted.first()?, high: *sorted.last()? })
    }
}

/// The value below which this share of the sorted values lies.
pub fn percentile(sorted: &[u32], share: f64) -> u32 {
    let rank = (sorted.len() as f64 * share).ceil().max(1.0) as usize;
    sorted.get(rank - 1).or(sorted.last()).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Spread, percentile};

    #[test]
    fn a_spread_has_the_middle_and_both_ends() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Some(Spread { median: 2.0, low: 1.0, high: 3.0 }));
        assert_eq!(Spread::of([1.0, 2.0]).map(|spread| spread.median), Some(1.5));
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let sorted: Vec<u32> = (1..=100).collect();
        assert_eq!([0.5, 0.99, 1.0].map(|share| percentile(&sorted, share)), [50, 99, 100]);
        assert_eq!(percentile(&[], 0.5), 0);
    }
}
