//! Encoding a leaf of entries that are at hand in order: as [`Draft`](super::Draft) does it, but without laying them open first.

use super::draft::put_word;
use super::{Form, HEADER, LEN_MAX, Leaf, PREFIX_LEN_MAX};
use crate::buffer::Buffer;
use crate::short;

/// A key, a member, and what its tag is made of.
pub type Entry<'a> = (u64, &'a [u8], u64);

impl Leaf {
    /// A leaf of these entries, at most [`LEN_MAX`], which ascend by key and then by member. `tag` makes the tag of the last part of an
    /// entry. O(bytes).
    pub fn of_sorted(entries: &[Entry<'_>], tag: impl Fn(u64) -> u8) -> Leaf {
        assert!(entries.len() <= LEN_MAX, "I4");
        let keys = entries.iter().map(|&(key, ..)| key);
        let lens = entries.iter().map(|(_, member, _)| member.len());
        let form = Form::narrowest(keys.clone(), lens, common_prefix(entries));
        let mut leaf = Leaf(Buffer::of(&[], form.end()));
        let body = &mut leaf.0.make_mut()[..form.end()];
        form.write(body);
        let tags = entries.iter().map(|&(.., hash)| tag(hash));
        body[HEADER..form.deltas_at()].iter_mut().zip(tags).for_each(|(to, tag)| *to = tag);
        // Whole words are written, of which what comes next covers what is too much: all deltas, all lengths, the prefix, the members.
        let mut at = form.deltas_at();
        for key in keys {
            put_word(body, at, (key - form.base) >> form.shift, form.sw);
            at += form.sw;
        }
        if form.lw > 0 {
            let mut at = form.lengths_at();
            for (_, member, _) in entries {
                put_word(body, at, (member.len() - form.prefix_len) as u64, form.lw);
                at += form.lw;
            }
        }
        if let Some((_, member, _)) = entries.first() {
            body[form.prefix_at()..form.heap_at()].copy_from_slice(&member[..form.prefix_len]);
        }
        let mut heap = &mut body[form.heap_at()..];
        for (_, member, _) in entries {
            let (to, rest) = heap.split_at_mut(member.len() - form.prefix_len);
            short::copy(to, &member[form.prefix_len..]);
            heap = rest;
        }
        leaf
    }
}

/// How many bytes all members begin with; 0 for a single one, which shows no prefix.
fn common_prefix(entries: &[Entry<'_>]) -> usize {
    let Some(((_, first, _), rest @ [_, ..])) = entries.split_first() else { return 0 };
    rest.iter().fold(first.len().min(PREFIX_LEN_MAX), |len, (_, member, _)| shorten(first, len, member))
}

/// How many of the first `len` bytes of a text another one begins with as well.
#[inline]
fn shorten(first: &[u8], len: usize, text: &[u8]) -> usize {
    const WORD: usize = size_of::<u64>();
    let prefix = &first[..len];
    // Most prefixes are of one word, or of two that overlap.
    if let (Some(a), Some(b)) = (first.first_chunk(), text.first_chunk()) {
        let differ = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differ != 0 || len <= WORD {
            return len.min(differ.trailing_zeros() as usize / 8);
        }
        if len <= 2 * WORD && prefix.last_chunk::<WORD>() == text.get(..len).and_then(<[u8]>::last_chunk) {
            return len;
        }
    }
    prefix.iter().zip(text).take_while(|(a, b)| a == b).count()
}
