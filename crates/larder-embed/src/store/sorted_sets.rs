//! Sorted sets.

use super::Store;
use crate::error::{Error, Result};

impl Store {
    /// Adds members, or gives them other scores; returns how many are new.
    pub fn zadd<A: AsRef<[u8]>>(&self, key: impl AsRef<[u8]>, pairs: &[(f64, A)]) -> Result<u64> {
        let scores: Vec<String> = pairs.iter().map(|(score, _)| score.to_string()).collect();
        let words =
            scores.iter().zip(pairs).flat_map(|(score, (_, member))| [score.as_bytes(), member.as_ref()]);
        self.ask_many(&[b"ZADD", key.as_ref()], words, |mut reply| reply.count())
    }

    /// Adds to the score of a member, which is 0 if there is none; returns what it is then.
    pub fn zincrby(&self, key: impl AsRef<[u8]>, by: f64, member: impl AsRef<[u8]>) -> Result<f64> {
        let by = by.to_string();
        let words = [b"ZINCRBY", key.as_ref(), by.as_bytes(), member.as_ref()];
        self.ask(&words, |mut reply| reply.double()?.ok_or(Error::Form))
    }

    /// Removes members; returns how many there were.
    pub fn zrem<A: AsRef<[u8]>>(&self, key: impl AsRef<[u8]>, members: &[A]) -> Result<u64> {
        let members = members.iter().map(AsRef::as_ref);
        self.ask_many(&[b"ZREM", key.as_ref()], members, |mut reply| reply.count())
    }

    /// The score of a member.
    pub fn zscore(&self, key: impl AsRef<[u8]>, member: impl AsRef<[u8]>) -> Result<Option<f64>> {
        self.ask(&[b"ZSCORE", key.as_ref(), member.as_ref()], |mut reply| reply.double())
    }

    /// Members with their scores from a rank to another one, both counted; a negative one counts from the end.
    pub fn zrange(&self, key: impl AsRef<[u8]>, start: i64, stop: i64) -> Result<Vec<(Vec<u8>, f64)>> {
        let (start, stop) = (start.to_string(), stop.to_string());
        let words = [b"ZRANGE", key.as_ref(), start.as_bytes(), stop.as_bytes(), b"WITHSCORES"];
        self.ask(&words, |mut reply| {
            let count = reply.len()?;
            let pair = |_| {
                // RESP3 has an array for each pair.
                reply.len()?;
                Ok((reply.string()?, reply.double()?.ok_or(Error::Form)?))
            };
            (0..count).map(pair).collect()
        })
    }

    /// The number of members.
    pub fn zcard(&self, key: impl AsRef<[u8]>) -> Result<u64> {
        self.ask(&[b"ZCARD", key.as_ref()], |mut reply| reply.count())
    }
}
