//! Tells replicas, the AOF, watchers, caching clients and those who wait what a command did to a queue.

use dq_engine::effect::{Effects, VERSION, Words};

use crate::host::{Context, Text};
use crate::waiters;

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
    tell(context, key);
}

/// Sends the running command, which changed the queue, as it came.
pub fn verbatim(context: &Context<'_>, key: Text) {
    context.replicate_verbatim();
    tell(context, key);
}

fn tell(context: &Context<'_>, key: Text) {
    context.signal_modified(key);
    waiters::changed(context, key);
}
