//! Where the server enters when it loads the module.

use std::ffi::c_int;

use redis_module::raw;

use super::command::Entry;
use super::config::Setting;
use super::context::Context;
use super::section::{self, Section};
use super::text::Text;
use super::{api, config, events, guard, module_type};
use crate::MODULE;

/// What the server is told of the module.
pub struct Module {
    /// Its name, with a NUL at the end.
    pub name: &'static std::ffi::CStr,
    /// major * 10000 + minor * 100 + patch.
    pub version: c_int,
    /// Its commands.
    pub commands: &'static [Entry],
    /// What can be set.
    pub settings: &'static [&'static Setting],
    /// Reads the arguments of the `loadmodule` line; an error keeps the module from being loaded.
    pub configure: fn(&[&[u8]]) -> Result<(), String>,
    /// Fills the module's section of `INFO`.
    pub info: fn(&Section),
    /// The module was loaded, or the server became a master or a replica.
    pub role_changed: fn(),
    /// Data were loaded, or databases exchanged: any key may hold something else.
    pub data_changed: fn(&Context<'_>),
    /// A key was made, changed, or came to hold something else. Only after [`super::events::subscribe_to_keys`].
    pub key_changed: fn(&Context<'_>, Text),
}

/// A file or replica stream that is damaged is refused instead of ending the server.
const HANDLE_IO_ERRORS: c_int = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS as c_int;
/// A replica may go on serving its old data while it loads new ones.
const HANDLE_REPL_ASYNC_LOAD: c_int = raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD as c_int;
/// Valkey 9: the data can be moved slot by slot while it is in use.
const HANDLE_ATOMIC_SLOT_MIGRATION: c_int = 1 << 5;

/// The function that every module exports.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RedisModule_OnLoad(
    context: *mut raw::RedisModuleCtx,
    words: *mut *mut raw::RedisModuleString,
    count: c_int,
) -> c_int {
    // SAFETY: nothing may be allocated before this call, which hands over the allocator.
    let status = unsafe {
        raw::Export_RedisModule_Init(
            context,
            MODULE.name.as_ptr(),
            MODULE.version,
            raw::REDISMODULE_APIVER_1 as c_int,
        )
    };
    if status != raw::REDISMODULE_OK as c_int {
        return status;
    }
    let loaded = guard(false, || {
        let words = if count == 0 {
            &[]
        } else {
            // SAFETY: the server hands over `count` strings.
            unsafe { std::slice::from_raw_parts(words.cast::<Text>(), count as usize) }
        };
        load(context, words)
    });
    let status = if loaded { raw::REDISMODULE_OK } else { raw::REDISMODULE_ERR };
    status as c_int
}

fn load(raw_context: *mut raw::RedisModuleCtx, words: &[Text]) -> bool {
    let context = Context::new(raw_context, &[]);
    let words: Vec<&[u8]> = words.iter().map(|word| word.bytes()).collect();
    if let Err(message) = (MODULE.configure)(&words) {
        context.log_warning(&message);
        return false;
    }
    (MODULE.role_changed)();
    set_options(raw_context);
    events::subscribe(raw_context);
    module_type::register(raw_context)
        && MODULE.commands.iter().all(|entry| entry.register(raw_context))
        && section::register(raw_context)
        && config::register(raw_context, MODULE.settings)
}

fn set_options(context: *mut raw::RedisModuleCtx) {
    // SAFETY: both functions only read and write flags.
    unsafe {
        let known = raw::RedisModule_GetModuleOptionsAll.map_or(0, |all| all());
        let migration = known & HANDLE_ATOMIC_SLOT_MIGRATION;
        let options = HANDLE_IO_ERRORS | HANDLE_REPL_ASYNC_LOAD | migration;
        api(raw::RedisModule_SetModuleOptions)(context, options);
    }
}
