//! What a command may ask of the server while it runs: replies, replication, calls, time, the log.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_long};

use redis_module::raw;

use super::api;
use super::arguments::Arguments;
use super::text::Text;

/// What kind of event is fired; `notify-keyspace-events` chooses by it.
#[derive(Clone, Copy)]
pub enum EventClass {
    /// Of all keys: `g`.
    Generic,
    /// Of sorted sets: `z`.
    SortedSet,
    /// Of modules: `d`.
    Module,
}

/// The server, as a running command sees it.
pub struct Context<'a> {
    pub(super) raw: *mut raw::RedisModuleCtx,
    /// The arguments of the command, after its name.
    words: &'a [Text],
    /// Whether it is a command whose client has waited.
    waited: bool,
    /// Whether that client goes on waiting.
    waits: Cell<bool>,
}

impl<'a> Context<'a> {
    pub(super) fn new(raw: *mut raw::RedisModuleCtx, words: &'a [Text]) -> Self {
        Context { raw, words, waited: false, waits: Cell::new(false) }
    }

    /// The context of a command that runs again, since its client has waited.
    pub(super) fn of_waiting(raw: *mut raw::RedisModuleCtx, words: &'a [Text]) -> Self {
        Context { waited: true, ..Context::new(raw, words) }
    }

