//! What was not loaded: counted, and written to a file, a line each: where, why, what. Where is a line, an offset, or the number of a key.
//!
//! The file is of the whole load: a load that goes on begins it with the rejects of the batches that are done, which the state has
//! ([`crate::state`]); those that are found in reading, and those of batches that are sent again, come again by themselves.

use crate::error::{Error, Result};
use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// This many are told in the report.
const TOLD: usize = 5;

/// Something that was not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    place: u64,
    /// Why, without what would end a line or a column.
    reason: String,
    /// The text or the key, with escapes.
    what: String,
}

impl Reject {
    /// One with its place, a reason, and the text or the key.
    pub fn new(place: u64, reason: &str, what: &[u8]) -> Self {
        let plain =
            |char: char| if char.is_control() { char.escape_default().to_string() } else { char.into() };
        Reject { place, reason: reason.chars().map(plain).collect(), what: what.escape_ascii().to_string() }
    }

    /// One that was written as a line.
    pub fn parse(line: &str) -> Option<Self> {
        let [place, reason, what] = line.splitn(3, '\t').collect::<Vec<_>>()[..] else { return None };
        Some(Reject { place: place.parse().ok()?, reason: reason.to_owned(), what: what.to_owned() })
    }
}

/// The line, without its end.
impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\t{}\t{}", self.place, self.reason, self.what)
    }
}

/// Collects what was not loaded.
#[derive(Default)]
pub struct Rejects {
    /// What the numbers of places are.
    unit: &'static str,
    /// The path and the file.
    file: Option<(PathBuf, BufWriter<File>)>,
    count: u64,
    first: Vec<String>,
}

impl Rejects {
    /// Writes to this file, if one is given. `unit` is what places are: `line`, `offset`, `key`.
    pub fn new(path: Option<&Path>, unit: &'static str) -> Result<Self> {
        let open = |path: &Path| match File::create(path) {
            Ok(file) => Ok((path.to_owned(), BufWriter::new(file))),
            Err(error) => Err(Error::file(path.display(), &error)),
        };
        Ok(Rejects { unit, file: path.map(open).transpose()?, ..Rejects::default() })
    }

    /// Adds one.
    pub fn add(&mut self, reject: &Reject) -> Result<()> {
        self.count += 1;
        if self.first.len() < TOLD {
            self.first.push(format!("{} {}: {}", self.unit, reject.place, reject.reason));
        }
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        writeln!(file, "{reject}").map_err(|error| Error::file(path.display(), &error))
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first ones, in words.
    pub fn first(&self) -> &[String] {
        &self.first
    }

    /// Writes out what is in memory.
    pub fn flush(&mut self) -> Result<()> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        file.flush().map_err(|error| Error::file(path.display(), &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reject_is_one_line_and_comes_back() {
        for (reason, what) in
            [("why", &b"a key"[..]), ("\u{e9} of\tthe column 'a\r\nb'", b"\t\n\xff"), ("", b"")]
        {
            let reject = Reject::new(7, reason, what);
            let line = reject.to_string();
            assert_eq!((line.lines().count(), line.split('\t').count()), (1, 3), "{line:?}");
            assert_eq!(Reject::parse(&line), Some(reject));
        }
        assert_eq!(["", "7", "7\tx", "x\ty\tz"].map(Reject::parse), [const { None }; 4]);
    }
}
