//! Publish and subscribe: who hears which channel, and how a message gets to them.
//!
//! A channel belongs to one of many maps by its hash, each behind its own lock, so that PUBLISH takes one lock whatever
//! others do. Patterns stand apart: every message is matched with all of them, under a lock that readers share, and not
//! at all while there is none.
//!
//! A message is encoded once ([`Message`]) and sent once to each worker that owns subscribers, with the list of these
//! clients, which is shared and not copied ([`audience::Audience`]). It is sent while the lock of the channel's map is
//! held: all subscribers of a channel hear its messages in the same order, and those of one publisher in his. Locks are
//! taken in this order: shard, map of channels or patterns, mailbox.
//!
//! A message may still be in the mail when its receiver leaves the channel. The owner of the connection looks again
//! when it arrives, see [`Session::hears`](crate::session::Session::hears).
//!
//! Cost: PUBLISH is O(1) + O(patterns) + O(workers that own subscribers), and a copy of the message into the output of
//! each subscriber. A subscription takes 8 bytes in the audience, and one reference to the name at its client.

mod audience;
mod message;
mod registry;
mod subscriptions;

pub use message::Message;
pub(crate) use subscriptions::Subscriptions;

use crate::engine::Engine;
use crate::mailbox::Mail;
use audience::Audience;
use parking_lot::RwLock;
use registry::Registry;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

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

/// A client as messages are addressed to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub worker: usize,
    pub client: u64,
}

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

    /// Whether nobody hears anything that PUBLISH sends.
    #[inline]
    fn is_silent(&self) -> bool {
        self.channels.is_empty() && self.pattern_count.load(Relaxed) == 0
    }
}

impl Engine {
    /// Sends a message to the subscribers of a channel and of the patterns that match it; returns their number, those
    /// of two kinds counted twice. `from` is the worker that calls, if one does: its own mail needs no wake-up.
    pub(crate) fn publish(&self, from: Option<usize>, channel: &[u8], payload: &[u8]) -> usize {
        if self.pubsub.is_silent() {
            return 0;
        }
        let heard = self.pubsub.channels.with(channel, |name, audience| {
            self.send_to(from, audience, || Message::of_channel(Space::Channels, name, payload))
        });
        heard.unwrap_or(0) + self.publish_to_patterns(from, channel, payload)
    }

    /// Sends a message to the subscribers of a shard channel.
    pub(crate) fn publish_to_shard(&self, from: Option<usize>, channel: &[u8], payload: &[u8]) -> usize {
        let heard = self.pubsub.shard_channels.with(channel, |name, audience| {
            self.send_to(from, audience, || Message::of_channel(Space::ShardChannels, name, payload))
        });
        heard.unwrap_or(0)
    }

    fn publish_to_patterns(&self, from: Option<usize>, channel: &[u8], payload: &[u8]) -> usize {
        if self.pubsub.pattern_count.load(Relaxed) == 0 {
            return 0;
        }
        let patterns = self.pubsub.patterns.read();
        let matching = patterns.iter().filter(|(pattern, _)| crate::glob::matches(pattern, channel));
        matching
            .map(|(pattern, audience)| {
                self.send_to(from, audience, || Message::of_pattern(pattern, channel, payload))
            })
            .sum()
    }

    fn send_to(&self, from: Option<usize>, audience: &Audience, message: impl FnOnce() -> Message) -> usize {
        let message = Arc::new(message());
        for group in audience.groups() {
            let mail = Mail::Message { clients: Arc::clone(&group.clients), message: Arc::clone(&message) };
            self.send_from(from, group.worker, mail);
        }
        audience.len()
    }
}
