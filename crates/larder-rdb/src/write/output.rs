//! Lengths and strings of the format.

use crate::format::length;
use larder_packed::{int, lzf};
use std::io::{self, Write};

/// Strings up to this long are not worth compressing, as in Redis.
const COMPRESS_MIN: usize = 21;
/// An integer has at most this many characters to be stored as one.
const INT_CHARS_MAX: usize = 11;

/// Writes the parts of the format to anything.
pub struct Output<W> {
    to: W,
    compress: bool,
    scratch: Vec<u8>,
}

impl<W: Write> Output<W> {
    /// Writes to `to`; `compress` says whether strings may be compressed with LZF.
    pub fn new(to: W, compress: bool) -> Self {
        Output { to, compress, scratch: Vec::new() }
    }

    /// What is written to.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.to
    }

    /// What was written to.
    pub fn into_inner(self) -> W {
        self.to
    }

    /// Bytes as they are.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)
    }

    /// A number or a count.
    #[inline]
    pub fn length(&mut self, len: u64) -> io::Result<()> {
        match len {
            0..0x40 => self.raw(&[len as u8]),
            0x40..0x4000 => self.raw(&[length::FOURTEEN_BITS | (len >> 8) as u8, len as u8]),
            0x4000..=0xFFFF_FFFF => {
                self.raw(&[length::U32])?;
                self.raw(&(len as u32).to_be_bytes())
            }
            _ => {
                self.raw(&[length::U64])?;
                self.raw(&len.to_be_bytes())
            }
        }
    }

    /// A string: as an integer if it is one, compressed if that helps, or as it is.
    pub fn string(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() <= INT_CHARS_MAX
            && let Some(number) = int::parse(bytes).and_then(|number| i32::try_from(number).ok())
        {
            return self.int(number);
        }
        if self.compress && bytes.len() >= COMPRESS_MIN {
            return self.compressed(bytes);
        }
        self.plain(bytes)
    }

    /// A string as it is.
    #[inline]
    pub fn plain(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.length(bytes.len() as u64)?;
        self.raw(bytes)
    }

    /// A string that is an integer.
    pub fn integer(&mut self, number: i64) -> io::Result<()> {
        match i32::try_from(number) {
            Ok(number) => self.int(number),
            Err(_) => self.plain(itoa::Buffer::new().format(number).as_bytes()),
        }
    }

    /// A string that is compressed already.
    pub fn lzf(&mut self, payload: &[u8], plain_len: usize) -> io::Result<()> {
        self.raw(&[length::LZF])?;
        self.length(payload.len() as u64)?;
        self.length(plain_len as u64)?;
        self.raw(payload)
    }

    fn int(&mut self, number: i32) -> io::Result<()> {
        if let Ok(byte) = i8::try_from(number) {
            return self.raw(&[length::INT8, byte as u8]);
        }
        if let Ok(short) = i16::try_from(number) {
            let [a, b] = short.to_le_bytes();
            return self.raw(&[length::INT16, a, b]);
        }
        let [a, b, c, d] = number.to_le_bytes();
        self.raw(&[length::INT32, a, b, c, d])
    }

    fn compressed(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut packed = std::mem::take(&mut self.scratch);
        packed.clear();
        let done = if lzf::compress(bytes, &mut packed, bytes.len() - 4) {
            self.lzf(&packed, bytes.len())
        } else {
            self.plain(bytes)
        };
        self.scratch = packed;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Input;

    fn written(write: impl FnOnce(&mut Output<Vec<u8>>) -> io::Result<()>) -> Vec<u8> {
        let mut output = Output::new(Vec::new(), true);
        write(&mut output).expect("a vector takes everything");
        output.into_inner()
    }

    #[test]
    fn lengths_come_back() {
        for len in [0, 63, 64, 0x3FFF, 0x4000, 0xFFFF_FFFF, 1 << 32, u64::MAX] {
            assert_eq!(Input::new(written(|out| out.length(len)).as_slice()).length().unwrap(), len);
        }
    }

    #[test]
    fn strings_come_back_in_their_shortest_form() {
        let forms: [(&[u8], usize); 9] = [
            (b"", 1),
            (b"127", 2),
            (b"-32768", 3),
            (b"2147483647", 5),
            (b"2147483648", 11),
            (b"007", 4),
            (b"-0", 3),
            (&[b'x'; 20], 21),
            (&[b'x'; 1000], 20),
        ];
        for (bytes, len) in forms {
            let stored = written(|out| out.string(bytes));
            assert_eq!(Input::new(stored.as_slice()).string().unwrap(), bytes);
            assert!(stored.len() <= len, "{} bytes for {}", stored.len(), bytes.len());
        }
    }
}
