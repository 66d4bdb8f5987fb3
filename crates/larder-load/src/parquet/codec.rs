//! Unpacking of pages. What a page says it unpacks to is believed as far as the codec can make so much of so few bytes, and memory is taken
//! as bytes come out.

use ::parquet::basic::Compression;
use lz4_flex::frame::FrameDecoder;
use std::io::Read;
use zstd_safe::DCtx;

/// Bytes that a byte of a packed block becomes at most, and bytes besides: of Snappy a copy of 64 bytes takes three, of LZ4 a byte of a
/// length stands for 255.
const SNAPPY_RATIO: usize = 22;
const LZ4_RATIO: usize = 255;
const BESIDES: usize = 64;
/// The first guess of how many bytes a byte becomes.
const LIKELY_RATIO: usize = 16;

/// Unpacks the pages of a column.
pub struct Unpacker {
    codec: Compression,
    zstd: Option<DCtx<'static>>,
}

impl Unpacker {
    /// For a codec; the error is its name if it is none that is read.
    pub fn new(codec: Compression) -> Result<Self, String> {
        match codec {
            Compression::LZO => Err("LZO compression is not supported".to_owned()),
            codec => Ok(Unpacker { codec, zstd: None }),
        }
    }

    /// Whether there is anything to unpack.
    pub fn is_plain(&self) -> bool {
        self.codec == Compression::UNCOMPRESSED
    }

    /// Appends what `packed` unpacks to, which must be `size` bytes.
    pub fn unpack(&mut self, packed: &[u8], size: usize, to: &mut Vec<u8>) -> Result<(), String> {
        let start = to.len();
        let done = match self.codec {
            Compression::UNCOMPRESSED | Compression::LZO => {
                to.extend_from_slice(packed);
                Ok(())
            }
            Compression::SNAPPY => block(packed, size, SNAPPY_RATIO, to, |packed, to| {
                if snap::raw::decompress_len(packed).ok()? != to.len() {
                    return None;
                }
                snap::raw::Decoder::new().decompress(packed, to).ok()
            }),
            Compression::LZ4_RAW => block(packed, size, LZ4_RATIO, to, lz4),
            Compression::LZ4 => old_lz4(packed, size, to),
            Compression::GZIP(_) => stream(flate2::read::MultiGzDecoder::new(packed), size, to),
            Compression::BROTLI(_) => stream(brotli_decompressor::Decompressor::new(packed, 4096), size, to),
            Compression::ZSTD(_) => self.zstd(packed, size, to),
        };
        let len = to.len() - start;
        match done {
            Ok(()) if len == size => Ok(()),
            Ok(()) => Err(format!("it decompresses to {len} bytes instead of {size}")),
            Err(reason) => Err(format!("it cannot be decompressed: {reason}")),
        }
    }

    /// In one go, into more room for as long as there is not enough: a stream would take memory for the window that the frame asks for.
    fn zstd(&mut self, packed: &[u8], size: usize, to: &mut Vec<u8>) -> Result<(), String> {
        let context = match &mut self.zstd {
            Some(context) => context,
            none => none.insert(DCtx::try_create().ok_or("no memory")?),
        };
        let start = to.len();
        let mut room = size.min(packed.len().saturating_mul(LIKELY_RATIO).max(1 << 16));
        loop {
            to.resize(start + room, 0);
            let code = match context.decompress(&mut to[start..], packed) {
                Ok(len) => {
                    to.truncate(start + len);
                    return Ok(());
                }
                Err(code) => zstd_safe::get_error_name(code),
            };
            if room == size || !code.contains("too small") {
                return Err(code.to_owned());
            }
            room = size.min(room.saturating_mul(4));
        }
    }
}

/// One block, whose size is known before; `unpack` says how many bytes it has written.
fn block(
    packed: &[u8],
    size: usize,
    ratio: usize,
    to: &mut Vec<u8>,
    unpack: impl FnOnce(&[u8], &mut [u8]) -> Option<usize>,
) -> Result<(), String> {
    if size / ratio > packed.len() + BESIDES {
        return Err(format!("{} bytes cannot decompress to {size}", packed.len()));
    }
    let start = to.len();
    to.resize(start + size, 0);
    let len = unpack(packed, &mut to[start..]).ok_or("the block is damaged")?;
    to.truncate(start + len);
    Ok(())
}

fn lz4(packed: &[u8], to: &mut [u8]) -> Option<usize> {
    lz4_flex::block::decompress_into(packed, to).ok()
}

/// A stream of bytes, of which one more than expected is read.
fn stream(source: impl Read, size: usize, to: &mut Vec<u8>) -> Result<(), String> {
    source.take(size as u64 + 1).read_to_end(to).map(drop).map_err(|error| error.to_string())
}

