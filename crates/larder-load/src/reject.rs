//! What was not loaded: counted, and written to a file, a line each: where, why, what. Where is a line, an offset, or the number of a key.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// This many are told in the report.
const TOLD: usize = 5;

/// Collects what was not loaded.
#[derive(Default)]
pub struct Rejects {
    /// What the numbers of places are.
    unit: &'static str,
    file: Option<BufWriter<File>>,
    count: u64,
    first: Vec<String>,
}

impl Rejects {
    /// Writes to this file, if one is given. `unit` is what places are: `line`, `offset`, `key`.
    pub fn new(path: Option<&Path>, unit: &'static str) -> Result<Self> {
        let open = |path: &Path| File::create(path).map_err(|error| Error::file(path.display(), &error));
        Ok(Rejects { unit, file: path.map(open).transpose()?.map(BufWriter::new), ..Rejects::default() })
    }

    /// Adds one: its place, a reason, and the text or the key.
    pub fn add(&mut self, place: u64, reason: &str, what: &[u8]) -> Result<()> {
        self.count += 1;
        if self.first.len() < TOLD {
            self.first.push(format!("{} {place}: {reason}", self.unit));
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let what = what.escape_ascii();
        writeln!(file, "{place}\t{reason}\t{what}")
            .map_err(|error| Error::file("the file of rejects", &error))
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
        let flushed = self.file.as_mut().map_or(Ok(()), Write::flush);
        flushed.map_err(|error| Error::file("the file of rejects", &error))
    }
}
