//! Any value of a key as a kind and a raw pointer, or as a kind and bytes.
//!
//! The bytes of a small collection are its *image* too: what is compressed when the value is [cold](crate::cold).

use super::{EMBEDDED_SHAPED, offset, with_offset};
use crate::cold::{Cold, ColdType, IMAGE_MIN, KIND};
use crate::hash::{Form as HashForm, Hash};
use crate::int_set::IntSet;
use crate::list::List;
use crate::set::Set;
use crate::sorted_set::{Form, SortedSet};
use crate::stream::Stream;
use crate::table::{Shape, Table};
use crate::value::Value;
use larder_packed::bytes::SharedBytes;
use larder_packed::dictionary::RAW_MAX;
use larder_packed::heap::Mover;
use larder_packed::segment::{
    COLD_KIND, EMBEDDED_KINDS_MAX, Embedded, INLINE_KIND_MAX, INLINE_MAX, InRecord, IntoRaw, KINDS_MAX,
};
use std::ptr::NonNull;

/// The first kind of each variant of [`Value`]; those below are for strings inside the table.
mod first {
    use super::*;

    pub const STRING: u8 = INLINE_KIND_MAX + 1;
    pub const HASH: u8 = STRING + 1;
    pub const LIST: u8 = HASH + Hash::KINDS;
    pub const SORTED_SET: u8 = LIST + List::KINDS;
    pub const SET: u8 = SORTED_SET + <SortedSet>::KINDS;
    pub const STREAM: u8 = SET + Set::KINDS;
    pub const STREAM_END: u8 = STREAM + Stream::KINDS;
    pub const COLD: u8 = COLD_KIND;
    pub const NONE: u8 = COLD + 1;
}

const _: () = assert!(Value::KINDS <= KINDS_MAX && first::STREAM_END <= first::COLD);

// SAFETY: the types keep the promises, and their kinds do not overlap.
unsafe impl IntoRaw for Value {
    const KINDS: u8 = first::NONE;

    #[inline]
    fn into_raw(self) -> (u8, NonNull<u8>) {
        match self {
            Value::String(bytes) => (first::STRING, bytes.into_raw()),
            Value::Hash(hash) => with_offset(first::HASH, hash.into_raw()),
            Value::List(list) => with_offset(first::LIST, list.into_raw()),
            Value::SortedSet(set) => with_offset(first::SORTED_SET, set.into_raw()),
            Value::Set(set) => with_offset(first::SET, set.into_raw()),
            Value::Stream(stream) => with_offset(first::STREAM, stream.into_raw()),
            Value::Cold(cold) => (first::COLD, cold.into_raw()),
        }
    }

    #[inline]
    unsafe fn from_raw(kind: u8, ptr: NonNull<u8>) -> Value {
        use first::{COLD, HASH, LIST, NONE, SET, SORTED_SET, STREAM, STREAM_END, STRING};
        // SAFETY: the caller passes back what `into_raw` gave; without its offset a kind is what the type gave.
        unsafe {
            match kind {
                STRING..HASH => Value::String(SharedBytes::from_raw(ptr)),
                HASH..LIST => Value::Hash(Hash::from_raw(kind - HASH, ptr)),
                LIST..SORTED_SET => Value::List(List::from_raw(kind - LIST, ptr)),
                SORTED_SET..SET => Value::SortedSet(SortedSet::from_raw(kind - SORTED_SET, ptr)),
                SET..STREAM => Value::Set(Set::from_raw(kind - SET, ptr)),
                STREAM..STREAM_END => Value::Stream(Stream::from_raw(kind - STREAM, ptr)),
                COLD..NONE => Value::Cold(Cold::from_raw(ptr)),
                _ => never_given(kind),
            }
        }
    }

    #[inline]
    fn may_embed(&self) -> bool {
        match self {
            Value::Hash(hash) => hash.may_embed(),
            Value::List(list) => list.may_embed(),
            Value::SortedSet(set) => set.may_embed(),
            Value::Set(set) => set.may_embed(),
            Value::Cold(cold) => cold.may_embed(),
            Value::String(_) | Value::Stream(_) => false,
        }
    }

