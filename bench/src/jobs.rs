//! Made-up jobs: always the same ones, all different, in no order.

/// A job's id in bytes: the length of a UUID as text.
pub const ID_BYTES: usize = 36;

/// The earliest due time of a job that is not due: in the year 2033.
const FAR_MS: u64 = 2_000_000_000_000;
/// The earliest due time of a job that is due: in the year 2020.
const PAST_MS: u64 = 1_600_000_000_000;

/// When jobs are due.
#[derive(Clone, Copy)]
pub enum Due {
    /// In some years, at a random millisecond of 49 days.
    Far,
    /// Some years ago, at a random millisecond of 49 days.
    Now,
}

/// What ids look like.
#[derive(Clone, Copy)]
pub enum Ids {
    /// UUIDs as text.
    Uuid,
    /// Any other text, of the same length.
    Other,
}

/// One job, as words of a request.
pub struct Job {
    /// The id.
    pub id: String,
    /// The due time, 13 digits.
    pub at: String,
    /// The message.
    pub message: Vec<u8>,
}

/// Makes jobs; ids and due times never repeat within a run.
pub struct JobSource {
    made: u64,
    ids: Ids,
    message_bytes: usize,
}

impl JobSource {
    /// A source of jobs with this kind of id and this length of message.
    pub fn new(ids: Ids, message_bytes: usize) -> JobSource {
        JobSource { made: 0, ids, message_bytes }
    }

    /// Makes so many more.
    pub fn take(&mut self, count: usize, due: Due) -> Vec<Job> {
        (0..count).map(|_| self.next(due)).collect()
    }

    /// Makes one more.
    pub fn next(&mut self, due: Due) -> Job {
        self.made += 1;
        let first_ms = match due {
            Due::Far => FAR_MS,
            Due::Now => PAST_MS,
        };
        Job {
            id: id(self.ids, self.made),
            at: (first_ms + shuffled(self.made)).to_string(),
            message: message(self.made, self.message_bytes),
        }
    }
}

/// Maps 0..2^32 onto itself without order: each step can be undone, so no two numbers meet.
fn shuffled(number: u64) -> u64 {
    let number = u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0);
    let number = (number ^ (number >> 16)).wrapping_mul(0x7feb_352d);
    let number = (number ^ (number >> 15)).wrapping_mul(0x846c_a68b);
    u64::from(number ^ (number >> 16))
}

/// The same for 64 bits.
pub fn scattered(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

fn id(ids: Ids, number: u64) -> String {
    let (high, low) = (scattered(number), scattered(!number));
    match ids {
        Ids::Uuid => format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | (low >> 50),
            low & 0xffff_ffff_ffff
        ),
        Ids::Other => format!("order.{high:030}"),
    }
}

fn message(number: u64, bytes: usize) -> Vec<u8> {
    let block = format!("{:016x}{:016x}", scattered(number), number);
    block.into_bytes().into_iter().cycle().take(bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::{Due, ID_BYTES, Ids, JobSource};
    use std::collections::HashSet;

    #[test]
    fn ids_and_times_are_distinct_and_of_one_length() {
        for kind in [Ids::Uuid, Ids::Other] {
            let jobs = JobSource::new(kind, 32).take(100_000, Due::Far);
            assert!(jobs.iter().all(|job| job.id.len() == ID_BYTES && job.at.len() == 13));
            assert!(jobs.iter().all(|job| job.message.len() == 32));
            let ids: HashSet<_> = jobs.iter().map(|job| &job.id).collect();
            let times: HashSet<_> = jobs.iter().map(|job| &job.at).collect();
            assert_eq!((ids.len(), times.len()), (jobs.len(), jobs.len()));
        }
    }
}
