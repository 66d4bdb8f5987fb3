//! Small blocks as the bytes that a record of the keyspace holds: the block without what its memory or its length says.
//!
//! Why: a block of three short elements has a header of 16 to 32 bytes and takes a step of the allocator. In its record it
//! needs 2 to 12 bytes besides its elements. Reading one rebuilds the block, which is a small allocation and a copy.
//!
//! ```text
//!  Block of strings   | inner 1 | n 1        | data, then lengths |     inner: kind, REVERSED, width
//!  Block of integers  | inner 1 | base len 1 | base | values |
//!  IntBlock           | n 1 | len 1 | first value | for each 4: lengths 1 | distances of 1 to 4 bytes |
//!  Leaf               | sw, lw, mark, has prefix 1 | shift, base len 1 | suffix len or n 1 | prefix len 0-1 | base 0, 5-8 | sections |
//! ```
//! Bases are cut: those of integers lose the upper bytes that repeat the sign, those of scores the lower zeros. These bytes
//! never leave the process: what they say is trusted.
//!
//! Tested at the foot of this file.

use crate::dictionary::RAW_MAX;
use crate::segment::EMBEDDED_MAX;

/// Where the bytes of a value are collected.
pub trait Collect {
    /// Appends bytes; None when they are too many.
    fn push(&mut self, bytes: &[u8]) -> Option<()>;
}

/// Bytes that are collected for a record.
pub struct EmbedBuffer {
    len: usize,
    bytes: [u8; EMBEDDED_MAX],
}

impl EmbedBuffer {
    /// No bytes.
    #[inline]
    pub fn new() -> Self {
        EmbedBuffer { len: 0, bytes: [0; EMBEDDED_MAX] }
    }

    /// What was collected.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Collect for EmbedBuffer {
    #[inline]
    fn push(&mut self, bytes: &[u8]) -> Option<()> {
        self.bytes.get_mut(self.len..self.len + bytes.len())?.copy_from_slice(bytes);
        self.len += bytes.len();
        Some(())
    }
}

/// Bytes that are collected to be compressed: [`RAW_MAX`] at most.
impl Collect for Vec<u8> {
    fn push(&mut self, bytes: &[u8]) -> Option<()> {
        if self.len() + bytes.len() > RAW_MAX {
            return None;
        }
        self.extend_from_slice(bytes);
        Some(())
    }
}

impl Default for EmbedBuffer {
    fn default() -> Self {
        EmbedBuffer::new()
    }
}

/// Bytes that an integer needs when those above repeat its sign.
#[inline]
pub(crate) fn signed_len(value: i64) -> usize {
    let same = if value < 0 { value.leading_ones() } else { value.leading_zeros() };
    if value == 0 { 0 } else { 8 - (same as usize - 1) / 8 }
}

