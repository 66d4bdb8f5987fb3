//! The handlers of the stream commands, by the names of `command::tables::stream`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("xack", super::claim::xack),
    ("xadd", super::add::xadd),
    ("xautoclaim", super::claim::xautoclaim),
    ("xclaim", super::claim::xclaim),
    ("xdel", super::range::xdel),
    ("xgroup|create", super::group::create),
    ("xgroup|createconsumer", super::group::createconsumer),
    ("xgroup|delconsumer", super::group::delconsumer),
    ("xgroup|destroy", super::group::destroy),
    ("xgroup|help", super::group::help),
    ("xgroup|setid", super::group::setid),
    ("xinfo|consumers", super::info::consumers),
    ("xinfo|groups", super::info::groups),
    ("xinfo|help", super::info::help),
    ("xinfo|stream", super::info::stream),
    ("xlen", super::range::xlen),
    ("xpending", super::pending::xpending),
    ("xrange", super::range::xrange),
    ("xread", super::read::xread),
    ("xreadgroup", super::read::xreadgroup),
    ("xrevrange", super::range::xrevrange),
    ("xsetid", super::add::xsetid),
    ("xtrim", super::add::xtrim),
];