    /// Returns the arguments of the command, after its name.
    pub fn words(&self) -> &'a [Text] {
        self.words
    }

    /// Tells whether the command runs again, since its client has waited.
    #[must_use]
    pub fn has_waited(&self) -> bool {
        self.waited
    }

    /// Lets the client, which has waited, go on waiting. Nothing may have been replied or changed.
    pub fn wait_on(&self) {
        self.waits.set(true);
    }

    pub(super) fn still_waits(&self) -> bool {
        self.waits.get()
    }

    /// Tells whether the client may be made to wait: not in a transaction, a script or another module's call, where the
    /// server would crash.
    #[must_use]
    pub fn may_block(&self) -> bool {
        self.flags() & raw::REDISMODULE_CTX_FLAGS_DENY_BLOCKING == 0
    }

    /// Tells whether something may be written on behalf of a client that waits: not while writes are paused, for a
    /// client's `CLIENT PAUSE` or a failover, while data are loaded, or on a replica.
    #[must_use]
    pub fn may_write(&self) -> bool {
        let refused = raw::REDISMODULE_CTX_FLAGS_LOADING | raw::REDISMODULE_CTX_FLAGS_READONLY;
        self.flags() & refused == 0 && unsafe { api(raw::RedisModule_AvoidReplicaTraffic)() } == 0
    }

    /// Tells whether the memory that the server may use is used up, and nothing will be evicted to make room.
    #[must_use]
    pub fn is_memory_full(&self) -> bool {
        let flags = self.flags();
        flags & raw::REDISMODULE_CTX_FLAGS_OOM != 0 && flags & raw::REDISMODULE_CTX_FLAGS_EVICT == 0
    }

    fn flags(&self) -> u32 {
        unsafe { api(raw::RedisModule_GetContextFlags)(self.raw) as u32 }
    }

    /// Returns the number of the selected database.
    #[must_use]
    pub fn database(&self) -> i32 {
        unsafe { api(raw::RedisModule_GetSelectedDb)(self.raw) }
    }

    /// Selects a database; what was opened before stays that of the one before.
    pub fn select(&self, database: i32) {
        unsafe { api(raw::RedisModule_SelectDb)(self.raw, database) };
    }

    /// Calls back the clients that wait for `key`, after the running command or transaction.
    pub fn signal_ready(&self, key: Text) {
        unsafe { api(raw::RedisModule_SignalKeyAsReady)(self.raw, key.0) };
    }

    /// Begins the arguments of a command to be sent with `first`, such as a key. What the running command was given is
    /// passed on without a copy.
    #[must_use]
    pub fn arguments<'b>(&self, first: Text) -> Arguments<'b>
    where
        'a: 'b,
    {
        Arguments::new(first, self.words)
    }

    /// Replies with an array of `length` elements, which must follow.
    pub fn reply_array(&self, length: usize) {
        // SAFETY: the context is that of the running command, here and below.
        unsafe { api(raw::RedisModule_ReplyWithArray)(self.raw, length as c_long) };
    }

    /// Replies with a map of `length` pairs, which must follow: an array of twice as many under RESP2 and on servers
    /// that know no maps.
    pub fn reply_map(&self, length: usize) {
        match unsafe { raw::RedisModule_ReplyWithMap } {
            Some(reply) => unsafe { reply(self.raw, length as c_long) },
            None => unsafe { api(raw::RedisModule_ReplyWithArray)(self.raw, 2 * length as c_long) },
        };
    }

    /// Replies with bytes.
    pub fn reply_bytes(&self, bytes: &[u8]) {
        unsafe {
            api(raw::RedisModule_ReplyWithStringBuffer)(self.raw, bytes.as_ptr().cast(), bytes.len());
        }
    }

    /// Replies with an integer.
    pub fn reply_integer(&self, integer: u64) {
        let integer = i64::try_from(integer).unwrap_or(i64::MAX);
        unsafe { api(raw::RedisModule_ReplyWithLongLong)(self.raw, integer) };
    }

    /// Replies with a number that need not be whole.
    pub fn reply_double(&self, double: f64) {
        unsafe { api(raw::RedisModule_ReplyWithDouble)(self.raw, double) };
    }

    /// Tells whether the client speaks RESP3.
    #[must_use]
    pub fn speaks_resp3(&self) -> bool {
        self.flags() & raw::REDISMODULE_CTX_FLAGS_RESP3 != 0
    }

    /// Replies with null.
    pub fn reply_null(&self) {
        unsafe { api(raw::RedisModule_ReplyWithNull)(self.raw) };
    }

    /// Replies with a null in place of an array.
    pub fn reply_null_array(&self) {
        unsafe { api(raw::RedisModule_ReplyWithNullArray)(self.raw) };
    }

    /// Replies with `OK`.
    pub fn reply_ok(&self) {
        unsafe { api(raw::RedisModule_ReplyWithSimpleString)(self.raw, c"OK".as_ptr()) };
    }

    /// Replies with an error. What could break the protocol is escaped.
    pub fn reply_error(&self, message: &str) {
        let message = c_string(message);
        unsafe { api(raw::RedisModule_ReplyWithError)(self.raw, message.as_ptr()) };
    }

    /// Replies that the number of arguments is wrong.
    pub fn reply_wrong_arity(&self) {
        unsafe { api(raw::RedisModule_WrongArity)(self.raw) };
    }

    /// Sends a command to replicas and the AOF in place of the running one.
    pub fn replicate(&self, command: &CStr, arguments: &Arguments<'_>) {
        let raw = arguments.raw();
        // SAFETY: the format says that a vector and its length follow.
        unsafe {
            api(raw::RedisModule_Replicate)(
                self.raw,
                command.as_ptr(),
                c"v".as_ptr(),
                raw.as_ptr(),
                raw.len(),
            );
        }
    }

    /// Sends the running command to replicas and the AOF as it came.
    pub fn replicate_verbatim(&self) {
        unsafe { api(raw::RedisModule_ReplicateVerbatim)(self.raw) };
    }

    /// Tells watchers and caching clients that `key` was changed.
    pub fn signal_modified(&self, key: Text) {
        unsafe { api(raw::RedisModule_SignalModifiedKey)(self.raw, key.0) };
    }

    /// Fires a keyspace event on `key`. Costs next to nothing if nobody listens.
    pub fn notify(&self, class: EventClass, event: &CStr, key: Text) {
        let class = match class {
            EventClass::Generic => raw::REDISMODULE_NOTIFY_GENERIC,
            EventClass::SortedSet => raw::REDISMODULE_NOTIFY_ZSET,
            EventClass::Module => raw::REDISMODULE_NOTIFY_MODULE,
        };
        unsafe { api(raw::RedisModule_NotifyKeyspaceEvent)(self.raw, class, event.as_ptr(), key.0) };
    }

    /// Tells whether the server is reading its files.
    #[must_use]
    pub fn is_loading(&self) -> bool {
        self.flags() & raw::REDISMODULE_CTX_FLAGS_LOADING != 0
    }

    /// Runs a command of the server, and lets it replicate that. Returns the reply if it is an integer, else 0; an error is
    /// returned as one.
    pub fn call(&self, command: &CStr, arguments: &Arguments<'_>) -> Result<i64, String> {
        let reply = CallReply::of(self, command, c"!v", arguments)?;
        Ok(unsafe { api(raw::RedisModule_CallReplyInteger)(reply.0) })
    }

    /// Runs a command of the server that is not replicated: [`Context::replicate`] must follow, after the last such call.
    /// For on behalf of a client that has waited, Redis 7.0 replicates what was called by itself, outside of the transaction
    /// that holds the rest. Returns the reply if it is a string, else nothing; an error is returned as one.
    pub fn call_unreplicated(&self, command: &CStr, arguments: &Arguments<'_>) -> Result<Vec<u8>, String> {
        CallReply::of(self, command, c"v", arguments).map(|reply| reply.bytes().to_vec())
    }

    /// Returns the wall clock in microseconds: frozen for the running command where the server has that. Outside a
    /// command, and when one runs again since its client has waited, the frozen clock can be behind.
    #[must_use]
    pub fn microseconds(&self) -> u64 {
        match unsafe { raw::RedisModule_CachedMicroseconds } {
            Some(cached) if !self.waited => u64::try_from(unsafe { cached() }).unwrap_or(0),
            _ => self.milliseconds().saturating_mul(1000),
        }
    }

    /// Returns the wall clock in milliseconds, read now.
    #[must_use]
    pub fn milliseconds(&self) -> u64 {
        u64::try_from(unsafe { api(raw::RedisModule_Milliseconds)() }).unwrap_or(0)
    }

    /// Writes a warning into the server's log. The message is never a format.
    pub fn log_warning(&self, message: &str) {
        let message = c_string(message);
        // SAFETY: the format takes one string.
        unsafe {
            api(raw::RedisModule_Log)(self.raw, c"warning".as_ptr(), c"%s".as_ptr(), message.as_ptr());
        }
    }
}

