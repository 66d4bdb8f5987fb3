//! The handlers of the connection commands, by the names of `command::tables::connection`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("auth", super::hello::auth),
    ("client|caching", super::tracking::caching),
    ("client|capa", super::client::capa),
    ("client|getname", super::client::getname),
    ("client|getredir", super::tracking::getredir),
    ("client|help", super::client::help),
    ("client|id", super::client::id),
    ("client|import-source", super::client::import_source),
    ("client|info", super::client::info),
    ("client|kill", super::kill::kill),
    ("client|list", super::client::list),
    ("client|no-evict", super::client::no_evict),
    ("client|no-touch", super::client::no_touch),
    ("client|pause", super::pause::pause),
    ("client|reply", super::client::reply),
    ("client|setinfo", super::client::setinfo),
    ("client|setname", super::client::setname),
    ("client|tracking", super::tracking::tracking),
    ("client|trackinginfo", super::tracking::trackinginfo),
    ("client|unblock", super::kill::unblock),
    ("client|unpause", super::pause::unpause),
    ("echo", super::hello::echo),
    ("hello", super::hello::hello),
    ("ping", super::hello::ping),
    ("quit", super::hello::quit),
    ("reset", super::hello::reset),
    ("select", super::hello::select),
];
