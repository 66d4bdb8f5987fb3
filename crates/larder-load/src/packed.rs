//! Compressed input: gzip and Zstandard, recognized by their first bytes and decompressed as they are read.

use flate2::read::MultiGzDecoder;
use std::io::{self, BufReader, Cursor, Read};
use zstd_safe::{DCtx, InBuffer, OutBuffer};

/// How files of each kind begin.
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// Bytes of compressed input that are read at once.
const CHUNK_BYTES: usize = 128 << 10;

/// The source itself, or what it decompresses to if it begins as a compressed file does.
///
/// # Errors
/// The source cannot be read.
pub fn unpacked(mut source: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut mark = Vec::new();
    (&mut source).take(ZSTD.len() as u64).read_to_end(&mut mark)?;
    let kind = [GZIP, ZSTD].into_iter().find(|kind| mark.starts_with(kind));
    let whole = Cursor::new(mark).chain(source);
    Ok(match kind {
        Some(GZIP) => Box::new(MultiGzDecoder::new(BufReader::with_capacity(CHUNK_BYTES, whole))),
        Some(_) => Box::new(Zstd::new(whole)),
        None => Box::new(whole),
    })
}

/// Whether a file that begins so is compressed.
pub fn is_packed(begin: &[u8]) -> bool {
    [GZIP, ZSTD].iter().any(|kind| begin.starts_with(kind))
}

/// Frames of Zstandard, one after the other.
struct Zstd<R> {
    source: R,
    context: DCtx<'static>,
    input: Vec<u8>,
    /// Bytes of the input that are decompressed.
    used: usize,
    /// Whether the last frame is whole.
    is_whole: bool,
}

impl<R: Read> Zstd<R> {
    fn new(source: R) -> Self {
        Zstd { source, context: DCtx::create(), input: Vec::new(), used: 0, is_whole: true }
    }

    /// Reads more input; false at its end.
    fn fill(&mut self) -> io::Result<bool> {
        self.input.clear();
        self.used = 0;
        (&mut self.source).take(CHUNK_BYTES as u64).read_to_end(&mut self.input)?;
        Ok(!self.input.is_empty())
    }
}

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if to.is_empty() {
            return Ok(0);
        }
        loop {
            let at_end = self.used == self.input.len() && !self.fill()?;
            if at_end && self.is_whole {
                return Ok(0);
            }
            let mut input = InBuffer { src: &self.input, pos: self.used };
            let mut output = OutBuffer::around(to);
            let left = self.context.decompress_stream(&mut output, &mut input).map_err(|code| {
                io::Error::new(io::ErrorKind::InvalidData, zstd_safe::get_error_name(code))
            })?;
            let (used, written) = (input.pos(), output.pos());
            self.used = used;
            self.is_whole = left == 0;
            if written > 0 {
                return Ok(written);
            }
            if at_end {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the compressed file is truncated"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        let mut packed = Vec::with_capacity(zstd_safe::compress_bound(text.len()));
        zstd_safe::compress(&mut packed, text, 3).unwrap();
        packed
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        unpacked(Box::new(Cursor::new(bytes.to_vec())))?.read_to_end(&mut all).map(|_| all)
    }

    #[test]
    fn whole_files_of_one_and_of_several_parts() {
        let text: Vec<u8> = (0..400_000_u32).flat_map(|number| (number % 1000).to_le_bytes()).collect();
        for pack in [gzip, zstd] {
            assert_eq!(read(&pack(&text)).unwrap(), text);
            assert_eq!(read(&[pack(b"ab"), pack(b"cd")].concat()).unwrap(), b"abcd");
            assert!(read(&pack(b"")).unwrap().is_empty());
        }
        for plain in [&b""[..], b"a", b"\x1f", b"\x28\xb5\x2f", &text[..1000]] {
            assert_eq!(read(plain).unwrap(), plain);
        }
    }

    #[test]
    fn damaged_files_are_errors() {
        let text = b"a text that is long enough to be cut".repeat(100);
        for packed in [gzip(&text), zstd(&text)] {
            for len in 4..packed.len() {
                assert!(read(&packed[..len]).is_err(), "cut at {len}");
            }
        }
        let mut damaged = zstd(&text);
        damaged[6] ^= 0xff;
        assert!(read(&damaged).is_err());
    }
}
