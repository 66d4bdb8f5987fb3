//! The cluster bus as a state machine, without I/O and without a clock.

#![forbid(unsafe_code)]

mod id;
mod key_slot;
pub mod packet;
mod slot_set;

pub use id::{ID_BYTES, NodeId};
pub use key_slot::{crc16, hash_tag, key_slot};
pub use slot_set::{BITMAP_BYTES, SLOTS, SlotSet};
