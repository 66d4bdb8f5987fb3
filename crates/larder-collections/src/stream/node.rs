//! A node of a stream in the tree: plain, or cold, which is compressed.
//!
//! What it is: the node itself, or a frame of zstd made with a dictionary, beside the counts and
//! ids that answer every question except those about fields and values. Why not one frame for the
//! whole stream: here an entry is read by decompressing 4 KB, and a stream that grows stays cold
//! except for its last node. The ids of both ends are kept because trimming and waiting readers ask
//! for them with every command.
//!
//! ```text
//!           1      4       1        2            8
//!  Plain  | tag | live | uses |            | pointer | -> the listpack of a `StreamNode`
//!  Cold   | tag | live | uses | dictionary | pointer | -> | deleted | first | last | end | frame |
//!
//!  live, deleted: numbers of entries; `live` has 4 bytes, the numbers of the head 7 bits a byte
//!  first, last:   ids of the first and the last live entry, relative to the node's id
//!  end:           id of the last entry, deleted or not, relative to `last`
//!  id:            | ms - other's ms | seq, less the other's if ms is the same |
//!  uses:          bits 0-6: walks until the node counts as unused;
//!                 bit 7: STAYS of a plain node, AGAIN of a cold one
//! ```
//! Each use sets `uses` to [`UNUSED_WALKS`], and each walk of the background thread counts it down.
//! STAYS: the node did not shrink, and is not tried again until it changes. AGAIN: the node was
//! read a second time while it counted as used, and the next walk makes it plain.
//!
//! | | cost |
//! |---|---|
//! | memory | 16 bytes in the tree; a cold node: 24 + 7 to 20 + the frame |
//! | counts and ids of a cold node | O(1) |
//! | read entries of a cold node | the node is decompressed into a copy: about 6 us for 4 KB |
//! | clone | O(1): clones share the frame; each counts the dictionary |
//!
//! Invariants:
//! - N1: a cold node has what its head says, a live entry, and at most [`RAW_MAX`] bytes.
//! - N2: a cold node counts its dictionary.
//! - N3: the form changes only through `&mut`.
//!
//! Tested by `tests/cold.rs` and the model test beside it.

use super::tree::Block;
use crate::cold::registry::{Dictionary, DictionaryRef};
use crate::counted_tree::{Count, CountedRows, KeepsCount};
use crate::numbered::CountedNumber;
use crate::varint::{number, put_number};
use larder_packed::bytes::SharedBytes;
use larder_packed::dictionary::{Compressor, RAW_MAX, raw_len};
use larder_packed::heap::Mover;
use larder_packed::segment::UNUSED_WALKS;
use larder_packed::stream_node::{StreamId, StreamNode};
use std::ops::Deref;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes by which a forced frame may be longer than the node.
const ROOM_FORCED: usize = 64;
const WALKS: u8 = 0x7F;
/// Of a plain node: it does not shrink.
const STAYS: u8 = 0x80;
/// Of a cold node: it was read twice.
const AGAIN: u8 = 0x80;

/// See the module's comment.
#[derive(Clone)]
pub(super) enum Node {
    Plain { live: u32, uses: Uses, node: StreamNode },
    Cold { live: u32, uses: Uses, dictionary: CountedNumber<Dictionary>, bytes: SharedBytes },
}

const _: () = assert!(size_of::<Node>() == 16);

/// The byte `uses`. Clones of a stream that share a leaf of the tree share it; a lost update is
/// harmless.
pub(super) struct Uses(AtomicU8);

/// The head of a cold node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    deleted: u64,
    first: StreamId,
    last: StreamId,
    end: StreamId,
}

/// What the entries of a node are read from.
pub(super) enum Readable<'a> {
    /// The plain node.
    Itself(&'a StreamNode),
    /// A copy of a cold node.
    Copy(StreamNode),
}

impl Deref for Readable<'_> {
    type Target = StreamNode;

    #[inline]
    fn deref(&self) -> &StreamNode {
        match self {
            Readable::Itself(node) => node,
            Readable::Copy(node) => node,
        }
    }
}

