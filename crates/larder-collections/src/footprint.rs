//! What a key and its value would take in memory, before there is a table that holds them: for tools that size data.

use crate::key_table::{INLINE_MAX, record_bytes_about};
use crate::value::Value;
use larder_packed::bytes::SharedBytes;
use larder_packed::segment::IntoRaw;

/// A pointer in a record.
const POINTER_BYTES: u64 = 8;

/// The memory of a value that a key holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes in the record of the key.
    pub in_record: u64,
    /// Bytes of heap beside the record.
    pub outside: u64,
}

impl Footprint {
    /// That of a string.
    pub fn of_string(bytes: &[u8]) -> Footprint {
        if bytes.len() <= INLINE_MAX {
            return Footprint { in_record: bytes.len() as u64, outside: 0 };
        }
        Footprint { in_record: POINTER_BYTES, outside: SharedBytes::heap_bytes_for(bytes.len()) as u64 }
    }

    /// That of a value in its smallest form. A hash counts its field names unless enough hashes of this process had the same
    /// ones before. O(n) in the blocks of the value.
    pub fn of(value: &Value) -> Footprint {
        let mut value = value.clone();
        value.settle();
        let embedded = value.with_embedded(|bytes| bytes.map(|bytes| bytes.bytes().len() as u64));
        match embedded {
            Some(in_record) => Footprint { in_record, outside: 0 },
            None => Footprint { in_record: POINTER_BYTES, outside: value.memory_bytes(0) },
        }
    }

    /// About the bytes of a key with this value, its share of free room in the table included.
    pub fn with_key(self, key: &[u8], expires: bool) -> u64 {
        self.outside + record_bytes_about(key, expires, self.in_record as usize) as u64
    }
}
