//! The queue of DQ: jobs that become visible at a time, are claimed under leases, and come back when a lease ends.
//!
//! This crate is the whole of the product's logic. It knows no Redis, reads no clock and does no input or output: every
//! operation of [`queue::Queue`] takes `now`, and returns what must be told to others as [`effect::Effects`].
//!
//! # The life of a job
//!
//! ```text
//!   push                   due                claim LEASE             ack
//!  ------> waiting (later) ---> waiting (due) -----------> claimed --------> gone
//!               ^                 |    ^                     |  |
//!               |                 |    '---- lease ends -----'  |
//!               |                 |                             |
//!               '-----------------|--------- nack --------------'
//!               ^                 |                             | nack DEAD, or the last
//!               |                 | claim without lease         v permitted attempt fails
//!               |                 | move, TTL over             dead
//!               |                 v                             |
//!               |                gone                           |
//!               '------------------ redrive -------------------'
//!
//!   cancel and purge take a job out of any state; push REPLACE makes it wait anew from any state.
//! ```
//!
//! # Words
//!
//! *Visible time*: from when on a waiting job can be delivered. *Due*: waiting, and that time is not after now. *Lapsed*:
//! its lease has ended and nobody claimed it since; it waits again, with attempts counted. *Token*: the number of a
//! claim; with the id it is the *receipt* of one delivery. *Standing*: where a job stands in the orders, which only an
//! operation changes; *state*: what it is now, which time changes too.
//!
//! # Where things are
//!
//! [`queue`] does everything, through [`slots`] (the records), [`index`] (by id) and [`orders`] (by time: a [`lane`] for
//! each priority, of [`timeline`]s). [`effect`] is what operations leave behind, [`codec`] the stored form. The
//! invariants I1 to I8 are checked by `Queue::check` and explained in docs/design.md.
//!
//! # Costs
//!
//! Every operation is O(log n) for each job that it touches. No operation copies, walks or rehashes the whole queue.

pub mod codec;
pub mod effect;
pub mod error;
pub mod id;
pub mod index;
pub mod job;
pub mod lane;
pub mod orders;
pub mod policy;
pub mod queue;
pub mod slots;
pub mod time;
pub mod timeline;
