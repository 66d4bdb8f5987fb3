//! Numbers of the format, see the module's comment.

/// Number of registers.
pub const REGISTERS: usize = 1 << INDEX_BITS;
/// Bits of a hash that choose the register.
pub(super) const INDEX_BITS: u32 = 14;
/// Bytes before the registers.
pub(super) const HEADER: usize = 16;

/// The runs of a sparse string do not cover the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupted;
