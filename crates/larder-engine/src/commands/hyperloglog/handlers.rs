//! The handlers of the HyperLogLog commands, by the names of `command::tables::hyperloglog`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("pfadd", super::pfadd),
    ("pfcount", super::pfcount),
    ("pfdebug", super::debug::pfdebug),
    ("pfmerge", super::pfmerge),
    ("pfselftest", super::self_test::pfselftest),
];