/// The integer of its low bytes.
#[inline]
pub(crate) fn read_signed(bytes: &[u8]) -> i64 {
    let is_negative = bytes.last().is_some_and(|&last| last >= 0x80);
    let mut whole = if is_negative { [0xFF; 8] } else { [0; 8] };
    whole[..bytes.len()].copy_from_slice(bytes);
    i64::from_le_bytes(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Block, Direction, End, Kind, Limit};
    use crate::int_block::IntBlock;
    use crate::leaf::Leaf;

    #[test]
    fn integers_lose_no_bit() {
        let edges = (0..64)
            .flat_map(|bit| [1_i64 << bit, (1_i64 << bit).wrapping_neg(), (1_i64 << bit).wrapping_sub(1)]);
        for value in edges.chain([0, -1, i64::MIN, i64::MAX]) {
            let len = signed_len(value);
            assert_eq!(read_signed(&value.to_le_bytes()[..len]), value, "{value} in {len}");
            assert!(len == 0 || read_signed(&value.to_le_bytes()[..len - 1]) != value, "{value} in {len}");
        }
    }

    /// Calls `rebuild` with what was collected of a value that may live in a record; whether it may.
    fn there_and_back(embed: impl FnOnce(&mut EmbedBuffer) -> bool, rebuild: impl FnOnce(&[u8])) -> bool {
        let mut buffer = EmbedBuffer::new();
        let fits = embed(&mut buffer);
        if fits {
            rebuild(buffer.bytes());
        }
        fits
    }

    fn text(rng: &mut fastrand::Rng, longest: usize) -> Vec<u8> {
        (0..rng.usize(..=longest)).map(|_| rng.u8(b'a'..b'd')).collect()
    }

    #[test]
    fn blocks_come_back() {
        let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(31));
        let (mut strings, mut ints) = (0, 0);
        for _ in 0..4_000 {
            let (longest, is_equal) = (rng.usize(..30), rng.bool());
            let mut elements: Vec<Vec<u8>> = (0..rng.usize(1..30)).map(|_| text(&mut rng, longest)).collect();
            if is_equal {
                elements.iter_mut().for_each(|element| element.resize(longest, b'x'));
            }
            if rng.bool() {
                let bits = rng.u32(1..64);
                elements.iter_mut().for_each(|element| *element = (rng.i64(..) >> bits).to_string().into());
            }
            let mut block = Block::empty();
            let mut expected = std::collections::VecDeque::new();
            for element in elements {
                let end = if rng.u32(..4) == 0 { End::Front } else { End::Back };
                if block.try_push(end, &element, Limit::NONE) {
                    if end == End::Front { expected.push_front(element) } else { expected.push_back(element) }
                }
            }
            let kind = block.kind();
            let fits = there_and_back(
                |buffer| block.embed(buffer),
                |bytes| {
                    let back = Block::of_embedded(bytes);
                    back.check_invariants();
                    let mut elements = Vec::new();
                    back.iter(0, Direction::Forward)
                        .for_each(|e| e.with_bytes(|e| elements.push(e.to_vec())));
                    assert!(expected.iter().eq(&elements), "{elements:?}");
                },
            );
            *if kind == Kind::Int { &mut ints } else { &mut strings } += usize::from(fits);
        }
        assert!(strings > 1_000 && ints > 500, "{strings} of strings, {ints} of integers");
    }

    #[test]
    fn blocks_of_integers_come_back() {
        let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(32));
        let mut count = 0;
        for _ in 0..4_000 {
            let bits = rng.u32(..64);
            let mut values: Vec<i64> = (0..rng.usize(1..60)).map(|_| rng.i64(..) >> bits).collect();
            values.sort_unstable();
            values.dedup();
            let Some(block) = IntBlock::of_sorted(&values) else { continue };
            count += usize::from(there_and_back(
                |buffer| block.embed(buffer),
                |bytes| {
                    let back = IntBlock::of_embedded(bytes);
                    back.check_invariants();
                    assert_eq!((0..back.len()).filter_map(|at| back.get(at)).collect::<Vec<_>>(), values);
                },
            ));
        }
        assert!(count > 1_500, "{count}");
    }

    #[test]
    fn leaves_come_back() {
        let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(33));
        let mut count = 0;
        for _ in 0..4_000 {
            let (longest, bits, prefix) = (rng.usize(..20), rng.u32(..64), text(&mut rng, 10));
            let mut leaf = Leaf::new();
            let mut known = std::collections::BTreeMap::new();
            for _ in 0..rng.usize(1..25) {
                let member = [&prefix[..], &text(&mut rng, longest)].concat();
                let key = rng.u64(..) >> bits << rng.u32(..12);
                if known.values().any(|other| *other == member) {
                    continue;
                }
                let at = known.range(..(key, member.clone())).count();
                leaf.insert(at, key, member.len() as u8, &member);
                known.insert((key, member.clone()), member);
            }
            leaf.set_mark(rng.bool());
            count += usize::from(there_and_back(
                |buffer| leaf.embed(buffer),
                |bytes| {
                    let back = Leaf::of_embedded(bytes);
                    back.check_invariants();
                    assert_eq!(
                        (back.len(), back.mark(), back.tags()),
                        (leaf.len(), leaf.mark(), leaf.tags())
                    );
                    for at in 0..back.len() {
                        assert_eq!(
                            (back.key(at), back.member(at).to_vec()),
                            (leaf.key(at), leaf.member(at).to_vec())
                        );
                    }
                },
            ));
        }
        assert!(count > 3_000, "{count}");
    }

    #[test]
    fn a_buffer_takes_what_a_record_does() {
        let mut buffer = EmbedBuffer::new();
        assert!(buffer.push(&[7; EMBEDDED_MAX]).is_some() && buffer.push(&[1]).is_none());
        assert_eq!(buffer.bytes(), [7; EMBEDDED_MAX]);
    }
}
