//! The manifest: which files an append-only file is made of.
//!
//! One line for each file, in the order in which they are read; `#` begins a comment:
//!
//! ```text
//! file appendonly.aof.3.base.rdb seq 3 type b        the keyspace at some instant: at most one
//! file appendonly.aof.7.incr.aof seq 7 type i        what was done after that
//! file appendonly.aof.2.base.rdb seq 2 type h        history, about to be deleted
//! ```
//!
//! Names with spaces or special characters stand in double quotes, escaped as in a configuration file.

use crate::error::{ManifestError, ManifestFormatError, ManifestLineError};
use crate::files::{put_in_place, sync_dir};
use crate::pace::Pace;
use crate::temporary::{self, Temporaries};
use larder_resp::split_args;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

/// No manifest is longer: it has a handful of lines.
const BYTES_MAX: u64 = 1 << 20;
/// No line is as long, for others who read it.
const LINE_BYTES_MAX: usize = 1024;

/// The highest number of a file that is accepted: what others can read, and far from where counting on would overflow.
const SEQ_MAX: u64 = i64::MAX as u64;

/// A file of the append-only file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name, in the directory of the manifest.
    pub name: String,
    /// Its number among those of its kind.
    pub seq: u64,
}

/// Where the files are, and what they are called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The directory.
    pub dir: PathBuf,
    /// How their names begin.
    pub stem: String,
}

impl Place {
    /// The path of a file in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn manifest(&self) -> PathBuf {
        self.path(&format!("{}.manifest", self.stem))
    }
}

/// The files that an append-only file is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The keyspace at some instant.
    pub base: Option<Part>,
    /// What was done after that, in this order.
    pub increments: Vec<Part>,
    /// What is not needed any more.
    pub history: Vec<Part>,
    last_base: u64,
    last_increment: u64,
}

impl Manifest {
    /// Reads the manifest of a place; None when there is none.
    pub fn read(place: &Place) -> Result<Option<Manifest>, ManifestError> {
        let path = place.manifest();
        let name = || path.display().to_string();
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ManifestError::Open(name(), error)),
            Ok(file) => file,
        };
        let mut text = String::new();
        io::Read::read_to_string(&mut io::Read::take(file, BYTES_MAX), &mut text)
            .map_err(|error| ManifestError::Read(name(), error))?;
        Manifest::parse(&text).map(Some).map_err(|error| ManifestError::Format(name(), error))
    }

    fn parse(text: &str) -> Result<Manifest, ManifestFormatError> {
        if text.is_empty() {
            return Err(ManifestFormatError::Empty);
        }
        let mut manifest = Manifest::default();
        for line in text.split_inclusive('\n') {
            if line.len() >= LINE_BYTES_MAX || !line.ends_with('\n') {
                return Err(ManifestFormatError::LineLength);
            }
            let line = line.trim_end();
            if !line.starts_with('#') {
                manifest.add(line).map_err(|error| ManifestFormatError::Line(line.to_owned(), error))?;
            }
        }
        Ok(manifest)
    }

    fn add(&mut self, line: &str) -> Result<(), ManifestLineError> {
        let words = split_args(line.as_bytes()).ok_or(ManifestLineError::Quotes)?;
        let words: Vec<String> =
            words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let (mut name, mut seq, mut kind) = (None, None, None);
        for pair in words.chunks(2) {
            let [key, value] = pair else { return Err(ManifestLineError::Format) };
            match key.as_str() {
                "file" => name = Some(value.clone()),
                "seq" => seq = value.parse().ok().filter(|seq| (1..=SEQ_MAX).contains(seq)),
                "type" => kind = Some(value.as_str()),
                // Later versions may say more.
                _ => {}
            }
        }
        let (Some(name), Some(seq), Some(kind)) = (name, seq, kind) else {
            return Err(ManifestLineError::Format);
        };
        if name.contains('/') || name.is_empty() {
            return Err(ManifestLineError::Path);
        }
        self.add_part(Part { name, seq }, kind)
    }

    fn add_part(&mut self, part: Part, kind: &str) -> Result<(), ManifestLineError> {
        match kind {
            "b" if self.base.is_some() => return Err(ManifestLineError::DuplicateBase),
            "b" => {
                self.last_base = part.seq;
                self.base = Some(part);
            }
            "i" if part.seq <= self.last_increment => return Err(ManifestLineError::Sequence),
            "i" => {
                self.last_increment = part.seq;
                self.increments.push(part);
            }
            "h" => self.history.push(part),
            _ => return Err(ManifestLineError::Type),
        }
        Ok(())
    }

    /// A name for the next base, and its part.
    pub fn next_base(&self, place: &Place, is_rdb: bool) -> Part {
        let ending = if is_rdb { "rdb" } else { "aof" };
        self.next(self.last_base, |seq| format!("{}.{seq}.base.{ending}", place.stem))
    }

    /// A name for the next increment, and its part.
    pub fn next_increment(&self, place: &Place) -> Part {
        self.next(self.last_increment, |seq| format!("{}.{seq}.incr.aof", place.stem))
    }

    /// A part of the next number after `last`. The name of a file that is about to be deleted is left out: the numbers of these do not
    /// count, and a process that was killed may have left some that are newer than the parts.
    fn next(&self, last: u64, name: impl Fn(u64) -> String) -> Part {
        let is_free = |part: &Part| self.history.iter().all(|old| old.name != part.name);
        let mut parts = (last + 1..).map(|seq| Part { name: name(seq), seq });
        parts.find(is_free).expect("there are more numbers than files")
    }

    /// Takes an increment in at the end.
    pub fn push_increment(&mut self, part: Part) {
        self.last_increment = part.seq;
        self.increments.push(part);
    }

    /// A file made before there were manifests becomes the base.
    pub fn of_single_file(name: &str) -> Manifest {
        let part = Part { name: name.to_owned(), seq: 1 };
        Manifest { last_base: 1, base: Some(part), ..Manifest::default() }
    }

    /// A new base replaces what comes before the increment of number `from`.
    pub fn rebase(&mut self, base: Part, from: u64) {
        self.last_base = base.seq;
        self.history.extend(self.base.replace(base));
        let old = self.increments.extract_if(.., |part| part.seq < from);
        self.history.extend(old);
    }

    /// All files that are read, in their order.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.base.iter().chain(&self.increments)
    }

    /// Writes the manifest, in place of the one that is there, for good.
    pub fn write(&self, place: &Place, temporaries: &Temporaries) -> io::Result<()> {
        fs::create_dir_all(&place.dir)?;
        // The working directory may be another one when the process ends.
        let temporary = std::path::absolute(place.path(&format!("temp-{}.manifest", place.stem)))?;
        temporaries.write(&temporary, |temporary| {
            let mut file = temporary::open(temporary)?;
            file.write_all(self.text().as_bytes())?;
            file.sync_all()?;
            put_in_place(temporary, &place.manifest(), &mut Pace::hurry())
        })?;
        sync_dir(&place.dir)
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |part: &Part, kind: char| {
            text += &format!("file {} seq {} type {kind}\n", quoted(&part.name), part.seq);
        };
        self.base.iter().for_each(|part| line(part, 'b'));
        self.history.iter().for_each(|part| line(part, 'h'));
        self.increments.iter().for_each(|part| line(part, 'i'));
        text
    }
}

