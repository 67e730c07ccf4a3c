//! The data type: the table of callbacks that the server calls, each made safe here. What they do is in `datatype`.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use dq_engine::queue::Queue;
use redis_module::raw;

use super::arguments::Arguments;
use super::text::Text;
use super::{api, guard};

/// What the data type does. Implemented by `datatype`.
pub trait Stored: Sized {
    /// The name that `TYPE` reports: nine characters.
    const NAME: &'static CStr;
    /// The version of the stored form.
    const ENCODING: c_int;
    /// The version of the callback table. 5 is read by every server.
    const METHODS: u64 = 5;

    /// Reads a value of this version; `None` if it is damaged.
    fn from_rdb(input: &mut Input, encoding: c_int) -> Option<Self>;
    /// Writes the value.
    fn to_rdb(&self, output: &mut Output);
    /// Writes the commands that make the value.
    fn to_aof(&self, output: &mut Rewrite);
    /// Returns the bytes that it takes.
    fn memory(&self) -> usize;
    /// Returns how much work it is to free it, in allocations.
    fn free_effort(&self) -> usize;
    /// Returns a copy.
    fn duplicate(&self) -> Self;
    /// Adds the content to a digest.
    fn digest(&self, digest: &mut Digest);
}

static HANDLE: AtomicPtr<raw::RedisModuleType> = AtomicPtr::new(std::ptr::null_mut());

/// Returns the server's handle of the type.
pub(super) fn handle() -> *mut raw::RedisModuleType {
    HANDLE.load(Ordering::Relaxed)
}

/// Registers the type. Only while the module is loaded.
pub(super) fn register(context: *mut raw::RedisModuleCtx) -> bool {
    let mut methods = raw::RedisModuleTypeMethods {
        version: Queue::METHODS,
        rdb_load: Some(load),
        rdb_save: Some(save),
        aof_rewrite: Some(rewrite),
        mem_usage: Some(memory),
        digest: Some(digest),
        free: Some(free),
        aux_load: None,
        aux_save: None,
        aux_save_triggers: 0,
        free_effort: Some(free_effort),
        unlink: None,
        copy: Some(copy),
        defrag: None,
        mem_usage2: None,
        free_effort2: None,
        unlink2: None,
        copy2: None,
        aux_save2: None,
    };
    // SAFETY: the server copies the table.
    let handle = unsafe {
        api(raw::RedisModule_CreateDataType)(context, Queue::NAME.as_ptr(), Queue::ENCODING, &mut methods)
    };
    HANDLE.store(handle, Ordering::Relaxed);
    !handle.is_null()
}

/// Where a stored value is read from.
pub struct Input(*mut raw::RedisModuleIO);

impl Input {
    /// Reads bytes and hands them to `read`; `None` at the end or on damage.
    pub fn bytes<T>(&mut self, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let mut length = 0;
        // SAFETY: the stream is that of the running callback; the buffer is freed once.
        unsafe {
            let start = api(raw::RedisModule_LoadStringBuffer)(self.0, &mut length);
            if start.is_null() {
                return None;
            }
            let sound = self.is_sound();
            let result = sound.then(|| read(std::slice::from_raw_parts(start.cast(), length)));
            api(raw::RedisModule_Free)(start.cast());
            result
        }
    }

    /// Writes a warning about the stream into the server's log.
    pub fn log_warning(&self, message: &CStr) {
        unsafe {
            api(raw::RedisModule_LogIOError)(self.0, c"warning".as_ptr(), c"%s".as_ptr(), message.as_ptr());
        }
    }

    fn is_sound(&self) -> bool {
        unsafe { api(raw::RedisModule_IsIOError)(self.0) == 0 }
    }
}

/// Where a value is stored.
pub struct Output(*mut raw::RedisModuleIO);

impl Output {
    /// Writes bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        unsafe { api(raw::RedisModule_SaveStringBuffer)(self.0, bytes.as_ptr().cast(), bytes.len()) };
    }
}

