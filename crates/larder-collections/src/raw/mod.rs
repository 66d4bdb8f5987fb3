//! Each collection as a kind and one raw pointer, or as a kind and a few bytes, for a keyspace that stores nothing else.
//!
//! This module has the `unsafe` code of the crate, but for `numbered`. A collection is an enum of parts, each of which is one counted pointer;
//! its kinds number the variants from 0 up. A type that contains others adds an offset to the kinds of each, so nothing
//! states a number twice.
//!
//! Safe twins: the types themselves. Tested at the foot of this file.

use crate::hash::{Form as HashForm, Hash, Shaped};
use crate::int_set::{self, IntSet};
use crate::key_table::KeyHash;
use crate::list::{Directory, List};
use crate::numbered;
use crate::set::Set;
use crate::shapes::{SHAPE_FIELDS_MAX, Shape as HashShape, ShapeRef};
use crate::sorted_set::{Form, SortedSet};
use crate::stream::Stream;
use crate::table::{FieldValue, Member, Shape, Table};
use larder_packed::block::Block;
use larder_packed::embed::EmbedBuffer;
use larder_packed::int_block::IntBlock;
use larder_packed::leaf::Leaf;
use larder_packed::segment::{EMBEDDED_MAX, Embedded, InRecord, IntoRaw, Layout, Rows, Run};
use larder_packed::small_bytes::SmallBytes;
use std::ptr::NonNull;
use std::sync::Arc;

mod cold;
mod frame_bytes;
mod value;

pub use frame_bytes::FrameBytes;

/// A block with more bytes than this is too large for a record, whatever its header takes.
const EMBED_NEAR: usize = EMBEDDED_MAX + 64;

fn arc_into_raw<T>(arc: Arc<T>) -> NonNull<u8> {
    NonNull::new(Arc::into_raw(arc).cast_mut().cast()).expect("an Arc is not at address zero")
}

/// # Safety
/// The pointer came from [`arc_into_raw`] of the same type, which was not undone since.
unsafe fn arc_from_raw<T>(ptr: NonNull<u8>) -> Arc<T> {
    // SAFETY: the caller promises that `ptr` came from `Arc::into_raw` of an `Arc<T>`.
    unsafe { Arc::from_raw(ptr.cast::<T>().as_ptr()) }
}

// SAFETY: each kind stands for one type of counted pointer, and borrowed copies only read through it.
unsafe impl IntoRaw for List {
    const KINDS: u8 = 2;

    #[inline]
    fn into_raw(self) -> (u8, NonNull<u8>) {
        match self {
            List::Packed(block) => (0, block.into_raw()),
            List::Tree(tree) => (1, arc_into_raw(tree.0)),
        }
    }

    #[inline]
    unsafe fn from_raw(kind: u8, ptr: NonNull<u8>) -> List {
        // SAFETY: the caller passes back what `into_raw` gave, where each kind has its own type of pointer.
        unsafe {
            match kind {
                0 => List::Packed(Block::from_raw(ptr)),
                _ => List::Tree(Directory(arc_from_raw(ptr))),
            }
        }
    }

    #[inline]
    fn may_embed(&self) -> bool {
        matches!(self, List::Packed(block) if block.size_bytes() <= EMBED_NEAR)
    }

    fn with_embedded<R>(&self, f: impl FnOnce(Option<Embedded<'_>>) -> R) -> R {
        let mut buffer = EmbedBuffer::new();
        let fits = matches!(self, List::Packed(block) if block.embed(&mut buffer));
        // SAFETY: `in_record` takes the bytes of a block, of this kind.
        f(fits.then(|| unsafe { Embedded::new(0, buffer.bytes()) }))
    }

    unsafe fn in_record(_: u8, bytes: InRecord<'_>) -> List {
        List::Packed(Block::of_embedded(bytes.bytes()))
    }
}

// SAFETY: as for lists.
unsafe impl IntoRaw for IntSet {
    const KINDS: u8 = 2;

    #[inline]
    fn into_raw(self) -> (u8, NonNull<u8>) {
        match self {
            IntSet::Packed(block) => (0, block.into_raw()),
            IntSet::Tree(tree) => (1, arc_into_raw(tree.0)),
        }
    }

    #[inline]
    unsafe fn from_raw(kind: u8, ptr: NonNull<u8>) -> IntSet {
        // SAFETY: the caller passes back what `into_raw` gave, where each kind has its own type of pointer.
        unsafe {
            match kind {
                0 => IntSet::Packed(IntBlock::from_raw(ptr)),
                _ => IntSet::Tree(int_set::Tree(arc_from_raw(ptr))),
            }
        }
    }

