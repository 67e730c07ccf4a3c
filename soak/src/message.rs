//! Messages that tell which job they belong to, and whether they were altered.
//!
//! `<serial>:<version>:` and then bytes that follow from both, so that a consumer can compute the whole message.

use crate::event::Queue;
use crate::harness::random::Random;

/// The message of this version of this job. Those of `Mail` are of any bytes, the others of letters.
pub fn of(queue: Queue, serial: u64, version: u32) -> Vec<u8> {
    let mut message = format!("{serial}:{version}:").into_bytes();
    let mut random = Random::seeded(serial * 1000 + u64::from(version));
    let length = if random.below(50) == 0 { 3000 } else { random.below(60) };
    let filler = random.bytes(length as usize);
    if queue == Queue::Mail {
        message.extend(filler);
    } else {
        message.extend(filler.iter().map(|byte| b'a' + byte % 26));
    }
    message
}

/// The serial and version of a message, or of a job in JSON, if it has some.
pub fn read(message: &[u8]) -> Option<(u64, u32)> {
    let inner = find(message, b"\"msg\":\"").map_or(message, |at| &message[at..]);
    let mut parts = inner.splitn(3, |byte| *byte == b':');
    let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse::<u64>().ok();
    let (serial, version) = (number()?, number()?);
    Some((serial, u32::try_from(version).ok()?))
}

/// Where `bytes` end in `text`.
fn find(text: &[u8], bytes: &[u8]) -> Option<usize> {
    text.windows(bytes.len()).position(|window| window == bytes).map(|at| at + bytes.len())
}

#[cfg(test)]
mod tests {
    use super::{of, read};
    use crate::event::Queue;

    #[test]
    fn a_message_tells_its_job_and_is_always_the_same() {
        for queue in Queue::ALL {
            assert_eq!(read(&of(queue, 17, 3)), Some((17, 3)));
            assert_eq!(of(queue, 17, 3), of(queue, 17, 3));
            assert_ne!(of(queue, 17, 3), of(queue, 17, 4));
        }
        assert_eq!(read(b"{\"id\":\"j5\",\"msg\":\"5:0:abc\",\"attempt\":1,\"due\":2}"), Some((5, 0)));
        assert_eq!(read(b"hello"), None);
    }
}
