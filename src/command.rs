//! The commands: one file each, all of the same shape. None knows another.

mod ack;
mod apply;
mod cancel;
mod claim;
mod get;
mod len;
mod r#move;
mod mpush;
mod push;

use crate::host::command::{Entry, entry};

/// Every command, in the order in which the documentation lists them.
pub static TABLE: [Entry; 9] = [
    entry::<push::Push>(),
    entry::<mpush::MPush>(),
    entry::<claim::Claim>(),
    entry::<ack::Ack>(),
    entry::<cancel::Cancel>(),
    entry::<r#move::Move>(),
    entry::<len::Len>(),
    entry::<get::Get>(),
    entry::<apply::Apply>(),
];
