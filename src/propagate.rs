//! Tells everyone who must know what a command did to a queue: replicas, the AOF, watchers, caching clients,
//! subscribers of keyspace events, `INFO`, and those who wait.

use dq_engine::effect::{Effect, Effects, VERSION, Words};

use crate::host::{Context, Text};
use crate::{info, notify, waiters};

/// Sends `effects` as one `DQ.APPLY`. Does nothing, so that nothing counts as changed, if there are none.
pub fn effects(context: &Context<'_>, key: Text, effects: &Effects<'_>) {
    if effects.is_empty() {
        return;
    }
    let mut arguments = context.arguments(key);
    arguments.number(VERSION);
    for effect in &effects.0 {
        effect.write(&mut arguments);
    }
    context.replicate(c"DQ.APPLY", &arguments);
    info::count(&effects.0);
    tell(context, key, &effects.0);
}

/// Sends the running `DQ.APPLY`, which did `effects`, on as it came.
pub fn applied(context: &Context<'_>, key: Text, effects: &[Effect<'_>]) {
    context.replicate_verbatim();
    if !context.is_loading() {
        info::count(effects);
    }
    tell(context, key, effects);
}

fn tell(context: &Context<'_>, key: Text, effects: &[Effect<'_>]) {
    context.signal_modified(key);
    notify::fire(context, key, effects);
    waiters::changed(context, key);
}
