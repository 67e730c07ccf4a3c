//! What the server tells of itself: changed keys, exchanged databases, loaded data, another role.

use std::ffi::{CStr, c_char, c_int, c_void};

use redis_module::raw;

use super::context::Context;
use super::text::Text;
use super::{api, guard};
use crate::MODULE;

/// (The header's own constants of events are no symbols of the module.)
const fn event(id: u64) -> raw::RedisModuleEvent {
    raw::RedisModuleEvent { id, dataver: 1 }
}

/// Subscribes to the events of the server. Only while the module is loaded.
pub(super) fn subscribe(context: *mut raw::RedisModuleCtx) {
    let subscribe = |id, callback: unsafe extern "C" fn(_, _, _, _)| {
        // SAFETY: the callbacks are static.
        unsafe { api(raw::RedisModule_SubscribeToServerEvent)(context, event(id), Some(callback)) }
    };
    subscribe(raw::REDISMODULE_EVENT_REPLICATION_ROLE_CHANGED, role_changed);
    subscribe(raw::REDISMODULE_EVENT_SWAPDB, swapped);
    subscribe(raw::REDISMODULE_EVENT_LOADING, loading);
}

/// What the server tells of changed keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Whatever happens to keys of the kinds that can be queues.
    Everything,
    /// What commands on sorted sets do. That a key was made is told to those who wait for it alone.
    SortedSets,
}

/// Subscribes to what happens to keys of the kinds that can be queues, which costs each command on a sorted set a little.
///
/// Valkey 8.1, and 9.0, leave a client in the other database after `MOVE` and `COPY ... DB` if a module is told of them
/// (valkey-io/valkey#4024), so there it is not.
pub fn subscribe_to_keys(context: &Context<'_>) -> Told {
    let version = valkey_version(context);
    let misleads = ["8.1.", "9.0."].iter().any(|line| version.starts_with(line));
    let generic = if misleads { 0 } else { raw::REDISMODULE_NOTIFY_GENERIC };
    let kinds = generic | raw::REDISMODULE_NOTIFY_ZSET;
    // SAFETY: the callback is static.
    unsafe { api(raw::RedisModule_SubscribeToKeyspaceEvents)(context.raw, kinds, Some(key_changed)) };
    if misleads { Told::SortedSets } else { Told::Everything }
}

/// Returns the version of a Valkey server, which as a Redis calls itself 7.2.4; nothing on Redis.
fn valkey_version(context: &Context<'_>) -> String {
    // SAFETY: the information is freed once, after what is read from it was copied.
    unsafe {
        let server = api(raw::RedisModule_GetServerInfo)(context.raw, c"server".as_ptr());
        let version = api(raw::RedisModule_ServerInfoGetFieldC)(server, c"valkey_version".as_ptr());
        let copy = if version.is_null() {
            String::new()
        } else {
            CStr::from_ptr(version).to_string_lossy().into_owned()
        };
        api(raw::RedisModule_FreeServerInfo)(context.raw, server);
        copy
    }
}

unsafe extern "C" fn key_changed(
    context: *mut raw::RedisModuleCtx,
    _: c_int,
    _: *const c_char,
    key: *mut raw::RedisModuleString,
) -> c_int {
    guard((), || (MODULE.key_changed)(&Context::new(context, &[]), Text(key)));
    raw::REDISMODULE_OK as c_int
}

unsafe extern "C" fn role_changed(
    _: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    _: u64,
    _: *mut c_void,
) {
    guard((), MODULE.role_changed);
}

unsafe extern "C" fn swapped(
    context: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    _: u64,
    _: *mut c_void,
) {
    guard((), || (MODULE.data_changed)(&Context::new(context, &[])));
}

unsafe extern "C" fn loading(
    context: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    stage: u64,
    _: *mut c_void,
) {
    if stage == raw::REDISMODULE_SUBEVENT_LOADING_ENDED {
        guard((), || (MODULE.data_changed)(&Context::new(context, &[])));
    }
}
