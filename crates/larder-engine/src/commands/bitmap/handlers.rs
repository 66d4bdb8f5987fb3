//! The handlers of the bitmap commands, by the names of `command::tables::bitmap`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("bitcount", super::range::bitcount),
    ("bitfield", super::field::bitfield),
    ("bitfield_ro", super::field::bitfield_ro),
    ("bitop", super::combine::bitop),
    ("bitpos", super::range::bitpos),
    ("getbit", super::single::getbit),
    ("setbit", super::single::setbit),
];
