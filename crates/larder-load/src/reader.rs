//! Rows out of CSV, TSV and NDJSON. A line that is no row is an error of that line, and reading goes on after it.

use crate::error::{Error, Result};
use crate::mapping::{Mapping, VALUE_BYTES_MAX};
use crate::row::Row;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead, Read};
use std::rc::Rc;

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values with a line of names, quoted as RFC 4180 has it.
    Csv,
    /// A JSON object a line.
    Ndjson,
    /// Values separated by tabs, with a line of names; quotes are like any character.
    Tsv,
}

/// What a line is.
pub enum Line<'a> {
    /// A row.
    Row(&'a dyn Row),
    /// Not a row, for this reason; the text of the line.
    Bad(String, Vec<u8>),
}

/// Reads all rows; `each` gets the number of a line, from 1, and what it is.
///
/// # Errors
/// The file cannot be read, has no line of names, or lacks a column of the mapping; or `each` fails.
pub fn read(
    source: impl Read,
    format: Format,
    mapping: &Mapping,
    each: &mut dyn FnMut(u64, Line<'_>) -> Result<()>,
) -> Result<()> {
    match format {
        Format::Csv => table(&mut csv::ReaderBuilder::new(), source, b',', mapping, each),
        Format::Tsv => {
            table(csv::ReaderBuilder::new().delimiter(b'\t').quoting(false), source, b'\t', mapping, each)
        }
        Format::Ndjson => objects(std::io::BufReader::with_capacity(1 << 20, source), each),
    }
}

/// A record by the names of its columns.
struct Record<'a> {
    names: &'a [String],
    index: &'a HashMap<String, usize>,
    values: &'a csv::ByteRecord,
}

impl Row for Record<'_> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        self.index.get(name).and_then(|&at| self.values.get(at))
    }

    fn each(&self, f: &mut dyn FnMut(&str, &[u8])) {
        self.names.iter().zip(self.values).for_each(|(name, value)| f(name, value));
    }
}

fn table(
    builder: &mut csv::ReaderBuilder,
    source: impl Read,
    delimiter: u8,
    mapping: &Mapping,
    each: &mut dyn FnMut(u64, Line<'_>) -> Result<()>,
) -> Result<()> {
    let ends = Rc::new(RefCell::new(VecDeque::new()));
    let tap = Tap { source, read: 0, ends: Rc::clone(&ends) };
    let mut reader = builder.flexible(true).buffer_capacity(256 << 10).from_reader(tap);
    let mut line = 1;
    let broken = |error: &csv::Error| Error::File(format!("the input: {error}"));
    let header = reader.byte_headers().map_err(|error| broken(&error))?;
    let name = |bytes: &[u8]| {
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        String::from_utf8(text.to_vec())
            .map_err(|_| Error::File("line 1: a name of a column is not UTF-8".to_owned()))
    };
    let names = header.iter().map(name).collect::<Result<Vec<String>>>()?;
    let index: HashMap<String, usize> =
        names.iter().cloned().enumerate().map(|(at, name)| (name, at)).collect();
    if names.is_empty() {
        return Err(Error::File("the input has no line of names".to_owned()));
    }
    if index.len() != names.len() {
        return Err(Error::File("line 1: a column is there twice".to_owned()));
    }
    if let Some(missing) = mapping.columns().into_iter().find(|column| !index.contains_key(*column)) {
        return Err(Error::File(format!("line 1: no column '{missing}' (there are: {})", names.join(", "))));
    }
    let mut record = csv::ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(|error| broken(&error))? {
        line += lines_before(&mut ends.borrow_mut(), record.position().map_or(0, csv::Position::byte));
        if record.len() == names.len() {
            each(line, Line::Row(&Record { names: &names, index: &index, values: &record }))?;
        } else {
            let reason = format!("{} values for {} columns", record.len(), names.len());
            let text = record.iter().collect::<Vec<_>>().join(&delimiter);
            each(line, Line::Bad(reason, text))?;
        }
    }
    Ok(())
}

/// Where lines end in what is read. (The parser's own count is taken before it passes over empty lines, and over the second
/// byte of the ends of lines that have two.)
struct Tap<R> {
    source: R,
    read: u64,
    /// Positions of carriage returns and line feeds, and whether they are line feeds.
    ends: Rc<RefCell<VecDeque<(u64, bool)>>>,
}

impl<R: Read> Read for Tap<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(to)?;
        let ends = to[..n].iter().enumerate().filter(|(_, byte)| matches!(byte, b'\r' | b'\n'));
        self.ends.borrow_mut().extend(ends.map(|(at, &byte)| (self.read + at as u64, byte == b'\n')));
        self.read += n as u64;
        Ok(n)
    }
}