/// Where commands that make a value are written.
pub struct Rewrite {
    io: *mut raw::RedisModuleIO,
    key: Text,
}

impl Rewrite {
    /// Begins the arguments of a command with the value's key. The key is copied: the server hands over one that is not
    /// on its heap, which cannot be an argument.
    #[must_use]
    pub fn arguments(&self) -> Arguments<'static> {
        let mut arguments = Arguments::default();
        arguments.bytes(self.key.bytes());
        arguments
    }

    /// Writes a command.
    pub fn command(&mut self, command: &CStr, arguments: &Arguments<'_>) {
        let raw = arguments.raw();
        // SAFETY: the format says that a vector and its length follow.
        unsafe {
            api(raw::RedisModule_EmitAOF)(self.io, command.as_ptr(), c"v".as_ptr(), raw.as_ptr(), raw.len());
        }
    }
}

/// A digest of a value's content.
pub struct Digest(*mut raw::RedisModuleDigest);

impl Digest {
    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        unsafe { api(raw::RedisModule_DigestAddStringBuffer)(self.0, bytes.as_ptr().cast(), bytes.len()) };
    }

    /// Ends a part whose order among the other parts does not matter.
    pub fn end_part(&mut self) {
        unsafe { api(raw::RedisModule_DigestEndSequence)(self.0) };
    }
}

unsafe extern "C" fn load(io: *mut raw::RedisModuleIO, encoding: c_int) -> *mut c_void {
    guard(std::ptr::null_mut(), || match Queue::from_rdb(&mut Input(io), encoding) {
        Some(queue) => Box::into_raw(Box::new(queue)).cast(),
        None => std::ptr::null_mut(),
    })
}

unsafe extern "C" fn save(io: *mut raw::RedisModuleIO, value: *mut c_void) {
    guard((), || unsafe { queue(value) }.to_rdb(&mut Output(io)));
}

unsafe extern "C" fn rewrite(
    io: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
    value: *mut c_void,
) {
    guard((), || unsafe { queue(value) }.to_aof(&mut Rewrite { io, key: Text(key) }));
}

unsafe extern "C" fn memory(value: *const c_void) -> usize {
    guard(0, || unsafe { queue(value) }.memory())
}

unsafe extern "C" fn digest(digest: *mut raw::RedisModuleDigest, value: *mut c_void) {
    guard((), || unsafe { queue(value) }.digest(&mut Digest(digest)));
}

/// A value of more work than this is freed by a thread of its own: `DEL`, `FLUSHALL SYNC` and expiry call from the server's
/// main thread, where a million jobs would take tens of milliseconds.
const FREE_HERE_MAX: usize = 10_000;

/// May run in a thread of the server's.
unsafe extern "C" fn free(value: *mut c_void) {
    guard((), || {
        // SAFETY: `load`, `copy` or `Key::create` made it, and the server hands it back once.
        let queue = unsafe { Box::from_raw(value.cast::<Queue>()) };
        if queue.free_effort() > FREE_HERE_MAX {
            // If there can be no thread, the closure is dropped here and now, and the queue with it.
            let thread = std::thread::Builder::new().name("dq-free".into()).spawn(move || drop(queue));
            drop(thread);
        }
    });
}

unsafe extern "C" fn free_effort(_: *mut raw::RedisModuleString, value: *const c_void) -> usize {
    guard(1, || unsafe { queue(value) }.free_effort())
}

unsafe extern "C" fn copy(
    _: *mut raw::RedisModuleString,
    _: *mut raw::RedisModuleString,
    value: *const c_void,
) -> *mut c_void {
    guard(std::ptr::null_mut(), || Box::into_raw(Box::new(unsafe { queue(value) }.duplicate())).cast())
}

/// SAFETY: the server hands each callback a value that `load`, `copy` or `Key::create` made, and nobody else uses it
/// meanwhile.
unsafe fn queue<'a>(value: *const c_void) -> &'a Queue {
    unsafe { &*value.cast::<Queue>() }
}
