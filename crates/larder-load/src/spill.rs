//! Groups on disk, when they do not fit into memory: a file for each of [`PARTS`] parts of the keys.
//!
//! The files have no names: each loses its own as soon as it is open, so that nobody else can open it, and nothing stays when the program is
//! killed. Until then the name is one that no other program takes, and the file is its owner's alone.
//!
//! Each time the memory is full, all groups are appended to the files of their keys' parts. At the end one part after the other
//! is read and gathered again. Elements of a key keep their order. A part is about a 64th of the input.
//!
//! ```text
//!  key length u32 | database u32 | elements length u64 | place u64 | expiry u64, 0 for none | key | elements    little endian
//! ```

use crate::error::{Error, Result};
use crate::group::{Group, Grouper};
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Number of parts.
const PARTS: usize = 64;
/// The rights on a file: its owner reads and writes.
const MODE: u32 = 0o600;
/// How often another name is tried when one is taken.
const NAMES_MAX: usize = 100;

/// The files.
pub struct Spill {
    files: Vec<File>,
    folder: PathBuf,
}

impl Spill {
    /// Makes files in this folder.
    pub fn new(folder: &Path) -> Result<Self> {
        let files: io::Result<Vec<File>> = (0..PARTS).map(|_| nameless(folder)).collect();
        let files = files.map_err(|error| Error::file(folder.display(), &error))?;
        Ok(Spill { files, folder: folder.to_owned() })
    }

    /// Appends groups.
    pub fn write(&mut self, groups: &[Group]) -> Result<()> {
        let failed = |error: io::Error| Error::file(self.folder.display(), &error);
        let mut files: Vec<BufWriter<&File>> = self.files.iter().map(BufWriter::new).collect();
        for group in groups {
            write_group(&mut files[part_of(group.key())], group).map_err(failed)?;
        }
        files.iter_mut().try_for_each(Write::flush).map_err(failed)
    }

    /// Hands out all groups, a part at a time.
    pub fn read(mut self, replaces: bool, each: &mut dyn FnMut(Vec<Group>) -> Result<()>) -> Result<()> {
        let folder = self.folder.clone();
        let failed = |error: io::Error| Error::file(folder.display(), &error);
        for file in &mut self.files {
            file.rewind().map_err(failed)?;
            let (mut input, mut grouper) = (BufReader::new(&*file), Grouper::new(replaces));
            while let Some(group) = read_group(&mut input).map_err(failed)? {
                grouper.add(group.db, group.key(), group.elements(), group.expire_at_ms, group.place);
            }
            file.set_len(0).map_err(failed)?;
            each(grouper.take())?;
        }
        Ok(())
    }
}

/// A new file in a folder, which has no name there any more.
fn nameless(folder: &Path) -> io::Result<File> {
    let mut taken = io::Error::from(ErrorKind::AlreadyExists);
    for _ in 0..NAMES_MAX {
        // The keys of this hasher are random. A process number would be the same in every container.
        let path = folder.join(format!("larder-load-{:016x}", RandomState::new().hash_one(0)));
        match File::options().read(true).write(true).create_new(true).mode(MODE).open(&path) {
            Ok(file) => return fs::remove_file(&path).map(|()| file),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

/// The part of a key, by FNV-1a.
fn part_of(key: &[u8]) -> usize {
    crate::state::fnv(key) as usize % PARTS
}

fn write_group(to: &mut impl Write, group: &Group) -> io::Result<()> {
    to.write_all(&(group.key().len() as u32).to_le_bytes())?;
    to.write_all(&group.db.to_le_bytes())?;
    to.write_all(&(group.elements().len() as u64).to_le_bytes())?;
    to.write_all(&group.place.to_le_bytes())?;
    to.write_all(&group.expire_at_ms.unwrap_or(0).to_le_bytes())?;
    to.write_all(group.key())?;
    to.write_all(group.elements())
}

fn read_group(from: &mut impl Read) -> io::Result<Option<Group>> {
    let mut key_len = [0; 4];
    match from.read_exact(&mut key_len) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let mut db = [0; 4];
    from.read_exact(&mut db)?;
    let mut word = || {
        let mut bytes = [0; 8];
        from.read_exact(&mut bytes).map(|()| u64::from_le_bytes(bytes))
    };
    let (len, place, expiry) = (word()?, word()?, word()?);
    let (mut key, mut elements) = (vec![0; u32::from_le_bytes(key_len) as usize], vec![0; len as usize]);
    from.read_exact(&mut key)?;
    from.read_exact(&mut elements)?;
    let (db, expire_at_ms) = (u32::from_le_bytes(db), (expiry > 0).then_some(expiry));
    Ok(Some(Group::new(db, &key, &elements, expire_at_ms, place)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn what_is_written_in_pieces_comes_back_whole() {
        let parent = larder_testkit::temp_dir();
        // Another load in a process of the same number, as in another container, that has not ended.
        let _other = Spill::new(&parent).unwrap();
        let mut spill = Spill::new(&parent).unwrap();
        for round in 0..3_u64 {
            let group = |n: u64| {
                let (key, elements) = (format!("key {n}"), vec![round as u8; n as usize]);
                let expire_at_ms = (round == 1).then_some(n + 1);
                Group::new(n as u32 % 3, key.as_bytes(), &elements, expire_at_ms, round * 1000 + n)
            };
            spill.write(&(0..300).map(group).collect::<Vec<_>>()).unwrap();
        }
        // Nobody else can open them, nor would they stay if the program were killed now.
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 0);
        let facts: Vec<_> = spill.files.iter().map(|file| file.metadata().unwrap()).collect();
        assert!(facts.iter().all(|file| file.mode() & 0o7777 == 0o600 && file.nlink() == 0));
        assert!(facts.iter().any(|file| file.len() > 0));
        let mut all = Vec::new();
        spill
            .read(false, &mut |groups| {
                all.extend(groups);
                Ok(())
            })
            .unwrap();
        all.sort_by_key(|group| group.place);
        assert_eq!(all.len(), 300);
        for (n, group) in all.iter().enumerate() {
            assert_eq!(group.elements(), [vec![0; n], vec![1; n], vec![2; n]].concat());
            assert_eq!((group.place, group.expire_at_ms), (n as u64, Some(n as u64 + 1)));
        }
        fs::remove_dir(&parent).unwrap();
    }
}
