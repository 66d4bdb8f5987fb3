//! What becomes of a row: the key, the type of its value, and the element that the row adds to it.
//!
//! A mapping comes from the command line, or from a file in TOML:
//!
//! ```text
//!  key = "user:{id}"              required
//!  type = "hash"                  string, hash, list, set, zset or stream
//!  value = "{name}"               string, list, set, zset: the value, element or member
//!  fields = ["name", "age"]       hash, stream: these columns; without it all but those of the expiry and
//!                                 of the ID
//!  score = "points"               zset: the column of the score
//!  id = "time"                    stream: the column of the entry's ID; without it rows are numbered, 1-1, 2-1, ..
//!  expire = 3600                  seconds from the load on
//!  expire-at = "until"            or a column with seconds since 1970
//! ```
//!
//! Where a number is wanted, a column that the file says is a time counts as that: its seconds since 1970 as a score, its milliseconds as an
//! ID, and an expiry at that time.

use crate::error::{Error, Result};
use crate::row::Row;
use crate::template::Template;
use serde::Deserialize;

/// The longest value that servers take by default.
pub const VALUE_BYTES_MAX: usize = 512 << 20;

/// The type of the keys, and which columns it takes.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Columns as fields; of several rows of a key, a later value of a field replaces an earlier one.
    Hash(Option<Vec<String>>),
    /// An element a row.
    List(Template),
    /// A member a row.
    Set(Template),
    /// A member a row, and the column of its score.
    SortedSet(Template, String),
    /// An entry a row: the column of its ID, and its fields.
    Stream(Option<String>, Option<Vec<String>>),
    /// The value of the last row of the key.
    String(Template),
}

/// When keys expire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expire {
    /// Never.
    Never,
    /// This many seconds after the start of the load.
    After(u64),
    /// At the time in this column, in seconds since 1970.
    Column(String),
}

/// A mapping.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// The key of a row.
    pub key: Template,
    /// What its value is.
    pub kind: Kind,
    /// When it expires.
    pub expire: Expire,
}

/// A mapping as the options or the file have it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Draft {
    /// Template of keys.
    pub key: Option<String>,
    /// Name of the type.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Template of values, elements or members.
    pub value: Option<String>,
    /// Columns of fields.
    pub fields: Option<Vec<String>>,
    /// Column of scores.
    pub score: Option<String>,
    /// Column of IDs.
    pub id: Option<String>,
    /// Seconds from now.
    pub expire: Option<u64>,
    /// Column of times.
    pub expire_at: Option<String>,
}

impl Draft {
    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Draft> {
        toml::from_str(text).map_err(|error| Error::Usage(error.to_string()))
    }

    /// The draft of the options with what only a file has. A type comes with its value, so only one of both has it.
    pub fn over(self, file: Draft) -> Result<Draft> {
        if let (Some(kind), Some(_)) = (&self.kind, &file.kind) {
            return Err(Error::Usage(format!("--{kind} and the mapping file both set a type")));
        }
        Ok(Draft {
            key: self.key.or(file.key),
            kind: self.kind.or(file.kind),
            value: self.value.or(file.value),
            fields: self.fields.or(file.fields),
            score: self.score.or(file.score),
            id: self.id.or(file.id),
            expire: self.expire.or(file.expire),
            expire_at: self.expire_at.or(file.expire_at),
        })
    }

