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
use std::path::{Path, PathBuf};

/// No manifest is longer: it has a handful of lines.
const BYTES_MAX: u64 = 1 << 20;
/// The longest line, with its end: Valkey reads no more.
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
        let read = io::Read::read_to_string(&mut io::Read::take(file, BYTES_MAX + 1), &mut text);
        let read = read.and_then(|bytes| match bytes as u64 > BYTES_MAX {
            true => Err(io::Error::other(format!("the file has more than {BYTES_MAX} bytes"))),
            false => Ok(()),
        });
        read.map_err(|error| ManifestError::Read(name(), error))?;
        Manifest::parse(&text).map(Some).map_err(|error| ManifestError::Format(name(), error))
    }

    fn parse(text: &str) -> Result<Manifest, ManifestFormatError> {
        if text.is_empty() {
            return Err(ManifestFormatError::Empty);
        }
        let mut manifest = Manifest::default();
        for line in text.split_inclusive('\n') {
            let is_comment = line.starts_with('#');
            let has_no_end = !line.ends_with('\n') || line.contains('\0');
            if line.len() > LINE_BYTES_MAX || !is_comment && has_no_end {
                return Err(ManifestFormatError::LineLength);
            }
            let line = line.trim_end();
            if !is_comment {
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
            match key.to_ascii_lowercase().as_str() {
                "file" => name = Some(value.clone()),
                "seq" => seq = value.parse().ok().filter(|seq| (1..=SEQ_MAX).contains(seq)),
                "type" => kind = value.chars().next(),
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

    fn add_part(&mut self, part: Part, kind: char) -> Result<(), ManifestLineError> {
        match kind {
            'b' if self.base.is_some() => return Err(ManifestLineError::DuplicateBase),
            'b' => {
                self.last_base = part.seq;
                self.base = Some(part);
            }
            'i' if part.seq <= self.last_increment => return Err(ManifestLineError::Sequence),
            'i' => {
                self.last_increment = part.seq;
                self.increments.push(part);
            }
            'h' => self.history.push(part),
            _ => return Err(ManifestLineError::Type),
        }
        Ok(())
    }

    /// A name for the next base, which no file with content has, and its part.
    pub fn next_base(&self, place: &Place, is_rdb: bool) -> Part {
        let ending = if is_rdb { "rdb" } else { "aof" };
        self.next(place, self.last_base, |seq| format!("{}.{seq}.base.{ending}", place.stem))
    }

    /// A name for the next increment, which no file with content has, and its part.
    pub fn next_increment(&self, place: &Place) -> Part {
        self.next(place, self.last_increment, |seq| format!("{}.{seq}.incr.aof", place.stem))
    }

    /// The part with the number after `last`, or with a later one if a file has that name. It is not listed, so nobody knows what it is:
    /// it must not be replaced. It may be history, whose numbers do not count, or be left of a process that was killed.
    fn next(&self, place: &Place, last: u64, name: impl Fn(u64) -> String) -> Part {
        let is_free = |part: &Part| {
            self.history.iter().all(|old| old.name != part.name) && !is_taken(&place.path(&part.name))
        };
        let mut parts = (last + 1..).map(|seq| Part { name: name(seq), seq });
        parts.find(is_free).expect("there are more numbers than files")
    }

    /// The increment that a server of another kind would write to next, if there is such a file.
    pub fn unlisted_increment(&self, place: &Place) -> Option<Part> {
        let seq = self.last_increment + 1;
        let part = Part { name: format!("{}.{seq}.incr.aof", place.stem), seq };
        let is_history = self.history.iter().any(|old| old.name == part.name);
        (!is_history && is_taken(&place.path(&part.name))).then_some(part)
    }

    /// Whether it lists nothing that is read.
    pub fn is_empty(&self) -> bool {
        self.base.is_none() && self.increments.is_empty()
    }

    /// Takes an increment in at the end.
    pub fn push_increment(&mut self, part: Part) {
        self.last_increment = part.seq;
        self.increments.push(part);
    }

    /// A file made before there were manifests becomes the base.
    pub fn adopt(&mut self, name: &str) {
        self.base = Some(Part { name: name.to_owned(), seq: 1 });
        self.last_base = 1;
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

/// Whether something at a path would be lost if it were replaced: anything but an empty file, which a process that was killed may have left.
fn is_taken(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file() || metadata.len() > 0)
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

    fn of_single_file(name: &str) -> Manifest {
        let mut manifest = Manifest::default();
        manifest.adopt(name);
        manifest
    }

    #[test]
    fn manifests_come_back() {
        let mut manifest = of_single_file("my file.aof");
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
        let odd = of_single_file("a\n\t\"\\b\u{e9}");
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
            "file a seq 1 type i\0",
        ] {
            assert!(Manifest::parse(bad).is_err(), "{bad}");
            assert!(Manifest::parse(&format!("{bad}\n")).is_err(), "{bad}");
        }
        assert!(Manifest::parse("file a seq 1 type b").is_err(), "the end is missing");
        assert!(Manifest::parse("# comment\nfile a seq 1 type b startoffset 5\n").is_ok());
        assert!(Manifest::parse("file a seq 1 type b\r\n").is_ok());
        for start in ["file a seq 1 type b more ", "# "] {
            let long = |bytes: usize| format!("{start:x<0$}\n", bytes - 1);
            assert!(Manifest::parse(&long(LINE_BYTES_MAX)).is_ok());
            assert!(Manifest::parse(&long(LINE_BYTES_MAX + 1)).is_err());
        }
        assert!(
            Manifest::parse("FILE a SEQ 1 TYPE base\n# the end")
                .is_ok_and(|manifest| manifest.base.is_some())
        );
        assert!(Manifest::parse("#").is_ok_and(|manifest| manifest.is_empty()));
    }
}
