//! What one connection subscribes to.

use super::space::Space;
use larder_collections::keyed_hash::KeyedState;
use std::collections::HashSet;
use std::sync::Arc;

type Names = HashSet<Arc<[u8]>, KeyedState>;

/// The subscriptions of a connection. A connection that has none has no such struct.
#[derive(Default)]
pub(crate) struct Subscriptions {
    channels: Names,
    patterns: Names,
    shard_channels: Names,
    name_bytes: usize,
}

impl Subscriptions {
    fn of(&self, space: Space) -> &Names {
        match space {
            Space::Channels => &self.channels,
            Space::Patterns => &self.patterns,
            Space::ShardChannels => &self.shard_channels,
        }
    }

    fn of_mut(&mut self, space: Space) -> &mut Names {
        match space {
            Space::Channels => &mut self.channels,
            Space::Patterns => &mut self.patterns,
            Space::ShardChannels => &mut self.shard_channels,
        }
    }

    pub(crate) fn contains(&self, space: Space, name: &[u8]) -> bool {
        self.of(space).contains(name)
    }

    pub(crate) fn insert(&mut self, space: Space, name: Arc<[u8]>) {
        let bytes = name.len();
        if self.of_mut(space).insert(name) {
            self.name_bytes += bytes;
        }
    }

    /// Whether the name was there.
    pub(crate) fn remove(&mut self, space: Space, name: &[u8]) -> bool {
        let was_there = self.of_mut(space).remove(name);
        self.name_bytes -= if was_there { name.len() } else { 0 };
        was_there
    }

    /// Takes out any one name.
    pub(crate) fn pop(&mut self, space: Space) -> Option<Arc<[u8]>> {
        let name = self.of(space).iter().next().cloned()?;
        self.remove(space, &name);
        Some(name)
    }

    /// All names, in no order.
    pub(crate) fn names(&self, space: Space) -> impl Iterator<Item = &[u8]> {
        self.of(space).iter().map(|name| &**name)
    }

    pub(crate) fn len(&self, space: Space) -> usize {
        self.of(space).len()
    }

    /// The number that confirmations tell: channels and patterns count together, shard channels for themselves.
    pub(crate) fn told_count(&self, space: Space) -> usize {
        match space {
            Space::Channels | Space::Patterns => self.channels.len() + self.patterns.len(),
            Space::ShardChannels => self.shard_channels.len(),
        }
    }

    /// Bytes that the subscriptions take, here and in the registry; names are shared with other subscribers, and counted
    /// for each.
    pub(crate) fn memory_bytes(&self) -> u64 {
        const PER_NAME: usize = 64;
        let count = self.channels.len() + self.patterns.len() + self.shard_channels.len();
        (self.name_bytes + count * PER_NAME) as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.patterns.is_empty() && self.shard_channels.is_empty()
    }
}
