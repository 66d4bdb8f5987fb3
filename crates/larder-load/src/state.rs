//! The state file: which batches are loaded, so that a load that broke off goes on where it was.
//!
//! ```text
//!  larder-load 1 <fingerprint>     of the input (name, size, time of change), the mapping, the target, and
//!                                  what decides about batches
//!  start 0                         the batch was about to be sent
//!  done 0                          all its keys were answered
//! ```
//!
//! Batches are the same in every run, as keys come in the order of the file. Of a batch that was started and not done nobody
//! knows which keys have arrived: it is sent again, and the worker compares what is there already.

use crate::error::{Error, Result};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// What a batch is, when a load goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// Loaded.
    Done,
    /// Not begun.
    New,
    /// Perhaps loaded in parts.
    Started,
}

/// The state file, or none.
#[derive(Default)]
pub struct State {
    file: Option<File>,
    started: HashSet<u64>,
    done: HashSet<u64>,
}

impl State {
    /// Opens a file, or makes it. One of another load is an error.
    pub fn open(path: Option<&Path>, fingerprint: u64) -> Result<State> {
        let Some(path) = path else { return Ok(State::default()) };
        let failed = |error: std::io::Error| Error::file(path.display(), &error);
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failed(error)),
        };
        let header = format!("larder-load 1 {fingerprint:016x}\n");
        let mut state = State::default();
        // The end of a line says that it was written whole.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        if !whole.is_empty() {
            let Some(rest) = whole.strip_prefix(&header) else {
                let what = "is the state of another load: of other input, another mapping or other options";
                return Err(Error::Usage(format!("{} {what}", path.display())));
            };
            for line in rest.lines() {
                match line.split_once(' ').and_then(|(word, number)| Some((word, number.parse().ok()?))) {
                    Some(("start", number)) => state.started.insert(number),
                    Some(("done", number)) => state.done.insert(number),
                    _ => {
                        return Err(Error::File(format!(
                            "{}: '{line}' is no line of a state",
                            path.display()
                        )));
                    }
                };
            }
        }
        let mut file = File::options().create(true).truncate(false).write(true).open(path).map_err(failed)?;
        file.set_len(whole.len() as u64).map_err(failed)?;
        std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).map_err(failed)?;
        if whole.is_empty() {
            file.write_all(header.as_bytes()).map_err(failed)?;
        }
        state.file = Some(file);
        Ok(state)
    }

    /// What a batch is.
    pub fn past(&self, batch: u64) -> Past {
        match (self.done.contains(&batch), self.started.contains(&batch)) {
            (true, _) => Past::Done,
            (false, true) => Past::Started,
            (false, false) => Past::New,
        }
    }

    /// Notes that a batch is about to be sent.
    pub fn start(&mut self, batch: u64) -> Result<()> {
        self.note("start", batch)
    }

    /// Notes that a batch is loaded.
    pub fn done(&mut self, batch: u64) -> Result<()> {
        self.note("done", batch)
    }

    fn note(&mut self, word: &str, batch: u64) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let written = file.write_all(format!("{word} {batch}\n").as_bytes());
        written.map_err(|error| Error::file("the state file", &error))
    }
}

/// FNV-1a in 64 bits: the same in every run, as states need it.
pub fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_that_of_its_load_and_survives_cuts() {
        let folder = larder_testkit::temp_dir();
        let path = folder.join("state");
        let mut state = State::open(Some(&path), 7).unwrap();
        state.start(0).unwrap();
        state.start(1).unwrap();
        state.done(0).unwrap();
        state.start(12).unwrap();
        let whole = fs::read(&path).unwrap();
        assert!(State::open(Some(&path), 8).is_err());
        for len in 0..=whole.len() {
            fs::write(&path, &whole[..len]).unwrap();
            let state = State::open(Some(&path), 7).unwrap();
            let lines = whole[..len].iter().filter(|&&b| b == b'\n').count();
            let expected = match lines {
                0 | 1 => [Past::New, Past::New, Past::New],
                2 => [Past::Started, Past::New, Past::New],
                3 => [Past::Started, Past::Started, Past::New],
                4 => [Past::Done, Past::Started, Past::New],
                _ => [Past::Done, Past::Started, Past::Started],
            };
            assert_eq!([0, 1, 12].map(|batch| state.past(batch)), expected, "{len} bytes");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
