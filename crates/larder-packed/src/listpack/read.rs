//! Reading listpacks from any source, hostile ones included; and, faster, those that have been checked.

use super::{COUNT_UNKNOWN, END, HEADER, backlen};
use crate::block::{Block, Element, Shape};

/// The bytes are not a listpack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// An entry of an integer with its back length, and more.
const WINDOW: usize = 16;

/// Entries of a listpack in order. After the first error there is nothing more.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    /// Entries that are left, up to and including the end byte.
    rest: &'a [u8],
    /// Entries that the header promises and that were not seen yet, unless unknown.
    promised: Option<usize>,
}

/// Checks every byte and counts the entries.
pub fn validate(bytes: &[u8]) -> Result<usize, Damaged> {
    let mut count = 0;
    for entry in Reader::new(bytes)? {
        entry?;
        count += 1;
    }
    Ok(count)
}

/// The entries, after every byte has been checked.
pub fn elements(bytes: &[u8]) -> Result<Vec<Element<'_>>, Damaged> {
    let mut elements = Vec::with_capacity(promised(bytes));
    for_each(bytes, |element| elements.push(element))?;
    Ok(elements)
}

/// How many entries the header promises, if there is room for so many; else a number that is not larger.
pub fn promised(bytes: &[u8]) -> usize {
    Reader::new(bytes).map_or(0, |reader| reader.promised.unwrap_or(0).min(reader.rest.len() / 2))
}

/// Calls `f` with the entries in order, and checks every byte. After an error what `f` has been given is worth nothing.
#[inline]
pub fn for_each<'a>(bytes: &'a [u8], mut f: impl FnMut(Element<'a>)) -> Result<(), Damaged> {
    let mut reader = Reader::new(bytes)?;
    let (rest, mut at, mut count) = (reader.rest, 0, 0);
    // Small integers and short strings, which most entries are, have a back length of one byte.
    while let Some(&first) = rest.get(at) {
        let (element, len) = match first {
            0..=0x7f => (Element::Int(i64::from(first)), 1),
            0x80..=0xbf => string(&rest[at..], 1, first as usize & 0x3f)?,
            END => break,
            _ => match rest[at..].first_chunk().and_then(integer_of) {
                Some((value, len)) => (Element::Int(value), len),
                None => decode(&rest[at..])?,
            },
        };
        if len >= 128 {
            break;
        }
        if rest.get(at + len).is_none_or(|&back| usize::from(back) != len) {
            return Err(Damaged);
        }
        f(element);
        count += 1;
        at += len + 1;
    }
    // What is left is long, or the end.
    reader.rest = &rest[at..];
    if let Some(promised) = &mut reader.promised {
        *promised = promised.checked_sub(count).ok_or(Damaged)?;
    }
    for element in reader {
        f(element?);
    }
    Ok(())
}

/// The entries as one block, however big that is, in the least memory.
pub fn to_block(bytes: &[u8]) -> Result<Block, Damaged> {
    if let Some(integers) = integers(bytes)? {
        return Ok(Block::of_integers(&integers));
    }
    let mut shape = Shape::default();
    for entry in Reader::new(bytes)? {
        shape.add(entry?);
    }
    // The second pass reads what the first has checked.
    let mut at = HEADER;
    let entries = std::iter::from_fn(|| {
        let is_end = bytes[at] == END;
        (!is_end).then(|| {
            let (element, next) = entry_at(bytes, at);
            at = next;
            element
        })
    });
    Ok(Block::of_shape(&shape, entries))
}

/// The entries of a listpack of integers; None if another one is found before anything is wrong.
fn integers(bytes: &[u8]) -> Result<Option<Vec<i64>>, Damaged> {
    let mut reader = Reader::new(bytes)?;
    if !matches!(reader.rest[0], 0..=0x7f | 0xc0..=0xdf | 0xf1..=0xf4) {
        return Ok(None);
    }
    let mut values = Vec::with_capacity(reader.promised.unwrap_or(0).min(reader.rest.len() / 2));
    let mut at = 0;
    // Entries that have many bytes after them are read as words.
    while let Some(window) = reader.rest[at..].first_chunk() {
        let Some((value, len)) = integer_of(window) else {
            if window[0] == END {
                break;
            }
            return Ok(None);
        };
        if usize::from(window[len]) != len {
            return Err(Damaged);
        }
        values.push(value);
        at += len + 1;
    }
    reader.rest = &reader.rest[at..];
    if let Some(promised) = &mut reader.promised {
        *promised = promised.checked_sub(values.len()).ok_or(Damaged)?;
    }
    for entry in reader {
        match entry? {
            Element::Int(value) => values.push(value),
            Element::Bytes(_) => return Ok(None),
        }
    }
    Ok(Some(values))
}

