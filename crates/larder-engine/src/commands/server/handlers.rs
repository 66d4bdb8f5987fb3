//! The handlers of the server commands, by the names of `command::tables::server`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("dbsize", super::keyspace::dbsize),
    ("flushall", super::keyspace::flushall),
    ("flushdb", super::keyspace::flushdb),
    ("lolwut", super::misc::lolwut),
    ("module|help", super::module::help),
    ("module|list", super::module::list),
    ("module|load", super::module::load),
    ("module|loadex", super::module::load),
    ("module|unload", super::module::unload),
    ("monitor", super::misc::monitor),
    ("shutdown", super::misc::shutdown),
    ("swapdb", super::keyspace::swapdb),
    ("time", super::misc::time),
];