    /// Checks that what is there belongs together.
    pub fn finish(self) -> Result<Mapping> {
        let usage = |text: &str| Error::Usage(text.to_owned());
        let template = |text: &str| Template::parse(text).map_err(Error::Usage);
        let key = template(
            self.key
                .as_deref()
                .ok_or_else(|| usage("no key is given: add --key, as in --key 'user:{id}'"))?,
        )?;
        let name = self.kind.as_deref().ok_or_else(|| {
            usage("no type is given: add --hash, --list, --set, --stream, --string or --zset")
        })?;
        let lacks_value =
            || Error::Usage(format!("the type '{name}' needs a value, as in value = \"{{column}}\""));
        let value = || template(self.value.as_deref().ok_or_else(lacks_value)?);
        let (mut takes_value, mut takes_fields, mut takes_score, mut takes_id) = (true, false, false, false);
        let kind = match name {
            "string" => Kind::String(value()?),
            "list" => Kind::List(value()?),
            "set" => Kind::Set(value()?),
            "zset" => {
                takes_score = true;
                let score = self.score.clone().ok_or_else(|| usage("a sorted set needs --score COLUMN"))?;
                Kind::SortedSet(value()?, score)
            }
            "hash" => {
                (takes_value, takes_fields) = (false, true);
                Kind::Hash(self.fields.clone())
            }
            "stream" => {
                (takes_value, takes_fields, takes_id) = (false, true, true);
                Kind::Stream(self.id.clone(), self.fields.clone())
            }
            other => {
                return Err(Error::Usage(format!(
                    "unknown type '{other}': use hash, list, set, stream, string or zset"
                )));
            }
        };
        let odd = [
            ("value", self.value.is_some() && !takes_value),
            ("fields", self.fields.is_some() && !takes_fields),
            ("score", self.score.is_some() && !takes_score),
            ("id", self.id.is_some() && !takes_id),
        ];
        if let Some((what, _)) = odd.iter().find(|(_, is_odd)| *is_odd) {
            return Err(Error::Usage(format!("the type '{name}' takes no {what}")));
        }
        let expire = match (self.expire, self.expire_at) {
            (Some(_), Some(_)) => return Err(usage("expire and expire-at cannot be used together")),
            (Some(0), None) => return Err(usage("expire takes a positive number of seconds")),
            (Some(seconds), None) => Expire::After(seconds),
            (None, Some(column)) => Expire::Column(column),
            (None, None) => Expire::Never,
        };
        Ok(Mapping { key, kind, expire })
    }
}

/// What a row adds.
#[derive(Debug, Default)]
pub struct Added {
    /// The key.
    pub key: Vec<u8>,
    /// The element in the form of [`crate::group`].
    pub element: Vec<u8>,
    /// When the key expires, in milliseconds since 1970.
    pub expire_at_ms: Option<u64>,
}

impl Mapping {
    /// All columns that the mapping names.
    pub fn columns(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.key.columns().collect();
        match &self.kind {
            Kind::String(value) | Kind::List(value) | Kind::Set(value) => all.extend(value.columns()),
            Kind::SortedSet(value, score) => {
                all.extend(value.columns());
                all.push(score);
            }
            Kind::Hash(fields) => all.extend(fields.iter().flatten().map(String::as_str)),
            Kind::Stream(id, fields) => {
                all.extend(id.iter().chain(fields.iter().flatten()).map(String::as_str));
            }
        }
        if let Expire::Column(column) = &self.expire {
            all.push(column);
        }
        all
    }

    /// Whether all other columns of a row are fields.
    pub fn takes_all_columns(&self) -> bool {
        matches!(self.kind, Kind::Hash(None) | Kind::Stream(_, None))
    }

