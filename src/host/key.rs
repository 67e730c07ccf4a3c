//! A key that is open, and the queue in it.
//!
//! A key that is open for writing is reported as modified when it is closed, whatever happened; so keys are opened for
//! reading, and a command that changed the queue says so (`Context::signal_modified`). Only to make a key or to give
//! it another value must it be open for writing.

use dq_engine::queue::Queue;
use redis_module::raw;

use super::api;
use super::context::Context;
use super::module_type;
use super::text::Text;

/// An open key.
pub struct Key(pub(super) *mut raw::RedisModuleKey);

/// What a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: there is no such key.
    Missing,
    /// A job queue.
    Queue,
    /// A sorted set.
    SortedSet,
    /// A list.
    List,
    /// A stream.
    Stream,
    /// Anything else.
    Other,
}

impl Key {
    /// Opens `name` without declaring it modified.
    #[must_use]
    pub fn open(context: &Context<'_>, name: Text) -> Self {
        // SAFETY: closed in `drop`, before the command ends.
        Key(unsafe {
            api(raw::RedisModule_OpenKey)(context.raw, name.0, raw::REDISMODULE_READ as i32).cast()
        })
    }

    /// Opens `name`, which is reported as modified, to give it a value or to change what is in it.
    #[must_use]
    pub fn open_to_change(context: &Context<'_>, name: Text) -> Self {
        let mode = (raw::REDISMODULE_READ | raw::REDISMODULE_WRITE) as i32;
        Key(unsafe { api(raw::RedisModule_OpenKey)(context.raw, name.0, mode).cast() })
    }

    /// Returns what the key holds.
    #[must_use]
    pub fn kind(&self) -> Kind {
        if self.0.is_null() {
            return Kind::Missing;
        }
        // SAFETY: the key is open.
        match unsafe { api(raw::RedisModule_KeyType)(self.0) } as isize {
            raw::REDISMODULE_KEYTYPE_EMPTY => Kind::Missing,
            raw::REDISMODULE_KEYTYPE_LIST => Kind::List,
            raw::REDISMODULE_KEYTYPE_ZSET => Kind::SortedSet,
            raw::REDISMODULE_KEYTYPE_STREAM => Kind::Stream,
            raw::REDISMODULE_KEYTYPE_MODULE if self.is_queue() => Kind::Queue,
            _ => Kind::Other,
        }
    }

    /// Returns the queue, if the key holds one.
    #[must_use]
    pub fn queue(&mut self) -> Option<&mut Queue> {
        if self.kind() != Kind::Queue {
            return None;
        }
        // SAFETY: the type was checked; the value lives as long as the key is open, and `&mut self` makes this the
        // only reference to it: no command opens one key twice.
        unsafe { api(raw::RedisModule_ModuleTypeGetValue)(self.0).cast::<Queue>().as_mut() }
    }

    /// Makes `queue` the value. The key must be open for creation and missing.
    pub fn create(&mut self, queue: Queue) {
        let value = Box::into_raw(Box::new(queue));
        // SAFETY: the server owns the value from now on, and frees it through the type.
        let status =
            unsafe { api(raw::RedisModule_ModuleTypeSetValue)(self.0, module_type::handle(), value.cast()) };
        if status != raw::REDISMODULE_OK as i32 {
            // SAFETY: the server did not take it.
            drop(unsafe { Box::from_raw(value) });
        }
    }

    fn is_queue(&self) -> bool {
        unsafe { api(raw::RedisModule_ModuleTypeGetType)(self.0) == module_type::handle() }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: opened once, closed once.
            unsafe { api(raw::RedisModule_CloseKey)(self.0) };
        }
    }
}
