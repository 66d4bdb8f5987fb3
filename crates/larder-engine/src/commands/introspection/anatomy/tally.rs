//! What is counted of a group of keys.

use crate::keyspace::cold_samples::{SAMPLES_MIN, Samples};
use larder_collections::cold::parts::PartSums;
use larder_packed::block::Block;
use larder_packed::codec::Codec;

/// Blocks of a group that are compressed to see what it would save.
const BLOCKS_MAX: u32 = 16;
/// Bytes of a group's values that are compressed for the same reason.
const COLD_SAMPLE_BYTES: usize = 64 << 10;

/// What was seen of a key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Type and encoding.
    pub encoding: (&'static str, &'static str),
    /// Elements of a collection; a string has none.
    pub elements: u64,
    /// As MEMORY USAGE counts them.
    pub bytes: u64,
    /// Until it expires, if it does.
    pub ttl_s: Option<u64>,
    /// Since it was used; unknown where uses are counted instead.
    pub idle_s: Option<u64>,
    /// Bytes of blocks that are not compressed, and could be.
    pub plain_bytes: u64,
    /// For a hash that shares its field names, the bytes of them.
    pub shared_names: Option<u64>,
    /// For a value that is kept compressed, the bytes that this saves.
    pub cold_saves: Option<u64>,
    /// For one that could be, the bytes that it has.
    pub cold_plain_bytes: u64,
}

/// What is counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub keys: u64,
    pub elements: u64,
    pub bytes: u64,
    /// Keys by type and encoding, of which there are less than 20.
    pub encodings: Vec<((&'static str, &'static str), u64)>,
    /// Keys that expire, by the seconds that they have left.
    pub ttl_s: Option<Box<Spread>>,
    /// Keys by the seconds since they were used.
    pub idle_s: Option<Box<Spread>>,
    pub blocks: Blocks,
    pub shared: Shared,
    pub cold: ColdValues,
}

/// Values that are compressed while nobody uses them, and those that could be.
#[derive(Clone, Debug, Default)]
pub(super) struct ColdValues {
    /// Values that are compressed.
    pub values: u64,
    /// Bytes that this saves.
    pub saves: u64,
    /// Bytes of those that are not compressed, and could be.
    pub plain_bytes: u64,
    /// Samples of these.
    pub samples: Samples,
}

impl ColdValues {
    /// Bytes that compressing the other values would save, if they are like the samples; `None` if those are too few.
    pub(super) fn would_save(&self) -> Option<u64> {
        if self.samples.len() < SAMPLES_MIN {
            return None;
        }
        let Some((_, (plain, packed))) = self.samples.train_if_useful(self.samples.bytes() / 8) else {
            return Some(0);
        };
        let saved = u128::from(self.plain_bytes) * (plain - packed) as u128 / plain.max(1) as u128;
        Some(saved as u64)
    }

    /// Takes a sample, unless enough is known.
    pub(super) fn take_sample(&mut self, sample: Box<[u8]>) {
        if self.samples.bytes() < COLD_SAMPLE_BYTES {
            self.samples.push(sample);
        }
    }

    /// Adds the parts of a collection: those that could be compressed only if it could not be as a whole.
    pub(super) fn add_parts(&mut self, parts: PartSums, also_plain: bool) {
        self.values += parts.cold.count;
        self.saves += parts.cold.plain_bytes.saturating_sub(parts.cold.heap_bytes);
        if also_plain {
            self.plain_bytes += parts.plain_bytes;
            parts.samples.into_iter().for_each(|sample| self.take_sample(sample));
        }
    }

    fn merge(&mut self, other: &ColdValues) {
        self.values += other.values;
        self.saves += other.saves;
        self.plain_bytes += other.plain_bytes;
        self.samples.merge(&other.samples, COLD_SAMPLE_BYTES);
    }
}

/// Hashes that share their field names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shared {
    /// Their number.
    pub hashes: u64,
    /// Bytes that their names would take.
    pub names_bytes: u64,
}

impl Tally {
    pub(super) fn add(&mut self, seen: &Seen) {
        self.keys += 1;
        self.elements += seen.elements;
        self.bytes += seen.bytes;
        self.blocks.plain_bytes += seen.plain_bytes;
        if let Some(bytes) = seen.shared_names {
            self.shared.hashes += 1;
            self.shared.names_bytes += bytes;
        }
        if let Some(bytes) = seen.cold_saves {
            self.cold.values += 1;
            self.cold.saves += bytes;
        }
        self.cold.plain_bytes += seen.cold_plain_bytes;
        self.count(seen.encoding, 1);
        if let Some(ttl_s) = seen.ttl_s {
            self.ttl_s.get_or_insert_default().add(ttl_s);
        }
        if let Some(idle_s) = seen.idle_s {
            self.idle_s.get_or_insert_default().add(idle_s);
        }
    }

    fn count(&mut self, encoding: (&'static str, &'static str), keys: u64) {
        match self.encodings.iter_mut().find(|(other, _)| *other == encoding) {
            Some((_, count)) => *count += keys,
            None => self.encodings.push((encoding, keys)),
        }
    }

    /// Adds what another group has.
    pub(super) fn merge(&mut self, other: &Tally) {
        self.keys += other.keys;
        self.elements += other.elements;
        self.bytes += other.bytes;
        other.encodings.iter().for_each(|&(encoding, keys)| self.count(encoding, keys));
        for (mine, theirs) in [(&mut self.ttl_s, &other.ttl_s), (&mut self.idle_s, &other.idle_s)] {
            if let Some(theirs) = theirs {
                mine.get_or_insert_default().merge(theirs);
            }
        }
        self.blocks.merge(&other.blocks);
        self.shared.hashes += other.shared.hashes;
        self.shared.names_bytes += other.shared.names_bytes;
        self.cold.merge(&other.cold);
    }
}