    /// What a row adds, the `number`th of its file; the error says why it adds nothing. `added` is emptied first.
    pub fn map(
        &self,
        row: &dyn Row,
        number: u64,
        now_ms: u64,
        added: &mut Added,
    ) -> std::result::Result<(), String> {
        let lacks = |column: &str| format!("no value for the column '{column}'");
        added.key.clear();
        added.element.clear();
        self.key.fill(row, &mut added.key).map_err(lacks)?;
        added.expire_at_ms = match &self.expire {
            Expire::Never => None,
            Expire::After(seconds) => Some(now_ms.saturating_add(seconds.saturating_mul(1000))),
            Expire::Column(column) => match (row.get(column), row.micros(column)) {
                (None | Some(b""), _) => None,
                (Some(text), time) => {
                    let at = time.map_or_else(|| seconds(text), milliseconds);
                    Some(at.ok_or_else(|| format!("column '{column}': '{}' is not a time", lossy(text)))?)
                }
            },
        };
        let element = &mut added.element;
        match &self.kind {
            Kind::String(value) | Kind::List(value) | Kind::Set(value) => {
                part_with(element, |to| value.fill(row, to).map_err(lacks))?;
            }
            Kind::SortedSet(value, score) => {
                part_with(element, |to| value.fill(row, to).map_err(lacks))?;
                let text = row.get(score).ok_or_else(|| lacks(score))?;
                let number = row.micros(score).map(|time| time as f64 / 1e6).or_else(|| score_of(text));
                let number =
                    number.ok_or_else(|| format!("column '{score}': '{}' is not a score", lossy(text)))?;
                part(element, &number.to_le_bytes());
            }
            Kind::Hash(fields) => {
                if self.fields(row, fields.as_deref(), None, element)? == 0 {
                    return Err("no field has a value".to_owned());
                }
            }
            Kind::Stream(id, fields) => {
                let (ms, seq) = match id {
                    None => (number, 1),
                    Some(column) => {
                        let text = row.get(column).ok_or_else(|| lacks(column))?;
                        let time = row.micros(column);
                        let id = time.map_or_else(|| stream_id(text), |time| Some((milliseconds(time)?, 0)));
                        id.ok_or_else(|| format!("column '{column}': '{}' is not an entry ID", lossy(text)))?
                    }
                };
                part(element, &[ms.to_le_bytes(), seq.to_le_bytes()].concat());
                let at = element.len();
                part(element, &0_u32.to_le_bytes());
                let count = self.fields(row, fields.as_deref(), id.as_deref(), element)?;
                if count == 0 {
                    return Err("no field has a value".to_owned());
                }
                element[at + 4..at + 8].copy_from_slice(&count.to_le_bytes());
            }
        }
        let too_long = element.len() > VALUE_BYTES_MAX || added.key.len() > VALUE_BYTES_MAX;
        if too_long { Err("the row is larger than 512 MB".to_owned()) } else { Ok(()) }
    }

    /// Appends fields with their values; returns how many.
    fn fields(
        &self,
        row: &dyn Row,
        wanted: Option<&[String]>,
        without: Option<&str>,
        to: &mut Vec<u8>,
    ) -> std::result::Result<u32, String> {
        let mut count = 0;
        let mut add = |name: &str, value: &[u8]| {
            part(to, name.as_bytes());
            part(to, value);
            count += 1;
        };
        match wanted {
            Some(names) => names.iter().for_each(|name| {
                if let Some(value) = row.get(name) {
                    add(name, value);
                }
            }),
            None => row.each(&mut |name, value| {
                let is_expiry = matches!(&self.expire, Expire::Column(column) if column == name);
                if !is_expiry && without != Some(name) {
                    add(name, value);
                }
            }),
        }
        Ok(count)
    }
}

/// Appends a part of an element: its length in four bytes, and itself.
pub fn part(to: &mut Vec<u8>, bytes: &[u8]) {
    // What is longer than 512 MB is refused when the element is whole.
    to.extend_from_slice(&(bytes.len().min(u32::MAX as usize) as u32).to_le_bytes());
    to.extend_from_slice(bytes);
}

fn part_with(
    to: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> std::result::Result<(), String>,
) -> std::result::Result<(), String> {
    let at = to.len();
    to.extend_from_slice(&[0; 4]);
    write(to)?;
    let len = (to.len() - at - 4).min(u32::MAX as usize) as u32;
    to[at..at + 4].copy_from_slice(&len.to_le_bytes());
    Ok(())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned()
}

/// A score as ZADD takes it: a number, or infinity.
fn score_of(text: &[u8]) -> Option<f64> {
    let score: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (!score.is_nan()).then_some(score)
}

/// Milliseconds of a time in seconds, above zero.
fn seconds(text: &[u8]) -> Option<u64> {
    let seconds: u64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    seconds.checked_mul(1000).filter(|&ms| ms > 0 && i64::try_from(ms).is_ok())
}

/// Milliseconds of a time in microseconds, above zero.
fn milliseconds(time: i64) -> Option<u64> {
    u64::try_from(time.div_euclid(1000)).ok().filter(|&ms| ms > 0)
}