    #[inline]
    fn may_embed(&self) -> bool {
        matches!(self, IntSet::Packed(_))
    }

    fn with_embedded<R>(&self, f: impl FnOnce(Option<Embedded<'_>>) -> R) -> R {
        let mut buffer = EmbedBuffer::new();
        let fits = matches!(self, IntSet::Packed(block) if block.embed(&mut buffer));
        // SAFETY: `in_record` takes the bytes of a block, of this kind.
        f(fits.then(|| unsafe { Embedded::new(0, buffer.bytes()) }))
    }

    unsafe fn in_record(_: u8, bytes: InRecord<'_>) -> IntSet {
        IntSet::Packed(IntBlock::of_embedded(bytes.bytes()))
    }
}

// SAFETY: as for lists.
unsafe impl<L: Layout, H: KeyHash> IntoRaw for Table<L, H> {
    const KINDS: u8 = 5;

    #[inline]
    fn into_raw(self) -> (u8, NonNull<u8>) {
        match self.shape {
            Shape::Run { run, mark } => (u8::from(mark), run.into_raw()),
            Shape::Small { rows, mark } => (2 + u8::from(mark), rows.into_raw()),
            Shape::Tree(tree) => (4, arc_into_raw(tree)),
        }
    }

    #[inline]
    unsafe fn from_raw(kind: u8, ptr: NonNull<u8>) -> Self {
        // SAFETY: the caller passes back what `into_raw` gave, where each kind has its own type of pointer.
        Table::of(unsafe {
            match kind {
                0 | 1 => Shape::Run { run: Run::from_raw(ptr), mark: kind == 1 },
                2 | 3 => Shape::Small { rows: Rows::from_raw(ptr), mark: kind == 3 },
                _ => Shape::Tree(arc_from_raw(ptr)),
            }
        })
    }

    #[inline]
    fn may_embed(&self) -> bool {
        matches!(&self.shape, Shape::Run { .. })
    }

    #[inline]
    fn with_embedded<R>(&self, f: impl FnOnce(Option<Embedded<'_>>) -> R) -> R {
        match &self.shape {
            Shape::Run { run, mark } if run.bytes().len() <= EMBEDDED_MAX => {
                // SAFETY: the functions below take the bytes of a run, of these two kinds.
                f(Some(unsafe { Embedded::new(u8::from(*mark), run.bytes()) }))
            }
            _ => f(None),
        }
    }

    #[inline]
    unsafe fn in_record(kind: u8, bytes: InRecord<'_>) -> Self {
        // SAFETY: passed on to the caller.
        Table::of(Shape::Run { run: unsafe { Run::in_record(bytes) }, mark: kind == 1 })
    }

    #[inline]
    fn is_in_place(&self, kind: u8) -> bool {
        matches!(&self.shape, Shape::Run { run, mark } if run.is_in_place() && u8::from(*mark) == kind)
    }

    #[inline]
    fn into_own(mut self) -> Self {
        self.make_own();
        self
    }
}

/// First kind of a hash with a shape; below are those of tables. The second is marked.
const HASH_SHAPED: u8 = <Table<FieldValue>>::KINDS;
/// First embedded kind of a hash with a shape; below are those of runs.
const EMBEDDED_SHAPED: u8 = 2;

// SAFETY: as for the table. A hash with a shape is its bytes, which begin with the number of the shape: the pair, or the
// record, owns a count of that.
unsafe impl IntoRaw for Hash {
    const KINDS: u8 = HASH_SHAPED + 2;

    #[inline]
    fn into_raw(self) -> (u8, NonNull<u8>) {
        match self.form {
            HashForm::Table(table) => table.into_raw(),
            HashForm::Shaped { shaped, mark } => {
                let (shape, bytes) = shaped.into_parts();
                shape.into_count();
                (HASH_SHAPED + u8::from(mark), bytes.into_raw())
            }
        }
    }

    #[inline]
    unsafe fn from_raw(kind: u8, ptr: NonNull<u8>) -> Hash {
        // SAFETY: the caller passes back what `into_raw` gave, with the count of the shape; a copy that is never dropped
        // borrows that.
        let form = unsafe {
            match kind {
                0..HASH_SHAPED => HashForm::Table(Table::from_raw(kind, ptr)),
                _ => {
                    let bytes = SmallBytes::from_raw(ptr);
                    let shape = ShapeRef::owned(Shaped::shape_of(bytes.get()));
                    HashForm::Shaped { shaped: Shaped::of_parts(shape, bytes), mark: kind > HASH_SHAPED }
                }
            }
        };
        Hash { form }
    }

