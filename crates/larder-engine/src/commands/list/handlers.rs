//! The handlers of the list commands, by the names of `command::tables::list`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("blmove", super::blocking::blmove),
    ("blmpop", super::blocking::blmpop),
    ("blpop", super::blocking::blpop),
    ("brpop", super::blocking::brpop),
    ("brpoplpush", super::blocking::brpoplpush),
    ("lindex", super::access::lindex),
    ("linsert", super::access::linsert),
    ("llen", super::access::llen),
    ("lmove", super::ends::lmove),
    ("lmpop", super::ends::lmpop),
    ("lpop", super::ends::lpop),
    ("lpos", super::access::lpos),
    ("lpush", super::ends::lpush),
    ("lpushx", super::ends::lpushx),
    ("lrange", super::access::lrange),
    ("lrem", super::access::lrem),
    ("lset", super::access::lset),
    ("ltrim", super::access::ltrim),
    ("rpop", super::ends::rpop),
    ("rpoplpush", super::ends::rpoplpush),
    ("rpush", super::ends::rpush),
    ("rpushx", super::ends::rpushx),
    ("lscan", super::access::lscan),
];
