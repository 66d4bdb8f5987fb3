//! The handlers of the transaction commands, by the names of `command::tables::transaction`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("discard", super::discard),
    ("exec", super::exec),
    ("multi", super::multi),
    ("unwatch", super::watch::unwatch),
    ("watch", super::watch::watch),
];