    #[inline]
    fn may_embed(&self) -> bool {
        match &self.form {
            HashForm::Table(table) => match &table.shape {
                Shape::Run { .. } => true,
                Shape::Small { rows, .. } => rows.page().live() <= SHAPE_FIELDS_MAX,
                Shape::Tree(_) => false,
            },
            HashForm::Shaped { .. } => true,
        }
    }

    #[inline]
    fn with_embedded<R>(&self, f: impl FnOnce(Option<Embedded<'_>>) -> R) -> R {
        match &self.form {
            HashForm::Table(table) => table.with_embedded(f),
            HashForm::Shaped { shaped, mark } if shaped.bytes().len() <= EMBEDDED_MAX => {
                let kind = EMBEDDED_SHAPED + u8::from(*mark);
                // SAFETY: the functions below take the bytes of such a hash, of these two kinds.
                f(Some(unsafe { Embedded::new(kind, shaped.bytes()) }))
            }
            HashForm::Shaped { .. } => f(None),
        }
    }

    #[inline]
    unsafe fn in_record(kind: u8, bytes: InRecord<'_>) -> Hash {
        // SAFETY: passed on to the caller; the record owns a count of the shape.
        let form = unsafe {
            match kind {
                0..EMBEDDED_SHAPED => HashForm::Table(Table::in_record(kind, bytes)),
                kind => {
                    let shape = ShapeRef::borrowed(Shaped::shape_of(bytes.bytes()));
                    let shaped = Shaped::of_parts(shape, SmallBytes::in_record(bytes));
                    HashForm::Shaped { shaped, mark: kind > EMBEDDED_SHAPED }
                }
            }
        };
        Hash { form }
    }

    #[inline]
    fn is_in_place(&self, kind: u8) -> bool {
        match &self.form {
            HashForm::Table(table) => table.is_in_place(kind),
            HashForm::Shaped { shaped, mark } => {
                shaped.is_in_place() && kind == EMBEDDED_SHAPED + u8::from(*mark)
            }
        }
    }

    /// A hash with a shape owns a count of it afterwards, so that it may outlive the record.
    #[inline]
    fn into_own(self) -> Hash {
        let form = match self.form {
            HashForm::Table(table) => HashForm::Table(table.into_own()),
            HashForm::Shaped { shaped, mark } => HashForm::Shaped { shaped: shaped.into_own(), mark },
        };
        Hash { form }
    }

    #[inline]
    fn adopt(embedded: Embedded<'_>) {
        if embedded.kind() >= EMBEDDED_SHAPED {
            // SAFETY: the value that gave the bytes has the shape.
            unsafe { numbered::adopt::<HashShape>(Shaped::shape_of(embedded.bytes())) };
        }
    }

    #[inline]
    unsafe fn disown(embedded: Embedded<'_>) {
        if embedded.kind() >= EMBEDDED_SHAPED {
            // SAFETY: passed on to the caller.
            unsafe { numbered::disown::<HashShape>(Shaped::shape_of(embedded.bytes())) };
        }
    }

    #[inline]
    fn settle(&mut self) {
        Hash::settle(self);
    }

    #[inline]
    fn parts(&self) -> usize {
        if self.may_embed() { self.len() } else { 0 }
    }
}

// SAFETY: as for lists.
unsafe impl<H: KeyHash> IntoRaw for SortedSet<H> {
    const KINDS: u8 = 2;

    #[inline]
    fn into_raw(self) -> (u8, NonNull<u8>) {
        match self.form {
            Form::Packed(leaf) => (0, leaf.into_raw()),
            Form::Tree(tree) => (1, arc_into_raw(tree)),
        }
    }

    #[inline]
    unsafe fn from_raw(kind: u8, ptr: NonNull<u8>) -> Self {
        // SAFETY: the caller passes back what `into_raw` gave, where each kind has its own type of pointer.
        SortedSet::of(unsafe {
            match kind {
                0 => Form::Packed(Leaf::from_raw(ptr)),
                _ => Form::Tree(arc_from_raw(ptr)),
            }
        })
    }

    #[inline]
    fn may_embed(&self) -> bool {
        matches!(&self.form, Form::Packed(leaf) if leaf.content_bytes() <= EMBED_NEAR)
    }