impl Readable<'_> {
    /// The copy, if there is one.
    pub(super) fn into_copy(self) -> Option<StreamNode> {
        match self {
            Readable::Itself(_) => None,
            Readable::Copy(node) => Some(node),
        }
    }
}

impl Uses {
    fn new(uses: u8) -> Uses {
        Uses(AtomicU8::new(uses))
    }

    #[inline]
    fn get(&self) -> u8 {
        self.0.load(Relaxed)
    }

    /// Notes a read of a plain node.
    #[inline]
    fn note(&self) {
        let uses = self.get();
        // Threads that read clones need not take the line of memory from each other.
        if uses & WALKS != UNUSED_WALKS {
            self.0.store(uses & STAYS | UNUSED_WALKS, Relaxed);
        }
    }

    /// Notes a read of a cold node.
    fn note_cold(&self) {
        let uses = self.get();
        let again = if uses & WALKS > 0 { AGAIN } else { 0 };
        self.0.store(uses & AGAIN | again | UNUSED_WALKS, Relaxed);
    }

    fn count_down(&self) {
        let uses = self.get();
        if uses & WALKS > 0 {
            self.0.store(uses - 1, Relaxed);
        }
    }

    fn set(&self, flag: u8) {
        self.0.store(self.get() | flag, Relaxed);
    }
}

impl Clone for Uses {
    fn clone(&self) -> Self {
        Uses::new(self.get())
    }
}

impl From<StreamNode> for Node {
    #[inline]
    fn from(node: StreamNode) -> Self {
        Node::Plain { live: node.live() as u32, uses: Uses::new(UNUSED_WALKS), node }
    }
}

impl KeepsCount for Node {
    type Count = u32;

    #[inline]
    fn kept_count(&self) -> u32 {
        match self {
            Node::Plain { live, .. } | Node::Cold { live, .. } => *live,
        }
    }

    #[inline]
    fn keep_count(&mut self, count: u32) {
        match self {
            Node::Plain { live, .. } | Node::Cold { live, .. } => *live = count,
        }
    }
}

/// 32 bits suffice: nodes have at most 1 GB, and entries at least 8 bytes.
impl Count<u64> for u32 {
    #[inline]
    fn sum(self) -> u64 {
        u64::from(self)
    }
}

impl Block for Node {
    type Leaf = CountedRows<StreamId, Self>;

    /// A plain node may have been changed since its count was kept.
    #[inline]
    fn count(&self) -> u32 {
        match self {
            Node::Plain { node, .. } => node.live() as u32,
            Node::Cold { live, .. } => *live,
        }
    }

    #[inline]
    fn len(&self) -> u64 {
        u64::from(self.count())
    }

    fn heap_bytes(&self) -> usize {
        self.bytes().heap_bytes()
    }

    fn move_block(&mut self, mover: &mut Mover) {
        match self {
            Node::Plain { node, .. } => node.move_block(mover),
            Node::Cold { bytes, .. } => {
                bytes.move_block(mover);
            }
        }
    }
}

impl Node {
    /// Number of live entries.
    #[inline]
    pub(super) fn live(&self) -> u64 {
        self.len()
    }

    /// Entries, and marks of deleted ones.
    #[inline]
    pub(super) fn slots(&self) -> u64 {
        match self {
            Node::Plain { node, .. } => node.slots(),
            Node::Cold { live, bytes, .. } => u64::from(*live) + number(bytes, 0).0,
        }
    }

    /// Bytes of the plain node.
    #[inline]
    pub(super) fn len_bytes(&self) -> usize {
        match self {
            Node::Plain { node, .. } => node.len_bytes(),
            Node::Cold { bytes, .. } => raw_bytes(bytes),
        }
    }

    /// The id of the first live entry of the node, whose id is `base`.
    pub(super) fn first_entry_id(&self, base: StreamId) -> Option<StreamId> {
        match self {
            Node::Plain { node, .. } => node.entries(base).next().map(|entry| entry.id),
            Node::Cold { bytes, .. } => Some(Head::read(bytes, base).0.first),
        }
    }

