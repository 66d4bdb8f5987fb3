//! Compressed blocks: making them and getting the plain block back.

use super::Block;

impl Block {
    pub(super) fn copy_compressed(&self) -> Block {
        unreachable!("compressed blocks are not written")
    }

    /// The block as it can be read: itself, or decompressed.
    pub fn to_plain(&self) -> Block {
        self.clone()
    }
}
