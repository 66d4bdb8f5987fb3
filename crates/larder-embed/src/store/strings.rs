//! Strings.

use super::Store;
use crate::error::Result;
use std::time::Duration;

impl Store {
    /// The value of a key. O(bytes).
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.ask(&[b"GET", key.as_ref()], |mut reply| reply.bulk())
    }

    /// Sets a key, whatever it was, and takes its deadline away.
    pub fn set(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.ask(&[b"SET", key.as_ref(), value.as_ref()], |mut reply| reply.ok().map(drop))
    }

    /// Sets a key that expires after a time, of a millisecond at least.
    pub fn set_for(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>, time: Duration) -> Result<()> {
        let ms = time.as_millis().to_string();
        let words = [b"SET", key.as_ref(), value.as_ref(), b"PX", ms.as_bytes()];
        self.ask(&words, |mut reply| reply.ok().map(drop))
    }

    /// Sets a key if there is none; says whether it has.
    pub fn set_if_absent(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        self.ask(&[b"SET", key.as_ref(), value.as_ref(), b"NX"], |mut reply| reply.ok())
    }

    /// The values of keys, in their order; of those that are no strings there is none.
    pub fn mget<A: AsRef<[u8]>>(&self, keys: &[A]) -> Result<Vec<Option<Vec<u8>>>> {
        self.ask_many(&[b"MGET"], keys.iter().map(AsRef::as_ref), |mut reply| reply.bulks())
    }

    /// Sets keys, all at once.
    pub fn mset<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, pairs: &[(K, V)]) -> Result<()> {
        let words = pairs.iter().flat_map(|(key, value)| [key.as_ref(), value.as_ref()]);
        self.ask_many(&[b"MSET"], words, |mut reply| reply.ok().map(drop))
    }

    /// Adds to a number; returns what it is then.
    pub fn incrby(&self, key: impl AsRef<[u8]>, by: i64) -> Result<i64> {
        self.ask(&[b"INCRBY", key.as_ref(), by.to_string().as_bytes()], |mut reply| reply.int())
    }

    /// Adds bytes at the end; returns how many there are then.
    pub fn append(&self, key: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) -> Result<u64> {
        self.ask(&[b"APPEND", key.as_ref(), bytes.as_ref()], |mut reply| reply.count())
    }

    /// The length of a value in bytes; 0 of none.
    pub fn strlen(&self, key: impl AsRef<[u8]>) -> Result<u64> {
        self.ask(&[b"STRLEN", key.as_ref()], |mut reply| reply.count())
    }
}
