//! How a command is made known to the server, and how the server calls it.

use std::ffi::{CStr, CString, c_int};

use redis_module::raw;

use super::context::Context;
use super::text::Text;
use super::{api, description, guard};
use crate::error::Error;

/// A command of this module.
pub trait Command {
    /// What the server is told of it.
    const SPEC: Spec;

    /// Runs it. `words` are its arguments after its name, as many as [`Spec::arity`] asks for. An error is replied, and
    /// means that nothing was changed.
    fn run(context: &Context<'_>, words: &[Text]) -> Result<(), Error>;
}

/// What the server is told of a command: `COMMAND INFO`, `COMMAND DOCS`, ACL rules and cluster clients read it.
pub struct Spec {
    /// The name.
    pub name: &'static CStr,
    /// One sentence.
    pub summary: &'static CStr,
    /// Cost.
    pub complexity: &'static CStr,
    /// How many words it takes with its name; negative: at least so many.
    pub arity: c_int,
    /// The server's flags, separated by spaces.
    pub flags: &'static CStr,
    /// Who may run it, beyond what the flags say.
    pub access: Access,
    /// Tips for clients, separated by spaces.
    pub tips: &'static CStr,
    /// What it does to its keys, which stand first, one after another.
    pub keys: &'static [KeyUse],
    /// Its arguments.
    pub arguments: &'static [Argument],
}

impl Spec {
    /// Returns the flags that this server knows: `blocking` came with Redis 7.0, as `RM_SetCommandInfo` did.
    fn known_flags(&self) -> CString {
        let knows_blocking = unsafe { raw::RedisModule_SetCommandInfo }.is_some();
        let words = self.flags.to_str().unwrap_or_default().split(' ');
        let known: Vec<&str> = words.filter(|&flag| flag != "blocking" || knows_blocking).collect();
        CString::new(known.join(" ")).unwrap_or_default()
    }

    fn has_flag(&self, flag: &str) -> bool {
        self.flags.to_bytes().split(|&byte| byte == b' ').any(|word| word == flag.as_bytes())
    }
}

/// Who may run a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Whoever may run commands with its flags.
    Ordinary,
    /// In addition it is in the ACL category @dangerous.
    Dangerous,
}

/// What a command does to a key.
#[derive(Clone, Copy)]
pub enum KeyUse {
    /// Reads it and tells of it.
    Read,
    /// Adds to it.
    Insert,
    /// Changes what is in it.
    Update,
    /// Removes from it.
    Delete,
    /// Removes from it and tells what it was.
    AccessDelete,
}

/// An argument of a command, as its documentation shows it.
pub struct Argument {
    /// The name.
    pub name: &'static CStr,
    /// What stands there.
    pub kind: ArgumentKind,
    /// The word that goes before it.
    pub token: Option<&'static CStr>,
    /// Whether it can be left out.
    pub optional: bool,
    /// Whether it can be repeated.
    pub multiple: bool,
    /// Its parts.
    pub parts: &'static [Argument],
}

/// What stands in the place of an argument.
#[derive(Clone, Copy)]
pub enum ArgumentKind {
    /// The key of this number.
    Key(c_int),
    /// Bytes.
    Text,
    /// A number.
    Integer,
    /// A Unix time.
    UnixTime,
    /// The word itself.
    Word,
    /// One of its parts.
    OneOf,
    /// Its parts, one after another.
    Block,
}

impl Argument {
    /// An argument that must be there.
    pub const fn new(name: &'static CStr, kind: ArgumentKind) -> Self {
        Argument { name, kind, token: None, optional: false, multiple: false, parts: &[] }
    }

    /// A word that stands for itself.
    pub const fn word(name: &'static CStr, token: &'static CStr) -> Self {
        Argument { token: Some(token), ..Argument::new(name, ArgumentKind::Word) }
    }

