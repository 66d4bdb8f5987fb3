//! Keys of any type.

use super::Store;
use crate::error::{Error, Result};
use std::time::Duration;

/// How long a key has to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// This long.
    Left(Duration),
    /// There is no such key.
    Missing,
    /// It does not expire.
    Never,
}

impl Store {
    /// Deletes keys; returns how many there were.
    pub fn del<A: AsRef<[u8]>>(&self, keys: &[A]) -> Result<u64> {
        self.ask_many(&[b"DEL"], keys.iter().map(AsRef::as_ref), |mut reply| reply.count())
    }

    /// Whether there is a key.
    pub fn exists(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.ask(&[b"EXISTS", key.as_ref()], |mut reply| reply.yes())
    }

    /// Has a key expire after a time; false if there is none. A time of less than a millisecond deletes it.
    pub fn expire(&self, key: impl AsRef<[u8]>, after: Duration) -> Result<bool> {
        let ms = after.as_millis().to_string();
        self.ask(&[b"PEXPIRE", key.as_ref(), ms.as_bytes()], |mut reply| reply.yes())
    }

    /// Takes the deadline of a key away; false if it has none.
    pub fn persist(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.ask(&[b"PERSIST", key.as_ref()], |mut reply| reply.yes())
    }

    /// How long a key has to live, to the millisecond.
    pub fn ttl(&self, key: impl AsRef<[u8]>) -> Result<Ttl> {
        let ms = self.ask(&[b"PTTL", key.as_ref()], |mut reply| reply.int())?;
        Ok(match u64::try_from(ms) {
            Ok(ms) => Ttl::Left(Duration::from_millis(ms)),
            Err(_) if ms == -1 => Ttl::Never,
            Err(_) => Ttl::Missing,
        })
    }

    /// The type of a key, as TYPE names it; `None` if there is none.
    pub fn key_type(&self, key: impl AsRef<[u8]>) -> Result<Option<String>> {
        let name = self.ask(&[b"TYPE", key.as_ref()], |mut reply| reply.string())?;
        Ok(Some(String::from_utf8_lossy(&name).into_owned()).filter(|name| name != "none"))
    }

    /// The number of keys in the database.
    pub fn dbsize(&self) -> Result<u64> {
        self.ask(&[b"DBSIZE"], |mut reply| reply.count())
    }

    /// Deletes all keys of all databases.
    pub fn flushall(&self) -> Result<()> {
        self.ask(&[b"FLUSHALL"], |mut reply| reply.ok().map(drop))
    }

    /// All keys that match a pattern, with the guarantees of SCAN: those that are there from the beginning to the end come, at least
    /// once. The store can be used meanwhile.
    pub fn scan(&self, pattern: impl AsRef<[u8]>) -> Scan {
        Scan {
            store: self.clone(),
            pattern: pattern.as_ref().to_vec(),
            cursor: Some(b"0".to_vec()),
            found: Vec::new().into_iter(),
        }
    }

    fn scan_step(&self, cursor: &[u8], pattern: &[u8]) -> Result<(Vec<u8>, Vec<Vec<u8>>)> {
        /// Keys looked at in a step, about.
        const COUNT: &[u8] = b"1000";
        let words = [b"SCAN", cursor, b"MATCH", pattern, b"COUNT", COUNT];
        self.ask(&words, |mut reply| match reply.len()? {
            2 => Ok((reply.string()?, reply.strings()?)),
            _ => Err(Error::Form),
        })
    }
}

/// Keys that are found one after the other.
pub struct Scan {
    store: Store,
    pattern: Vec<u8>,
    /// Where the next step begins; `None` after the last.
    cursor: Option<Vec<u8>>,
    found: std::vec::IntoIter<Vec<u8>>,
}

impl Iterator for Scan {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(key) = self.found.next() {
                return Some(Ok(key));
            }
            let cursor = self.cursor.take()?;
            match self.store.scan_step(&cursor, &self.pattern) {
                Ok((next, found)) => {
                    self.cursor = Some(next).filter(|next| next != b"0");
                    self.found = found.into_iter();
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
