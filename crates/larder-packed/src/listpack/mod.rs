//! Redis's listpack: the form in which packed collections travel in dumps.
//!
//! In memory the nodes of streams are listpacks (`stream_node`), and so are the plain images of list blocks
//! that LZF has compressed; all else is packed in other forms (`block`, `leaf`, `segment`).
//!
//! ```text
//!  +-------------+------------+---------+- - - -+---------+------+
//!  | total bytes | entries    | entry   |       | entry   | 0xFF |     little endian; entries is 65535 when unknown
//!  | 4           | 2          |         |       |         | 1    |
//!  +-------------+------------+---------+- - - -+---------+------+
//!
//!  entry = encoding and data, then the length of these two (back length), 7 bits a byte, most significant first,
//!          all bytes but the first with the high bit set
//!
//!  0xxxxxxx                 unsigned 7-bit integer
//!  10xxxxxx                 string of x bytes
//!  110xxxxx xxxxxxxx        signed 13-bit integer
//!  1110xxxx xxxxxxxx        string of x bytes
//!  11110000 x * 4           string of x bytes, little endian
//!  11110001 .. 11110100     signed integer of 2, 3, 4, 8 bytes, little endian
//! ```
//!
//! [`Reader`] trusts nothing: lengths stay inside the bytes, back lengths must be exactly what a writer
//! makes, the entry count must agree. [`entry_at`] and [`start_of_entry_before`] are for listpacks that have
//! passed it. Tested in
//! `tests.rs` beside this file.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{
    Damaged, Reader, elements, entry_at, for_each, promised, start_of_entry_before, to_block, validate,
};
pub use write::{Writer, from_block, push_element, push_int};

/// Bytes before the first entry.
pub const HEADER: usize = 6;
/// Last byte.
pub const END: u8 = 0xff;
/// Entry count that means "count yourself".
const COUNT_UNKNOWN: u16 = u16::MAX;

/// The back length of an entry of `len` bytes: the bytes and how many they are.
fn backlen(len: usize) -> ([u8; 5], usize) {
    // The odd limits are those of the original: 16383 already takes three bytes.
    let count = match len {
        0..=127 => 1,
        128..16383 => 2,
        16383..2_097_151 => 3,
        2_097_151..268_435_455 => 4,
        _ => 5,
    };
    let mut bytes = [0; 5];
    for (i, byte) in bytes[..count].iter_mut().enumerate() {
        *byte = (len >> (7 * (count - 1 - i)) & 127) as u8 | if i == 0 { 0 } else { 128 };
    }
    (bytes, count)
}
