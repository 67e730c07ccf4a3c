//! Sorted sets, through the server's own interface to them: a range by score, then removal by member.
//!
//! Removing ends a walk, so members are collected first. It also tells nobody: whoever removes must fire the event and
//! replicate the command that does the same.

use redis_module::raw;

use super::api;
use super::key::{Key, Kind};
use super::text::{OwnedText, Text};

/// A member of a sorted set.
pub struct Member {
    pub(super) text: OwnedText,
    /// Its score.
    pub score: f64,
}

impl Member {
    /// Returns its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        Text(self.text.0).bytes()
    }
}

/// The members of a sorted set with a score up to a limit, lowest first, equal ones in the order of their bytes.
pub struct Range<'a> {
    key: &'a Key,
    holds_set: bool,
}

impl Key {
    /// Walks through the members whose score is not above `most`; there are none in a key that holds no sorted set.
    pub fn members_up_to(&mut self, most: f64) -> Range<'_> {
        let holds_set = self.kind() == Kind::SortedSet;
        if holds_set {
            // SAFETY: the key is open and holds a sorted set; the walk is stopped in `drop`.
            unsafe { api(raw::RedisModule_ZsetFirstInScoreRange)(self.0, f64::NEG_INFINITY, most, 0, 0) };
        }
        Range { key: self, holds_set }
    }

    /// Removes `members`. The key, which must be open for writing, is deleted with its last one; tells whether it was.
    pub fn remove_members(&mut self, members: &[Member]) -> bool {
        for member in members {
            // SAFETY: the server refuses if the key is not open for writing or holds no sorted set.
            unsafe { api(raw::RedisModule_ZsetRem)(self.0, member.text.0, std::ptr::null_mut()) };
        }
        self.kind() == Kind::Missing
    }

    /// Returns how many members a sorted set has.
    #[must_use]
    pub fn members(&self) -> usize {
        // SAFETY: the key is open or null, which counts as empty.
        unsafe { api(raw::RedisModule_ValueLength)(self.0) }
    }
}

impl Iterator for Range<'_> {
    type Item = Member;

    fn next(&mut self) -> Option<Member> {
        let key = self.key.0;
        let mut score = 0.0;
        // SAFETY: the key is open, holds a sorted set, and the walk through it has begun.
        unsafe {
            if !self.holds_set || api(raw::RedisModule_ZsetRangeEndReached)(key) != 0 {
                return None;
            }
            let text = api(raw::RedisModule_ZsetRangeCurrentElement)(key, &mut score);
            if text.is_null() {
                return None;
            }
            api(raw::RedisModule_ZsetRangeNext)(key);
            Some(Member { text: OwnedText(text), score })
        }
    }
}

impl Drop for Range<'_> {
    fn drop(&mut self) {
        if self.holds_set {
            // SAFETY: as above.
            unsafe { api(raw::RedisModule_ZsetRangeStop)(self.key.0) };
        }
    }
}
