//! Bytes, numbers, lengths and strings of the format.

use crate::Crc64;
use crate::error::{Error, Result, truncated};
use crate::format::length;
use larder_packed::lzf;
use std::io::{self, BufRead, Read};

/// At most this much memory is taken because of a length alone; for more the bytes must have come.
const TRUST_BYTES: usize = 1 << 20;
/// What is read from the source at once.
const BUFFER_BYTES: usize = 256 << 10;
/// LZF makes at most this many bytes of one.
const LZF_GROWTH_MAX: usize = 88;
/// The longest string: what the server accepts at most from a client, whatever `proto-max-bulk-len` says.
const STRING_BYTES_MAX: u64 = 1 << 30;

/// A string as it is stored.
pub enum Stored {
    /// Its bytes.
    Plain(Vec<u8>),
    /// Compressed with LZF, not decompressed yet.
    Lzf {
        /// The compressed bytes.
        payload: Vec<u8>,
        /// Their size when decompressed; at most 88 times as many.
        plain_len: usize,
    },
}

fn unpack_into(payload: &[u8], plain_len: usize, to: &mut Vec<u8>) -> Result<()> {
    let start = to.len();
    to.resize(start + plain_len, 0);
    lzf::decompress(payload, &mut to[start..]).map_err(|lzf::Damaged| Error::Damaged("not LZF"))
}

fn check_size(len: u64) -> Result<()> {
    if len <= STRING_BYTES_MAX { Ok(()) } else { Err(Error::Damaged("a string of more than 1 GiB")) }
}

/// A length, or the mark of an encoded string in its place.
enum Length {
    Bytes(u64),
    Encoded(u8),
}

/// Reads the parts of the format from any source of bytes.
pub struct Input<R>(R);

impl<R: BufRead> Input<R> {
    /// Reads from `source`.
    pub fn new(source: R) -> Self {
        Input(source)
    }

    /// The source.
    pub fn get_ref(&self) -> &R {
        &self.0
    }

