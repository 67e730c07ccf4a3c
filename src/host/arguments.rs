//! The arguments of a command that this module sends: to replicas and the AOF, or to the server itself.

use dq_engine::effect::Words;
use redis_module::raw;

use super::text::{OwnedText, Text};

/// A list of arguments.
#[derive(Default)]
pub struct Arguments {
    raw: Vec<*mut raw::RedisModuleString>,
    /// Those of them that must be freed.
    owned: Vec<OwnedText>,
}

impl Arguments {
    /// Begins a list with an argument that was received, such as a key.
    #[must_use]
    pub fn of(first: Text) -> Self {
        let mut arguments = Arguments::default();
        arguments.raw.push(first.0);
        arguments
    }

    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        let text = OwnedText::new(bytes);
        self.raw.push(text.0);
        self.owned.push(text);
    }

    pub(super) fn raw(&self) -> &[*mut raw::RedisModuleString] {
        &self.raw
    }
}

impl Words for Arguments {
    fn text(&mut self, bytes: &[u8]) {
        self.bytes(bytes);
    }

    fn number(&mut self, number: u64) {
        self.bytes(itoa::Buffer::new().format(number).as_bytes());
    }
}