impl<'a> Reader<'a> {
    /// Checks the header and the end byte.
    pub fn new(bytes: &'a [u8]) -> Result<Reader<'a>, Damaged> {
        let (&[a, b, c, d, e, f], rest) = bytes.split_first_chunk::<HEADER>().ok_or(Damaged)?;
        let total = u32::from_le_bytes([a, b, c, d]) as usize;
        if total != bytes.len() || rest.last() != Some(&END) {
            return Err(Damaged);
        }
        let entries = u16::from_le_bytes([e, f]);
        Ok(Reader { rest, promised: (entries != COUNT_UNKNOWN).then_some(entries as usize) })
    }

    #[inline]
    fn entry(&mut self) -> Result<Element<'a>, Damaged> {
        let (element, len) = match *self.rest {
            // Small integers and short strings, which most entries are, have a back length of one byte.
            [small @ 0..=0x7f, ..] => (Element::Int(i64::from(small)), 1),
            [short @ 0x80..=0xbf, ..] => string(self.rest, 1, short as usize & 0x3f)?,
            _ => decode(self.rest)?,
        };
        let after = self.rest.get(len..).ok_or(Damaged)?;
        let rest = match *after {
            [back, ref rest @ ..] if len < 128 => (back as usize == len).then_some(rest),
            _ => {
                let (back, back_len) = backlen(len);
                after.strip_prefix(&back[..back_len])
            }
        };
        if let Some(promised) = &mut self.promised {
            *promised = promised.checked_sub(1).ok_or(Damaged)?;
        }
        self.rest = rest.ok_or(Damaged)?;
        Ok(element)
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Element<'a>, Damaged>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let result = match self.rest {
            [] => return None,
            [END] => {
                self.rest = &[];
                let complete = self.promised.unwrap_or(0) == 0;
                return (!complete).then_some(Err(Damaged));
            }
            _ => self.entry(),
        };
        if result.is_err() {
            self.rest = &[];
        }
        Some(result)
    }
}

/// The element at the start of `bytes`, and the length of encoding and data.
fn decode(bytes: &[u8]) -> Result<(Element<'_>, usize), Damaged> {
    let &first = bytes.first().ok_or(Damaged)?;
    match first {
        0..=0x7f => Ok((Element::Int(i64::from(first)), 1)),
        0x80..=0xbf => string(bytes, 1, first as usize & 0x3f),
        0xc0..=0xdf => {
            let &second = bytes.get(1).ok_or(Damaged)?;
            let bits = i16::from(first & 0x1f) << 8 | i16::from(second);
            // Thirteen bits, sign-extended by shifting to the top and back.
            Ok((Element::Int(i64::from(bits << 3 >> 3)), 2))
        }
        0xe0..=0xef => {
            let &second = bytes.get(1).ok_or(Damaged)?;
            string(bytes, 2, (first as usize & 0x0f) << 8 | second as usize)
        }
        0xf0 => {
            let len: [u8; 4] = bytes.get(1..5).and_then(|len| len.try_into().ok()).ok_or(Damaged)?;
            string(bytes, 5, u32::from_le_bytes(len) as usize)
        }
        0xf1 => integer(bytes, 2),
        0xf2 => integer(bytes, 3),
        0xf3 => integer(bytes, 4),
        0xf4 => integer(bytes, 8),
        _ => Err(Damaged),
    }
}

#[inline]
fn string(bytes: &[u8], header: usize, len: usize) -> Result<(Element<'_>, usize), Damaged> {
    let end = header.checked_add(len).ok_or(Damaged)?;
    let text = bytes.get(header..end).ok_or(Damaged)?;
    Ok((Element::Bytes(text), end))
}

/// The integer at the start of this window, if there is one, and the length of encoding and data.
#[inline]
fn integer_of(window: &[u8; WINDOW]) -> Option<(i64, usize)> {
    let word = u64::from_le_bytes([
        window[0], window[1], window[2], window[3], window[4], window[5], window[6], window[7],
    ]) as i64;
    Some(match window[0] {
        // Two to four bytes after the first one: the top ones of the word when it is shifted, and then sign-extended.
        first @ 0xf1..=0xf3 => {
            let len = usize::from(first - 0xf1) + 3;
            (word << (64 - 8 * len) >> (72 - 8 * len), len)
        }
        small @ 0..=0x7f => (i64::from(small), 1),
        0xc0..=0xdf => (i64::from((i16::from(window[0]) << 8 | i16::from(window[1])) << 3 >> 3), 2),
        0xf4 => ((word as u64 >> 8 | u64::from(window[8]) << 56) as i64, 9),
        _ => return None,
    })
}

fn integer(bytes: &[u8], len: usize) -> Result<(Element<'_>, usize), Damaged> {
    let data = bytes.get(1..1 + len).ok_or(Damaged)?;
    let mut wide = [0; 8];
    wide[8 - len..].copy_from_slice(data);
    Ok((Element::Int(i64::from_le_bytes(wide) >> (64 - 8 * len)), 1 + len))
}

/// The entry at `at` of a listpack that is known to be whole, and where the next one starts. Panics if it is
/// damaged.
#[inline]
pub fn entry_at(bytes: &[u8], at: usize) -> (Element<'_>, usize) {
    let rest = &bytes[at..];
    // Small integers and short strings, which most entries are, do not need the whole decoder.
    match rest[0] {
        small @ 0..=0x7f => (Element::Int(i64::from(small)), at + 2),
        short @ 0x80..=0xbf => {
            let end = 1 + (short as usize & 0x3f);
            (Element::Bytes(&rest[1..end]), at + end + 1)
        }
        _ => {
            let (element, len) = decode(rest).expect("the listpack is whole");
            (element, at + len + backlen(len).1)
        }
    }
}

/// Where the entry starts that ends before `end`, in a listpack that is known to be whole.
pub fn start_of_entry_before(bytes: &[u8], end: usize) -> usize {
    let (mut len, mut shift, mut at) = (0, 0, end);
    loop {
        at -= 1;
        len |= (bytes[at] as usize & 127) << shift;
        shift += 7;
        if bytes[at] & 128 == 0 {
            return at - len;
        }
    }
}