    /// The source, to be worked on.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.0
    }

    /// The source back.
    pub fn into_inner(self) -> R {
        self.0
    }

    /// One byte.
    #[inline]
    pub fn byte(&mut self) -> Result<u8> {
        let byte = *self.0.fill_buf()?.first().ok_or_else(truncated)?;
        self.0.consume(1);
        Ok(byte)
    }

    /// This many bytes, known in advance.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// This many bytes, on the file's word: memory is taken as they arrive.
    pub fn bytes(&mut self, len: u64) -> Result<Vec<u8>> {
        check_size(len)?;
        let mut bytes = Vec::with_capacity((len as usize).min(TRUST_BYTES));
        self.0.by_ref().take(len).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == len { Ok(bytes) } else { Err(truncated()) }
    }

    /// Reads this many bytes for nobody.
    pub fn skip(&mut self, mut len: u64) -> Result<()> {
        while len > 0 {
            let ready = self.0.fill_buf()?.len() as u64;
            if ready == 0 {
                return Err(truncated());
            }
            let now = ready.min(len);
            self.0.consume(now as usize);
            len -= now;
        }
        Ok(())
    }

    /// A number or a count.
    #[inline]
    pub fn length(&mut self) -> Result<u64> {
        match self.length_or_encoding()? {
            Length::Bytes(len) => Ok(len),
            Length::Encoded(_) => Err(Error::Damaged("an encoded string in place of a length")),
        }
    }

    /// A string.
    #[inline]
    pub fn string(&mut self) -> Result<Vec<u8>> {
        match self.length_or_encoding()? {
            Length::Bytes(len) => self.bytes(len),
            Length::Encoded(kind) => {
                let mut bytes = Vec::new();
                self.encoded_into(kind, &mut bytes)?;
                Ok(bytes)
            }
        }
    }

    /// A string, appended to others.
    #[inline]
    pub fn string_into(&mut self, to: &mut Vec<u8>) -> Result<()> {
        match self.length_or_encoding()? {
            Length::Bytes(len) => self.with_bytes(len, |bytes| {
                to.extend_from_slice(bytes);
                Ok(())
            }),
            Length::Encoded(kind) => self.encoded_into(kind, to),
        }
    }

    /// A string, shown to `with`: where it lies, if it is stored as it is and all in the source's buffer.
    pub fn with_string(&mut self, with: impl FnOnce(&[u8]) -> Result<()>) -> Result<()> {
        match self.length_or_encoding()? {
            Length::Bytes(len) => self.with_bytes(len, with),
            Length::Encoded(kind) => {
                let mut bytes = Vec::new();
                self.encoded_into(kind, &mut bytes)?;
                with(&bytes)
            }
        }
    }

    fn encoded_into(&mut self, kind: u8, to: &mut Vec<u8>) -> Result<()> {
        if kind == length::LZF {
            let (packed, plain_len) = self.lzf_lengths()?;
            return self.with_bytes(packed, |payload| unpack_into(payload, plain_len, to));
        }
        to.extend_from_slice(itoa::Buffer::new().format(self.integer(kind)?).as_bytes());
        Ok(())
    }

    /// Shows this many bytes to `with`: where they lie, if they are all in the source's buffer.
    #[inline]
    fn with_bytes(&mut self, len: u64, with: impl FnOnce(&[u8]) -> Result<()>) -> Result<()> {
        check_size(len)?;
        let ready = self.0.fill_buf()?;
        if let Some(bytes) = usize::try_from(len).ok().and_then(|len| ready.get(..len)) {
            with(bytes)?;
            self.0.consume(len as usize);
            return Ok(());
        }
        with(&self.bytes(len)?)
    }

    /// Passes over a string.
    pub fn skip_string(&mut self) -> Result<()> {
        let bytes = match self.length_or_encoding()? {
            Length::Bytes(len) => len,
            Length::Encoded(length::LZF) => {
                let packed = self.length()?;
                self.length()?;
                packed
            }
            Length::Encoded(length::INT8) => 1,
            Length::Encoded(length::INT16) => 2,
            Length::Encoded(length::INT32) => 4,
            Length::Encoded(_) => return Err(Error::Damaged("unknown encoding of a string")),
        };
        self.skip(bytes)
    }

    /// A string in the form in which it is stored.
    pub fn stored(&mut self) -> Result<Stored> {
        match self.length_or_encoding()? {
            Length::Bytes(len) => self.bytes(len).map(Stored::Plain),
            Length::Encoded(length::LZF) => {
                let (packed, plain_len) = self.lzf_lengths()?;
                Ok(Stored::Lzf { payload: self.bytes(packed)?, plain_len })
            }
            Length::Encoded(kind) => {
                let number = self.integer(kind)?;
                Ok(Stored::Plain(itoa::Buffer::new().format(number).as_bytes().to_vec()))
            }
        }
    }

    fn integer(&mut self, kind: u8) -> Result<i32> {
        match kind {
            length::INT8 => Ok(i32::from(self.byte()? as i8)),
            length::INT16 => Ok(i32::from(i16::from_le_bytes(self.array()?))),
            length::INT32 => Ok(i32::from_le_bytes(self.array()?)),
            _ => Err(Error::Damaged("unknown encoding of a string")),
        }
    }

    /// A double as eight bytes.
    pub fn double(&mut self) -> Result<f64> {
        self.array().map(f64::from_le_bytes)
    }

    /// A double as text with a length byte, as version 7 and older wrote it.
    pub fn text_double(&mut self) -> Result<f64> {
        let len = match self.byte()? {
            255 => return Ok(f64::NEG_INFINITY),
            254 => return Ok(f64::INFINITY),
            253 => return Ok(f64::NAN),
            len => len,
        };
        let text = self.bytes(u64::from(len))?;
        fast_float2::parse(text.trim_ascii()).map_err(|_| Error::Damaged("a score that is not a number"))
    }

    /// How long a compressed string is, as it is stored and as it was.
    fn lzf_lengths(&mut self) -> Result<(u64, usize)> {
        let (packed, plain_len) = (self.length()?, self.length()?);
        if plain_len / LZF_GROWTH_MAX as u64 > packed || plain_len > STRING_BYTES_MAX {
            return Err(Error::Damaged("an LZF string with an impossible length"));
        }
        Ok((packed, plain_len as usize))
    }

    #[inline]
    fn length_or_encoding(&mut self) -> Result<Length> {
        let first = self.byte()?;
        Ok(match first & length::CLASS {
            length::SIX_BITS => Length::Bytes(u64::from(first)),
            length::FOURTEEN_BITS => {
                let high = u64::from(first & !length::CLASS);
                Length::Bytes(high << 8 | u64::from(self.byte()?))
            }
            length::ENCODED => Length::Encoded(first),
            _ if first == length::U32 => Length::Bytes(u64::from(u32::from_be_bytes(self.array()?))),
            _ if first == length::U64 => Length::Bytes(u64::from_be_bytes(self.array()?)),
            _ => return Err(Error::Damaged("unknown encoding of a length")),
        })
    }
}

