//! The compression codecs behind one enum.
//!
//! The numbers behind the default are in `docs/design/list.md`. Contexts of zstd are kept per thread: making one costs
//! more than compressing a block.

use std::cell::RefCell;

use zstd_safe::{CCtx, CParameter, DCtx, ResetDirective};

use crate::lzf;

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

/// The payload is not of this codec, or does not give the promised size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// Level of zstd: see the table in `docs/design/list.md`.
pub const ZSTD_LEVEL: i32 = 3;

thread_local! {
    static COMPRESSOR: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

impl Codec {
    /// The name that the configuration uses.
    pub fn name(self) -> &'static str {
        match self {
            Codec::Lzf => "lzf",
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
        }
    }

    /// The codec of this name, in upper or lower case.
    pub fn from_name(name: &str) -> Option<Codec> {
        [Codec::Lzf, Codec::Lz4, Codec::Zstd]
            .into_iter()
            .find(|codec| codec.name().eq_ignore_ascii_case(name))
    }

    /// The codec of this number.
    pub(crate) fn from_number(number: u8) -> Option<Codec> {
        [Codec::Lzf, Codec::Lz4, Codec::Zstd].into_iter().find(|&codec| codec as u8 == number)
    }

    pub(crate) fn from_u8(number: u8) -> Codec {
        Codec::from_number(number).expect("codec numbers are written by this crate")
    }

    /// Appends the compressed form of `src` to `out` if it takes at most `max` bytes; else `out` is left as it was.
    pub fn compress(self, src: &[u8], out: &mut Vec<u8>, max: usize) -> bool {
        let start = out.len();
        let fits = match self {
            Codec::Lzf => lzf::compress(src, out, max),
            Codec::Lz4 => {
                out.resize(start + lz4_flex::block::get_maximum_output_size(src.len()), 0);
                let len = lz4_flex::block::compress_into(src, &mut out[start..]).unwrap_or(usize::MAX);
                out.truncate(start.saturating_add(len));
                len <= max
            }
            Codec::Zstd => compress_zstd(src, out, max, ZSTD_LEVEL),
        };
        if !fits {
            out.truncate(start);
        }
        fits
    }

    /// Fills `dst`, exactly, with what `src` decompresses to.
    pub fn decompress(self, src: &[u8], dst: &mut [u8]) -> Result<(), Damaged> {
        let len = match self {
            Codec::Lzf => return lzf::decompress(src, dst).map_err(|lzf::Damaged| Damaged),
            Codec::Lz4 => lz4_flex::block::decompress_into(src, dst).map_err(|_| Damaged)?,
            Codec::Zstd => with_decompressor(|context| context.decompress(dst, src)).map_err(|_| Damaged)?,
        };
        if len == dst.len() { Ok(()) } else { Err(Damaged) }
    }
}

/// Calls `f` with this thread's context for reading zstd.
#[inline]
pub(crate) fn with_decompressor<R>(f: impl FnOnce(&mut DCtx<'static>) -> R) -> R {
    DECOMPRESSOR.with_borrow_mut(|context| f(context.get_or_insert_with(DCtx::create)))
}

/// Frees the contexts that this thread has kept, some 0.6 MB once it has compressed: for a thread that has nothing to do
/// for a while.
pub fn release_contexts() {
    COMPRESSOR.with_borrow_mut(Option::take);
    DECOMPRESSOR.with_borrow_mut(Option::take);
}

/// As [`Codec::compress`], at any level.
pub fn compress_zstd(src: &[u8], out: &mut Vec<u8>, max: usize, level: i32) -> bool {
    let start = out.len();
    out.resize(start + max.min(zstd_safe::compress_bound(src.len())), 0);
    let result = COMPRESSOR.with_borrow_mut(|context| {
        let context = context.get_or_insert_with(CCtx::create);
        // A compression that ran out of room leaves a session behind.
        context.reset(ResetDirective::SessionOnly)?;
        // Sizes are known from the block's header; frames need not repeat them.
        context.set_parameter(CParameter::ContentSizeFlag(false))?;
        context.set_parameter(CParameter::CompressionLevel(level))?;
        context.compress2(&mut out[start..], src)
    });
    out.truncate(start + result.unwrap_or(0));
    result.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Codec; 3] = [Codec::Lzf, Codec::Lz4, Codec::Zstd];

    #[test]
    fn names_round_trip() {
        for codec in ALL {
            assert_eq!(Codec::from_name(codec.name()), Some(codec));
            assert_eq!(Codec::from_u8(codec as u8), codec);
        }
        assert_eq!(Codec::from_name("gzip"), None);
    }

    #[test]
    fn what_is_compressed_comes_back() {
        let mut rng = fastrand::Rng::with_seed(1);
        for codec in ALL {
            for _ in 0..100 {
                let len = rng.usize(..9000);
                let src: Vec<u8> = std::iter::repeat_with(|| rng.u8(b'a'..b'f')).take(len).collect();
                let mut packed = vec![9];
                assert!(codec.compress(&src, &mut packed, len + 100), "{codec:?} {len}");
                let mut back = vec![0; len];
                assert_eq!(codec.decompress(&packed[1..], &mut back), Ok(()));
                assert!(back == src && packed[0] == 9);
                let mut small = vec![9];
                assert!(len < 100 || !codec.compress(&src, &mut small, 20) && small == [9]);
            }
        }
    }

    #[test]
    fn damaged_input_is_an_error_and_never_a_panic() {
        let mut rng = fastrand::Rng::with_seed(2);
        for codec in ALL {
            for _ in 0..2000 {
                let len = rng.usize(1..2000);
                let src: Vec<u8> = std::iter::repeat_with(|| rng.u8(b'a'..b'f')).take(len).collect();
                let mut packed = Vec::new();
                codec.compress(&src, &mut packed, len + 100);
                match rng.usize(..3) {
                    0 => packed.truncate(rng.usize(..packed.len())),
                    1 => {
                        let at = rng.usize(..packed.len());
                        packed[at] ^= 1 << rng.u32(..8);
                    }
                    _ => rng.fill(&mut packed),
                }
                let mut back = vec![0; rng.usize(..3000)];
                let _ = codec.decompress(&packed, &mut back);
            }
        }
    }
}
