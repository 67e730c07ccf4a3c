//! The module's section of `INFO`. The server puts the module's name before the names of the fields.

use std::ffi::{CStr, c_int};

use redis_module::raw;

use super::{api, guard};
use crate::MODULE;

/// The section, to be filled with fields.
pub struct Section(*mut raw::RedisModuleInfoCtx);

impl Section {
    /// Adds a number.
    pub fn number(&self, name: &CStr, number: u64) {
        // SAFETY: the server copies the name, here and below.
        unsafe { api(raw::RedisModule_InfoAddFieldULongLong)(self.0, name.as_ptr(), number) };
    }

    /// Adds a text.
    pub fn text(&self, name: &CStr, text: &CStr) {
        unsafe { api(raw::RedisModule_InfoAddFieldCString)(self.0, name.as_ptr(), text.as_ptr()) };
    }
}

/// Tells the server that there is such a section.
pub(super) fn register(context: *mut raw::RedisModuleCtx) -> bool {
    unsafe { api(raw::RedisModule_RegisterInfoFunc)(context, Some(fill)) == raw::REDISMODULE_OK as c_int }
}

/// Called for `INFO`, and for the report of a server that is crashing.
unsafe extern "C" fn fill(info: *mut raw::RedisModuleInfoCtx, _: c_int) {
    guard((), || {
        // SAFETY: without a name of its own the section has that of the module.
        let added = unsafe { api(raw::RedisModule_InfoAddSection)(info, std::ptr::null()) };
        // A server that was asked for another section answers with an error.
        if added == raw::REDISMODULE_OK as c_int {
            (MODULE.info)(&Section(info));
        }
    });
}