    /// The id of the last live entry.
    pub(super) fn last_entry_id(&self, base: StreamId) -> Option<StreamId> {
        match self {
            Node::Plain { node, .. } => node.entries_back(base).next().map(|entry| entry.id),
            Node::Cold { bytes, .. } => Some(Head::read(bytes, base).0.last),
        }
    }

    /// The id of the last entry, be it deleted or not.
    pub(super) fn last_id(&self, base: StreamId) -> Option<StreamId> {
        match self {
            Node::Plain { node, .. } => node.last_id(base),
            Node::Cold { bytes, .. } => Some(Head::read(bytes, base).0.end),
        }
    }

    /// Whether this is a cold node without a live entry from `from` to `to`. Asking a plain node
    /// would cost as much as reading it.
    #[inline]
    pub(super) fn is_cold_outside(&self, base: StreamId, from: StreamId, to: StreamId) -> bool {
        match self {
            Node::Plain { .. } => false,
            Node::Cold { bytes, .. } => {
                let (head, _) = Head::read(bytes, base);
                head.last < from || head.first > to
            }
        }
    }

    /// The entries, for a use of them.
    #[inline]
    pub(super) fn read(&self) -> Readable<'_> {
        match self {
            Node::Plain { uses, node, .. } => {
                uses.note();
                Readable::Itself(node)
            }
            Node::Cold { uses, dictionary, bytes, .. } => {
                uses.note_cold();
                Readable::Copy(thaw(dictionary, bytes))
            }
        }
    }

    /// The entries, for copying them, which is no use.
    pub(super) fn peek(&self) -> Readable<'_> {
        match self {
            Node::Plain { node, .. } => Readable::Itself(node),
            Node::Cold { dictionary, bytes, .. } => Readable::Copy(thaw(dictionary, bytes)),
        }
    }

    /// The plain node, to be changed.
    #[inline]
    pub(super) fn plain_mut(&mut self) -> &mut StreamNode {
        if self.is_cold() {
            self.thaw();
        }
        match self {
            Node::Plain { uses, node, .. } => {
                *uses.0.get_mut() = UNUSED_WALKS;
                node
            }
            Node::Cold { .. } => unreachable!("it has become plain"),
        }
    }

    #[cold]
    fn thaw(&mut self) {
        if let Node::Cold { dictionary, bytes, .. } = self {
            *self = Node::from(thaw(dictionary, bytes));
        }
    }

    /// Gives back the room for more entries.
    pub(super) fn shrink(&mut self) {
        if let Node::Plain { node, .. } = self {
            node.shrink();
        }
    }

    /// Whether the node is compressed.
    #[inline]
    pub(super) fn is_cold(&self) -> bool {
        matches!(self, Node::Cold { .. })
    }

    /// The bytes of the form that the node has.
    pub(super) fn bytes(&self) -> &SharedBytes {
        match self {
            Node::Plain { node, .. } => node.shared_bytes(),
            Node::Cold { bytes, .. } => bytes,
        }
    }

    /// Counts a walk, and returns whether the node is to get its other form: a plain one that
    /// counts as unused, or any plain one if `all`; a cold one that was read again, unless `all`.
    pub(super) fn wants_change(&self, all: bool) -> bool {
        match self {
            Node::Plain { uses, node, .. } => {
                uses.count_down();
                let is_due = uses.get() == 0 || (all && uses.get() & STAYS == 0);
                if is_due && node.len_bytes() > RAW_MAX {
                    uses.set(STAYS);
                    return false;
                }
                is_due
            }
            Node::Cold { uses, .. } => {
                uses.count_down();
                !all && uses.get() & AGAIN != 0
            }
        }
    }

    /// Notes that a plain node did not shrink.
    pub(super) fn set_stays(&self) {
        if let Node::Plain { uses, .. } = self {
            uses.set(STAYS);
        }
    }

    /// Panics if an invariant of the module's comment is violated; `base` is the node's id.
    pub(super) fn check_invariants(&self, base: StreamId) {
        let plain = self.peek();
        plain.check_invariants(base);
        assert!(plain.live() > 0, "N1: live entries");
        if let Node::Cold { bytes, .. } = self {
            assert_eq!(Some(Head::read(bytes, base).0), Head::of(&plain, base), "N1: head");
            assert_eq!((self.len(), raw_bytes(bytes)), (plain.live(), plain.len_bytes()), "N1: size");
        }
    }

    /// Compresses a plain node whose id is `base` with the compressor of a dictionary. None if the
    /// node is too large, or if its memory does not shrink by an eighth and `is_forced` is not set.
    pub(super) fn compressed(
        node: &StreamNode,
        base: StreamId,
        dictionary: &DictionaryRef,
        compressor: &mut Compressor,
        is_forced: bool,
    ) -> Option<Node> {
        let (len, mut bytes) = (node.len_bytes(), Vec::new());
        Head::of(node, base)?.put(base, &mut bytes);
        let max = if is_forced { len + ROOM_FORCED } else { len };
        if !compressor.compress(node.as_bytes(), &mut bytes, max) {
            return None;
        }
        let (before, after) = (SharedBytes::heap_bytes_for(len), SharedBytes::heap_bytes_for(bytes.len()));
        let is_smaller = after <= before - before / 8;
        (is_smaller || is_forced).then(|| Node::Cold {
            live: node.live() as u32,
            uses: Uses::new(0),
            dictionary: CountedNumber::from(dictionary.clone()),
            bytes: SharedBytes::new(&bytes),
        })
    }
}

