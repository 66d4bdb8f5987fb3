//! Heads of pages.

use crate::parquet::thrift::{Fault, Thrift, kind};
use ::parquet::basic::Encoding;

/// What a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// Levels and values, packed together.
    Data {
        /// How definition levels are written.
        definitions: Encoding,
        /// How repetition levels are written.
        repetitions: Encoding,
    },
    /// Levels, which are not packed, and values.
    Data2 {
        /// Bytes of definition levels.
        definition_bytes: u32,
        /// Bytes of repetition levels.
        repetition_bytes: u32,
        /// Values that are null.
        nulls: u32,
        /// Rows.
        rows: u32,
        /// Whether the values are packed.
        is_packed: bool,
    },
    /// Values to which others are numbers.
    Dictionary,
    /// What is not read.
    Index,
}

/// The head of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// What the page is.
    pub kind: PageKind,
    /// How its values are written.
    pub encoding: Encoding,
    /// How many there are, nulls among them.
    pub values: u32,
    /// Its bytes in the file after the head.
    pub packed_bytes: u32,
    /// Its bytes when they are unpacked.
    pub plain_bytes: u32,
    /// The sum of its bytes in the file, if it has one.
    pub crc: Option<u32>,
}

/// The part of a head that only some kinds of pages have.
#[derive(Default)]
struct Part {
    numbers: [Option<i32>; 9],
    is_packed: Option<bool>,
}

/// Reads a head; also returns its length in bytes. [`Fault::Short`] if it does not end in these.
pub fn read(bytes: &[u8]) -> Result<(Head, usize), Fault> {
    let mut thrift = Thrift::new(bytes);
    let (mut last, mut numbers, mut part) = (0, [None; 5], None);
    while let Some((field, of)) = thrift.field(&mut last)? {
        match (field, of) {
            (1..=4, kind::I32) => numbers[field as usize] = Some(thrift.int32()?),
            (5 | 7 | 8, kind::STRUCT) => part = Some((field, read_part(&mut thrift, field)?)),
            _ => thrift.skip(of)?,
        }
    }
    let size = |field: usize| {
        numbers[field]
            .and_then(|n: i32| u32::try_from(n).ok())
            .ok_or(Fault::Odd("the page header lacks the size of the page"))
    };
    let (plain_bytes, packed_bytes) = (size(2)?, size(3)?);
    let (kind, encoding, values) = match (numbers[1], part) {
        (Some(1), _) => (PageKind::Index, Encoding::PLAIN, 0),
        (Some(0), Some((5, part))) => data(&part)?,
        (Some(2), Some((7, part))) => (PageKind::Dictionary, encoding(part.numbers[2])?, part.count(1)?),
        (Some(3), Some((8, part))) => data2(&part)?,
        _ => return Err(Fault::Odd("unknown page type")),
    };
    let crc = numbers[4].map(i32::cast_unsigned);
    Ok((Head { kind, encoding, values, packed_bytes, plain_bytes, crc }, thrift.at()))
}

fn read_part(thrift: &mut Thrift<'_>, of: i16) -> Result<Part, Fault> {
    let (mut last, mut part) = (0, Part::default());
    while let Some((field, is)) = thrift.field(&mut last)? {
        match (field, is) {
            (1..=8, kind::I32) => part.numbers[field as usize] = Some(thrift.int32()?),
            (7, kind::TRUE | kind::FALSE) if of == 8 => part.is_packed = Some(is == kind::TRUE),
            _ => thrift.skip(is)?,
        }
    }
    Ok(part)
}

impl Part {
    fn count(&self, field: usize) -> Result<u32, Fault> {
        let number = self.numbers[field].and_then(|number| u32::try_from(number).ok());
        number.ok_or(Fault::Odd("the page header lacks a number"))
    }
}

fn data(part: &Part) -> Result<(PageKind, Encoding, u32), Fault> {
    let [definitions, repetitions] = [encoding(part.numbers[3])?, encoding(part.numbers[4])?];
    Ok((PageKind::Data { definitions, repetitions }, encoding(part.numbers[2])?, part.count(1)?))
}