fn quoted(name: &str) -> String {
    if name.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\')) {
        return name.to_owned();
    }
    larder_engine::config::quoted(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_come_back() {
        let mut manifest = Manifest::of_single_file("my file.aof");
        let place = Place { dir: PathBuf::from("d"), stem: "my file.aof".into() };
        manifest.push_increment(manifest.next_increment(&place));
        manifest.push_increment(manifest.next_increment(&place));
        let parsed = Manifest::parse(&manifest.text()).unwrap();
        assert_eq!(parsed, manifest);
        manifest.rebase(manifest.next_base(&place, true), 2);
        assert_eq!(manifest.base.as_ref().unwrap().name, "my file.aof.2.base.rdb");
        assert_eq!((manifest.history.len(), manifest.increments.len()), (2, 1));
        assert_eq!(Manifest::parse(&manifest.text()).unwrap().parts().count(), 2);
        let left = Manifest::parse(
            "file b.4.base.rdb seq 4 type b\nfile b.1.incr.aof seq 1 type h\nfile b.5.base.rdb seq 5 type h\n",
        );
        let (left, place) = (left.unwrap(), Place { dir: PathBuf::from("d"), stem: "b".into() });
        assert_eq!(left.next_increment(&place).name, "b.2.incr.aof");
        assert_eq!(left.next_base(&place, true).name, "b.6.base.rdb");
        let odd = Manifest::of_single_file("a\n\t\"\\b\u{e9}");
        assert_eq!(odd.text(), "file \"a\\n\\t\\\"\\\\b\\xc3\\xa9\" seq 1 type b\n");
        assert_eq!(Manifest::parse(&odd.text()).unwrap(), odd);
    }

    #[test]
    fn bad_manifests_are_refused() {
        for bad in [
            "",
            "file a seq 1",
            "file a seq 0 type b",
            "file a seq 9223372036854775808 type i",
            "file a seq x type b",
            "file a/b seq 1 type b",
            "file a seq 1 type z",
            "file a seq 1 type b\nfile b seq 2 type b",
            "file a seq 2 type i\nfile b seq 2 type i",
            "file \"a seq 1 type b",
            "file a seq 1 type",
        ] {
            assert!(Manifest::parse(bad).is_err(), "{bad}");
            assert!(Manifest::parse(&format!("{bad}\n")).is_err(), "{bad}");
        }
        assert!(Manifest::parse("file a seq 1 type b").is_err(), "the end is missing");
        assert!(Manifest::parse("# comment\nfile a seq 1 type b startoffset 5\n").is_ok());
        assert!(Manifest::parse("file a seq 1 type b\r\n").is_ok());
        let long = |bytes: usize| format!("{:x<1$}\n", "file a seq 1 type b more ", bytes - 1);
        assert!(Manifest::parse(&long(LINE_BYTES_MAX - 1)).is_ok());
        assert!(Manifest::parse(&long(LINE_BYTES_MAX)).is_err());
    }
}
