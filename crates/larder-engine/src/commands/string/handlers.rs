//! The handlers of the string commands, by the names of `command::tables::string`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("append", super::edit::append),
    ("decr", super::number::decr),
    ("decrby", super::number::decrby),
    ("delifeq", super::set::delifeq),
    ("get", super::get::get),
    ("getdel", super::get::getdel),
    ("getex", super::get::getex),
    ("getrange", super::get::getrange),
    ("getset", super::set::getset),
    ("incr", super::number::incr),
    ("incrby", super::number::incrby),
    ("incrbyfloat", super::number::incrbyfloat),
    ("lcs", super::lcs::lcs),
    ("mget", super::get::mget),
    ("mset", super::set::mset),
    ("msetex", super::set::msetex),
    ("msetnx", super::set::msetnx),
    ("psetex", super::set::psetex),
    ("set", super::set::set),
    ("setex", super::set::setex),
    ("setnx", super::set::setnx),
    ("setrange", super::edit::setrange),
    ("strlen", super::get::strlen),
    ("substr", super::get::getrange),
];
