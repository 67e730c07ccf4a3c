//! Target `effects`: the words of DQ.APPLY as any client may send them.
//!
//! An input is commands, one a line, of words between single spaces. In a word `\xNN`, `\n`, `\r`, `\t` and `\\` are bytes,
//! and `''` is the empty word: the notation of the golden file.

use dq_engine::effect::{Effects, parse};
use dq_engine::error::EffectFault;
use dq_engine::queue::Queue;

use crate::random::aftermath::use_up;
use crate::random::chunks::{loaded, stored};
use crate::random::words::{borrowed, words_of};

/// Applies the commands of `input` one after the other. Each is refused with nothing changed, or leaves a sound queue;
/// what was understood is written in words that are understood alike. At the end all of the queue can be used up.
pub fn run(input: &[u8]) {
    let mut queue = Queue::default();
    for line in input.split(|&byte| byte == b'\n') {
        let words: Vec<Vec<u8>> = line.split(|&byte| byte == b' ').map(unescaped).collect();
        let before = stored(&queue);
        match apply(&mut queue, &words) {
            Ok(()) => assert_eq!(queue.check(), Ok(())),
            Err(_) => assert_eq!(stored(&queue), before, "refused, and changed all the same"),
        }
    }
    assert_eq!(stored(&loaded(&stored(&queue))), stored(&queue));
    use_up(queue);
}

fn apply(queue: &mut Queue, words: &[Vec<u8>]) -> Result<(), String> {
    let words = borrowed(words);
    let effects = parse(&words).map_err(|fault: EffectFault| fault.to_string())?;
    let written = words_of(&Effects(effects.clone().into()));
    assert_eq!(parse(&borrowed(&written)).as_ref(), Ok(&effects));
    queue.apply(&effects).map_err(|refusal| refusal.to_string())
}

fn unescaped(word: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((&first, behind)) = rest.split_first() {
        let (byte, left) = match behind {
            _ if rest == b"''" => return bytes,
            [b'x', high, low, left @ ..] if first == b'\\' => (hex(*high) << 4 | hex(*low), left),
            [b'n', left @ ..] if first == b'\\' => (b'\n', left),
            [b'r', left @ ..] if first == b'\\' => (b'\r', left),
            [b't', left @ ..] if first == b'\\' => (b'\t', left),
            [b'\\', left @ ..] if first == b'\\' => (b'\\', left),
            left => (first, left),
        };
        bytes.push(byte);
        rest = left;
    }
    bytes
}

/// The value of a hexadecimal digit; any other byte has one too, since nothing here may depend on sound input.
fn hex(digit: u8) -> u8 {
    char::from(digit).to_digit(16).unwrap_or(u32::from(digit & 0xf)) as u8
}
