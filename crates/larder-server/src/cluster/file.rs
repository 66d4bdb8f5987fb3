//! `nodes.conf`: read once, and written before anything is said that depends on it.
//!
//! A new text is a new file, which takes the name. So that it survives a crash of the machine, two syncs are needed: of the file before it
//! takes the name, or the name might be that of an empty file; and of the directory afterwards, or it might be that of the old one. What may
//! be lost needs neither at once. A text that is known in advance can have its own sync in advance: then one is left ([`NodesFile::prepare`]).
//!
//! A lock on it keeps a second node from using it as long as this one lives. The lock belongs to the file that has the name: a new text is locked
//! before it takes the name, so that there is no moment at which nobody has it.

use larder_cluster::promises_as_much;
use larder_persist::{begin_sync, sync_dir};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// What the name of a file that is prepared ends in.
const NEXT: &str = ".next";

/// The file, locked.
pub struct NodesFile {
    path: PathBuf,
    locked: File,
    /// Whether what was written last is on the disk.
    is_synced: bool,
    /// A text that is on the disk and does not have the name yet.
    prepared: Option<(File, String)>,
}

impl NodesFile {
    /// Locks the file, which is made if there is none, and reads it. An error of the kind `WouldBlock`: another node has it.
    pub fn open(path: &str) -> io::Result<(NodesFile, Vec<u8>)> {
        // The directory may be another one later.
        let path = std::path::absolute(path)?;
        let mut locked = File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
        lock(&locked)?;
        let mut text = Vec::new();
        locked.read_to_end(&mut text)?;
        Ok((NodesFile { path, locked, is_synced: true, prepared: None }, text))
    }

    /// Writes the file again, whole or not at all. It survives a crash when this returns. What was prepared and promises as much takes the
    /// place of the text.
    pub fn save(&mut self, text: &str) -> io::Result<()> {
        let prepared = self.prepared.take_if(|(_, prepared)| promises_as_much(prepared, text));
        // Whatever is wrong with that file is not with the next.
        match prepared.map(|(file, _)| self.take_prepared(file)) {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => self.put(text, true),
        }
    }

    /// What is prepared is not needed any more.
    pub fn forget_prepared(&mut self) {
        if self.prepared.take().is_some() {
            // The next text that is prepared overwrites it.
            let _ = fs::remove_file(self.beside(NEXT));
        }
    }

    /// Has a text on the disk that is likely to be saved soon, in a hurry. One text is prepared, the last.
    pub fn prepare(&mut self, text: &str) -> io::Result<()> {
        self.prepared = None;
        let mut file = File::create(self.beside(NEXT))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        self.prepared = Some((file, text.to_owned()));
        Ok(())
    }

    /// The same, but for the crash of the machine before the next [`NodesFile::sync`].
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        self.put(text, false)
    }

    /// Waits until what was written is on the disk, if it is not yet.
    pub fn sync(&mut self) -> io::Result<()> {
        if !self.is_synced {
            self.locked.sync_all()?;
            sync_dir(&self.path)?;
            self.is_synced = true;
        }
        Ok(())
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    }

    fn take_prepared(&mut self, file: File) -> io::Result<()> {
        lock(&file)?;
        fs::rename(self.beside(NEXT), &self.path)?;
        (self.locked, self.is_synced) = (file, false);
        sync_dir(&self.path)?;
        self.is_synced = true;
        Ok(())
    }

    fn put(&mut self, text: &str, must_sync: bool) -> io::Result<()> {
        let temporary = self.beside(&format!(".tmp-{}", std::process::id()));
        let put = self.put_in_place(&temporary, text, must_sync);
        if put.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        put
    }

    fn put_in_place(&mut self, temporary: &Path, text: &str, must_sync: bool) -> io::Result<()> {
        let mut file = File::create(temporary)?;
        file.write_all(text.as_bytes())?;
        if must_sync {
            file.sync_all()?;
        } else {
            // The shorter is the time in which the name is that of an empty file, on file systems that put names before bytes.
            begin_sync(&file, 0..text.len() as u64)?;
        }
        lock(&file)?;
        fs::rename(temporary, &self.path)?;
        (self.locked, self.is_synced) = (file, must_sync);
        if must_sync { sync_dir(&self.path) } else { Ok(()) }
    }
}

fn lock(file: &File) -> io::Result<()> {
    Ok(flock(file, FlockOperation::NonBlockingLockExclusive)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_file_has_one_owner_also_when_it_was_written_again() {
        let folder = larder_testkit::temp_dir();
        let path = folder.join("nodes.conf").to_string_lossy().into_owned();
        let (mut file, text) = NodesFile::open(&path).expect("it is made");
        assert!(text.is_empty());
        let is_taken =
            || NodesFile::open(&path).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        assert!(is_taken());
        for (text, must_sync) in [("one\n", true), ("written\n", false), ("two\n", true)] {
            file.put(text, must_sync).expect("the folder is writable");
            assert!(is_taken());
            assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
        }
        // What is prepared is taken if it says the same.
        let conf = |epoch: u64, ping: u64| {
            format!(
                "{} 127.0.0.1:1@2,,tls-port=0 myself,master - {ping} 0 1 connected 5\nvars currentEpoch {epoch} lastVoteEpoch 0\n",
                "a".repeat(40)
            )
        };
        for (prepared, saved, kept) in [((7, 1), (7, 2), (7, 1)), ((7, 1), (8, 1), (8, 1))] {
            file.prepare(&conf(prepared.0, prepared.1)).expect("the folder is writable");
            file.save(&conf(saved.0, saved.1)).expect("the folder is writable");
            assert!(is_taken());
            assert_eq!(fs::read_to_string(&path).expect("it is there"), conf(kept.0, kept.1));
        }
        file.save(&conf(7, 3)).expect("the folder is writable");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), conf(7, 1), "it was still there");
        file.prepare(&conf(7, 1)).expect("the folder is writable");
        file.forget_prepared();
        file.save(&conf(7, 4)).expect("the folder is writable");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), conf(7, 4));
        file.save("two\n").expect("the folder is writable");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "two\n", "it is taken once");
        drop(file);
        // A process that another test starts meanwhile has all files of this one for a moment.
        let deadline = Instant::now() + Duration::from_secs(20);
        let opened = std::iter::repeat_with(|| NodesFile::open(&path));
        let mut opened = opened.skip_while(|opened| opened.is_err() && Instant::now() < deadline);
        let (mut file, text) = opened.next().expect("it ends").expect("nobody has it");
        assert_eq!(text, b"two\n");
        fs::remove_dir_all(&folder).expect("it is there");
        assert!(file.save("three\n").is_err());
    }
}
