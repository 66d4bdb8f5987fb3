//! What a table consists of.

use super::hash::KeyHash;
use super::hot_set::HotSet;
use larder_packed::segment::{Directory, IntoRaw};
use std::marker::PhantomData;

/// A segment of this many records is split. Fewer leave more headers and more air, more make inserts move more bytes.
pub const SEGMENT_SLOTS_MAX: usize = 128;
/// A segment of this many bytes is split.
pub const SEGMENT_BYTES_MAX: usize = 4096;
/// How much deeper than the average a segment may lie.
pub const DEPTH_SLACK: u32 = 4;

/// A hash table from byte strings to short strings and to `V`s, with expiries and access words.
pub struct KeyTable<V: IntoRaw, H: KeyHash> {
    pub(super) directory: Directory<V>,
    pub(super) len: usize,
    pub(super) expiry: Option<Box<Expiry>>,
    pub(super) capture: Option<Box<Capture<V, H>>>,
    pub(super) hot: Option<Box<HotSet>>,
    pub(super) sample_bits: u8,
    pub(super) hash: PhantomData<fn() -> H>,
}

/// What a put does to the expiry of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpireChange {
    /// It stays; a new key has none.
    Keep,
    /// The key has none afterwards.
    Clear,
    /// The key expires at this time, in milliseconds, cut to [`super::EXPIRY_MS_MAX`].
    At(u64),
}

impl ExpireChange {
    pub(super) fn apply(self, before: Option<u64>) -> Option<u64> {
        match self {
            ExpireChange::Keep => before,
            ExpireChange::Clear => None,
            ExpireChange::At(ms) => Some(ms),
        }
    }
}

/// What a table remembers while a snapshot of it is taken; see [`capture`](super::capture).
pub(super) struct Capture<V: IntoRaw, H: KeyHash> {
    pub label: usize,
    /// Everything at positions before this has been visited; 2^32 at the end.
    pub reached: u64,
    pub held: KeyTable<V, H>,
}

/// The expiries of a table that has, or had, some.
pub(super) struct Expiry {
    /// By the first slot of each segment's run: at most its earliest expiry in ms. The other slots have `NEVER`.
    pub minima: Vec<u64>,
    /// At most the least of the minima.
    pub soonest_ms: u64,
    /// Number of keys with an expiry.
    pub len: usize,
    /// Their expiries together, for the mean.
    pub sum_ms: u128,
    /// Position where the next sweep starts.
    pub sweep_at: u32,
}
