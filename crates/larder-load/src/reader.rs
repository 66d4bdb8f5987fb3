//! Rows out of CSV, TSV and NDJSON. A line that is no row is an error of that line, and reading goes on after it.

use crate::error::{Error, Result};
use crate::mapping::{Mapping, VALUE_BYTES_MAX};
use crate::row::Row;
use foldhash::HashMap;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Display;
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

/// Where the names of the columns of a table are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// In the first line.
    #[default]
    Header,
    /// These are the names; the first line is a row.
    Named(Vec<String>),
    /// The names are 1, 2, ..; the first line is a row.
    Numbered,
}

/// How rows are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The form of the file.
    pub format: Format,
    /// Between the values of CSV.
    pub delimiter: u8,
    /// Where the names of the columns of CSV and TSV are.
    pub columns: Columns,
}

impl Layout {
    /// The layout that a format has by default.
    pub fn of(format: Format) -> Layout {
        Layout { format, delimiter: b',', columns: Columns::Header }
    }
}

/// What a line is.
pub enum Line<'a> {
    /// A row.
    Row(&'a dyn Row),
    /// A malformed line: the reason, and the text of the line.
    Bad(String, Vec<u8>),
}

/// What is done with the number of a line or a row, and what it is.
pub type Each<'a> = &'a mut dyn FnMut(u64, Line<'_>) -> Result<()>;

/// Reads all rows of an input with its name; `each` gets the number of a line, from 1, and what it is.
///
/// # Errors
/// The file cannot be read, has no line of names, lacks a column of the mapping, or ends within a quote; or `each` fails.
pub fn read(
    (name, source): (&str, impl Read),
    layout: &Layout,
    mapping: &Mapping,
    each: &mut dyn FnMut(u64, Line<'_>) -> Result<()>,
) -> Result<()> {
    let mut builder = csv::ReaderBuilder::new();
    let head = Head { name, columns: &layout.columns, mapping };
    match layout.format {
        Format::Csv => table(builder.delimiter(layout.delimiter), source, layout.delimiter, &head, each),
        Format::Tsv => table(builder.delimiter(b'\t').quoting(false), source, b'\t', &head, each),
        Format::Ndjson => objects(std::io::BufReader::with_capacity(1 << 20, source), name, each),
    }
}

/// The name of the input, and the columns that it has and should have.
struct Head<'a> {
    name: &'a str,
    columns: &'a Columns,
    mapping: &'a Mapping,
}

impl Head<'_> {
    fn error(&self, what: impl Display) -> Error {
        Error::File(format!("{}: {what}", self.name))
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
    head: &Head<'_>,
    each: &mut dyn FnMut(u64, Line<'_>) -> Result<()>,
) -> Result<()> {
    let seen = Rc::new(RefCell::new(Seen::default()));
    let tap = Tap { source, seen: Rc::clone(&seen), end: END };
    let has_header = *head.columns == Columns::Header;
    let mut reader =
        builder.has_headers(has_header).flexible(true).buffer_capacity(256 << 10).from_reader(tap);
    let first = reader.byte_headers().map_err(|error| head.error(error))?;
    if seen.borrow().ends_within(first) {
        return Err(head.error("line 1: the quote is not closed"));
    }
    let names = head.names(first)?;
    let index: HashMap<String, usize> =
        names.iter().cloned().enumerate().map(|(at, name)| (name, at)).collect();
    head.check(&names, &index)?;
    let (mut record, mut line) = (csv::ByteRecord::new(), 1);
    while reader.read_byte_record(&mut record).map_err(|error| head.error(error))? {
        let begin = record.position().map_or(0, csv::Position::byte);
        let mut seen = seen.borrow_mut();
        line += lines_before(&mut seen.ends, begin);
        if seen.ends_within(&record) {
            return Err(head.error(format!("line {line}: the quote is not closed")));
        }
        if seen.is_end(reader.position().byte()) {
            break;
        }
        drop(seen);
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

impl Head<'_> {
    /// The names of the columns; `first` is the first record.
    fn names(&self, first: &csv::ByteRecord) -> Result<Vec<String>> {
        let is_empty = first.is_empty() || first.get(0) == Some(END.trim_ascii());
        let name = |bytes: &[u8]| {
            let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
            let not_text = |_| self.error("line 1: the name of a column is not UTF-8");
            String::from_utf8(text.to_vec()).map_err(not_text)
        };
        match self.columns {
            Columns::Named(names) => Ok(names.clone()),
            Columns::Numbered if is_empty => Err(self.error("the input is empty")),
            Columns::Numbered => Ok((1..=first.len()).map(|number| number.to_string()).collect()),
            Columns::Header if is_empty => Err(self.error("there is no line with the names of the columns")),
            Columns::Header => first.iter().map(name).collect(),
        }
    }

    /// Checks that the names differ, and that the mapping finds its columns among them.
    fn check(&self, names: &[String], index: &HashMap<String, usize>) -> Result<()> {
        let place = if *self.columns == Columns::Header { "line 1: " } else { "" };
        let mut twice = names.iter().enumerate().filter(|(at, name)| index.get(*name) != Some(at));
        if let Some((_, name)) = twice.next() {
            return Err(self.error(format!("{place}two columns have the name '{name}'")));
        }
        match self.mapping.columns().into_iter().find(|column| !index.contains_key(*column)) {
            Some(missing) => {
                let all = names.join(", ");
                Err(self.error(format!("{place}no column '{missing}' (the columns are: {all})")))
            }
            None => Ok(()),
        }
    }
}

/// Bytes that are read after the input: a line of its own, unless the input ends within a quote. None of them can be a delimiter.
const END: &[u8] = b"\n\0\x01\x02\x03\0\n";

/// What was seen of the input.
#[derive(Default)]
struct Seen {
    read: u64,
    /// Positions of carriage returns and line feeds, and whether they are line feeds.
    ends: VecDeque<(u64, bool)>,
    /// How long the input is, once that is known.
    total: Option<u64>,
}

impl Seen {
    /// Whether a record that ends at this position is the mark after the input.
    fn is_end(&self, position: u64) -> bool {
        self.total.is_some_and(|total| position >= total + END.len() as u64)
    }

    /// Whether a record has the mark within its last value: its quote is not closed.
    fn ends_within(&self, record: &csv::ByteRecord) -> bool {
        let last = record.len().checked_sub(1).and_then(|at| record.get(at));
        self.total.is_some() && last.is_some_and(|value| value.ends_with(END))
    }
}

/// Notes where lines end in what is read, and adds the mark after it. (The parser's own count of lines is taken before it passes over empty
/// lines, and over the second byte of the ends of lines that have two.)
struct Tap<R> {
    source: R,
    seen: Rc<RefCell<Seen>>,
    /// What is left of the mark.
    end: &'static [u8],
}

impl<R: Read> Read for Tap<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let mut seen = self.seen.borrow_mut();
        if seen.total.is_none() {
            let n = self.source.read(to)?;
            let read = seen.read;
            let ends = memchr::memchr2_iter(b'\r', b'\n', &to[..n]);
            seen.ends.extend(ends.map(|at| (read + at as u64, to[at] == b'\n')));
            seen.read += n as u64;
            if n > 0 || to.is_empty() {
                return Ok(n);
            }
            seen.total = Some(seen.read);
        }
        let n = self.end.len().min(to.len());
        to[..n].copy_from_slice(&self.end[..n]);
        self.end = &self.end[n..];
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
                return Err(A::Error::custom(format!("duplicate field '{name}'")));
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

fn objects(
    mut source: impl BufRead,
    name: &str,
    each: &mut dyn FnMut(u64, Line<'_>) -> Result<()>,
) -> Result<()> {
    let (mut line, mut number) = (Vec::new(), 0);
    loop {
        line.clear();
        number += 1;
        let limit = VALUE_BYTES_MAX as u64;
        let read = source.by_ref().take(limit).read_until(b'\n', &mut line);
        if read.map_err(|error| Error::file(format!("{name}: line {number}"), &error))? == 0 {
            return Ok(());
        }
        if line.len() as u64 == limit && line.last() != Some(&b'\n') {
            line.truncate(100);
            each(number, Line::Bad("the line is larger than 512 MB".to_owned(), std::mem::take(&mut line)))?;
            source.skip_until(b'\n').map_err(|error| Error::file(name, &error))?;
            continue;
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match serde_json::from_slice::<Object>(text) {
            Ok(object) => each(number, Line::Row(&object.0.as_slice()))?,
            Err(error) => each(number, Line::Bad(about_json(&error), text.to_vec()))?,
        }
    }
}

/// Describes the error in a line of JSON. The number of the line is left out: the parser sees one line at a time.
fn about_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match (text.rsplit_once(" at line "), error.column()) {
        (Some((what, _)), column @ 1..) => format!("invalid JSON at column {column}: {what}"),
        _ => format!("invalid JSON: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Draft;

    /// The rows of a text as `line:name=value,..`, and lines that are none as `line!`.
    fn rows(text: &[u8], format: Format, key: &str) -> Result<Vec<String>> {
        rows_of(text, format, Columns::Header, key)
    }

    fn rows_of(text: &[u8], format: Format, columns: Columns, key: &str) -> Result<Vec<String>> {
        let draft = Draft { key: Some(key.to_owned()), kind: Some("hash".to_owned()), ..Draft::default() };
        let mapping = draft.finish()?;
        let mut all = Vec::new();
        let layout = Layout { columns, ..Layout::of(format) };
        read(("file", text), &layout, &mapping, &mut |number, line| {
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
    fn tables_without_names() {
        let text = b"1,x\n2,\"y\"\n3\n";
        let numbered = rows_of(text, Format::Csv, Columns::Numbered, "{1}").unwrap();
        assert_eq!(numbered, ["1:1=1,2=x", "2:1=2,2=y", "3!"]);
        let names = || Columns::Named(vec!["id".to_owned(), "name".to_owned()]);
        let named = rows_of(text, Format::Csv, names(), "{id}").unwrap();
        assert_eq!(named, ["1:id=1,name=x", "2:id=2,name=y", "3!"]);
        assert!(rows_of(b"", Format::Csv, names(), "{id}").unwrap().is_empty());
        for (text, columns, key) in [
            (&b""[..], Columns::Numbered, "{1}"),
            (b"1,2\n", Columns::Numbered, "{3}"),
            (b"1\n", names(), "{x}"),
        ] {
            assert!(matches!(rows_of(text, Format::Csv, columns, key), Err(Error::File(_))), "{key}");
        }
    }

    #[test]
    fn quotes_that_are_not_closed() {
        for (text, line) in [
            ("a,b\n1,\"x\n2,y\n", 2),
            ("a,b\n1,x\n\n2,\"y", 4),
            ("a,b\r\n1,x\r\n2,\"", 3),
            ("a,\"b\n1,2\n", 1),
            ("a,b\n1,\"x\"\"\n", 2),
        ] {
            let error = rows(text.as_bytes(), Format::Csv, "{a}").unwrap_err().to_string();
            assert_eq!(error, format!("file: line {line}: the quote is not closed"), "{text}");
        }
        // Quotes within a value that none begins are like any character, and so are all those of TSV.
        assert_eq!(rows(b"a,b\n1,x\"y\n", Format::Csv, "{a}").unwrap(), ["2:a=1,b=x\"y"]);
        assert_eq!(rows(b"a\tb\n1\t\"x\n", Format::Tsv, "{a}").unwrap(), ["2:a=1,b=\"x"]);
        // The mark of the end as a value is no end.
        let text = [b"a,b\n1,2\n", END.trim_ascii(), b",3"].concat();
        assert_eq!(rows(&text, Format::Csv, "{a}").unwrap().len(), 2);
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
        let reason = |text: &str| about_json(&serde_json::from_str::<Object>(text).err().unwrap());
        assert_eq!(reason("x"), "invalid JSON at column 1: expected value");
        assert_eq!(reason("{\"a\":1,\"a\":2}"), "invalid JSON at column 13: duplicate field 'a'");
    }

    #[test]
    fn a_name_that_occurs_twice_is_named() {
        let error = rows(b"a,b,a\n", Format::Csv, "{a}").unwrap_err().to_string();
        assert_eq!(error, "file: line 1: two columns have the name 'a'");
    }
}
