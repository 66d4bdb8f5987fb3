//! The handlers of the hash commands, by the names of `command::tables::hash`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("hdel", super::set::hdel),
    ("hexists", super::read::hexists),
    ("hexpire", super::expire::hexpire),
    ("hexpireat", super::expire::hexpireat),
    ("hexpiretime", super::expire::hexpiretime),
    ("hget", super::read::hget),
    ("hgetall", super::read::hgetall),
    ("hgetdel", super::expire::hgetdel),
    ("hgetex", super::expire::hgetex),
    ("hincrby", super::number::hincrby),
    ("hincrbyfloat", super::number::hincrbyfloat),
    ("hkeys", super::read::hkeys),
    ("hlen", super::read::hlen),
    ("hmget", super::read::hmget),
    ("hmset", super::set::hmset),
    ("hpersist", super::expire::hpersist),
    ("hpexpire", super::expire::hpexpire),
    ("hpexpireat", super::expire::hpexpireat),
    ("hpexpiretime", super::expire::hpexpiretime),
    ("hpttl", super::expire::hpttl),
    ("hrandfield", super::read::hrandfield),
    ("hscan", super::read::hscan),
    ("hset", super::set::hset),
    ("hsetex", super::expire::hsetex),
    ("hsetnx", super::set::hsetnx),
    ("hstrlen", super::read::hstrlen),
    ("httl", super::expire::httl),
    ("hvals", super::read::hvals),
];
