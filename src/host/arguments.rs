//! The arguments of a command that this module sends: to replicas and the AOF, or to the server itself.
//!
//! Making a string costs as much as a step in the queue. So words that stand in every effect are made once, and what
//! the running command was itself given, such as a long message, is passed on as it is.

use std::sync::atomic::{AtomicPtr, Ordering};

use dq_engine::effect::{WORDS, Word, Words};
use redis_module::raw;
use smallvec::SmallVec;

use super::sorted_set::Member;
use super::text::{OwnedText, Text};

/// Numbers below this are made once.
const SMALL_NUMBERS: usize = 16;
/// How many of the given words are looked at to find one again.
const LOOK_AHEAD: usize = 8;

type Shared = AtomicPtr<raw::RedisModuleString>;

static SHARED_WORDS: [Shared; WORDS.len()] = [const { AtomicPtr::new(std::ptr::null_mut()) }; WORDS.len()];
static SHARED_NUMBERS: [Shared; SMALL_NUMBERS] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; SMALL_NUMBERS];

/// A list of arguments.
#[derive(Default)]
pub struct Arguments<'a> {
    raw: SmallVec<[*mut raw::RedisModuleString; 16]>,
    /// Those of them that must be freed.
    owned: SmallVec<[OwnedText; 8]>,
    /// What the running command was given, after the last word that was found again.
    given: &'a [Text],
}

impl<'a> Arguments<'a> {
    /// Begins a list with an argument that was received, such as a key. `given` are the words of the running command,
    /// in the order in which they are likely to be passed on.
    #[must_use]
    pub fn new(first: Text, given: &'a [Text]) -> Self {
        let mut arguments = Arguments { given, ..Arguments::default() };
        arguments.raw.push(first.0);
        arguments
    }

    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if let Some(text) = self.given_again(bytes) {
            self.raw.push(text.0);
            return;
        }
        let text = OwnedText::new(bytes);
        self.raw.push(text.0);
        self.owned.push(text);
    }

    /// Adds a member of a sorted set, which must be kept until the arguments were used.
    pub fn member(&mut self, member: &'a Member) {
        self.raw.push(member.text.0);
    }

    /// Returns how many arguments there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.raw.len()
    }

    /// Puts other bytes in the place of the argument at `index`, if there is one.
    pub fn replace(&mut self, index: usize, bytes: &[u8]) {
        let text = OwnedText::new(bytes);
        if let Some(place) = self.raw.get_mut(index) {
            *place = text.0;
            self.owned.push(text);
        }
    }

    pub(super) fn raw(&self) -> &[*mut raw::RedisModuleString] {
        &self.raw
    }

    /// Finds a given word of the same bytes among the next few. Of a long list, what was passed over is not looked at
    /// again.
    fn given_again(&mut self, bytes: &[u8]) -> Option<Text> {
        let is_same = |text: &Text| std::ptr::eq(text.bytes(), bytes) || text.bytes() == bytes;
        let at = self.given.iter().take(LOOK_AHEAD).position(is_same)?;
        let found = self.given.get(at).copied();
        if self.given.len() > LOOK_AHEAD {
            self.given = self.given.get(at + 1..).unwrap_or_default();
        }
        found
    }
}

impl Words for Arguments<'_> {
    fn word(&mut self, word: Word) {
        if let Some(place) = SHARED_WORDS.get(word as usize) {
            self.raw.push(shared(place, word.as_str().as_bytes()));
        }
    }

    fn text(&mut self, bytes: &[u8]) {
        self.bytes(bytes);
    }

    fn number(&mut self, number: u64) {
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(number).as_bytes();
        match usize::try_from(number).ok().and_then(|number| SHARED_NUMBERS.get(number)) {
            Some(place) => self.raw.push(shared(place, digits)),
            None => self.bytes(digits),
        }
    }
}

/// Returns the string that is kept in `place`, made at its first use. Only the server's main thread and its children
/// come here.
fn shared(place: &Shared, bytes: &[u8]) -> *mut raw::RedisModuleString {
    let mut text = place.load(Ordering::Relaxed);
    if text.is_null() {
        text = OwnedText::new(bytes).leak();
        place.store(text, Ordering::Relaxed);
    }
    text
}
