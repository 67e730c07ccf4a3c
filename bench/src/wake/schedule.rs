//! When jobs are due.

use crate::jobs::scattered;

/// Tomorrow, seen from now.
pub const DAY_MS: u64 = 86_400_000;

/// So many times, at random within `length` milliseconds from `first` on.
pub fn random(count: usize, first: u64, length: u64) -> Vec<u64> {
    (0..count as u64).map(|number| first + scattered(number ^ first) % length).collect()
}

/// So many times one after the other, 4 to 12 ms apart: far enough for the consumer to wait again.
pub fn one_by_one(count: usize, first: u64) -> Vec<u64> {
    let mut at = first;
    let next = |number: u64| {
        at += 4 + scattered(number ^ first) % 9;
        at
    };
    (0..count as u64).map(next).collect()
}

#[cfg(test)]
mod tests {
    use super::{one_by_one, random};

    #[test]
    fn random_times_lie_within_their_span() {
        let times = random(1_000, 5_000, 100);
        assert!(times.iter().all(|at| (5_000..5_100).contains(at)));
        assert!(times.windows(2).any(|pair| pair[0] > pair[1]));
    }

    #[test]
    fn times_one_by_one_leave_a_pause() {
        let times = one_by_one(1_000, 5_000);
        assert!(times.windows(2).all(|pair| (4..=12).contains(&(pair[1] - pair[0]))));
    }
}