impl<'a> Input<&'a [u8]> {
    /// A string: where it lies, if it is stored as it is, or else in `room`, which is emptied for it.
    #[inline]
    pub fn string_in<'r>(&mut self, room: &'r mut Vec<u8>) -> Result<&'r [u8]>
    where
        'a: 'r,
    {
        let before = self.0;
        if let Length::Bytes(len) = self.length_or_encoding()? {
            check_size(len)?;
            let (bytes, rest) = self.0.split_at_checked(len as usize).ok_or_else(truncated)?;
            self.0 = rest;
            return Ok(bytes);
        }
        self.0 = before;
        room.clear();
        self.string_into(room)?;
        Ok(room)
    }
}

/// A source that keeps the checksum of what is read from it, and on demand the bytes themselves.
///
/// Each is brought up to date when the buffer is used up, or when somebody asks for it: reading a byte costs no more
/// than moving a position, and sums are taken of much at once.
pub struct Checked<R> {
    source: R,
    buffer: Box<[u8]>,
    /// The part of the buffer that has not been read.
    start: usize,
    end: usize,
    /// How much of the buffer is in the checksum.
    summed: usize,
    crc: Crc64,
    /// Bytes read from the source before this buffer.
    before: u64,
    record: Option<Vec<u8>>,
    /// How much of the buffer is in the record.
    recorded: usize,
}

impl<R: Read> Checked<R> {
    /// Reads from `source`.
    pub fn new(source: R) -> Self {
        Checked {
            source,
            buffer: vec![0; BUFFER_BYTES].into(),
            start: 0,
            end: 0,
            summed: 0,
            crc: Crc64::new(),
            before: 0,
            record: None,
            recorded: 0,
        }
    }

    /// The checksum of the bytes read so far.
    pub fn checksum(&mut self) -> u64 {
        self.sum();
        self.crc.value()
    }

    /// Bytes read so far.
    pub fn position(&self) -> u64 {
        self.before + self.start as u64
    }

    /// Keeps the bytes that are read from here on, after those of `to`.
    pub fn start_record(&mut self, to: Vec<u8>) {
        self.record = Some(to);
        self.recorded = self.start;
    }

    /// Ends the record and returns it.
    pub fn end_record(&mut self) -> Vec<u8> {
        self.keep();
        self.record.take().unwrap_or_default()
    }

    /// What has been read, for those who want to read on without checksum: the source, and what of it is in the buffer.
    pub fn into_rest(self) -> (R, Vec<u8>) {
        (self.source, self.buffer[self.start..self.end].to_vec())
    }

