//! Clients that wait for a key: the server keeps them, in the order in which they came, and calls each of them back
//! when the key is signalled.

use std::ffi::{c_int, c_void};

use redis_module::raw;

use super::command::{Command, perform};
use super::context::Context;
use super::text::Text;
use super::{api, guard};

/// What is kept of a client while it waits.
pub trait Waiter {
    /// Tells whether the command could be carried out now. Called for each waiting client at each signal: it must be
    /// quick, change nothing, and leave no sign in replicas or the AOF.
    fn may_be_served(&self, context: &Context<'_>) -> bool;
    /// The client no longer waits, whatever the reason. Called exactly once.
    fn leave(self: Box<Self>, context: &Context<'_>);
}

/// Lets the client of the running command wait for `key`, for `milliseconds` or, if they are 0, without limit. Its
/// command runs again when the key is signalled and the waiter says that it can; when the time is over, it gets null.
/// The client must be one that may wait: see [`Context::may_block`].
pub fn block<C: Command, W: Waiter>(context: &Context<'_>, key: Text, waiter: Box<W>, milliseconds: u64) {
    let mut keys = [key.0];
    // SAFETY: the server hands the waiter to the callbacks, and to `free`, at the end, once. A time-out callback must
    // be there: servers up to 7.2 call it without asking.
    unsafe {
        api(raw::RedisModule_BlockClientOnKeys)(
            context.raw,
            Some(serve::<C, W>),
            Some(time_out),
            Some(free::<W>),
            i64::try_from(milliseconds).unwrap_or(i64::MAX),
            keys.as_mut_ptr(),
            1,
            Box::into_raw(waiter).cast(),
        );
    }
}

/// Called for each client that waits for a key when that is signalled. What is not `OK` keeps the client waiting.
unsafe extern "C" fn serve<C: Command, W: Waiter>(
    context: *mut raw::RedisModuleCtx,
    words: *mut *mut raw::RedisModuleString,
    count: c_int,
) -> c_int {
    // SAFETY: the server hands over the words of the command that waits, and what `block` gave it.
    let words = unsafe { std::slice::from_raw_parts(words.cast::<Text>(), count as usize) };
    let waiter = unsafe { api(raw::RedisModule_GetBlockedClientPrivateData)(context).cast::<W>().as_ref() };
    let context = Context::of_waiting(context, words.get(1..).unwrap_or_default());
    let ready = guard(false, || waiter.is_some_and(|waiter| waiter.may_be_served(&context)));
    if ready {
        perform::<C>(&context);
    }
    let served = ready && !context.still_waits();
    (if served { raw::REDISMODULE_OK } else { raw::REDISMODULE_ERR }) as c_int
}

unsafe extern "C" fn time_out(
    context: *mut raw::RedisModuleCtx,
    _: *mut *mut raw::RedisModuleString,
    _: c_int,
) -> c_int {
    guard((), || Context::new(context, &[]).reply_null_array());
    raw::REDISMODULE_OK as c_int
}

unsafe extern "C" fn free<W: Waiter>(context: *mut raw::RedisModuleCtx, waiter: *mut c_void) {
    // SAFETY: made in `block`, freed once.
    guard((), || unsafe { Box::from_raw(waiter.cast::<W>()) }.leave(&Context::new(context, &[])));
}
