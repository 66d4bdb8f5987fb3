//! The handlers of the publish and subscribe commands, by the names of `command::tables::pubsub`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("psubscribe", super::subscribe::psubscribe),
    ("publish", super::publish),
    ("pubsub|channels", super::introspection::channels),
    ("pubsub|help", super::introspection::help),
    ("pubsub|numpat", super::introspection::numpat),
    ("pubsub|numsub", super::introspection::numsub),
    ("pubsub|shardchannels", super::introspection::shardchannels),
    ("pubsub|shardnumsub", super::introspection::shardnumsub),
    ("punsubscribe", super::subscribe::punsubscribe),
    ("spublish", super::spublish),
    ("ssubscribe", super::subscribe::ssubscribe),
    ("subscribe", super::subscribe::subscribe),
    ("sunsubscribe", super::subscribe::sunsubscribe),
    ("unsubscribe", super::subscribe::unsubscribe),
];