/// An ID of an entry, two numbers with a dash or the first alone, above 0-0.
fn stream_id(text: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(text).ok()?;
    let (ms, seq) = text.split_once('-').unwrap_or((text, "0"));
    let id = (ms.parse().ok()?, seq.parse().ok()?);
    (id != (0, 0)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(text: &str) -> Result<Mapping> {
        Draft::parse(text)?.finish()
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        for bad in [
            "",
            "key = 'k'",
            "key = 'k'\ntype = 'hash'\nvalue = 'x'",
            "key = 'k'\ntype = 'set'",
            "key = 'k'\ntype = 'zset'\nvalue = 'x'",
            "key = '{'\ntype = 'hash'",
            "key = 'k'\ntype = 'tree'",
            "key = 'k'\ntype = 'hash'\nexpire = 1\nexpire-at = 'x'",
            "key = 'k'\ntype = 'hash'\nexpire = 0",
            "key = 'k'\ntype = 'hash'\nodd = 1",
            "key = ",
        ] {
            assert!(matches!(mapping(bad), Err(Error::Usage(_))), "{bad}");
        }
    }

    #[test]
    fn rows_become_elements_or_reasons() {
        let zset = mapping("key = 'z'\ntype = 'zset'\nvalue = '{m}'\nscore = 's'\nexpire-at = 'e'").unwrap();
        let map = |m: &str, s: &str, e: &str| {
            let row = [("m", m), ("s", s), ("e", e)].map(|(n, v)| (n.to_owned(), v.as_bytes().to_vec()));
            let mut added = Added::default();
            zset.map(&&row[..], 1, 0, &mut added).map(|()| added)
        };
        let added = map("a", "-1.5", "3").unwrap();
        assert_eq!((added.element.len(), added.expire_at_ms), (4 + 1 + 4 + 8, Some(3000)));
        assert_eq!(map("a", "inf", "").unwrap().expire_at_ms, None);
        for (s, e) in [("nan", ""), ("", ""), ("1x", ""), ("1", "-1"), ("1", "0"), ("1", "99999999999999999")]
        {
            assert!(map("a", s, e).is_err(), "{s} {e}");
        }
        assert_eq!(stream_id(b"5-7"), Some((5, 7)));
        assert_eq!([&b"0-0"[..], b"x", b"1-", b""].map(stream_id), [None; 4]);
    }

    /// A row of one time.
    struct Moment(i64);

    impl Row for Moment {
        fn get(&self, name: &str) -> Option<&[u8]> {
            (name == "t").then_some(b"text")
        }

        fn each(&self, f: &mut dyn FnMut(&str, &[u8])) {
            f("t", b"text");
        }

        fn micros(&self, name: &str) -> Option<i64> {
            (name == "t").then_some(self.0)
        }
    }

    #[test]
    fn times_are_numbers_where_numbers_are_wanted() {
        let map = |text: &str, time: i64| {
            let mut added = Added::default();
            mapping(text).unwrap().map(&Moment(time), 1, 0, &mut added).map(|()| added)
        };
        let expiring = "key = '{t}'\ntype = 'string'\nvalue = '{t}'\nexpire-at = 't'";
        let added = map(expiring, 1_500_999).unwrap();
        assert_eq!((added.key.as_slice(), added.expire_at_ms), (&b"text"[..], Some(1500)));
        assert_eq!(map(expiring, 999).unwrap_err(), "column 't': 'text' is not a time");
        let scored = map("key = 'k'\ntype = 'zset'\nvalue = 'm'\nscore = 't'", -1_500_000).unwrap();
        assert!(scored.element.ends_with(&(-1.5_f64).to_le_bytes()));
        let stream = "key = 'k'\ntype = 'stream'\nid = 't'\nfields = ['t']";
        let entry = map(stream, 7_000).unwrap();
        assert_eq!(entry.element[4..20], [7_u64, 0].map(u64::to_le_bytes).concat());
        assert_eq!(map(stream, -1).unwrap_err(), "column 't': 'text' is not an entry ID");
    }
}
