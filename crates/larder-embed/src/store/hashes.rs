//! Hashes.

use super::Store;
use crate::error::Result;
use crate::reply::fields::Fields;

impl Store {
    /// The value of a field.
    pub fn hget(&self, key: impl AsRef<[u8]>, field: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.ask(&[b"HGET", key.as_ref(), field.as_ref()], |mut reply| reply.bulk())
    }

    /// The values of fields, in their order.
    pub fn hmget<A: AsRef<[u8]>>(&self, key: impl AsRef<[u8]>, fields: &[A]) -> Result<Vec<Option<Vec<u8>>>> {
        let fields = fields.iter().map(AsRef::as_ref);
        self.ask_many(&[b"HMGET", key.as_ref()], fields, |mut reply| reply.bulks())
    }

    /// All fields, as they are at this moment. O(1) and without an allocation: the fields are those of the store, and stay as they are while
    /// they are held.
    pub fn hgetall(&self, key: impl AsRef<[u8]>) -> Result<Fields> {
        self.hash(key.as_ref())
    }

    /// Sets fields; returns how many are new.
    pub fn hset<F: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        key: impl AsRef<[u8]>,
        pairs: &[(F, V)],
    ) -> Result<u64> {
        let words = pairs.iter().flat_map(|(field, value)| [field.as_ref(), value.as_ref()]);
        self.ask_many(&[b"HSET", key.as_ref()], words, |mut reply| reply.count())
    }

    /// Deletes fields; returns how many there were.
    pub fn hdel<A: AsRef<[u8]>>(&self, key: impl AsRef<[u8]>, fields: &[A]) -> Result<u64> {
        let fields = fields.iter().map(AsRef::as_ref);
        self.ask_many(&[b"HDEL", key.as_ref()], fields, |mut reply| reply.count())
    }

    /// Whether there is a field.
    pub fn hexists(&self, key: impl AsRef<[u8]>, field: impl AsRef<[u8]>) -> Result<bool> {
        self.ask(&[b"HEXISTS", key.as_ref(), field.as_ref()], |mut reply| reply.yes())
    }

    /// The number of fields.
    pub fn hlen(&self, key: impl AsRef<[u8]>) -> Result<u64> {
        self.ask(&[b"HLEN", key.as_ref()], |mut reply| reply.count())
    }

    /// Adds to a number in a field; returns what it is then.
    pub fn hincrby(&self, key: impl AsRef<[u8]>, field: impl AsRef<[u8]>, by: i64) -> Result<i64> {
        let by = by.to_string();
        self.ask(&[b"HINCRBY", key.as_ref(), field.as_ref(), by.as_bytes()], |mut reply| reply.int())
    }
}
