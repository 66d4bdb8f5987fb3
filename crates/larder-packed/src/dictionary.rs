//! Short values compressed one by one with zstd, with the help of a dictionary that was trained on others like them.
//!
//! ```text
//!  frame   | FCS size and flags 1 | content size 1, 2 or 4 | blocks |      a frame of zstd, RFC 8878, without its magic number
//! ```
//! Frames name no dictionary and have no checksum: whoever keeps a frame knows its dictionary, and frames do not leave the
//! process. A wrong dictionary may give wrong bytes without an error.
//!
//! Cost: a dictionary of 16 KB takes 60 KB, which includes the tables to read with. A [`Compressor`] takes 0.4 MB while it
//! exists. Reading a session of 560 bytes takes about 1.5 us, compressing it 3 us.

use crate::bytes::SharedBytes;
use crate::codec::{Damaged, ZSTD_LEVEL, with_decompressor};
use std::cell::RefCell;
use zstd_safe::{CCtx, CParameter, DDict};

/// The most bytes of what is not one string.
pub const RAW_MAX: usize = 64 << 10;
/// The most bytes of a value: reading them takes about a millisecond.
pub const STRING_MAX: usize = 1 << 20;
/// What frames of zstd begin with.
const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// Bits of a frame's first byte: it has one segment, no checksum and no dictionary's number.
const SINGLE_SEGMENT: u8 = 0x20;
const SIZE_SHIFT: u32 = 6;
/// Two bytes of content size count from here.
const SIZE_OF_TWO: usize = 256;

