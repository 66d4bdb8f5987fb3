//! HyperLogLog: the number of different elements ever added, within about 0.81 %, from 12 KB at most.
//!
//! What it is: 16,384 registers of 6 bits. An element's hash chooses a register, which keeps the longest run of zeros that
//! any of its hashes began with. The whole lives in a plain string, byte for byte in Redis's format, so that GET, SET,
//! DUMP and replication carry it between servers. A format of our own could be tighter, but nobody could read it.
//!
//! | | cost |
//! |---|---|
//! | memory | 18 bytes empty; sparse: 2 bytes or so an element up to the configured size; dense: 12,304 bytes |
//! | add | O(1) dense, O(bytes) sparse |
//! | count | O(1) while the cached number holds, else O(registers) |
//! | merge | O(registers) |
//!
//! ```text
//!  0      4     5          8                 16
//!  +------+-----+----------+-----------------+----------------------------+
//!  | HYLL | enc | 0  0  0  | cached count 8  | registers                  |
//!  +------+-----+----------+-----------------+----------------------------+
//!           0 dense          little endian;    dense: 6 bits each, lowest bits first
//!           1 sparse         top bit: stale    sparse: runs, see `sparse`
//! ```
//!
//! Invariants, of what this module writes (strings come from clients, so reading trusts none of them):
//! - H1: the string begins with the magic and an encoding of 0 or 1; a dense one has [`DENSE_BYTES`].
//! - H2: the runs of a sparse one cover exactly [`REGISTERS`] registers.
//! - H3: the cached count is that of the registers, or marked as stale.
//!
//! Tested by `tests` beside this file: damaged strings, the error over a million elements, sparse against dense. The
//! bytes are compared with Valkey's by the server's differential tests.

mod dense;
mod estimate;
mod hash;
mod layout;
mod sparse;
#[cfg(test)]
mod tests;

pub use layout::{Corrupted, REGISTERS};
pub use sparse::Run;

use larder_packed::bytes::SharedBytes;
use layout::HEADER;

/// Bytes of a dense string.
pub const DENSE_BYTES: usize = HEADER + REGISTERS * REGISTER_BITS / 8;

const REGISTER_BITS: usize = 6;
const MAGIC: &[u8] = b"HYLL";
const ENCODING_AT: usize = 4;
const COUNT_AT: usize = 8;
const STALE: u64 = 1 << 63;

/// How the registers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Six bits each.
    Dense,
    /// Runs of equal ones.
    Sparse,
}

/// All registers, one byte each: what several HyperLogLogs are merged in.
pub struct Registers(Box<[u8; REGISTERS]>);

/// A string that looks like a HyperLogLog, for reading.
#[derive(Clone, Copy)]
pub struct View<'a>(&'a [u8]);

/// A string that looks like a HyperLogLog, for changing.
pub struct Sketch<'a>(&'a mut SharedBytes);

/// The string of an empty HyperLogLog.
pub fn empty() -> SharedBytes {
    let mut bytes = SharedBytes::with_capacity(HEADER + 2);
    bytes.extend(MAGIC);
    bytes.extend(&[1]);
    bytes.pad(HEADER);
    bytes.extend(&sparse::ALL_ZERO);
    bytes
}

impl<'a> View<'a> {
    /// The string as a HyperLogLog, if it begins like one. Its runs are checked only when they are read.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        let dense = match bytes.get(..HEADER)? {
            header if !header.starts_with(MAGIC) => return None,
            header => match header[ENCODING_AT] {
                0 => true,
                1 => false,
                _ => return None,
            },
        };
        (!dense || bytes.len() == DENSE_BYTES).then_some(View(bytes))
    }

    /// How the registers are written.
    pub fn encoding(&self) -> Encoding {
        if self.0[ENCODING_AT] == 0 { Encoding::Dense } else { Encoding::Sparse }
    }

    /// The number of elements as counted last, if nothing was added since.
    pub fn cached_count(&self) -> Option<u64> {
        let count = self.0[COUNT_AT..HEADER].try_into().map(u64::from_le_bytes).expect("eight bytes");
        (count & STALE == 0).then_some(count)
    }

    /// The estimated number of elements, from the registers.
    pub fn count(&self) -> Result<u64, Corrupted> {
        let histogram = match self.encoding() {
            Encoding::Dense => dense::histogram(self.body()),
            Encoding::Sparse => sparse::histogram(self.body())?,
        };
        Ok(estimate::count(&histogram))
    }

    /// The runs of a sparse one.
    pub fn runs(&self) -> impl Iterator<Item = Run> + use<'a> {
        sparse::runs(self.body())
    }

    fn body(&self) -> &'a [u8] {
        &self.0[HEADER..]
    }
}

