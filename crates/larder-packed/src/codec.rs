//! The compression codecs behind one enum.

/// What a block is compressed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Codec {
    /// LZF, byte-compatible with the payloads in Redis's dumps.
    Lzf = 1,
    /// LZ4 block format.
    Lz4 = 2,
    /// Zstandard.
    #[default]
    Zstd = 3,
}
