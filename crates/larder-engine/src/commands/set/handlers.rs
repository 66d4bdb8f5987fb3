//! The handlers of the set commands, by the names of `command::tables::set`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("sadd", super::members::sadd),
    ("scard", super::members::scard),
    ("sdiff", super::algebra::sdiff),
    ("sdiffstore", super::algebra::sdiffstore),
    ("sinter", super::algebra::sinter),
    ("sintercard", super::algebra::sintercard),
    ("sinterstore", super::algebra::sinterstore),
    ("sismember", super::members::sismember),
    ("smembers", super::members::smembers),
    ("smismember", super::members::smismember),
    ("smove", super::members::smove),
    ("spop", super::random::spop),
    ("srandmember", super::random::srandmember),
    ("srem", super::members::srem),
    ("sscan", super::scan::sscan),
    ("sunion", super::algebra::sunion),
    ("sunionstore", super::algebra::sunionstore),
];