/// A plain copy of the node in a cold one's bytes.
///
/// # Panics
/// If the frame, which this process has made, is damaged.
fn thaw(dictionary: &Dictionary, bytes: &[u8]) -> StreamNode {
    StreamNode::of_bytes(dictionary.decompress_shared(frame(bytes)))
}

/// Bytes of the plain node.
fn raw_bytes(bytes: &[u8]) -> usize {
    raw_len(frame(bytes)).expect("N1: a cold node holds a frame")
}

fn frame(bytes: &[u8]) -> &[u8] {
    // The length of the head does not depend on the base of its ids.
    &bytes[Head::read(bytes, StreamId::ZERO).1..]
}

impl Head {
    /// What a cold node says of this one; None if it has no live entry.
    fn of(node: &StreamNode, base: StreamId) -> Option<Head> {
        let (live, slots) = (node.live(), node.slots());
        Some(Head {
            deleted: slots - live,
            first: node.entries(base).next()?.id,
            last: node.entries_back(base).next()?.id,
            end: node.last_id(base)?,
        })
    }

    fn put(&self, base: StreamId, out: &mut Vec<u8>) {
        put_number(out, self.deleted);
        put_id(out, base, self.first);
        put_id(out, base, self.last);
        put_id(out, self.last, self.end);
    }

    /// What [`Head::put`] has written, and where it ends.
    fn read(bytes: &[u8], base: StreamId) -> (Head, usize) {
        let (deleted, at) = number(bytes, 0);
        let (first, at) = id(bytes, at, base);
        let (last, at) = id(bytes, at, base);
        let (end, at) = id(bytes, at, last);
        (Head { deleted, first, last, end }, at)
    }
}

/// Appends an id that is not below `other`.
fn put_id(out: &mut Vec<u8>, other: StreamId, id: StreamId) {
    let ms = id.ms - other.ms;
    put_number(out, ms);
    put_number(out, if ms == 0 { id.seq - other.seq } else { id.seq });
}

/// The id that [`put_id`] has written at `at`, and where it ends.
fn id(bytes: &[u8], at: usize, other: StreamId) -> (StreamId, usize) {
    let (ms, at) = number(bytes, at);
    let (seq, at) = number(bytes, at);
    let from = if ms == 0 { other.seq } else { 0 };
    (StreamId { ms: other.ms + ms, seq: from + seq }, at)
}