thread_local! {
    /// A frame with its magic number.
    static WHOLE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Bytes that values have in common.
pub struct Dictionary {
    bytes: Box<[u8]>,
    tables: DDict<'static>,
}

impl Dictionary {
    /// A dictionary of about `len` bytes for values like these samples, which follow one another; None if they are too few,
    /// or too unlike.
    pub fn train(samples: &[u8], sizes: &[usize], len: usize) -> Option<Dictionary> {
        let mut bytes = vec![0; len];
        let len = zstd_safe::train_from_buffer(&mut bytes[..], samples, sizes).ok()?;
        bytes.truncate(len);
        Dictionary::of(bytes.into())
    }

    /// A dictionary of what training has given, or of any text that values have in common.
    pub fn of(bytes: Box<[u8]>) -> Option<Dictionary> {
        let tables = DDict::try_create(&bytes)?;
        Some(Dictionary { bytes, tables })
    }

    /// Bytes of what it was made of.
    #[expect(clippy::len_without_is_empty, reason = "none is empty")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of heap.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.len() + self.tables.sizeof()
    }

    /// Appends the bytes of a frame.
    ///
    /// # Errors
    /// `out` is as it was before.
    pub fn decompress(&self, frame: &[u8], out: &mut Vec<u8>) -> Result<(), Damaged> {
        let (start, len) = (out.len(), raw_len(frame).ok_or(Damaged)?);
        out.resize(start + len, 0);
        let result = self.fill(frame, &mut out[start..]);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    /// Returns the bytes of a frame in an allocation of their own.
    ///
    /// # Errors
    /// The frame is damaged.
    pub fn decompress_shared(&self, frame: &[u8]) -> Result<SharedBytes, Damaged> {
        let mut bytes = SharedBytes::padded(&[], raw_len(frame).ok_or(Damaged)?);
        self.fill(frame, bytes.make_mut())?;
        Ok(bytes)
    }

    /// Fills `out`, exactly, with the bytes of a frame.
    fn fill(&self, frame: &[u8], out: &mut [u8]) -> Result<(), Damaged> {
        let len = out.len();
        let read = WHOLE.with_borrow_mut(|whole| {
            whole.clear();
            whole.extend_from_slice(&MAGIC);
            whole.extend_from_slice(frame);
            let read = with_decompressor(|context| context.decompress_using_ddict(out, whole, &self.tables));
            whole.shrink_to(RAW_MAX);
            read
        });
        if read == Ok(len) { Ok(()) } else { Err(Damaged) }
    }
}

/// Bytes of the value in a frame; None if the frame is none.
#[inline]
pub fn raw_len(frame: &[u8]) -> Option<usize> {
    let (&first, rest) = frame.split_first()?;
    let len = match (first & !(3 << SIZE_SHIFT), first >> SIZE_SHIFT) {
        (SINGLE_SEGMENT, 0) => usize::from(*rest.first()?),
        (SINGLE_SEGMENT, 1) => SIZE_OF_TWO + usize::from(u16::from_le_bytes(*rest.first_chunk()?)),
        (SINGLE_SEGMENT, 2) => u32::from_le_bytes(*rest.first_chunk()?) as usize,
        _ => return None,
    };
    (len <= STRING_MAX).then_some(len)
}

/// Compresses values with one dictionary. For a batch of them: it is large, and slow to make.
pub struct Compressor(CCtx<'static>);

impl Compressor {
    /// A compressor with a dictionary; None without memory.
    pub fn new(dictionary: &Dictionary) -> Option<Compressor> {
        let mut context = CCtx::try_create()?;
        let parameters = [
            CParameter::CompressionLevel(ZSTD_LEVEL),
            CParameter::ContentSizeFlag(true),
            CParameter::ChecksumFlag(false),
            CParameter::DictIdFlag(false),
        ];
        for parameter in parameters {
            context.set_parameter(parameter).ok()?;
        }
        context.load_dictionary(&dictionary.bytes).ok()?;
        Some(Compressor(context))
    }

    /// Appends the frame of a value if that takes at most `max` bytes; else `out` is left as it was.
    pub fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>, max: usize) -> bool {
        if raw.len() > STRING_MAX {
            return false;
        }
        let start = out.len();
        out.resize(start + MAGIC.len() + max, 0);
        let len = self.0.compress2(&mut out[start..], raw).unwrap_or(0);
        out.truncate(start + len);
        let fits = out[start..].strip_prefix(&MAGIC).is_some_and(|frame| raw_len(frame) == Some(raw.len()));
        out.drain(start..if fits { start + MAGIC.len() } else { out.len() });
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that have much in common, one after the other.
    fn samples(rng: &mut fastrand::Rng, count: usize) -> Vec<Vec<u8>> {
        let name = |rng: &mut fastrand::Rng| ["alpha", "beta", "gamma", "delta"][rng.usize(..4)];
        let sample = |rng: &mut fastrand::Rng| {
            let fields =
                (0..rng.usize(1..9)).map(|at| format!("\"field{at}\":\"{}-{}\",", name(rng), rng.u16(..)));
            format!("{{{}\"end\":true}}", fields.collect::<String>()).into_bytes()
        };
        (0..count).map(|_| sample(rng)).collect()
    }

    fn trained(rng: &mut fastrand::Rng) -> Dictionary {
        let samples = samples(rng, 2000);
        let sizes: Vec<usize> = samples.iter().map(Vec::len).collect();
        Dictionary::train(&samples.concat(), &sizes, 4096).expect("they are enough")
    }

    #[test]
    fn values_come_back_and_shrink() {
        let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(41));
        let dictionary = trained(&mut rng);
        let mut compressor = Compressor::new(&dictionary).expect("there is memory");
        let (mut plain, mut packed) = (0, 0);
        for sample in samples(&mut rng, 1000) {
            let (mut frame, mut back) = (b"before".to_vec(), b"start".to_vec());
            assert!(compressor.compress(&sample, &mut frame, sample.len()));
            let frame = frame.strip_prefix(b"before").expect("what was there stays");
            assert_eq!(raw_len(frame), Some(sample.len()));
            assert_eq!(dictionary.decompress(frame, &mut back), Ok(()));
            assert_eq!(back.strip_prefix(b"start"), Some(&sample[..]));
            assert_eq!(dictionary.decompress_shared(frame).as_deref(), Ok(&sample[..]));
            plain += sample.len();
            packed += frame.len();
        }
        assert!(packed * 2 < plain, "{packed} of {plain} bytes");
    }

    #[test]
    fn all_lengths_come_back() {
        let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(42));
        let dictionary = trained(&mut rng);
        let mut compressor = Compressor::new(&dictionary).expect("there is memory");
        let around = |len| [len - 1, len, len + 1];
        let lens = [
            [0, 1, 2],
            around(256),
            around(RAW_MAX),
            around(RAW_MAX + SIZE_OF_TWO),
            [STRING_MAX - 1, STRING_MAX, 4096],
        ];
        for len in lens.concat() {
            let (value, mut frame, mut back) = (vec![b'x'; len], Vec::new(), Vec::new());
            assert!(compressor.compress(&value, &mut frame, len + 20), "{len}");
            assert_eq!(dictionary.decompress(&frame, &mut back), Ok(()));
            assert_eq!(back, value);
        }
        assert!(!compressor.compress(&vec![0; STRING_MAX + 1], &mut Vec::new(), STRING_MAX));
    }

    #[test]
    fn what_does_not_shrink_is_refused() {
        let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(43));
        let dictionary = trained(&mut rng);
        let mut compressor = Compressor::new(&dictionary).expect("there is memory");
        let noise: Vec<u8> = (0..500).map(|_| rng.u8(..)).collect();
        let mut out = b"before".to_vec();
        assert!(!compressor.compress(&noise, &mut out, 499) && out == b"before");
        let value = samples(&mut rng, 1).remove(0);
        assert!(compressor.compress(&value, &mut out, value.len()), "a refusal leaves nothing behind");
    }

    #[test]
    fn damaged_frames_are_refused_or_read_within_their_size() {
        let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(44));
        let dictionary = trained(&mut rng);
        let mut compressor = Compressor::new(&dictionary).expect("there is memory");
        for sample in samples(&mut rng, 500) {
            let mut frame = Vec::new();
            assert!(compressor.compress(&sample, &mut frame, sample.len()));
            let at = rng.usize(..frame.len());
            match rng.u32(..3) {
                0 => frame.truncate(at),
                1 => frame[at] ^= 1 << rng.u32(..8),
                _ => frame.extend_from_slice(&[rng.u8(..); 3]),
            }
            let mut back = b"start".to_vec();
            match dictionary.decompress(&frame, &mut back) {
                Ok(()) => assert_eq!(Some(back.len() - 5), raw_len(&frame)),
                Err(Damaged) => assert_eq!(back, b"start"),
            }
        }
    }

    #[test]
    fn too_few_samples_make_no_dictionary() {
        assert!(Dictionary::train(b"", &[], 4096).is_none());
        assert!(Dictionary::train(b"abc", &[3], 4096).is_none());
    }
}