    /// An argument after a word.
    pub const fn after(token: &'static CStr, name: &'static CStr, kind: ArgumentKind) -> Self {
        Argument { token: Some(token), ..Argument::new(name, kind) }
    }

    /// Several arguments as one.
    pub const fn of(name: &'static CStr, kind: ArgumentKind, parts: &'static [Argument]) -> Self {
        Argument { parts, ..Argument::new(name, kind) }
    }

    /// The same, to be left out at will.
    pub const fn optional(self) -> Self {
        Argument { optional: true, ..self }
    }

    /// The same, to be repeated at will.
    pub const fn multiple(self) -> Self {
        Argument { multiple: true, ..self }
    }
}

/// A command that can be registered.
pub struct Entry {
    spec: Spec,
    call: unsafe extern "C" fn(*mut raw::RedisModuleCtx, *mut *mut raw::RedisModuleString, c_int) -> c_int,
}

/// Makes a command's entry for the table of commands.
pub const fn entry<C: Command>() -> Entry {
    Entry { spec: C::SPEC, call: dispatch::<C> }
}

unsafe extern "C" fn dispatch<C: Command>(
    context: *mut raw::RedisModuleCtx,
    words: *mut *mut raw::RedisModuleString,
    count: c_int,
) -> c_int {
    // SAFETY: the server hands over `count` strings; `Text` is a transparent wrapper of a pointer to one.
    let words = unsafe { std::slice::from_raw_parts(words.cast::<Text>(), count as usize) };
    let words = words.get(1..).unwrap_or_default();
    perform::<C>(&Context::new(context, words));
    raw::REDISMODULE_OK as c_int
}

/// Runs the command and replies. A panic, which must not reach the server, becomes an error.
pub(super) fn perform<C: Command>(context: &Context<'_>) {
    let words = context.words();
    let done = guard(false, || {
        let (count, arity) = (words.len() as c_int + 1, C::SPEC.arity);
        let enough = if arity < 0 { count >= -arity } else { count == arity };
        if !enough {
            context.reply_wrong_arity();
        } else if let Err(error) = C::run(context, words) {
            context.reply_error(&error.to_string());
        }
        true
    });
    if !done {
        context.log_warning("a command panicked; please report this with the lines above");
        context.reply_error("ERR internal error in the dq module; the server's log says more");
    }
}

impl Entry {
    /// Makes the command known to the server. Only while the module is loaded.
    pub(super) fn register(&self, context: *mut raw::RedisModuleCtx) -> bool {
        let spec = &self.spec;
        let flags = spec.known_flags();
        // SAFETY: all strings outlive the calls; the server copies what it keeps.
        unsafe {
            let created = api(raw::RedisModule_CreateCommand)(
                context,
                spec.name.as_ptr(),
                Some(self.call),
                flags.as_ptr(),
                1,
                spec.keys.len() as c_int,
                1,
            );
            created == raw::REDISMODULE_OK as c_int
                && description::set(context, spec)
                && categorize(context, spec)
        }
    }
}

/// Names the command's ACL categories, where the server lets a module do that (since Redis 7.2). Older servers put a
/// module's commands into no category.
unsafe fn categorize(context: *mut raw::RedisModuleCtx, spec: &Spec) -> bool {
    let (Some(get), Some(set)) =
        (unsafe { (raw::RedisModule_GetCommand, raw::RedisModule_SetCommandACLCategories) })
    else {
        return true;
    };
    let access = if spec.has_flag("readonly") { "read" } else { "write" };
    let speed = if spec.has_flag("fast") { "fast" } else { "slow" };
    let blocking = if spec.has_flag("blocking") { " blocking" } else { "" };
    let danger = if spec.access == Access::Dangerous { " dangerous" } else { "" };
    let categories = CString::new(format!("{access} {speed}{blocking}{danger}")).unwrap_or_default();
    unsafe { set(get(context, spec.name.as_ptr()), categories.as_ptr()) == raw::REDISMODULE_OK as c_int }
}
