//! A string of the server: an argument of a command, or one that this module made.

use redis_module::raw;

use super::api;

/// A borrowed string of the server, such as an argument.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Text(pub(super) *mut raw::RedisModuleString);

impl Text {
    /// Returns its bytes.
    #[must_use]
    pub fn bytes<'a>(self) -> &'a [u8] {
        let mut length = 0;
        // SAFETY: arguments outlive the command, and a `Text` is only made of arguments and never stored.
        unsafe {
            let start = api(raw::RedisModule_StringPtrLen)(self.0, &mut length);
            if start.is_null() { &[] } else { std::slice::from_raw_parts(start.cast(), length) }
        }
    }

    /// Tells whether both are the same bytes.
    #[must_use]
    pub fn is(self, other: Text) -> bool {
        self.bytes() == other.bytes()
    }
}

/// A string that this module keeps: the name of a key.
pub struct Name(OwnedText);

impl Name {
    /// Copies `text`.
    #[must_use]
    pub fn copy(text: Text) -> Self {
        Name(OwnedText::new(text.bytes()))
    }

    /// Returns it as an argument, for as long as it is kept.
    #[must_use]
    pub fn text(&self) -> Text {
        Text(self.0.0)
    }
}

/// A string that this module made and must free.
pub(super) struct OwnedText(pub(super) *mut raw::RedisModuleString);

impl OwnedText {
    pub(super) fn new(bytes: &[u8]) -> Self {
        // SAFETY: without a context the string is owned by whoever made it.
        let raw = unsafe {
            api(raw::RedisModule_CreateString)(std::ptr::null_mut(), bytes.as_ptr().cast(), bytes.len())
        };
        OwnedText(raw)
    }

    /// Gives the string away, to be kept for as long as the server runs.
    pub(super) fn leak(self) -> *mut raw::RedisModuleString {
        let raw = self.0;
        std::mem::forget(self);
        raw
    }
}

impl Drop for OwnedText {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed once.
        unsafe { api(raw::RedisModule_FreeString)(std::ptr::null_mut(), self.0) };
    }
}