    fn sum(&mut self) {
        self.crc.update(&self.buffer[self.summed..self.start]);
        self.summed = self.start;
    }

    #[inline]
    fn keep(&mut self) {
        if let Some(record) = &mut self.record {
            record.extend_from_slice(&self.buffer[self.recorded..self.start]);
            self.recorded = self.start;
        }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let len = ready.len().min(out.len());
        out[..len].copy_from_slice(&ready[..len]);
        self.consume(len);
        Ok(len)
    }
}

impl<R: Read> BufRead for Checked<R> {
    #[inline]
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            self.sum();
            self.keep();
            let read = self.source.read(&mut self.buffer)?;
            self.before += self.end as u64;
            (self.start, self.end, self.summed, self.recorded) = (0, read, 0, 0);
        }
        Ok(&self.buffer[self.start..self.end])
    }

    #[inline]
    fn consume(&mut self, len: usize) {
        self.start += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(bytes: &[u8]) -> Result<Vec<u8>> {
        Input::new(bytes).string()
    }

    #[test]
    fn lengths_of_every_form() {
        let length = |bytes: &[u8]| Input::new(bytes).length().ok();
        assert_eq!(length(&[0x3F]), Some(63));
        assert_eq!(length(&[0x7F, 0xFE]), Some(0x3FFE));
        assert_eq!(length(&[0x80, 0, 1, 0, 0]), Some(65536));
        assert_eq!(length(&[0x81, 0, 0, 0, 1, 0, 0, 0, 0]), Some(1 << 32));
        assert_eq!(length(&[0x82]), None);
        assert_eq!(length(&[0xC0, 1]), None);
        assert_eq!(length(&[0x80, 0]), None);
    }

    #[test]
    fn strings_of_every_form() {
        assert_eq!(string(b"\x05hello").unwrap(), b"hello");
        assert_eq!(string(&[0xC0, 0x85]).unwrap(), b"-123");
        assert_eq!(string(&[0xC1, 0x39, 0x30]).unwrap(), b"12345");
        assert_eq!(string(&[0xC2, 0, 0, 0, 0x80]).unwrap(), b"-2147483648");
        assert_eq!(string(&[0xC3, 5, 10, 0, b'a', 0xE0, 0, 0]).unwrap(), b"aaaaaaaaaa");
    }

    #[test]
    fn hostile_lengths_take_no_memory() {
        assert!(matches!(string(&[0x81, 0, 0, 0, 0, 0x3F, 0, 0, 0]), Err(Error::Io(_))));
        assert!(matches!(string(&[0x81, 0xFF, 0, 0, 0, 0, 0, 0, 0]), Err(Error::Damaged(_))));
        assert!(matches!(string(&[0xC3, 1, 0x80, 0x7F, 0, 0, 0, 0]), Err(Error::Damaged(_))));
        assert!(matches!(string(&[0xC4]), Err(Error::Damaged(_))));
        assert!(matches!(string(b"\x05hell"), Err(Error::Io(_))));
        assert!(matches!(string(&[]), Err(Error::Io(_))));
    }

    #[test]
    fn scores_as_text() {
        let score = |bytes: &[u8]| Input::new(bytes).text_double();
        assert_eq!(score(b"\x033.5").unwrap(), 3.5);
        assert_eq!(score(b"\xFF").unwrap(), f64::NEG_INFINITY);
        assert_eq!(score(b"\xFE").unwrap(), f64::INFINITY);
        assert!(score(b"\x01x").is_err());
    }

    #[test]
    fn the_checksum_follows_every_way_of_reading() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut input = Input::new(Checked::new(io::BufReader::with_capacity(16, bytes.as_slice())));
        input.byte().unwrap();
        input.array::<40>().unwrap();
        input.bytes(100).unwrap();
        input.skip(20).unwrap();
        assert_eq!(input.get_ref().position(), 161);
        assert_eq!(input.get_mut().checksum(), Crc64::of(&bytes[..161]));
    }
}