/// Blocks that could be compressed, and what became of some that were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    /// Bytes of all that are not compressed.
    pub plain_bytes: u64,
    seen: u32,
    seen_bytes: u64,
    lzf_bytes: u64,
    zstd_bytes: u64,
}

impl Blocks {
    /// Whether enough were looked at.
    pub(super) fn is_known(&self) -> bool {
        self.seen >= BLOCKS_MAX
    }

    /// Compresses a block with both codecs.
    pub(super) fn look_at(&mut self, block: &Block) {
        let plain = block.heap_bytes() as u64;
        let with =
            |codec| block.compress(codec).map_or(plain, |packed| (packed.heap_bytes() as u64).min(plain));
        self.seen += 1;
        self.seen_bytes += plain;
        self.lzf_bytes += with(Codec::Lzf);
        self.zstd_bytes += with(Codec::Zstd);
    }

    fn merge(&mut self, other: &Blocks) {
        self.plain_bytes += other.plain_bytes;
        self.seen += other.seen;
        self.seen_bytes += other.seen_bytes;
        self.lzf_bytes += other.lzf_bytes;
        self.zstd_bytes += other.zstd_bytes;
    }

    /// Bytes that LZF and zstd would save, if all blocks are as those that were looked at.
    pub(super) fn savings(&self) -> [u64; 2] {
        [self.lzf_bytes, self.zstd_bytes].map(|packed| {
            let saved = u128::from(self.plain_bytes) * u128::from(self.seen_bytes - packed);
            (saved / u128::from(self.seen_bytes.max(1))) as u64
        })
    }
}

/// Exact up to this number.
const EXACT: u64 = 8;
/// Steps from one power of two to the next, as a power of two.
const STEP_BITS: u32 = 2;
const BUCKETS: usize = EXACT as usize + ((32 - 3) << STEP_BITS);

/// How numbers below 2^32 are spread: 4 steps from one power of two to the next, so that a quartile is right
/// to an eighth. 504 bytes.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    count: u64,
    buckets: [u32; BUCKETS],
}

impl Default for Spread {
    fn default() -> Self {
        Spread { count: 0, buckets: [0; BUCKETS] }
    }
}

fn bucket_of(value: u64) -> usize {
    let value = value.min(u64::from(u32::MAX));
    if value < EXACT {
        return value as usize;
    }
    let power = value.ilog2();
    let step = (value >> (power - STEP_BITS)) & ((1 << STEP_BITS) - 1);
    EXACT as usize + (((power - 3) as usize) << STEP_BITS) + step as usize
}

/// The middle of a bucket.
fn middle_of(bucket: usize) -> u64 {
    let Some(beyond) = bucket.checked_sub(EXACT as usize) else { return bucket as u64 };
    let (power, step) = ((beyond >> STEP_BITS) as u32 + 3, (beyond & ((1 << STEP_BITS) - 1)) as u64);
    let width = 1u64 << (power - STEP_BITS);
    (1u64 << power) + step * width + width / 2
}

impl Spread {
    fn add(&mut self, value: u64) {
        self.count += 1;
        let bucket = &mut self.buckets[bucket_of(value)];
        *bucket = bucket.saturating_add(1);
    }

    fn merge(&mut self, other: &Spread) {
        self.count += other.count;
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine = mine.saturating_add(*theirs);
        }
    }

    /// How many numbers there are.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The numbers that a quarter, a half and three quarters do not exceed.
    pub(super) fn quartiles(&self) -> [u64; 3] {
        [1, 2, 3].map(|quarter| {
            let rank = (self.count * quarter).div_ceil(4).max(1);
            let mut below = 0;
            let bucket = self.buckets.iter().position(|&count| {
                below += u64::from(count);
                below >= rank
            });
            middle_of(bucket.unwrap_or(BUCKETS - 1))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_testkit::seeds;

    #[test]
    fn quartiles_are_right_to_an_eighth() {
        for seed in seeds(20, 500) {
            let mut rng = fastrand::Rng::with_seed(seed);
            let bits = rng.u32(1..=32);
            let mut all: Vec<u64> = (0..rng.usize(1..500)).map(|_| rng.u64(0..1 << bits)).collect();
            let (mut spread, mut half) = (Spread::default(), Spread::default());
            for (at, &value) in all.iter().enumerate() {
                if at % 2 == 0 { spread.add(value) } else { half.add(value) }
            }
            spread.merge(&half);
            all.sort_unstable();
            assert_eq!(spread.count(), all.len() as u64);
            for (quarter, found) in spread.quartiles().into_iter().enumerate() {
                let exact = all[((all.len() * (quarter + 1)).div_ceil(4)).max(1) - 1];
                assert!(exact.abs_diff(found) * 8 <= exact.max(found), "{seed}: {found} for {exact}");
            }
        }
    }

    #[test]
    fn buckets_cover_all_numbers() {
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        for value in 0..100_000 {
            let bucket = bucket_of(value);
            assert!(bucket_of(value + 1) - bucket <= 1, "{value}");
            assert_eq!(bucket_of(middle_of(bucket)), bucket, "{value}");
        }
    }

    #[test]
    fn savings_are_those_of_the_blocks_looked_at() {
        let mut blocks =
            Blocks { plain_bytes: 1000, seen: 2, seen_bytes: 200, lzf_bytes: 100, zstd_bytes: 50 };
        assert_eq!(blocks.savings(), [500, 750]);
        blocks.merge(&Blocks { plain_bytes: 1000, ..Blocks::default() });
        assert_eq!(blocks.savings(), [1000, 1500]);
        assert_eq!(Blocks::default().savings(), [0, 0]);
    }
}
