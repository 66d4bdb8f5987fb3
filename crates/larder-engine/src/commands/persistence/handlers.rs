//! The handlers of the commands on files, by the names of `command::tables::persistence`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("bgrewriteaof", super::bgrewriteaof),
    ("bgsave", super::bgsave),
    ("lastsave", super::lastsave),
    ("save", super::save),
    ("wait", super::wait),
    ("waitaof", super::waitaof),
];
