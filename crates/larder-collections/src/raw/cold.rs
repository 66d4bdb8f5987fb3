//! Cold values as raw pointers and as the bytes of records: each counts its dictionary and its shape.

use super::value::{Image, type_of_image};
use crate::cold::{Cold, ColdType, DICTIONARY_AT, Dictionary, HEAD_BYTES, KIND_AT};
use crate::numbered::{self, Counted};
use crate::shapes::{Shape, ShapeRef};
use crate::value::Value;
use larder_packed::segment::{EMBEDDED_MAX, InRecord};
use larder_packed::small_bytes::SmallBytes;
use std::ptr::NonNull;

impl Cold {
    /// Takes it apart; the pointer has its counts.
    pub(super) fn into_raw(self) -> NonNull<u8> {
        let Cold { dictionary, shape, bytes } = self;
        dictionary.into_count();
        shape.map(Counted::into_count);
        bytes.into_raw()
    }

    /// Takes back what [`into_raw`](Self::into_raw) gave.
    ///
    /// # Safety
    /// As for values: one of the copies is dropped at most.
    pub(super) unsafe fn from_raw(ptr: NonNull<u8>) -> Cold {
        // SAFETY: the caller; the pointer owns a count of each number in the bytes.
        unsafe {
            let bytes = SmallBytes::from_raw(ptr);
            let (dictionary, shape) = numbers(bytes.get());
            Cold {
                dictionary: Counted::owned(dictionary),
                shape: shape.map(|shape| ShapeRef::owned(shape)),
                bytes,
            }
        }
    }

    /// Whether it may live in its record.
    #[inline]
    pub(super) fn may_embed(&self) -> bool {
        self.bytes.get().len() <= EMBEDDED_MAX
    }

    /// The value of a record's bytes.
    ///
    /// # Safety
    /// As for values: the record owns the counts.
    pub(super) unsafe fn in_record(bytes: InRecord<'_>) -> Cold {
        let (dictionary, shape) = numbers(bytes.bytes());
        // SAFETY: the caller.
        unsafe {
            Cold {
                dictionary: Counted::borrowed(dictionary),
                shape: shape.map(|shape| ShapeRef::borrowed(shape)),
                bytes: SmallBytes::in_record(bytes),
            }
        }
    }

    /// The same with bytes and counts of its own.
    pub(super) fn into_own(mut self) -> Cold {
        self.bytes.make_own(0);
        let (dictionary, shape) = (self.dictionary.into_counted(), self.shape.map(Counted::into_counted));
        Cold { dictionary, shape, bytes: self.bytes }
    }

    /// Counts a record that has got these bytes, of a cold value that the caller holds.
    pub(super) fn adopt(bytes: &[u8]) {
        let (dictionary, shape) = numbers(bytes);
        // SAFETY: the value that gave the bytes has both.
        unsafe {
            numbered::adopt::<Dictionary>(dictionary);
            shape.map(|shape| numbered::adopt::<Shape>(shape));
        }
    }

    /// Gives up the counts of a record with these bytes.
    ///
    /// # Safety
    /// [`adopt`](Self::adopt) has counted it, and it is going.
    pub(super) unsafe fn disown(bytes: &[u8]) {
        let (dictionary, shape) = numbers(bytes);
        // SAFETY: the caller.
        unsafe {
            numbered::disown::<Dictionary>(dictionary);
            shape.map(|shape| numbered::disown::<Shape>(shape));
        }
    }

    /// The value in the form in which it is used.
    ///
    /// # Panics
    /// The bytes are damaged: only what [`Cold::of`] has made is kept.
    #[cold]
    pub fn thaw(&self) -> Value {
        let bytes = self.bytes.get();
        let kind = bytes[KIND_AT];
        let (shape, frame) = bytes[HEAD_BYTES..].split_at(Image::shape_bytes(kind));
        let mut raw = shape.to_vec();
        self.dictionary.decompress(frame, &mut raw);
        // SAFETY: the image that was compressed, and this has a count of its shape.
        unsafe { Value::of_image(Image { kind, bytes: &raw }) }
    }

    /// The type of the value.
    pub fn of_type(&self) -> ColdType {
        type_of_image(self.bytes.get()[KIND_AT])
    }
}

/// The numbers of the dictionary and of the shape in the bytes of a cold value.
fn numbers(bytes: &[u8]) -> (u16, Option<u16>) {
    let shape = match Image::shape_bytes(bytes[KIND_AT]) {
        0 => None,
        _ => Some(u16::from_le_bytes([bytes[HEAD_BYTES], bytes[HEAD_BYTES + 1]])),
    };
    (u16::from(bytes[DICTIONARY_AT]), shape)
}