/// Takes out the ends of lines before a record, whose parsing began at a position; returns how many line feeds they are.
fn lines_before(ends: &mut VecDeque<(u64, bool)>, mut position: u64) -> u64 {
    let mut lines = 0;
    while let Some(&(at, is_line)) = ends.front().filter(|(at, _)| *at <= position) {
        ends.pop_front();
        position += u64::from(at == position);
        lines += u64::from(is_line);
    }
    lines
}

/// The names and values of an object: texts as they are meant, all else as it is written; null is no value.
struct Object(Vec<(String, Vec<u8>)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Object, A::Error> {
        use serde::de::Error as _;
        let mut pairs: Vec<(String, Vec<u8>)> = Vec::new();
        while let Some(name) = map.next_key::<Cow<'_, str>>()? {
            let raw: &RawValue = map.next_value()?;
            if pairs.iter().any(|(other, _)| *other == name) {
                return Err(A::Error::custom(format!("'{name}' is there twice")));
            }
            let value = match raw.get() {
                "null" => continue,
                text if text.starts_with('"') => {
                    serde_json::from_str::<String>(text).map_err(A::Error::custom)?.into_bytes()
                }
                text => text.as_bytes().to_vec(),
            };
            pairs.push((name.into_owned(), value));
        }
        Ok(Object(pairs))
    }
}

fn objects(mut source: impl BufRead, each: &mut dyn FnMut(u64, Line<'_>) -> Result<()>) -> Result<()> {
    let (mut line, mut number) = (Vec::new(), 0);
    loop {
        line.clear();
        number += 1;
        let limit = VALUE_BYTES_MAX as u64;
        let read = source.by_ref().take(limit).read_until(b'\n', &mut line);
        if read.map_err(|error| Error::file(format!("line {number} of the input"), &error))? == 0 {
            return Ok(());
        }
        if line.len() as u64 == limit && line.last() != Some(&b'\n') {
            line.truncate(100);
            each(number, Line::Bad("more than 512 MB".to_owned(), std::mem::take(&mut line)))?;
            source.skip_until(b'\n').map_err(|error| Error::file("the input", &error))?;
            continue;
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match serde_json::from_slice::<Object>(text) {
            Ok(object) => each(number, Line::Row(&object.0.as_slice()))?,
            Err(error) => each(number, Line::Bad(error.to_string(), text.to_vec()))?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Draft;

    /// The rows of a text as `line:name=value,..`, and lines that are none as `line!`.
    fn rows(text: &[u8], format: Format, key: &str) -> Result<Vec<String>> {
        let draft = Draft { key: Some(key.to_owned()), kind: Some("hash".to_owned()), ..Draft::default() };
        let mapping = draft.finish()?;
        let mut all = Vec::new();
        read(text, format, &mapping, &mut |number, line| {
            all.push(match line {
                Line::Bad(..) => format!("{number}!"),
                Line::Row(row) => {
                    let mut shown = Vec::new();
                    row.each(&mut |name, value| {
                        shown.push(format!("{name}={}", String::from_utf8_lossy(value)));
                    });
                    format!("{number}:{}", shown.join(","))
                }
            });
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn tables() {
        let text = b"\xEF\xBB\xBFa,b\r\n1,\"x,\"\"y\nz\"\n2\n\n3,\n";
        assert_eq!(rows(text, Format::Csv, "{a}").unwrap(), ["2:a=1,b=x,\"y\nz", "4!", "6:a=3,b="]);
        assert_eq!(rows(b"a\tb\n\"1\t2\"\n", Format::Tsv, "{a}").unwrap(), ["2:a=\"1,b=2\""]);
        for bad in [&b""[..], b"a,a\n", b"a,b\n", b"\xFF,c\n"] {
            assert!(matches!(rows(bad, Format::Csv, "{c}"), Err(Error::File(_))));
        }
    }

    #[test]
    fn objects_of_every_kind() {
        let text = br#"{"a":"x\n\u00e9","b":1.10,"c":null,"d":[1, 2],"e":true}

[1]
{"a":1,"a":2}
{"a":
{"a":"\ud800"}
{"a":18446744073709551616}"#;
        let expected =
            ["1:a=x\n\u{e9},b=1.10,d=[1, 2],e=true", "3!", "4!", "5!", "6!", "7:a=18446744073709551616"];
        assert_eq!(rows(text, Format::Ndjson, "{a}").unwrap(), expected);
    }
}