/// The reply to a command that the module has run.
struct CallReply(*mut raw::RedisModuleCallReply);

impl CallReply {
    fn of(
        context: &Context<'_>,
        command: &CStr,
        format: &CStr,
        arguments: &Arguments<'_>,
    ) -> Result<Self, String> {
        let raw = arguments.raw();
        // SAFETY: the format says that a vector and its length follow.
        let reply = unsafe {
            let call = api(raw::RedisModule_Call);
            call(context.raw, command.as_ptr(), format.as_ptr(), raw.as_ptr(), raw.len())
        };
        if reply.is_null() {
            // In a cluster: the slot is being moved, and the key may be on either side.
            let in_cluster = context.flags() & raw::REDISMODULE_CTX_FLAGS_CLUSTER != 0;
            let word = if in_cluster { "TRYAGAIN" } else { "ERR" };
            return Err(format!("{word} the server refused to run {}", command.to_string_lossy()));
        }
        let reply = CallReply(reply);
        let kind = unsafe { api(raw::RedisModule_CallReplyType)(reply.0) };
        if kind == raw::REDISMODULE_REPLY_ERROR as i32 {
            return Err(reply.bytes().trim_ascii().escape_ascii().to_string());
        }
        Ok(reply)
    }

    /// Returns a string or the text of an error; nothing of any other reply.
    fn bytes(&self) -> &[u8] {
        let mut length = 0;
        // SAFETY: the reply owns the bytes.
        unsafe {
            let start = api(raw::RedisModule_CallReplyStringPtr)(self.0, &mut length);
            if start.is_null() { &[] } else { std::slice::from_raw_parts(start.cast(), length) }
        }
    }
}

impl Drop for CallReply {
    fn drop(&mut self) {
        // SAFETY: freed once.
        unsafe { api(raw::RedisModule_FreeCallReply)(self.0) };
    }
}

/// Makes a C string without anything that ends a line or a string early.
fn c_string(message: &str) -> CString {
    let clean: Vec<u8> = message.bytes().map(|byte| if byte < b' ' { b' ' } else { byte }).collect();
    CString::new(clean).unwrap_or_default()
}