    fn with_embedded<R>(&self, f: impl FnOnce(Option<Embedded<'_>>) -> R) -> R {
        let mut buffer = EmbedBuffer::new();
        let fits = matches!(&self.form, Form::Packed(leaf) if leaf.embed(&mut buffer));
        // SAFETY: `in_record` takes the bytes of a leaf, of this kind.
        f(fits.then(|| unsafe { Embedded::new(0, buffer.bytes()) }))
    }

    unsafe fn in_record(_: u8, bytes: InRecord<'_>) -> Self {
        SortedSet::of(Form::Packed(Leaf::of_embedded(bytes.bytes())))
    }
}

/// First kind of a set of strings; below are those of a set of integers.
const SET_STRINGS: u8 = IntSet::KINDS;
/// Kind of a set of both.
const SET_BOTH: u8 = SET_STRINGS + <Table<Member>>::KINDS;

// SAFETY: as for lists; the kinds of the parts do not overlap.
unsafe impl IntoRaw for Set {
    const KINDS: u8 = SET_BOTH + 1;

    #[inline]
    fn into_raw(self) -> (u8, NonNull<u8>) {
        match self {
            Set::Ints(ints) => ints.into_raw(),
            Set::Strings(strings) => with_offset(SET_STRINGS, strings.into_raw()),
            Set::Both(parts) => (SET_BOTH, arc_into_raw(parts)),
        }
    }

    #[inline]
    unsafe fn from_raw(kind: u8, ptr: NonNull<u8>) -> Set {
        // SAFETY: the caller passes back what `into_raw` gave; without its offset a kind is what the part gave.
        unsafe {
            match kind {
                0..SET_STRINGS => Set::Ints(IntSet::from_raw(kind, ptr)),
                SET_STRINGS..SET_BOTH => Set::Strings(Table::from_raw(kind - SET_STRINGS, ptr)),
                _ => Set::Both(arc_from_raw(ptr)),
            }
        }
    }

    #[inline]
    fn may_embed(&self) -> bool {
        match self {
            Set::Ints(ints) => ints.may_embed(),
            Set::Strings(strings) => strings.may_embed(),
            Set::Both(_) => false,
        }
    }

