//! Any value of a key as a kind and a raw pointer, or as a kind and bytes.
//!
//! The bytes of a small collection are its *image* too: what is compressed when the value is [cold](crate::cold).

use super::{EMBEDDED_SHAPED, offset, with_offset};
use crate::cold::Cold;
use crate::hash::{Form as HashForm, Hash};
use crate::int_set::IntSet;
use crate::list::List;
use crate::set::Set;
use crate::sorted_set::{Form, SortedSet};
use crate::stream::Stream;
use crate::table::Shape;
use crate::value::Value;
use larder_packed::bytes::SharedBytes;
use larder_packed::segment::{EMBEDDED_KINDS_MAX, Embedded, INLINE_KIND_MAX, InRecord, IntoRaw, KINDS_MAX};
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
    pub const COLD: u8 = STREAM + Stream::KINDS;
    pub const NONE: u8 = COLD + 1;
}

const _: () = assert!(Value::KINDS <= KINDS_MAX);

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
        use first::{COLD, HASH, LIST, NONE, SET, SORTED_SET, STREAM, STRING};
        // SAFETY: the caller passes back what `into_raw` gave; without its offset a kind is what the type gave.
        unsafe {
            match kind {
                STRING..HASH => Value::String(SharedBytes::from_raw(ptr)),
                HASH..LIST => Value::Hash(Hash::from_raw(kind - HASH, ptr)),
                LIST..SORTED_SET => Value::List(List::from_raw(kind - LIST, ptr)),
                SORTED_SET..SET => Value::SortedSet(SortedSet::from_raw(kind - SORTED_SET, ptr)),
                SET..STREAM => Value::Set(Set::from_raw(kind - SET, ptr)),
                STREAM..COLD => Value::Stream(Stream::from_raw(kind - STREAM, ptr)),
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
    fn is_cold(kind: u8, is_embedded: bool) -> bool {
        kind == if is_embedded { embedded::COLD } else { first::COLD }
    }

    #[inline]
    fn thawed(&self) -> Option<Value> {
        if let Value::Cold(cold) = self { Some(cold.thaw()) } else { None }
    }

    #[inline]
    unsafe fn in_record(kind: u8, bytes: InRecord<'_>) -> Value {
        use embedded::{COLD, HASH, LIST, NONE, SET, SORTED_SET};
        // SAFETY: the caller passes back what `with_embedded` gave.
        unsafe {
            match kind {
                HASH..LIST => Value::Hash(Hash::in_record(kind - HASH, bytes)),
                LIST..SORTED_SET => Value::List(List::in_record(kind - LIST, bytes)),
                SORTED_SET..SET => Value::SortedSet(SortedSet::in_record(kind - SORTED_SET, bytes)),
                SET..COLD => Value::Set(Set::in_record(kind - SET, bytes)),
                COLD..NONE => Value::Cold(Cold::in_record(bytes)),
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
        match bytes.kind() {
            embedded::HASH..embedded::LIST => unsafe { Hash::disown(bytes) },
            embedded::COLD => unsafe { Cold::disown(bytes.bytes()) },
            _ => {}
        }
    }

    #[inline]
    fn settle(&mut self) {
        if let Value::Hash(hash) = self {
            hash.settle();
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
    pub const HASH: u8 = 0;
    pub const LIST: u8 = HASH + 4;
    pub const SORTED_SET: u8 = LIST + 1;
    /// Sets of integers, and then sets of strings.
    pub const SET: u8 = SORTED_SET + 1;
    pub const COLD: u8 = SET + 3;
    pub const NONE: u8 = COLD + 1;
}

const _: () = assert!(embedded::NONE <= EMBEDDED_KINDS_MAX && embedded::HASH == 0);

/// Apart, so that taking a value back needs no room on the stack.
#[cold]
fn never_given(kind: u8) -> ! {
    unreachable!("kind {kind} was never given out")
}

impl Value {
    /// Calls `f` with the kind and the bytes of a value that has an image: a string, or a collection in one block without
    /// pointers to others.
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
                    Shape::Small { .. } | Shape::Tree(_) => None,
                },
                HashForm::Shaped { shaped, mark } => {
                    let kind = embedded::HASH + EMBEDDED_SHAPED + u8::from(*mark);
                    return f(Some(Image { kind, bytes: shaped.bytes() }));
                }
            },
            Value::List(List::Packed(block)) => block.embed(&mut bytes).then_some(embedded::LIST),
            Value::SortedSet(set) => match &set.form {
                Form::Packed(leaf) => leaf.embed(&mut bytes).then_some(embedded::SORTED_SET),
                Form::Tree(_) => None,
            },
            Value::Set(Set::Ints(IntSet::Packed(block))) => block.embed(&mut bytes).then_some(embedded::SET),
            Value::Set(Set::Strings(table)) => match &table.shape {
                Shape::Run { run, mark } => {
                    let kind = embedded::SET + 1 + u8::from(*mark);
                    return f(Some(Image { kind, bytes: run.bytes() }));
                }
                Shape::Small { .. } | Shape::Tree(_) => None,
            },
            Value::List(_) | Value::Set(_) | Value::Stream(_) | Value::Cold(_) => None,
        };
        f(collected.map(|kind| Image { kind, bytes: &bytes }))
    }

    /// The value of an image.
    ///
    /// # Safety
    /// [`with_image`](Self::with_image) gave the pair, and somebody owns a count of the shape in it, if there is one.
    pub(super) unsafe fn of_image(image: Image<'_>) -> Value {
        if image.kind == IMAGE_STRING {
            return Value::String(SharedBytes::new(image.bytes));
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

/// The kind of a string's image; others are those of embedded values.
pub(crate) const IMAGE_STRING: u8 = u8::MAX;

impl Image<'_> {
    /// Bytes at the front that are the number of a hash's shape.
    #[inline]
    pub(crate) fn shape_bytes(kind: u8) -> usize {
        let shaped = embedded::HASH + EMBEDDED_SHAPED;
        if (shaped..embedded::LIST).contains(&kind) { size_of::<u16>() } else { 0 }
    }
}

/// The type of the value of an image.
pub(crate) fn type_of_image(kind: u8) -> crate::cold::ColdType {
    use crate::cold::ColdType;
    match kind {
        embedded::HASH..embedded::LIST => ColdType::Hash,
        embedded::LIST => ColdType::List,
        embedded::SORTED_SET => ColdType::SortedSet,
        embedded::SET..embedded::COLD => ColdType::Set,
        _ => ColdType::String,
    }
}
