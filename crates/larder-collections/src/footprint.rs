//! Estimates the memory that a key and its value will take, for tools that size data without a table.

use crate::key_table::{INLINE_MAX, record_bytes_about};
use crate::value::Value;
use larder_packed::bytes::SharedBytes;
use larder_packed::segment::{IntoRaw, POINTER_BYTES};

/// The memory of a value that a key holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes in the record of the key.
    pub in_record: u64,
    /// Bytes of heap beside the record.
    pub outside: u64,
}

impl Footprint {
    /// The footprint of a string.
    pub fn of_string(bytes: &[u8]) -> Footprint {
        if bytes.len() <= INLINE_MAX {
            return Footprint::within(bytes.len());
        }
        Footprint::beside(SharedBytes::heap_bytes_for(bytes.len()) as u64)
    }

    /// The footprint of a value in its smallest form. A hash counts its field names unless enough hashes of this process had the same
    /// ones before. O(n) in the blocks of the value.
    pub fn of(value: &Value) -> Footprint {
        let mut value = value.clone();
        value.settle();
        let embedded = value.with_embedded(|bytes| bytes.map(|bytes| bytes.bytes().len()));
        embedded.map_or_else(|| Footprint::beside(value.memory_bytes(0)), Footprint::within)
    }

    /// The footprint of a value that its record holds.
    fn within(bytes: usize) -> Footprint {
        Footprint { in_record: bytes as u64, outside: 0 }
    }

    /// The footprint of a value to which its record has a pointer.
    fn beside(heap_bytes: u64) -> Footprint {
        Footprint { in_record: POINTER_BYTES as u64, outside: heap_bytes }
    }

    /// About the bytes of a key with this value, its share of free room in the table included.
    pub fn with_key(self, key: &[u8], expires: bool) -> u64 {
        self.outside + record_bytes_about(key, expires, self.in_record as usize) as u64
    }
}
