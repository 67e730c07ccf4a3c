//! What the server tells of itself: changed keys, exchanged databases, loaded data, another role.

use std::ffi::{c_char, c_int, c_void};

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

/// Subscribes to what happens to keys of the kinds that can be queues, which costs each command on a sorted set a little.
pub fn subscribe_to_keys(context: &Context<'_>) {
    let kinds = raw::REDISMODULE_NOTIFY_GENERIC | raw::REDISMODULE_NOTIFY_ZSET;
    // SAFETY: the callback is static.
    unsafe { api(raw::RedisModule_SubscribeToKeyspaceEvents)(context.raw, kinds, Some(key_changed)) };
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
