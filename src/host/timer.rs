//! Timers of the server: they fire once, in its main thread, and never early.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use dq_engine::time::Millis;
use redis_module::raw;

use super::context::Context;
use super::{api, guard};

/// How many timers are set. A crashing server reads it, from any thread.
static ARMED: AtomicU64 = AtomicU64::new(0);

/// Returns how many timers are set. O(1).
#[must_use]
pub fn armed() -> u64 {
    ARMED.load(Ordering::Relaxed)
}

/// What a timer wakes.
pub trait Alarm {
    /// The time has come. The timer is gone by then.
    fn ring(self: Rc<Self>, context: &Context<'_>);
}

/// A timer that has been set and has neither fired nor been stopped.
pub struct Timer<A> {
    id: raw::RedisModuleTimerID,
    alarm: PhantomData<Rc<A>>,
}

impl<A: Alarm> Timer<A> {
    /// Rings `alarm` after `delay`, in the database that is selected now.
    #[must_use]
    pub fn set(context: &Context<'_>, delay: Millis, alarm: Rc<A>) -> Self {
        let delay = i64::try_from(delay.0).unwrap_or(i64::MAX);
        let alarm = Rc::into_raw(alarm).cast_mut();
        ARMED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the alarm is handed back once, by `fire` or by `stop`.
        let id =
            unsafe { api(raw::RedisModule_CreateTimer)(context.raw, delay, Some(fire::<A>), alarm.cast()) };
        Timer { id, alarm: PhantomData }
    }

    /// Stops the timer. It must not be the one that is firing.
    pub fn stop(self, context: &Context<'_>) {
        let mut alarm = std::ptr::null_mut();
        // SAFETY: the timer has not fired, so it still owns its alarm.
        unsafe {
            if api(raw::RedisModule_StopTimer)(context.raw, self.id, &mut alarm) == raw::REDISMODULE_OK as i32
            {
                ARMED.fetch_sub(1, Ordering::Relaxed);
                drop(Rc::from_raw(alarm.cast::<A>().cast_const()));
            }
        }
    }
}

unsafe extern "C" fn fire<A: Alarm>(context: *mut raw::RedisModuleCtx, alarm: *mut c_void) {
    ARMED.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: handed over by `set`, and back here once.
    guard((), || unsafe { Rc::from_raw(alarm.cast::<A>().cast_const()) }.ring(&Context::new(context, &[])));
}
