//! The best candidates for eviction that samples have shown so far.

use crate::config::MaxmemoryPolicy;
use crate::keyspace::access::{AccessRules, COUNTER_MAX};
use crate::keyspace::key::Key;
use larder_collections::key_table::{Entry, SampleFrom};
use larder_collections::value::Value;

/// Candidates kept.
const POOL_MAX: usize = 32;

/// What is evicted, and in which order: `maxmemory-policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Frequency,
    Idle,
    Random,
    Soonest,
}

/// A policy that evicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    pub order: Order,
    /// Only keys that expire are evicted.
    pub volatile: bool,
}

impl Policy {
    /// As configured; `None` evicts nothing.
    pub(crate) fn of(choice: MaxmemoryPolicy) -> Option<Policy> {
        let (volatile, order) = match choice {
            MaxmemoryPolicy::VolatileLru => (true, Order::Idle),
            MaxmemoryPolicy::VolatileLfu => (true, Order::Frequency),
            MaxmemoryPolicy::VolatileRandom => (true, Order::Random),
            MaxmemoryPolicy::VolatileTtl => (true, Order::Soonest),
            MaxmemoryPolicy::AllkeysLru => (false, Order::Idle),
            MaxmemoryPolicy::AllkeysLfu => (false, Order::Frequency),
            MaxmemoryPolicy::AllkeysRandom => (false, Order::Random),
            MaxmemoryPolicy::NoEviction => return None,
        };
        Some(Policy { order, volatile })
    }

    pub(crate) fn sample_from(self) -> SampleFrom {
        match self {
            Policy { order: Order::Soonest, .. } => SampleFrom::Soonest,
            Policy { volatile: true, .. } => SampleFrom::Expiring,
            _ => SampleFrom::All,
        }
    }

    /// How much a key is to be evicted: the more, the sooner.
    #[inline]
    fn score(
        self,
        entry: &Entry<'_, Value>,
        rules: &AccessRules,
        now_s: u64,
        rng: &mut fastrand::Rng,
    ) -> u64 {
        match self.order {
            Order::Frequency => u64::from(COUNTER_MAX - rules.counter(entry.access(), now_s)),
            Order::Idle => u64::from(rules.idle_s(entry.access(), now_s)),
            Order::Random => rng.u64(..),
            Order::Soonest => u64::MAX - entry.expire_at_ms().unwrap_or(u64::MAX),
        }
    }
}

/// A key that may be evicted.
#[derive(Default)]
pub(crate) struct Candidate {
    score: u64,
    pub db: usize,
    pub hash: u64,
    pub key: Vec<u8>,
    access: u32,
    expire_at_ms: Option<u64>,
}

impl Candidate {
    pub(crate) fn key(&self) -> Key<'_> {
        Key { bytes: &self.key, hash: self.hash }
    }

    /// Whether the key was not used, and its expiry not changed, since it was looked at.
    pub(crate) fn is_still(&self, entry: &Entry<'_, Value>) -> bool {
        entry.access() == self.access && entry.expire_at_ms() == self.expire_at_ms
    }
}

/// Candidates, the best last, at most [`POOL_MAX`]: noting one is O([`POOL_MAX`]). Buffers of names are used
/// again.
#[derive(Default)]
pub(crate) struct Pool {
    sorted: Vec<Candidate>,
    unused: Vec<Candidate>,
}

/// How the keys of a sample are judged.
pub(crate) struct Judge<'a> {
    pub policy: Policy,
    pub rules: AccessRules,
    pub now_s: u64,
    pub rng: &'a mut fastrand::Rng,
}

impl Judge<'_> {
    /// How much a key is to be evicted, in 48 bits. For samples in which keys are in no order of expiry.
    #[inline]
    pub(crate) fn weight(&mut self, entry: &Entry<'_, Value>) -> u64 {
        let score = self.score(entry);
        if self.policy.order == Order::Random { score >> 16 } else { score }
    }

    #[inline]
    fn score(&mut self, entry: &Entry<'_, Value>) -> u64 {
        self.policy.score(entry, &self.rules, self.now_s, self.rng)
    }
}

impl Pool {
    pub(crate) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.unused.append(&mut self.sorted);
    }

    /// Takes the best candidate. It is to be [returned](Self::reuse).
    pub(crate) fn pop(&mut self) -> Option<Candidate> {
        self.sorted.pop()
    }

    pub(crate) fn reuse(&mut self, candidate: Candidate) {
        self.unused.push(candidate);
    }

    /// Notes a key, if it is better than the worst that is kept.
    #[inline]
    pub(crate) fn offer(&mut self, db: usize, entry: &Entry<'_, Value>, judge: &mut Judge<'_>) {
        let score = judge.score(entry);
        if self.sorted.len() == POOL_MAX && score <= self.sorted[0].score {
            return;
        }
        self.insert(db, entry, score);
    }

    fn insert(&mut self, db: usize, entry: &Entry<'_, Value>, score: u64) {
        let hash = crate::keyspace::hash::hash(entry.key());
        if self.sorted.iter().any(|other| other.hash == hash && other.db == db && other.key == entry.key()) {
            return;
        }
        if self.sorted.len() == POOL_MAX {
            let worst = self.sorted.remove(0);
            self.unused.push(worst);
        }
        let mut candidate = self.unused.pop().unwrap_or_default();
        candidate.key.clear();
        candidate.key.shrink_to(1 << 12);
        candidate.key.extend_from_slice(entry.key());
        (candidate.score, candidate.db, candidate.hash) = (score, db, hash);
        (candidate.access, candidate.expire_at_ms) = (entry.access(), entry.expire_at_ms());
        let at = self.sorted.partition_point(|other| other.score < score);
        self.sorted.insert(at, candidate);
    }
}
