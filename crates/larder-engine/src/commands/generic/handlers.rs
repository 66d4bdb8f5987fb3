//! The handlers of the generic commands, by the names of `command::tables::generic`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("copy", super::manage::copy),
    ("del", super::manage::del),
    ("dump", super::dump::dump),
    ("exists", super::manage::exists),
    ("expire", super::expire::expire),
    ("expireat", super::expire::expireat),
    ("expiretime", super::expire::expiretime),
    ("keys", super::walk::keys),
    ("migrate", super::migrate::migrate),
    ("move", super::manage::move_key),
    ("object|encoding", super::object::encoding),
    ("object|freq", super::object::freq),
    ("object|help", super::object::help),
    ("object|idletime", super::object::idletime),
    ("object|refcount", super::object::refcount),
    ("persist", super::expire::persist),
    ("pexpire", super::expire::pexpire),
    ("pexpireat", super::expire::pexpireat),
    ("pexpiretime", super::expire::pexpiretime),
    ("pttl", super::expire::pttl),
    ("randomkey", super::walk::randomkey),
    ("rename", super::manage::rename),
    ("renamenx", super::manage::renamenx),
    ("restore", super::dump::restore),
    ("restore-asking", super::dump::restore),
    ("scan", super::walk::scan),
    ("sort", super::sort::sort),
    ("sort_ro", super::sort::sort_ro),
    ("touch", super::manage::touch),
    ("ttl", super::expire::ttl),
    ("type", super::manage::type_of),
    ("unlink", super::manage::unlink),
];
