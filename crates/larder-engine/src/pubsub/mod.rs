//! Publish and subscribe: who hears which channel, and how a message gets to them.
//!
//! A channel belongs to one of many maps by its hash, each behind its own lock, so that PUBLISH takes one lock whatever
//! others do. Patterns stand apart: every message is matched with all of them, under a lock that readers share, and not
//! at all while there is none.
//!
//! A message is encoded once ([`Message`]) and sent once to each worker that owns subscribers, with the list
//! of these clients, which is shared and not copied ([`audience::Audience`]). It is sent while the lock of
//! the channel's map is held: all subscribers of a channel hear its messages in the same order, and those of
//! one publisher in his. (Who listens by a pattern may hear messages of two publishers in another order.)
//! Locks are taken in this order: shard, map of channels or patterns, mailbox.
//!
//! A message may still be in the mail when its receiver leaves the channel. The owner of the connection looks again
//! when it arrives, see [`Session::hears`](crate::clients::session::Session::hears).
//!
//! Cost: PUBLISH is O(1) + O(patterns) + O(workers that own subscribers), and for each subscriber a copy of
//! the message into its output, or a reference to one that is long (`SHARED_BYTES_MIN` of the server). A
//! subscription takes 8 bytes in the audience, and one reference to the name at its client.

mod audience;
mod message;
mod registry;
mod space;
mod subscriptions;

pub use message::Message;
pub use space::Space;
pub(crate) use subscriptions::Subscriptions;

use crate::keyspace::address::Address;
use audience::Audience;
use parking_lot::RwLock;
use registry::Registry;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// All subscriptions.
#[derive(Default)]
pub(crate) struct PubSub {
    channels: Registry,
    shard_channels: Registry,
    patterns: RwLock<BTreeMap<Arc<[u8]>, Audience>>,
    pattern_count: AtomicUsize,
}

impl PubSub {
    /// Takes a client into the audience of a name, and returns the name as all who use it share it.
    pub(crate) fn join(&self, space: Space, name: &[u8], who: Address) -> Arc<[u8]> {
        match self.registry(space) {
            Some(registry) => registry.join(name, who),
            None => self.join_pattern(name, who),
        }
    }

    /// Takes a client out of the audience of a name.
    pub(crate) fn leave(&self, space: Space, name: &[u8], who: Address) {
        match self.registry(space) {
            Some(registry) => registry.leave(name, who),
            None => self.leave_pattern(name, who),
        }
    }

    fn registry(&self, space: Space) -> Option<&Registry> {
        match space {
            Space::Channels => Some(&self.channels),
            Space::Patterns => None,
            Space::ShardChannels => Some(&self.shard_channels),
        }
    }

    fn join_pattern(&self, pattern: &[u8], who: Address) -> Arc<[u8]> {
        let mut patterns = self.patterns.write();
        let name =
            patterns.get_key_value(pattern).map_or_else(|| pattern.into(), |(name, _)| Arc::clone(name));
        patterns.entry(Arc::clone(&name)).or_default().add(who);
        self.pattern_count.store(patterns.len(), Relaxed);
        name
    }

    fn leave_pattern(&self, pattern: &[u8], who: Address) {
        let mut patterns = self.patterns.write();
        let Some(audience) = patterns.get_mut(pattern) else { return };
        audience.remove(who);
        if audience.is_empty() {
            patterns.remove(pattern);
        }
        self.pattern_count.store(patterns.len(), Relaxed);
    }

    /// Number of different names that anybody subscribes to.
    pub(crate) fn len(&self, space: Space) -> usize {
        self.registry(space).map_or_else(|| self.pattern_count.load(Relaxed), Registry::len)
    }

    /// Number of clients that subscribe to a channel itself.
    pub(crate) fn audience_len(&self, space: Space, channel: &[u8]) -> usize {
        self.registry(space).map_or(0, |registry| registry.audience_len(channel))
    }

    /// The channels that somebody subscribes to and that match, in no order.
    pub(crate) fn names(&self, space: Space, matches: impl Fn(&[u8]) -> bool) -> Vec<Arc<[u8]>> {
        self.registry(space).map_or_else(Vec::new, |registry| registry.names(matches))
    }

    /// Hands a message for the subscribers of a channel, and of the patterns that match it, to `send`: once for each worker that
    /// owns some of them, with these. Returns their number, those of two kinds counted twice.
    pub(crate) fn publish(&self, channel: &[u8], payload: &[u8], mut send: impl FnMut(Delivery)) -> usize {
        if self.channels.is_empty() && self.pattern_count.load(Relaxed) == 0 {
            return 0;
        }
        let heard = self.channels.with(channel, |name, audience| {
            hand_out(audience, Message::of_channel(Space::Channels, name, payload), &mut send)
        });
        heard.unwrap_or(0) + self.publish_to_patterns(channel, payload, &mut send)
    }

    /// The same for the subscribers of a shard channel.
    pub(crate) fn publish_to_shard(
        &self,
        channel: &[u8],
        payload: &[u8],
        mut send: impl FnMut(Delivery),
    ) -> usize {
        let heard = self.shard_channels.with(channel, |name, audience| {
            hand_out(audience, Message::of_channel(Space::ShardChannels, name, payload), &mut send)
        });
        heard.unwrap_or(0)
    }

    /// Calls `tell` with each channel of a shard that satisfies `is_gone` and the clients of each worker that subscribe to it.
    pub(crate) fn each_shard_channel(
        &self,
        is_gone: impl Fn(&[u8]) -> bool,
        mut tell: impl FnMut(usize, &Arc<Vec<u64>>, &Arc<[u8]>),
    ) {
        for name in self.shard_channels.names(is_gone) {
            self.shard_channels.with(&name, |_, audience| {
                audience.groups().iter().for_each(|group| tell(group.worker, &group.clients, &name));
            });
        }
    }

    fn publish_to_patterns(&self, channel: &[u8], payload: &[u8], send: &mut impl FnMut(Delivery)) -> usize {
        if self.pattern_count.load(Relaxed) == 0 {
            return 0;
        }
        let patterns = self.patterns.read();
        let matching = patterns.iter().filter(|(pattern, _)| crate::text::glob::matches(pattern, channel));
        matching
            .map(|(pattern, audience)| {
                hand_out(audience, Message::of_pattern(pattern, channel, payload), send)
            })
            .sum()
    }
}

/// A message for the subscribers that one worker owns.
pub(crate) struct Delivery {
    /// The worker.
    pub worker: usize,
    /// The subscribers, in the order of their ids.
    pub clients: Arc<Vec<u64>>,
    /// The message.
    pub message: Arc<Message>,
}

fn hand_out(audience: &Audience, message: Message, send: &mut impl FnMut(Delivery)) -> usize {
    let message = Arc::new(message);
    for group in audience.groups() {
        let (clients, message) = (Arc::clone(&group.clients), Arc::clone(&message));
        send(Delivery { worker: group.worker, clients, message });
    }
    audience.len()
}
