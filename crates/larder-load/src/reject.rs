//! What was not loaded: counted, and written to a file, a line each: where, why, what.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// This many are told in the report.
const TOLD: usize = 5;

/// Collects what was not loaded.
#[derive(Default)]
pub struct Rejects {
    file: Option<BufWriter<File>>,
    count: u64,
    first: Vec<String>,
}

impl Rejects {
    /// Writes to this file, if one is given.
    pub fn new(path: Option<&Path>) -> Result<Self> {
        let open = |path: &Path| File::create(path).map_err(|error| Error::file(path.display(), &error));
        Ok(Rejects { file: path.map(open).transpose()?.map(BufWriter::new), ..Rejects::default() })
    }

    /// Adds one: `line 7`, a reason, and the text or the key.
    pub fn add(&mut self, line: u64, reason: &str, what: &[u8]) -> Result<()> {
        self.count += 1;
        if self.first.len() < TOLD {
            self.first.push(format!("line {line}: {reason}"));
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let what = what.escape_ascii();
        writeln!(file, "{line}\t{reason}\t{what}").map_err(|error| Error::file("the file of rejects", &error))
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