    #[inline]
    fn with_embedded<R>(&self, f: impl FnOnce(Option<Embedded<'_>>) -> R) -> R {
        use embedded::{COLD, HASH, LIST, SET, SORTED_SET};
        // SAFETY: the functions below take the offsets off again.
        unsafe {
            match self {
                Value::Hash(hash) => hash.with_embedded(|bytes| f(offset(bytes, HASH))),
                Value::List(list) => list.with_embedded(|bytes| f(offset(bytes, LIST))),
                Value::SortedSet(set) => set.with_embedded(|bytes| f(offset(bytes, SORTED_SET))),
                Value::Set(set) => set.with_embedded(|bytes| f(offset(bytes, SET))),
                Value::Cold(cold) if cold.may_embed() => f(Some(Embedded::new(COLD, cold.bytes()))),
                Value::String(_) | Value::Stream(_) | Value::Cold(_) => f(None),
            }
        }
    }

    #[inline]
    fn is_rebuilt(kind: u8) -> bool {
        (embedded::LIST..=embedded::SET).contains(&kind)
    }

    #[inline]
    fn thawed(&self) -> Option<Value> {
        if let Value::Cold(cold) = self { Some(cold.thaw()) } else { None }
    }

    fn of_inline(kind: u8, bytes: &[u8]) -> Option<Value> {
        (kind == INLINE_STRING && bytes.len() >= IMAGE_MIN).then(|| Value::String(SharedBytes::new(bytes)))
    }

    #[inline]
    fn as_inline(&self) -> Option<(u8, &[u8])> {
        match self {
            Value::String(bytes) if bytes.len() <= INLINE_MAX => Some((INLINE_STRING, bytes)),
            _ => None,
        }
    }

    #[inline]
    unsafe fn in_record(kind: u8, bytes: InRecord<'_>) -> Value {
        use embedded::{COLD, HASH, LIST, NONE, SET, SET_END, SORTED_SET};
        // SAFETY: the caller passes back what `with_embedded` gave.
        unsafe {
            match kind {
                HASH..LIST => Value::Hash(Hash::in_record(kind - HASH, bytes)),
                LIST..SORTED_SET => Value::List(List::in_record(kind - LIST, bytes)),
                SORTED_SET..SET => Value::SortedSet(SortedSet::in_record(kind - SORTED_SET, bytes)),
                SET..SET_END => Value::Set(Set::in_record(kind - SET, bytes)),
                COLD..NONE => Value::Cold(Cold::in_record(&bytes)),
                kind => never_given(kind),
            }
        }
    }

    #[inline]
    fn is_in_place(&self, kind: u8) -> bool {
        use embedded::{HASH, LIST, SET};
        match self {
            Value::Hash(hash) => kind < LIST && hash.is_in_place(kind - HASH),
            Value::Set(set) => kind >= SET && set.is_in_place(kind - SET),
            _ => false,
        }
    }

    #[inline]
    fn into_own(self) -> Value {
        match self {
            Value::Hash(hash) => Value::Hash(hash.into_own()),
            Value::Set(set) => Value::Set(set.into_own()),
            Value::Cold(cold) => Value::Cold(cold.into_own()),
            other => other,
        }
    }

    #[inline]
    fn adopt(bytes: Embedded<'_>) {
        match bytes.kind() {
            embedded::HASH..embedded::LIST => Hash::adopt(bytes),
            embedded::COLD => Cold::adopt(bytes.bytes()),
            _ => {}
        }
    }

    #[inline]
    unsafe fn disown(bytes: Embedded<'_>) {
        // SAFETY: passed on to the caller; the offset of hashes is 0.
        unsafe {
            match bytes.kind() {
                embedded::HASH..embedded::LIST => Hash::disown(bytes),
                embedded::COLD => Cold::disown(bytes.bytes()),
                _ => {}
            }
        }
    }

    #[inline]
    fn settle(&mut self) {
        if let Value::Hash(hash) = self {
            hash.settle();
        }
    }

    fn move_blocks(&mut self, mover: &mut Mover) {
        match self {
            Value::String(bytes) => drop(bytes.move_block(mover)),
            Value::Hash(hash) => hash.move_blocks(mover),
            Value::List(list) => list.move_blocks(mover),
            Value::SortedSet(set) => set.move_blocks(mover),
            Value::Set(set) => set.move_blocks(mover),
            Value::Stream(stream) => stream.move_blocks(mover),
            Value::Cold(cold) => cold.bytes.move_block(mover),
        }
    }

    #[inline]
    fn parts(&self) -> usize {
        if let Value::Hash(hash) = self { hash.parts() } else { 0 }
    }
}

/// The first embedded kind of each type that may be embedded. Streams and strings are not: short strings lie in their record
/// anyway.
mod embedded {
    use larder_packed::segment::COLD_KIND_EMBEDDED;

