//! Thrift's compact protocol, as far as footers and heads of pages need it: values are read out of bytes that are there, and nothing is
//! allocated by what they say.

/// Structs in structs, and lists in lists, that are followed.
const DEPTH_MAX: u32 = 32;

/// The types of fields and elements.
pub mod kind {
    /// A boolean that is true; as a field it has no bytes of its own.
    pub const TRUE: u8 = 1;
    /// A boolean that is false.
    pub const FALSE: u8 = 2;
    /// Eight bits.
    pub const BYTE: u8 = 3;
    /// Sixteen bits, as all larger integers of variable length.
    pub const I16: u8 = 4;
    /// 32 bits.
    pub const I32: u8 = 5;
    /// 64 bits.
    pub const I64: u8 = 6;
    /// A float of 64 bits.
    pub const DOUBLE: u8 = 7;
    /// A length and bytes.
    pub const BINARY: u8 = 8;
    /// A list.
    pub const LIST: u8 = 9;
    /// A set, which is written as a list.
    pub const SET: u8 = 10;
    /// A map.
    pub const MAP: u8 = 11;
    /// Fields up to a zero.
    pub const STRUCT: u8 = 12;
}

/// Why something cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not what the protocol allows.
    Odd(&'static str),
    /// The bytes end in it.
    Short,
}

/// A place in bytes.
pub struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Thrift<'a> {
    /// Begins at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Thrift { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub fn at(&self) -> usize {
        self.at
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        let byte = *self.bytes.get(self.at).ok_or(Fault::Short)?;
        self.at += 1;
        Ok(byte)
    }

    fn unsigned(&mut self) -> Result<u64, Fault> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Fault::Odd("a number has more than 64 bits"))
    }

    /// An integer of any width.
    pub fn int(&mut self) -> Result<i64, Fault> {
        let value = self.unsigned()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// An integer of 32 bits.
    pub fn int32(&mut self) -> Result<i32, Fault> {
        i32::try_from(self.int()?).map_err(|_| Fault::Odd("a number has more than 32 bits"))
    }

    /// The number and the type of the next field of a struct; None at its end. `last` is the number of the field before, 0 at the beginning.
    pub fn field(&mut self, last: &mut i16) -> Result<Option<(i16, u8)>, Fault> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(None);
        }
        *last = match head >> 4 {
            0 => i16::try_from(self.int()?).map_err(|_| Fault::Odd("the number of a field is invalid"))?,
            step => {
                last.checked_add(i16::from(step)).ok_or(Fault::Odd("the number of a field is invalid"))?
            }
        };
        Ok(Some((*last, head & 0xF)))
    }

    /// The type of a list's elements, and how many there are: no more than there are bytes, as each has one at least.
    pub fn list(&mut self) -> Result<(u8, usize), Fault> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.unsigned()?,
            few => u64::from(few),
        };
        let left = (self.bytes.len() - self.at) as u64;
        if count > left { Err(Fault::Short) } else { Ok((head & 0xF, count as usize)) }
    }

    /// Passes over a field of a type.
    pub fn skip(&mut self, kind: u8) -> Result<(), Fault> {
        self.skip_at(kind, false, DEPTH_MAX)
    }

    /// Passes over an element of a list.
    pub fn skip_element(&mut self, kind: u8) -> Result<(), Fault> {
        self.skip_at(kind, true, DEPTH_MAX)
    }

    fn skip_at(&mut self, kind: u8, is_element: bool, depth: u32) -> Result<(), Fault> {
        let below = depth.checked_sub(1).ok_or(Fault::Odd("structs are nested too deeply"))?;
        match kind {
            kind::TRUE | kind::FALSE if !is_element => Ok(()),
            kind::TRUE | kind::FALSE | kind::BYTE => self.byte().map(drop),
            kind::I16 | kind::I32 | kind::I64 => self.unsigned().map(drop),
            kind::DOUBLE => self.pass(8),
            kind::BINARY => {
                let len = self.unsigned()?;
                self.pass(len)
            }
            kind::LIST | kind::SET => {
                let (kind, count) = self.list()?;
                (0..count).try_for_each(|_| self.skip_at(kind, true, below))
            }
            kind::MAP => {
                let count = self.unsigned()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                for _ in 0..count {
                    self.skip_at(kinds >> 4, true, below)?;
                    self.skip_at(kinds & 0xF, true, below)?;
                }
                Ok(())
            }
            kind::STRUCT => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip_at(kind, false, below)?;
                }
                Ok(())
            }
            _ => Err(Fault::Odd("unknown type")),
        }
    }

    fn pass(&mut self, len: u64) -> Result<(), Fault> {
        let end = usize::try_from(len).ok().and_then(|len| self.at.checked_add(len));
        self.at = end.filter(|&end| end <= self.bytes.len()).ok_or(Fault::Short)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_fields() {
        let mut thrift = Thrift::new(&[0x15, 0x02, 0x05, 0x28, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x00]);
        let mut last = 0;
        assert_eq!(thrift.field(&mut last), Ok(Some((1, kind::I32))));
        assert_eq!(thrift.int(), Ok(1));
        // A field whose number is written out.
        assert_eq!(thrift.field(&mut last), Ok(Some((20, kind::I32))));
        assert_eq!(thrift.int32(), Ok(i32::MIN));
        assert_eq!((thrift.field(&mut last), thrift.at()), (Ok(None), 10));
        assert_eq!(thrift.int(), Err(Fault::Short));
        assert!(matches!(Thrift::new(&[0xFF; 11]).int(), Err(Fault::Odd(_))));
        assert!(matches!(Thrift::new(&[0xFF, 0xFF, 0xFF, 0xFF, 0x1F]).int32(), Err(Fault::Odd(_))));
    }

    #[test]
    fn lists_are_no_longer_than_their_bytes() {
        assert_eq!(Thrift::new(&[0x25, 1, 2]).list(), Ok((kind::I32, 2)));
        assert_eq!(Thrift::new(&[0x35, 1, 2]).list(), Err(Fault::Short));
        let huge = [0xF5, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0];
        assert_eq!(Thrift::new(&huge).list(), Err(Fault::Short));
        // A map may have elements without bytes only if its types are odd.
        assert!(Thrift::new(&[0xFF, 0xFF, 0x7F, 0x00]).skip(kind::MAP).is_err());
        let nested = [0x1C; 100];
        assert!(matches!(Thrift::new(&nested).skip(kind::STRUCT), Err(Fault::Odd(_))));
    }
}
