//! What a queue of doubtful origin must still be able to do. Used where strangers' bytes became a queue.

use dq_engine::effect::{Effects, parse};
use dq_engine::job::State;
use dq_engine::queue::{Queue, Retry};
use dq_engine::time::{Millis, UnixMs};
use dq_engine::timeline::Key;

use super::chunks::{loaded, stored};
use super::perform::{Book, perform};
use super::rich::MADE;
use super::words::{borrowed, words_of};
use super::{Op, Pick, Twist};

/// Does everything that goes through all jobs; a replica must be able to follow.
pub fn use_up(mut queue: Queue) {
    let mut replica = loaded(&stored(&queue));
    let (now, mut book) = (UnixMs(MADE.0 + 1_000_000_000_000), Book::default());
    let pick = |back| Pick { back, twist: Twist::None };
    let ops = [
        Op::Tidy,
        Op::Claim { count: 3, bytes: usize::MAX, lease: Some(Millis(5)), token: 1 },
        Op::Nack { pick: pick(0), how: Retry::Backoff { draw: 0 }, error: Some(vec![b'e']) },
        Op::Extend { pick: pick(1), lease: Millis(50) },
        Op::Ack(pick(2)),
        Op::Redrive { delay: Millis(0), count: 3 },
        Op::Resume,
        Op::Claim { count: usize::MAX, bytes: usize::MAX, lease: Some(Millis(5)), token: 1 },
        Op::Purge { state: State::Claimed, count: usize::MAX },
        Op::Move { count: usize::MAX, bytes: usize::MAX, ahead: 1 << 40, conflicts: 0x55 },
        Op::Purge { state: State::Dead, count: usize::MAX },
    ];
    for op in &ops {
        let mut effects = Effects::default();
        book.note(&perform(&mut queue, now.0, op, &book, &mut effects));
        let words = words_of(&effects);
        if !effects.is_empty() {
            replica.apply(&parse(&borrowed(&words)).expect("effects are understood")).expect("effects fit");
        }
        let info = queue.info(now);
        assert_eq!(info.census.waiting + info.census.claimed + info.census.dead, queue.len(now));
        assert_eq!(queue.walk(State::Waiting, Key::FIRST, now).count(), info.census.waiting);
        assert_eq!(queue.check(), Ok(()));
    }
    assert_eq!(stored(&queue), stored(&replica));
}
