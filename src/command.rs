//! The commands: one file each, all of the same shape. None knows another.

mod ack;
mod apply;
mod cancel;
mod claim;
mod extend;
mod get;
mod info;
mod len;
mod r#move;
mod mpush;
mod nack;
mod pause;
mod peek;
mod policy;
mod purge;
mod push;
mod redrive;
mod reschedule;
mod resume;

use crate::host::command::{Entry, entry};

/// Every command, in the order in which the documentation lists them.
pub static TABLE: [Entry; 19] = [
    entry::<push::Push>(),
    entry::<mpush::MPush>(),
    entry::<claim::Claim>(),
    entry::<ack::Ack>(),
    entry::<nack::Nack>(),
    entry::<extend::Extend>(),
    entry::<cancel::Cancel>(),
    entry::<reschedule::Reschedule>(),
    entry::<redrive::Redrive>(),
    entry::<r#move::Move>(),
    entry::<policy::Policy>(),
    entry::<pause::Pause>(),
    entry::<resume::Resume>(),
    entry::<purge::Purge>(),
    entry::<len::Len>(),
    entry::<get::Get>(),
    entry::<peek::Peek>(),
    entry::<info::Info>(),
    entry::<apply::Apply>(),
];
