//! Which keys of a shard were read by which clients that cache them.
//!
//! A packed key table (the one of the keyspace) from key to a run of readers: 8 bytes each, ascending. Up to
//! 16 readers are inside the segment of the table, without an allocation for the key or a reader. A longer
//! run is a shared string.
//!
//! ```text
//! value of a key:  | reader 0 | reader 1 | ...     each: client << 16 | worker, 8 bytes, big-endian
//! ```
//!
//! Cost: a key takes its name, what the key table adds (about 8 bytes, and free space of the segment), and 8
//! for each reader. Reading a key that the reader is noted for already is one lookup and a binary search;
//! another reader copies the run, so adding one is O(readers of the key). Taking the readers of a key is one
//! removal.
//!
//! A client that disconnects stays in the table until its keys change: its id is not used again, and mail to it is
//! dropped.
//!
//! Invariants: I1: a run is not empty and ascends strictly. I2: `items` is the number of readers in all runs. Tested by
//! the model test below.

use crate::keyspace::address::Address;
use crate::keyspace::hash::KeyspaceHash;
use crate::keyspace::key::Key;
use larder_collections::key_table::{ExpireChange, INLINE_MAX, KeyTable, NewValue, OwnedValue, ValueRef};
use larder_collections::value::Value;
use larder_packed::bytes::SharedBytes;

/// Bytes of one reader.
const READER_BYTES: usize = 8;
/// Bits of the number of a worker.
const WORKER_BITS: u32 = 16;

/// See the module's comment.
#[derive(Default)]
pub(crate) struct ReadKeys {
    keys: KeyTable<Value, KeyspaceHash>,
    items: usize,
}

fn pack(reader: Address) -> [u8; READER_BYTES] {
    debug_assert!(reader.worker < 1 << WORKER_BITS && reader.client < 1 << (64 - WORKER_BITS));
    (reader.client << WORKER_BITS | reader.worker as u64).to_be_bytes()
}

fn unpack(bytes: [u8; READER_BYTES]) -> Address {
    let number = u64::from_be_bytes(bytes);
    Address { worker: (number & ((1 << WORKER_BITS) - 1)) as usize, client: number >> WORKER_BITS }
}

/// The readers in a run.
fn readers(run: &[u8]) -> Vec<Address> {
    run.as_chunks::<READER_BYTES>().0.iter().map(|&bytes| unpack(bytes)).collect()
}

/// Calls `f` with the bytes of a value.
fn with_run<R>(value: &ValueRef<'_, Value>, f: impl FnOnce(&[u8]) -> R) -> R {
    match value {
        ValueRef::Inline { bytes, .. } => f(bytes),
        ValueRef::Out(value) => match &**value {
            Value::String(bytes) => f(bytes),
            _ => unreachable!("only runs are put into this table"),
        },
    }
}

impl ReadKeys {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Number of readers of all keys.
    pub(crate) fn items(&self) -> usize {
        self.items
    }

    /// Notes that a client has read a key; true if nobody had before.
    pub(crate) fn add(&mut self, key: &Key<'_>, reader: Address) -> bool {
        let reader = pack(reader);
        let place = self.keys.get(key.hash, key.bytes).map(|entry| {
            with_run(&entry.value(), |run| {
                run.as_chunks::<READER_BYTES>().0.binary_search(&reader).map_err(|at| (at, run.to_vec()))
            })
        });
        let is_new = place.is_none();
        match place {
            Some(Ok(_)) => return false,
            Some(Err((at, mut run))) => {
                let at = at * READER_BYTES;
                run.splice(at..at, reader);
                self.put(key, &run);
            }
            None => self.put(key, &reader),
        }
        self.items += 1;
        is_new
    }

    fn put(&mut self, key: &Key<'_>, run: &[u8]) {
        let value = if run.len() <= INLINE_MAX {
            NewValue::Inline { kind: 0, bytes: run }
        } else {
            NewValue::Out(Value::String(SharedBytes::new(run)))
        };
        self.keys.put(key.hash, key.bytes, value, ExpireChange::Clear, 0);
    }

    /// Forgets a key; returns who has read it.
    pub(crate) fn take(&mut self, key: &Key<'_>) -> Vec<Address> {
        let readers = match self.keys.remove(key.hash, key.bytes).map(|removed| removed.value) {
            None => return Vec::new(),
            Some(OwnedValue::Inline { bytes, .. }) => readers(&bytes),
            Some(OwnedValue::Out(Value::String(bytes))) => readers(&bytes),
            Some(OwnedValue::Out(_)) => unreachable!("only runs are put into this table"),
        };
        self.items -= readers.len();
        readers
    }

    /// Forgets any key; returns it and who has read it.
    pub(crate) fn take_random(&mut self, rng: &mut fastrand::Rng) -> Option<(Vec<u8>, Vec<Address>)> {
        let name = self.keys.random(rng)?.key().to_vec();
        let readers = self.take(&Key { hash: crate::keyspace::hash::hash(&name), bytes: &name });
        Some((name, readers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn as_a_map_of_sets() {
        let seed = larder_testkit::seed(11);
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut table = ReadKeys::default();
        let mut model: BTreeMap<Vec<u8>, BTreeSet<(u64, usize)>> = BTreeMap::new();
        for _ in 0..40_000 {
            let name = format!("key:{}", rng.u32(..60)).into_bytes();
            let key = Key { hash: crate::keyspace::hash::hash(&name), bytes: &name };
            if rng.u32(..200) > 0 {
                let reader = Address { client: rng.u64(1..200), worker: rng.usize(..3) };
                let is_new = !model.contains_key(&name);
                model.entry(name.clone()).or_default().insert((reader.client, reader.worker));
                assert_eq!(table.add(&key, reader), is_new);
            } else if rng.bool() {
                let expected: Vec<_> = model.remove(&name).unwrap_or_default().into_iter().collect();
                let taken: Vec<_> = table.take(&key).iter().map(|a| (a.client, a.worker)).collect();
                assert_eq!(taken, expected);
            } else if let Some((name, readers)) = table.take_random(&mut rng) {
                let expected: Vec<_> = model.remove(&name).expect("it was there").into_iter().collect();
                assert_eq!(readers.iter().map(|a| (a.client, a.worker)).collect::<Vec<_>>(), expected);
            }
            assert_eq!(table.len(), model.len());
            assert_eq!(table.items(), model.values().map(BTreeSet::len).sum::<usize>());
        }
    }
}