fn data2(part: &Part) -> Result<(PageKind, Encoding, u32), Fault> {
    let kind = PageKind::Data2 {
        nulls: part.count(2)?,
        rows: part.count(3)?,
        definition_bytes: part.count(5)?,
        repetition_bytes: part.count(6)?,
        is_packed: part.is_packed.unwrap_or(true),
    };
    Ok((kind, encoding(part.numbers[4])?, part.count(1)?))
}

fn encoding(number: Option<i32>) -> Result<Encoding, Fault> {
    #[expect(deprecated, reason = "levels of old files are written so")]
    Ok(match number {
        Some(0) => Encoding::PLAIN,
        Some(2) => Encoding::PLAIN_DICTIONARY,
        Some(3) => Encoding::RLE,
        Some(4) => Encoding::BIT_PACKED,
        Some(5) => Encoding::DELTA_BINARY_PACKED,
        Some(6) => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        Some(7) => Encoding::DELTA_BYTE_ARRAY,
        Some(8) => Encoding::RLE_DICTIONARY,
        Some(9) => Encoding::BYTE_STREAM_SPLIT,
        _ => return Err(Fault::Odd("unknown page encoding")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field of 32 bits that follows the one before.
    fn int(value: i8) -> [u8; 2] {
        [0x15, ((value << 1) ^ (value >> 7)) as u8]
    }

    #[test]
    fn heads_of_every_kind() {
        let part = [0x2C, 0x15, 6, 0x15, 0, 0x15, 6, 0x15, 6, 0];
        let data = [&int(0)[..], &int(50), &int(40), &part, &[0]].concat();
        let expected = Head {
            kind: PageKind::Data { definitions: Encoding::RLE, repetitions: Encoding::RLE },
            encoding: Encoding::PLAIN,
            values: 3,
            packed_bytes: 40,
            plain_bytes: 50,
            crc: None,
        };
        assert_eq!(read(&data), Ok((expected, data.len())));
        (0..data.len()).for_each(|end| assert_eq!(read(&data[..end]), Err(Fault::Short), "{end}"));
        let part = [0x3C, 0x15, 6, 0x15, 16, 0x11, 0];
        let dictionary = [&int(2)[..], &int(50), &int(40), &int(-1), &part, &[0]].concat();
        let (head, _) = read(&dictionary).unwrap();
        assert_eq!((head.kind, head.encoding), (PageKind::Dictionary, Encoding::RLE_DICTIONARY));
        assert_eq!((head.values, head.crc), (3, Some(u32::MAX)));
        let part = [&[0x5C][..], &int(7), &int(2), &int(5), &int(0), &int(1), &int(3), &[0x12, 0]].concat();
        let data2 = [&int(3)[..], &int(50), &int(40), &part, &[0]].concat();
        let kind =
            PageKind::Data2 { definition_bytes: 1, repetition_bytes: 3, nulls: 2, rows: 5, is_packed: false };
        assert_eq!(read(&data2).map(|(head, _)| (head.kind, head.values)), Ok((kind, 7)));
        assert_eq!(read(&[&int(1)[..], &int(5), &int(4), &[0]].concat()).unwrap().0.kind, PageKind::Index);
    }

    #[test]
    fn heads_that_are_none() {
        let part = [0x2C, 0x15, 6, 0x15, 0, 0x15, 6, 0x15, 6, 0];
        for odd in [
            vec![0],
            [&int(0)[..], &int(-1), &int(40), &part, &[0]].concat(),
            [&int(9)[..], &int(50), &int(40), &part, &[0]].concat(),
            [&int(2)[..], &int(50), &int(40), &part, &[0]].concat(),
            [&int(0)[..], &int(50), &int(40), &[0]].concat(),
            [&int(0)[..], &int(50), &int(40), &[0x2C, 0x15, 1, 0x15, 0, 0x15, 6, 0x15, 6, 0], &[0]].concat(),
            [&int(0)[..], &int(50), &int(40), &[0x2C, 0x15, 6, 0x15, 30, 0x15, 6, 0x15, 6, 0], &[0]].concat(),
        ] {
            assert!(matches!(read(&odd), Err(Fault::Odd(_))), "{odd:?}");
        }
    }
}
