//! Timers of the server: they fire once, in its main thread, and never early.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::rc::Rc;

use dq_engine::time::Millis;
use redis_module::raw;

use super::context::Context;
use super::{api, guard};

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
                drop(Rc::from_raw(alarm.cast::<A>().cast_const()));
            }
        }
    }
}

unsafe extern "C" fn fire<A: Alarm>(context: *mut raw::RedisModuleCtx, alarm: *mut c_void) {
    // SAFETY: handed over by `set`, and back here once.
    guard((), || unsafe { Rc::from_raw(alarm.cast::<A>().cast_const()) }.ring(&Context::new(context, &[])));
}