/// The codec that was called LZ4 before `LZ4_RAW`: blocks with two lengths before each; of some writers a single block without, or a frame.
fn old_lz4(packed: &[u8], size: usize, to: &mut Vec<u8>) -> Result<(), String> {
    let start = to.len();
    let is_done = |done: Result<(), String>, to: &mut Vec<u8>| {
        let is_done = done.is_ok() && to.len() == start + size;
        if !is_done {
            to.truncate(start);
        }
        is_done
    };
    if is_done(block(packed, size, LZ4_RATIO, to, blocks_with_lengths), to)
        || is_done(stream(FrameDecoder::new(packed), size, to), to)
        || is_done(block(packed, size, LZ4_RATIO, to, lz4), to)
    {
        return Ok(());
    }
    Err("it has none of the LZ4 formats".to_owned())
}

fn blocks_with_lengths(mut packed: &[u8], to: &mut [u8]) -> Option<usize> {
    let mut len = 0_usize;
    while !packed.is_empty() {
        let (lengths, rest) = packed.split_first_chunk::<8>()?;
        let [a, b, c, d, e, f, g, h] = *lengths;
        let [plain, short] = [[a, b, c, d], [e, f, g, h]].map(u32::from_be_bytes);
        let (this, rest) = rest.split_at_checked(short as usize)?;
        let room = to.get_mut(len..len.checked_add(plain as usize)?)?;
        if lz4(this, room)? != plain as usize {
            return None;
        }
        (len, packed) = (len + plain as usize, rest);
    }
    Some(len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::parquet::basic::{BrotliLevel, GzipLevel, ZstdLevel};
    use std::io::Write;

    fn unpacked(codec: Compression, packed: &[u8], size: usize) -> Result<Vec<u8>, String> {
        let mut to = b"before".to_vec();
        Unpacker::new(codec).unwrap().unpack(packed, size, &mut to)?;
        assert!(to.starts_with(b"before"));
        Ok(to.split_off(6))
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(plain).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn every_form_unpacks_to_its_size_and_to_no_other() {
        let plain: Vec<u8> = (0..300_000_u32).flat_map(|n| (n / 9).to_le_bytes()).collect();
        let size = plain.len();
        let block = lz4_flex::block::compress(&plain);
        let with_lengths =
            [&(size as u32).to_be_bytes()[..], &(block.len() as u32).to_be_bytes(), &block].concat();
        let mut frame = lz4_flex::frame::FrameEncoder::new(Vec::new());
        frame.write_all(&plain).unwrap();
        let mut zstd = vec![0; zstd_safe::compress_bound(size)];
        let len = zstd_safe::compress(&mut zstd[..], &plain, 3).unwrap();
        zstd.truncate(len);
        let half = gzip(&plain[..1000]);
        let forms = [
            (Compression::UNCOMPRESSED, plain.clone()),
            (Compression::SNAPPY, snap::raw::Encoder::new().compress_vec(&plain).unwrap()),
            (Compression::LZ4_RAW, block.clone()),
            (Compression::LZ4, block),
            (Compression::LZ4, with_lengths),
            (Compression::LZ4, frame.finish().unwrap()),
            (Compression::GZIP(GzipLevel::default()), gzip(&plain)),
            // Members after each other.
            (Compression::GZIP(GzipLevel::default()), [half, gzip(&plain[1000..])].concat()),
            (Compression::ZSTD(ZstdLevel::default()), zstd),
        ];
        for (codec, packed) in forms {
            assert!(unpacked(codec, &packed, size).unwrap() == plain, "{codec}");
            for wrong in [0, 1, size - 1, size + 1, 1 << 30] {
                assert!(unpacked(codec, &packed, wrong).is_err(), "{codec} {wrong}");
            }
            assert!(unpacked(codec, &packed[..packed.len() / 2], size).is_err(), "{codec}");
            assert!(codec == Compression::UNCOMPRESSED || unpacked(codec, &[0xA5; 50], size).is_err());
        }
        let brotli = [0x1B, 0x1C, 0x00, 0x00, 0x24, 0x40, 0x6A, 0x10, 0x66, 0xEA, 0xE8, 0x64, 0x0D];
        let codec = Compression::BROTLI(BrotliLevel::default());
        assert_eq!(unpacked(codec, &brotli, 29).unwrap(), b"plain plain plain plain plain");
        assert!(unpacked(codec, &brotli, 28).is_err() && unpacked(codec, &brotli[..8], 29).is_err());
        assert!(Unpacker::new(Compression::LZO).is_err());
    }

    #[test]
    fn no_memory_is_taken_for_what_cannot_be() {
        for codec in [Compression::SNAPPY, Compression::LZ4_RAW, Compression::LZ4] {
            assert!(unpacked(codec, &[0; 100], i32::MAX as usize).is_err());
        }
        let mut to = Vec::new();
        let mut zstd = Unpacker::new(Compression::ZSTD(ZstdLevel::default())).unwrap();
        assert!(zstd.unpack(&[0; 100], i32::MAX as usize, &mut to).is_err());
        assert!(to.capacity() <= 1 << 17);
    }
}
