//! Channels and their subscribers, in many maps: two channels seldom share a lock.

use super::audience::Audience;
use crate::keyspace::address::Address;
use larder_collections::keyed_hash::KeyedState;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Number of maps; a power of two.
const MAPS: usize = 64;

const _: () = assert!(MAPS.is_power_of_two());

type Map = HashMap<Arc<[u8]>, Audience, KeyedState>;

/// A map, alone on its cache lines.
#[repr(align(128))]
#[derive(Default)]
struct Locked(Mutex<Map>);

/// The channels of one space.
pub(super) struct Registry {
    maps: Box<[Locked]>,
    len: AtomicUsize,
}

impl Default for Registry {
    fn default() -> Self {
        Registry { maps: (0..MAPS).map(|_| Locked::default()).collect(), len: AtomicUsize::new(0) }
    }
}

impl Registry {
    fn map(&self, channel: &[u8]) -> &Mutex<Map> {
        &self.maps[crate::keyspace::hash::hash(channel) as usize & (MAPS - 1)].0
    }

    /// Takes a client in, and returns the channel's name as everybody shares it.
    pub(super) fn join(&self, channel: &[u8], who: Address) -> Arc<[u8]> {
        let mut map = self.map(channel).lock();
        let name = match map.get_key_value(channel) {
            Some((name, _)) => Arc::clone(name),
            None => {
                self.len.fetch_add(1, Relaxed);
                channel.into()
            }
        };
        map.entry(Arc::clone(&name)).or_default().add(who);
        name
    }

    /// Takes a client out.
    pub(super) fn leave(&self, channel: &[u8], who: Address) {
        let mut map = self.map(channel).lock();
        let Some(audience) = map.get_mut(channel) else { return };
        audience.remove(who);
        if audience.is_empty() {
            map.remove(channel);
            self.len.fetch_sub(1, Relaxed);
        }
    }

    /// Calls `f` with the subscribers of a channel, if it has any, while nobody can come or go.
    pub(super) fn with<R>(&self, channel: &[u8], f: impl FnOnce(&Arc<[u8]>, &Audience) -> R) -> Option<R> {
        if self.is_empty() {
            return None;
        }
        let map = self.map(channel).lock();
        map.get_key_value(channel).map(|(name, audience)| f(name, audience))
    }

    pub(super) fn audience_len(&self, channel: &[u8]) -> usize {
        self.with(channel, |_, audience| audience.len()).unwrap_or(0)
    }

    /// The channels that match.
    pub(super) fn names(&self, matches: impl Fn(&[u8]) -> bool) -> Vec<Arc<[u8]>> {
        let mut names = Vec::new();
        for map in &self.maps {
            names.extend(map.0.lock().keys().filter(|name| matches(name)).cloned());
        }
        names
    }

    /// Number of channels.
    pub(super) fn len(&self) -> usize {
        self.len.load(Relaxed)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