    #[inline]
    fn with_embedded<R>(&self, f: impl FnOnce(Option<Embedded<'_>>) -> R) -> R {
        match self {
            Set::Ints(ints) => ints.with_embedded(f),
            // SAFETY: the functions below take the offset off again.
            Set::Strings(strings) => strings.with_embedded(|bytes| f(unsafe { offset(bytes, 1) })),
            Set::Both(_) => f(None),
        }
    }

    #[inline]
    unsafe fn in_record(kind: u8, bytes: InRecord<'_>) -> Set {
        // SAFETY: the caller passes back what `with_embedded` gave.
        unsafe {
            match kind {
                0 => Set::Ints(IntSet::in_record(0, bytes)),
                _ => Set::Strings(Table::in_record(kind - 1, bytes)),
            }
        }
    }

    #[inline]
    fn is_in_place(&self, kind: u8) -> bool {
        matches!(self, Set::Strings(strings) if kind > 0 && strings.is_in_place(kind - 1))
    }

    #[inline]
    fn into_own(self) -> Set {
        match self {
            Set::Strings(strings) => Set::Strings(strings.into_own()),
            others => others,
        }
    }
}

/// Embedded bytes of a part, whose kinds start at `first` in the whole.
///
/// # Safety
/// The whole takes the offset off before it passes the bytes back to the part.
#[inline]
unsafe fn offset(embedded: Option<Embedded<'_>>, first: u8) -> Option<Embedded<'_>> {
    // SAFETY: passed on to the caller.
    embedded.map(|part| unsafe { Embedded::new(first + part.kind(), part.bytes()) })
}

// SAFETY: the only kind has one type of counted pointer, and borrowed copies only read through it.
unsafe impl IntoRaw for Stream {
    const KINDS: u8 = 1;

    #[inline]
    fn into_raw(self) -> (u8, NonNull<u8>) {
        (0, arc_into_raw(self.0))
    }

    #[inline]
    unsafe fn from_raw(_: u8, ptr: NonNull<u8>) -> Stream {
        // SAFETY: the caller passes back what `into_raw` gave.
        Stream(unsafe { arc_from_raw(ptr) })
    }
}

/// The pair of a part, whose kinds start at `first` in the whole.
fn with_offset(first: u8, (kind, ptr): (u8, NonNull<u8>)) -> (u8, NonNull<u8>) {
    (first + kind, ptr)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::HashLimits;
    use crate::list::{Fill, ListOptions};
    use crate::set::SetLimits;
    use crate::sorted_set;
    use crate::stream::{self, StreamId};
    use crate::value::Value;
    use larder_packed::bytes::SharedBytes;
    use larder_packed::segment::INLINE_KIND_MAX;

    /// Gives a value away and takes it back; its kind comes with it.
    fn there_and_back<T: IntoRaw>(value: T) -> (T, u8) {
        let (kind, ptr) = value.into_raw();
        assert!(kind < T::KINDS, "kind {kind}");
        // SAFETY: both come from the `into_raw` just above, once.
        (unsafe { T::from_raw(kind, ptr) }, kind)
    }

    /// Checks the kinds that a growing collection had.
    fn assert_kinds(mut kinds: Vec<u8>, expected: &[u8]) {
        kinds.dedup();
        assert_eq!(kinds, expected);
    }

    #[test]
    fn lists_survive_the_round_trip() {
        let options = ListOptions { fill: Fill::new(4), ..ListOptions::default() };
        let (mut list, mut kinds) = (List::new(), Vec::new());
        for i in 0..40 {
            list.push_back(format!("e{i}").as_bytes(), &options);
            let (back, kind) = there_and_back(list.clone());
            assert_eq!((back.len(), back.back()), (i + 1, list.back()));
            kinds.push(kind);
        }
        assert_kinds(kinds, &[0, 1]);
    }

    #[test]
    fn tables_survive_the_round_trip() {
        let (mut table, mut kinds): (Table<Member>, _) = (Table::new(), Vec::new());
        for n in 0..300 {
            table.insert(format!("member {n}").as_bytes());
            if n == 2 {
                table.set_mark();
            }
            let (back, kind) = there_and_back(table.clone());
            assert_eq!((back.len(), back.mark()), (n + 1, n >= 2));
            back.check_invariants();
            kinds.push(kind);
        }
        assert_kinds(kinds, &[0, 1, 3, 4]);
    }

    #[test]
    fn sets_survive_the_round_trip() {
        let (limits, mut set, mut kinds) = (SetLimits::default(), Set::new(), Vec::new());
        for i in 0..2000 {
            let member = if i < 700 { i.to_string() } else { format!("m{i}") };
            set.insert(member.as_bytes(), &limits);
            let (back, kind) = there_and_back(set.clone());
            assert!(back.len() == i + 1 && back.contains(member.as_bytes()));
            back.check_invariants();
            kinds.push(kind);
        }
        assert_kinds(kinds, &[0, 1, SET_BOTH]);
    }

    #[test]
    fn sorted_sets_survive_the_round_trip() {
        let (mut set, mut kinds): (SortedSet, _) = (SortedSet::new(), Vec::new());
        for i in 0..2000 {
            set.add(format!("member {i}").as_bytes(), f64::from(i), &sorted_set::Limits::default());
            if i % 100 == 0 {
                let (back, kind) = there_and_back(set.clone());
                assert_eq!((back.len(), back.score(b"member 0")), (i as u64 + 1, Some(0.0)));
                kinds.push(kind);
            }
        }
        assert_kinds(kinds, &[0, 1]);
    }

    #[test]
    fn streams_survive_the_round_trip() {
        let mut stream = Stream::new();
        for i in 1..300 {
            let pairs = [(&b"field"[..], &b"value"[..])];
            stream.append(StreamId::new(i, 0), pairs.into_iter(), &stream::Limits::default());
            let (back, kind) = there_and_back(stream.clone());
            assert_eq!((back.len(), back.last_id(), kind), (i, StreamId::new(i, 0), 0));
        }
    }

    #[test]
    fn values_of_every_type_survive_the_round_trip() {
        let mut values = vec![Value::String(SharedBytes::new(b"text"))];
        let mut hash = Hash::default();
        hash.set_new(b"f", b"v", HashLimits::default(), 0);
        values.push(Value::Hash(hash));
        let mut list = List::new();
        list.push_back(b"e", &ListOptions::default());
        values.push(Value::List(list));
        let mut sorted = SortedSet::new();
        sorted.add(b"m", 1.0, &sorted_set::Limits::default());
        values.push(Value::SortedSet(sorted));
        for member in ["1", "m"] {
            let mut set = Set::new();
            set.insert(member.as_bytes(), &SetLimits::default());
            values.push(Value::Set(set));
        }
        values.push(Value::Stream(Stream::new()));
        let mut kinds = Vec::new();
        for value in values {
            let (variant, effort) = (std::mem::discriminant(&value), value.free_effort());
            let (back, kind) = there_and_back(value);
            assert_eq!((std::mem::discriminant(&back), back.free_effort()), (variant, effort));
            kinds.push(kind);
        }
        assert!(kinds.is_sorted_by(|a, b| a < b) && kinds[0] > INLINE_KIND_MAX, "{kinds:?}");
    }
}