    pub const HASH: u8 = 0;
    pub const LIST: u8 = HASH + 4;
    pub const SORTED_SET: u8 = LIST + 1;
    /// Sets of integers, and then sets of strings.
    pub const SET: u8 = SORTED_SET + 1;
    pub const SET_END: u8 = SET + 3;
    pub const COLD: u8 = COLD_KIND_EMBEDDED;
    pub const NONE: u8 = COLD + 1;
}

const _: () = assert!(embedded::SET_END <= embedded::COLD && embedded::HASH == 0);

/// The kind of strings in records that no operation has marked. Others stay as they are: a cold string has no room for the mark.
const INLINE_STRING: u8 = 0;

/// Apart, so that taking a value back needs no room on the stack.
#[cold]
fn never_given(kind: u8) -> ! {
    unreachable!("kind {kind} was never given out")
}

impl Value {
    /// Calls `f` with the kind and the bytes of a value that has an image: a string of any length, or a collection of at most [`RAW_MAX`]
    /// bytes, unless it has too many entries, some that expire, or integers in several blocks.
    pub(crate) fn with_image<R>(&self, f: impl FnOnce(Option<Image<'_>>) -> R) -> R {
        let mut bytes = Vec::new();
        let collected = match self {
            Value::String(bytes) => return f(Some(Image { kind: IMAGE_STRING, bytes })),
            Value::Hash(hash) => match &hash.form {
                HashForm::Table(table) => match &table.shape {
                    Shape::Run { run, mark } => {
                        let kind = embedded::HASH + u8::from(*mark);
                        return f(Some(Image { kind, bytes: run.bytes() }));
                    }
                    _ => table.image_into(&mut bytes, RAW_MAX).then_some(IMAGE_HASH),
                },
                HashForm::Shaped { shaped, mark } => {
                    let kind = embedded::HASH + EMBEDDED_SHAPED + u8::from(*mark);
                    return f(Some(Image { kind, bytes: shaped.bytes() }));
                }
            },
            Value::List(List::Packed(block)) if block.embed(&mut bytes) => Some(embedded::LIST),
            Value::List(list) => {
                bytes.clear();
                list.image_into(&mut bytes, RAW_MAX).then_some(IMAGE_LIST)
            }
            Value::SortedSet(set) => match &set.form {
                Form::Packed(leaf) if leaf.embed(&mut bytes) => Some(embedded::SORTED_SET),
                _ => {
                    bytes.clear();
                    set.image_into(&mut bytes, RAW_MAX).then_some(IMAGE_SORTED_SET)
                }
            },
            Value::Set(Set::Ints(IntSet::Packed(block))) => block.embed(&mut bytes).then_some(embedded::SET),
            Value::Set(Set::Strings(table)) => match &table.shape {
                Shape::Run { run, mark } => {
                    let kind = embedded::SET + 1 + u8::from(*mark);
                    return f(Some(Image { kind, bytes: run.bytes() }));
                }
                _ => table.image_into(&mut bytes, RAW_MAX).then_some(IMAGE_SET),
            },
            Value::Set(_) | Value::Stream(_) | Value::Cold(_) => None,
        };
        f(collected.map(|kind| Image { kind, bytes: &bytes }))
    }

    /// The value of an image of a collection.
    ///
    /// # Safety
    /// [`with_image`](Self::with_image) gave the pair, and somebody owns a count of the shape in it, if there is one.
    pub(super) unsafe fn of_image(image: Image<'_>) -> Value {
        match image.kind {
            IMAGE_LIST => return Value::List(List::of_image(image.bytes)),
            IMAGE_HASH => {
                let form = HashForm::Table(Table::of_image(image.bytes));
                return Value::Hash(Hash { form });
            }
            IMAGE_SET => return Value::Set(Set::Strings(Table::of_image(image.bytes))),
            IMAGE_SORTED_SET => return Value::SortedSet(SortedSet::of_image(image.bytes)),
            _ => {}
        }
        // SAFETY: images are what records hold of such values, of any length; the caller.
        unsafe { Value::in_record(image.kind, InRecord::Read(image.bytes)) }.into_own()
    }
}

/// The bytes of a value.
#[derive(Clone, Copy)]
pub(crate) struct Image<'a> {
    pub kind: u8,
    pub bytes: &'a [u8],
}

/// The kinds of images that are not those of embedded values: of a string, and of collections that no record could hold.
pub(super) const IMAGE_STRING: u8 = EMBEDDED_KINDS_MAX;
const IMAGE_LIST: u8 = IMAGE_STRING + 1;
const IMAGE_HASH: u8 = IMAGE_LIST + 1;
const IMAGE_SET: u8 = IMAGE_HASH + 1;
const IMAGE_SORTED_SET: u8 = embedded::SET_END;
const _: () = assert!(IMAGE_SET <= KIND && IMAGE_SORTED_SET < embedded::COLD);

impl Image<'_> {
    /// Bytes at the front that are the number of a hash's shape.
    #[inline]
    pub(crate) fn shape_bytes(kind: u8) -> usize {
        let shaped = embedded::HASH + EMBEDDED_SHAPED;
        if (shaped..embedded::LIST).contains(&kind) { size_of::<u16>() } else { 0 }
    }
}

/// The type of the value of an image.
pub(super) fn type_of_image(kind: u8) -> ColdType {
    match kind {
        embedded::HASH..embedded::LIST | IMAGE_HASH => ColdType::Hash,
        embedded::LIST | IMAGE_LIST => ColdType::List,
        embedded::SORTED_SET | IMAGE_SORTED_SET => ColdType::SortedSet,
        embedded::SET..embedded::SET_END | IMAGE_SET => ColdType::Set,
        _ => ColdType::String,
    }
}
