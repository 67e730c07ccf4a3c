//! Settings that the server knows too, where it can (since Redis 7.0): `CONFIG GET`, `SET` and `REWRITE`, and lines of
//! redis.conf. The server puts the module's name and a dot before theirs.

use std::ffi::{CStr, c_char, c_int, c_longlong, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use redis_module::raw;

/// A number that the operator sets.
pub struct Setting {
    /// Its name.
    pub name: &'static CStr,
    /// What it counts.
    pub unit: Unit,
    /// The smallest value.
    pub min: u64,
    /// The largest value.
    pub max: u64,
    value: AtomicU64,
}

/// What a setting counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things, milliseconds, percent.
    Plain,
    /// Bytes, which can be given as `64mb` too.
    Bytes,
}

impl Setting {
    /// Makes a setting that has the value `default`.
    pub const fn new(name: &'static CStr, unit: Unit, min: u64, max: u64, default: u64) -> Self {
        Setting { name, unit, min, max, value: AtomicU64::new(default) }
    }

    /// Returns the value.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }

    /// Gives it another value, which must be in its range.
    pub fn set(&self, value: u64) {
        self.value.store(value, Ordering::Relaxed);
    }

    fn flags(&self) -> c_uint {
        match self.unit {
            Unit::Plain => raw::REDISMODULE_CONFIG_DEFAULT,
            Unit::Bytes => raw::REDISMODULE_CONFIG_MEMORY,
        }
    }
}

/// Makes `settings` known to a server that can know them, and takes from it what its configuration says of them. What
/// it says nothing of keeps the value that it has. `false` if a value is not acceptable: the server has logged which.
pub(super) fn register(context: *mut raw::RedisModuleCtx, settings: &'static [&'static Setting]) -> bool {
    let (Some(register), Some(load)) =
        (unsafe { (raw::RedisModule_RegisterNumericConfig, raw::RedisModule_LoadConfigs) })
    else {
        return true;
    };
    let known = settings.iter().all(|setting| {
        // SAFETY: the setting is static, and both functions take it for what it is.
        let status = unsafe {
            register(
                context,
                setting.name.as_ptr(),
                setting.get() as c_longlong,
                setting.flags(),
                setting.min as c_longlong,
                setting.max as c_longlong,
                Some(get),
                Some(set),
                None,
                std::ptr::from_ref(*setting).cast_mut().cast(),
            )
        };
        status == raw::REDISMODULE_OK as c_int
    });
    known && unsafe { load(context) } == raw::REDISMODULE_OK as c_int
}

unsafe extern "C" fn get(_: *const c_char, setting: *mut c_void) -> c_longlong {
    unsafe { the(setting) }.get() as c_longlong
}

/// The server has checked the range.
unsafe extern "C" fn set(
    _: *const c_char,
    value: c_longlong,
    setting: *mut c_void,
    _: *mut *mut raw::RedisModuleString,
) -> c_int {
    unsafe { the(setting) }.set(value as u64);
    raw::REDISMODULE_OK as c_int
}

/// SAFETY: the server hands back what `register` gave it.
unsafe fn the(setting: *mut c_void) -> &'static Setting {
    unsafe { &*setting.cast::<Setting>() }
}
