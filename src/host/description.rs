//! What `COMMAND INFO`, `COMMAND DOCS`, ACL rules and cluster clients are told of a command, in the server's own form.

use std::ffi::{c_char, c_int};

use redis_module::raw;

use super::command::{Argument, ArgumentKind, KeyUse, Spec};

/// Describes a command to the server, where that has `COMMAND DOCS` (since Redis 7.0). Only while the module is loaded.
///
/// SAFETY: the context is that of the load, and the command is registered.
pub(super) unsafe fn set(context: *mut raw::RedisModuleCtx, spec: &Spec) -> bool {
    let (Some(get), Some(describe)) =
        (unsafe { (raw::RedisModule_GetCommand, raw::RedisModule_SetCommandInfo) })
    else {
        return true;
    };
    let mut keys: Vec<_> = spec.keys.iter().enumerate().map(|(at, &key)| key_spec(at, key)).collect();
    // SAFETY: all zeros ends a list of key specs.
    keys.push(unsafe { std::mem::zeroed() });
    let mut kept = Vec::new();
    let arguments = argument_list(spec.arguments, &mut kept);
    let info = raw::RedisModuleCommandInfo {
        version: &INFO_VERSION,
        summary: spec.summary.as_ptr(),
        complexity: spec.complexity.as_ptr(),
        since: c"0.1.0".as_ptr(),
        history: std::ptr::null_mut(),
        tips: if spec.tips.is_empty() { std::ptr::null() } else { spec.tips.as_ptr() },
        arity: spec.arity,
        key_specs: keys.as_mut_ptr(),
        args: arguments,
    };
    unsafe { describe(get(context, spec.name.as_ptr()), &info) == raw::REDISMODULE_OK as c_int }
}

static INFO_VERSION: raw::RedisModuleCommandInfoVersion = raw::RedisModuleCommandInfoVersion {
    version: 1,
    sizeof_historyentry: size_of::<raw::RedisModuleCommandHistoryEntry>(),
    sizeof_keyspec: size_of::<raw::RedisModuleCommandKeySpec>(),
    sizeof_arg: size_of::<raw::RedisModuleCommandArg>(),
};

fn key_spec(at: usize, key: KeyUse) -> raw::RedisModuleCommandKeySpec {
    use raw::{
        REDISMODULE_CMD_KEY_ACCESS as ACCESS, REDISMODULE_CMD_KEY_DELETE as DELETE,
        REDISMODULE_CMD_KEY_INSERT as INSERT, REDISMODULE_CMD_KEY_RO as RO, REDISMODULE_CMD_KEY_RW as RW,
        REDISMODULE_CMD_KEY_UPDATE as UPDATE,
    };
    let flags = match key {
        KeyUse::Read => RO | ACCESS,
        KeyUse::Insert => RW | INSERT,
        KeyUse::Update => RW | UPDATE,
        KeyUse::Delete => RW | DELETE,
        KeyUse::AccessDelete => RW | ACCESS | DELETE,
    };
    raw::RedisModuleCommandKeySpec {
        notes: std::ptr::null(),
        flags: u64::from(flags),
        begin_search_type: raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX,
        bs: raw::RedisModuleCommandKeySpec__bindgen_ty_1 {
            index: raw::RedisModuleCommandKeySpec__bindgen_ty_1__bindgen_ty_1 { pos: at as c_int + 1 },
        },
        find_keys_type: raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_RANGE,
        fk: raw::RedisModuleCommandKeySpec__bindgen_ty_2 {
            range: raw::RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_1 {
                lastkey: 0,
                keystep: 1,
                limit: 0,
            },
        },
    }
}

/// Builds the server's form of `arguments`. What it points to is put into `kept`; the server copies it all.
fn argument_list(
    arguments: &[Argument],
    kept: &mut Vec<Vec<raw::RedisModuleCommandArg>>,
) -> *mut raw::RedisModuleCommandArg {
    if arguments.is_empty() {
        return std::ptr::null_mut();
    }
    let mut list: Vec<_> = arguments.iter().map(|argument| raw_argument(argument, kept)).collect();
    // SAFETY: all zeros ends a list of arguments.
    list.push(unsafe { std::mem::zeroed() });
    let start = list.as_mut_ptr();
    kept.push(list);
    start
}

fn raw_argument(
    argument: &Argument,
    kept: &mut Vec<Vec<raw::RedisModuleCommandArg>>,
) -> raw::RedisModuleCommandArg {
    use raw::*;
    let (type_, key_spec_index) = match argument.kind {
        ArgumentKind::Key(number) => (RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY, number),
        ArgumentKind::Text => (RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING, -1),
        ArgumentKind::Integer => (RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_INTEGER, -1),
        ArgumentKind::UnixTime => (RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_UNIX_TIME, -1),
        ArgumentKind::Word => (RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_PURE_TOKEN, -1),
        ArgumentKind::OneOf => (RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_ONEOF, -1),
        ArgumentKind::Block => (RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_BLOCK, -1),
    };
    let mut flags = 0;
    if argument.optional {
        flags |= REDISMODULE_CMD_ARG_OPTIONAL;
    }
    if argument.multiple {
        flags |= REDISMODULE_CMD_ARG_MULTIPLE;
    }
    RedisModuleCommandArg {
        name: argument.name.as_ptr(),
        type_,
        key_spec_index,
        token: argument.token.map_or(std::ptr::null(), |token| token.as_ptr().cast::<c_char>()),
        summary: std::ptr::null(),
        since: std::ptr::null(),
        flags: flags as c_int,
        deprecated_since: std::ptr::null(),
        subargs: argument_list(argument.parts, kept),
        display_text: std::ptr::null(),
    }
}
