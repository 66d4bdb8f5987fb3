//! What one can subscribe to.

/// What a name of a subscription names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// A channel: SUBSCRIBE, PUBLISH.
    Channels,
    /// A pattern of channels: PSUBSCRIBE.
    Patterns,
    /// A channel of a shard of a cluster: SSUBSCRIBE, SPUBLISH.
    ShardChannels,
}