impl<'a> Sketch<'a> {
    /// The string as a HyperLogLog, if it begins like one.
    pub fn of(bytes: &'a mut SharedBytes) -> Option<Self> {
        View::of(bytes)?;
        Some(Sketch(bytes))
    }

    /// The same for reading.
    pub fn view(&self) -> View<'_> {
        View(self.0)
    }

    /// Adds an element; true if a register has grown, and then the caller calls [`Sketch::mark_stale`]. A
    /// sparse string that would exceed `sparse_bytes_max` becomes dense.
    pub fn add(&mut self, element: &[u8], sparse_bytes_max: usize) -> Result<bool, Corrupted> {
        let (index, rank) = hash::register_of(element);
        self.raise(index, rank, sparse_bytes_max)
    }

    /// Raises the registers to at least these, and marks the count as stale.
    pub fn raise_all(&mut self, registers: &Registers, sparse_bytes_max: usize) -> Result<(), Corrupted> {
        for (index, &rank) in registers.0.iter().enumerate().filter(|(_, rank)| **rank != 0) {
            if self.view().encoding() == Encoding::Dense {
                dense::raise_all(&mut self.0.make_mut()[HEADER..], &registers.0);
                break;
            }
            self.raise(index, rank, sparse_bytes_max)?;
        }
        self.mark_stale();
        Ok(())
    }

    /// Makes it dense; true if it was not.
    pub fn make_dense(&mut self) -> Result<bool, Corrupted> {
        if self.view().encoding() == Encoding::Dense {
            return Ok(false);
        }
        let mut bytes = SharedBytes::with_capacity(DENSE_BYTES);
        bytes.extend(&self.0[..HEADER]);
        bytes.pad(DENSE_BYTES);
        let new = bytes.make_mut();
        new[ENCODING_AT] = 0;
        let registers = &mut new[HEADER..];
        sparse::for_each_value(self.view().body(), |index, rank| {
            dense::raise(registers, index, rank);
        })?;
        *self.0 = bytes;
        Ok(true)
    }

    /// Keeps a count for [`View::cached_count`].
    pub fn store_count(&mut self, count: u64) {
        self.0.make_mut()[COUNT_AT..HEADER].copy_from_slice(&count.to_le_bytes());
    }

    /// Marks the kept count as stale.
    pub fn mark_stale(&mut self) {
        self.0.make_mut()[HEADER - 1] |= (STALE >> 56) as u8;
    }

    fn raise(&mut self, index: usize, rank: u8, sparse_bytes_max: usize) -> Result<bool, Corrupted> {
        if self.view().encoding() == Encoding::Sparse {
            match sparse::raise(self.0, index, rank, sparse_bytes_max)? {
                sparse::Raised::Not => return Ok(false),
                sparse::Raised::Grown => {
                    self.mark_stale();
                    return Ok(true);
                }
                sparse::Raised::TooLarge => self.make_dense()?,
            };
        } else if dense::get(self.view().body(), index) >= rank {
            // Without copying a shared string.
            return Ok(false);
        }
        Ok(dense::raise(&mut self.0.make_mut()[HEADER..], index, rank))
    }
}

impl Registers {
    /// All zero: nothing was added.
    pub fn new() -> Self {
        Registers(vec![0; REGISTERS].into_boxed_slice().try_into().expect("there are so many"))
    }

    /// Takes over the registers that are greater there.
    pub fn merge(&mut self, other: View<'_>) -> Result<(), Corrupted> {
        match other.encoding() {
            Encoding::Dense => dense::merge(other.body(), &mut self.0),
            Encoding::Sparse => sparse::for_each_value(other.body(), |index, rank| {
                self.0[index] = self.0[index].max(rank);
            })?,
        }
        Ok(())
    }

    /// The estimated number of elements.
    pub fn count(&self) -> u64 {
        estimate::count(&estimate::Histogram::of_fours(self.0.as_chunks().0.iter().copied()))
    }

    /// The registers in order.
    pub fn iter(&self) -> impl Iterator<Item = u8> {
        self.0.iter().copied()
    }
}

impl Default for Registers {
    fn default() -> Self {
        Registers::new()
    }
}
