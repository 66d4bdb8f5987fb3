//! The state file: which batches are loaded, so that a load that broke off goes on where it was.
//!
//! ```text
//!  larder-load 3 <fingerprint>     of the input (name, size, time of change), the mapping, the target, and
//!                                  what decides about batches
//!  start 0                         the batch was about to be sent
//!  reject 5<tab>reason<tab>key     it has a key that was not loaded, as in the file of rejects
//!  done 0                          all its keys were answered
//! ```
//!
//! The rejects of a batch stand just before its `done`, and are written with it at once: only what is before a `done` counts, and the rest of
//! a write that was cut is removed. So each reject of the batches that are done is here once, whenever the load was killed.
//!
//! Batches are the same in every run, as keys come in the order of the file. Of a batch that was started and not done nobody
//! knows which keys have arrived: it is sent again, and the worker compares what is there already.

use crate::error::{Error, Result};
use crate::reject::Reject;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

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
    /// The path and the file.
    file: Option<(PathBuf, File)>,
    started: HashSet<u64>,
    done: HashSet<u64>,
    /// Of the batches that are done.
    rejects: Vec<Reject>,
}

impl State {
    /// Opens a file, or makes it.
    ///
    /// # Errors
    /// It is the state of another load, or no state. It stays as it is.
    pub fn open(path: Option<&Path>, fingerprint: u64) -> Result<State> {
        let Some(path) = path else { return Ok(State::default()) };
        let failed = |error: std::io::Error| Error::file(path.display(), &error);
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed(error)),
        };
        let header = format!("larder-load 3 {fingerprint:016x}\n");
        let mut state = State::default();
        // The end of a line says that it was written whole.
        let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let odd = |what: &str| Error::File(format!("{}: {what}", path.display()));
        let text =
            std::str::from_utf8(&bytes[..end]).map_err(|_| odd("not a state file: it is not UTF-8"))?;
        let mut kept = 0;
        if !text.is_empty() {
            let Some(rest) = text.strip_prefix(&header) else {
                let what = "not the state file of this load, or its input, mapping or options have changed";
                return Err(Error::Usage(format!("{}: {what}: name another file", path.display())));
            };
            let not_a_line = |line: &str| odd(&format!("'{line}' is not a line of a state file"));
            kept = header.len() + state.take_in(rest).map_err(not_a_line)?;
        } else if !header.as_bytes().starts_with(&bytes) {
            // Only the beginning of a header was left by a load that was killed. Anything else is somebody's file.
            return Err(odd("not a state file"));
        }
        let mut file = File::options().create(true).truncate(false).write(true).open(path).map_err(failed)?;
        file.set_len(kept as u64).map_err(failed)?;
        std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).map_err(failed)?;
        if kept == 0 {
            file.write_all(header.as_bytes()).map_err(failed)?;
        }
        state.file = Some((path.to_owned(), file));
        Ok(state)
    }

    /// Takes in the lines after the first; returns how many bytes of them count. The error is a line that is none.
    fn take_in<'a>(&mut self, text: &'a str) -> std::result::Result<usize, &'a str> {
        let (mut at, mut kept, mut rejects) = (0, 0, Vec::new());
        for line in text.split_terminator('\n') {
            at += line.len() + 1;
            let (word, rest) = line.split_once(' ').ok_or(line)?;
            let number = || rest.parse().map_err(|_| line);
            match word {
                "start" => {
                    self.started.insert(number()?);
                }
                "reject" => {
                    rejects.push(Reject::parse(rest).ok_or(line)?);
                    continue;
                }
                "done" => {
                    self.done.insert(number()?);
                    self.rejects.append(&mut rejects);
                }
                _ => return Err(line),
            }
            kept = at;
        }
        Ok(kept)
    }

    /// Takes out the rejects of the batches that are done.
    pub fn take_rejects(&mut self) -> Vec<Reject> {
        std::mem::take(&mut self.rejects)
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
        self.note(&format!("start {batch}\n"))
    }

    /// Notes that a batch is loaded, but for these.
    pub fn done(&mut self, batch: u64, rejects: &[Reject]) -> Result<()> {
        let mut lines: String = rejects.iter().map(|reject| format!("reject {reject}\n")).collect();
        lines += &format!("done {batch}\n");
        self.note(&lines)
    }

    fn note(&mut self, lines: &str) -> Result<()> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        file.write_all(lines.as_bytes()).map_err(|error| Error::file(path.display(), &error))
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
        let rejects = [Reject::new(5, "caf\u{e9}", b"key"), Reject::new(6, "", b"")];
        state.done(0, &rejects).unwrap();
        state.start(12).unwrap();
        let whole = fs::read(&path).unwrap();
        assert!(State::open(Some(&path), 8).is_err());
        for len in 0..=whole.len() {
            fs::write(&path, &whole[..len]).unwrap();
            let mut state = State::open(Some(&path), 7).unwrap();
            let lines = whole[..len].iter().filter(|&&b| b == b'\n').count();
            let expected = match lines {
                0 | 1 => [Past::New, Past::New, Past::New],
                2 => [Past::Started, Past::New, Past::New],
                3..=5 => [Past::Started, Past::Started, Past::New],
                6 => [Past::Done, Past::Started, Past::New],
                _ => [Past::Done, Past::Started, Past::Started],
            };
            assert_eq!([0, 1, 12].map(|batch| state.past(batch)), expected, "{len} bytes");
            assert_eq!(state.take_rejects(), rejects[..if lines < 6 { 0 } else { 2 }], "{len} bytes");
            // What a write that was cut has left is not taken for what comes then.
            state.start(0).unwrap();
            state.done(0, &rejects[1..]).unwrap();
            let of_both = if lines < 6 { &rejects[1..] } else { &[&rejects[..], &rejects[1..]].concat() };
            assert_eq!(State::open(Some(&path), 7).unwrap().take_rejects(), of_both, "{len} bytes");
        }
        for odd in ["odd 1", "start x", "done", "reject 1", "reject 1\t2", "reject x\ty\tz", ""] {
            fs::write(&path, format!("larder-load 3 {:016x}\n{odd}\n", 7)).unwrap();
            let error = State::open(Some(&path), 7).err().unwrap().to_string();
            assert!(error.ends_with(&format!("'{odd}' is not a line of a state file")), "{error}");
        }
        // A file without a line is not taken for a state that was cut.
        for other in [&b"precious"[..], b"larder-load 1", b"larder-load 3 0000000000000008", b"\0"] {
            fs::write(&path, other).unwrap();
            assert!(State::open(Some(&path), 7).is_err());
            assert_eq!(fs::read(&path).unwrap(), other);
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
