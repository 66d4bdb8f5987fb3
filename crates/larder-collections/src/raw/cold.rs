//! Cold values are made of values here, and made back into them. As a raw pointer and as the bytes of a
//! record, each counts its dictionary and its shape.

use super::frame_bytes::FrameBytes;
use super::value::{IMAGE_STRING, Image, type_of_image};
use crate::cold::{
    Cold, ColdType, DICTIONARY_AT, Dictionary, DictionaryRef, ENCODING_SHIFT, HEAD_BYTES, IMAGE_MIN, KIND,
    KIND_AT, Unfit, limits,
};
use crate::hash::HashEncoding;
use crate::list::ListEncoding;
use crate::numbered::{self, Counted};
use crate::set::SetEncoding;
use crate::shapes::{Shape, ShapeRef};
use crate::sorted_set::SortedSetEncoding;
use crate::value::Value;
use crate::varint::put_number;
use larder_packed::dictionary::{Compressor, STRING_MAX};
use larder_packed::segment::{EMBEDDED_MAX, InRecord};
use std::ptr::NonNull;

impl Cold {
    /// A value compressed by the compressor of a dictionary.
    pub fn of(value: &Value, dictionary: &DictionaryRef, compressor: &mut Compressor) -> Result<Cold, Unfit> {
        let shape = if let Value::Hash(hash) = value { hash.shape() } else { None };
        let (elements, mut bytes) = (value.elements(), vec![dictionary.number_byte()]);
        value.with_image(|image| {
            let image = image.ok_or(Unfit::NoImage)?;
            let (len_min, max) = limits(image.bytes.len());
            if !(len_min..=STRING_MAX).contains(&image.bytes.len()) {
                return Err(Unfit::NoImage);
            }
            let (head, rest) = image.bytes.split_at(if shape.is_some() { size_of::<u16>() } else { 0 });
            bytes.push(image.kind | encoding_of(value) << ENCODING_SHIFT);
            bytes.extend_from_slice(head);
            if !matches!(value, Value::String(_)) {
                put_number(&mut bytes, elements);
            }
            let room = max.saturating_sub(bytes.len());
            let is_smaller = room > 0 && compressor.compress(rest, &mut bytes, room);
            if is_smaller { Ok(()) } else { Err(Unfit::Incompressible) }
        })?;
        let bytes = FrameBytes::copy_of(&bytes);
        Ok(Cold { dictionary: dictionary.clone(), shape, bytes })
    }

    /// The first `max` bytes of a value's image, for training; None if it is not compressed.
    pub fn sample_of(value: &Value, max: usize) -> Option<Box<[u8]>> {
        value.with_image(|image| {
            let image = image.filter(|image| (IMAGE_MIN..=STRING_MAX).contains(&image.bytes.len()))?;
            Some(image.bytes[..image.bytes.len().min(max)].into())
        })
    }

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
            let bytes = FrameBytes::from_raw(ptr);
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
    pub(super) unsafe fn in_record(bytes: &InRecord<'_>) -> Cold {
        let (dictionary, shape) = numbers(bytes.bytes());
        // SAFETY: the caller.
        unsafe {
            Cold {
                dictionary: Counted::borrowed(dictionary),
                shape: shape.map(|shape| ShapeRef::borrowed(shape)),
                bytes: FrameBytes::in_record(bytes),
            }
        }
    }

    /// The same with bytes and counts of its own.
    pub(super) fn into_own(mut self) -> Cold {
        self.bytes.make_own();
        let (dictionary, shape) = (self.dictionary.into_counted(), self.shape.map(Counted::into_counted));
        Cold { dictionary, shape, bytes: self.bytes }
    }

    /// Counts a record that has got these bytes, of a cold value that the caller holds.
    pub(super) fn adopt(bytes: &[u8]) {
        let (dictionary, shape) = numbers(bytes);
        // SAFETY: the value that gave the bytes has both.
        unsafe {
            numbered::adopt::<Dictionary>(dictionary);
            if let Some(shape) = shape {
                numbered::adopt::<Shape>(shape);
            }
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
            if let Some(shape) = shape {
                numbered::disown::<Shape>(shape);
            }
        }
    }

    /// The value in the form in which it is used.
    ///
    /// # Panics
    /// The bytes are damaged: only what [`Cold::of`] has made is kept.
    #[cold]
    pub fn thaw(&self) -> Value {
        let (kind, (shape, _, frame)) = (kind_of(self.bytes()), self.parts());
        if kind == IMAGE_STRING {
            return Value::String(self.dictionary.decompress_shared(frame));
        }
        let mut raw = shape.to_vec();
        self.dictionary.decompress(frame, &mut raw);
        // SAFETY: the image that was compressed, and this has a count of its shape.
        unsafe { Value::of_image(Image { kind, bytes: &raw }) }
    }

    /// The type of the value.
    pub fn of_type(&self) -> ColdType {
        type_of_image(kind_of(self.bytes()))
    }
}

/// The kind of the image.
fn kind_of(bytes: &[u8]) -> u8 {
    bytes[KIND_AT] & KIND
}

/// The numbers of the dictionary and of the shape in the bytes of a cold value.
fn numbers(bytes: &[u8]) -> (u16, Option<u16>) {
    let shape = match Image::shape_bytes(kind_of(bytes)) {
        0 => None,
        _ => Some(u16::from_le_bytes([bytes[HEAD_BYTES], bytes[HEAD_BYTES + 1]])),
    };
    (u16::from(bytes[DICTIONARY_AT]), shape)
}

/// The number of a value's encoding.
fn encoding_of(value: &Value) -> u8 {
    match value {
        Value::Hash(hash) => u8::from(hash.encoding() == HashEncoding::Hashtable),
        Value::List(list) => u8::from(list.encoding() == ListEncoding::Quicklist),
        Value::SortedSet(set) => u8::from(set.encoding() == SortedSetEncoding::Skiplist),
        Value::Set(set) => match set.encoding() {
            SetEncoding::Listpack => 0,
            SetEncoding::Intset => 1,
            SetEncoding::Hashtable => 2,
        },
        Value::String(_) | Value::Stream(_) | Value::Cold(_) => 0,
    }
}

#[cfg(test)]
#[path = "cold_tests.rs"]
mod tests;
