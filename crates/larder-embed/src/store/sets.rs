//! Sets.

use super::Store;
use crate::error::Result;

impl Store {
    /// Adds members; returns how many are new.
    pub fn sadd<A: AsRef<[u8]>>(&self, key: impl AsRef<[u8]>, members: &[A]) -> Result<u64> {
        let members = members.iter().map(AsRef::as_ref);
        self.ask_many(&[b"SADD", key.as_ref()], members, |mut reply| reply.count())
    }

    /// Removes members; returns how many there were.
    pub fn srem<A: AsRef<[u8]>>(&self, key: impl AsRef<[u8]>, members: &[A]) -> Result<u64> {
        let members = members.iter().map(AsRef::as_ref);
        self.ask_many(&[b"SREM", key.as_ref()], members, |mut reply| reply.count())
    }

    /// Whether there is a member.
    pub fn sismember(&self, key: impl AsRef<[u8]>, member: impl AsRef<[u8]>) -> Result<bool> {
        self.ask(&[b"SISMEMBER", key.as_ref(), member.as_ref()], |mut reply| reply.yes())
    }

    /// All members, in no order.
    pub fn smembers(&self, key: impl AsRef<[u8]>) -> Result<Vec<Vec<u8>>> {
        self.ask(&[b"SMEMBERS", key.as_ref()], |mut reply| reply.strings())
    }

    /// The number of members.
    pub fn scard(&self, key: impl AsRef<[u8]>) -> Result<u64> {
        self.ask(&[b"SCARD", key.as_ref()], |mut reply| reply.count())
    }
}
