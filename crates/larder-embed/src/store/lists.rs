//! Lists.

use super::Store;
use crate::error::Result;

impl Store {
    /// Puts elements at the front, one after the other; returns how many there are then.
    pub fn lpush<A: AsRef<[u8]>>(&self, key: impl AsRef<[u8]>, elements: &[A]) -> Result<u64> {
        let elements = elements.iter().map(AsRef::as_ref);
        self.ask_many(&[b"LPUSH", key.as_ref()], elements, |mut reply| reply.count())
    }

    /// Puts elements at the back.
    pub fn rpush<A: AsRef<[u8]>>(&self, key: impl AsRef<[u8]>, elements: &[A]) -> Result<u64> {
        let elements = elements.iter().map(AsRef::as_ref);
        self.ask_many(&[b"RPUSH", key.as_ref()], elements, |mut reply| reply.count())
    }

    /// Takes the first element.
    pub fn lpop(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.ask(&[b"LPOP", key.as_ref()], |mut reply| reply.bulk())
    }

    /// Takes the last element.
    pub fn rpop(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.ask(&[b"RPOP", key.as_ref()], |mut reply| reply.bulk())
    }

    /// Elements from an index to another one, both counted; a negative one counts from the end.
    pub fn lrange(&self, key: impl AsRef<[u8]>, start: i64, stop: i64) -> Result<Vec<Vec<u8>>> {
        let (start, stop) = (start.to_string(), stop.to_string());
        let words = [b"LRANGE", key.as_ref(), start.as_bytes(), stop.as_bytes()];
        self.ask(&words, |mut reply| reply.strings())
    }

    /// The number of elements.
    pub fn llen(&self, key: impl AsRef<[u8]>) -> Result<u64> {
        self.ask(&[b"LLEN", key.as_ref()], |mut reply| reply.count())
    }
}
