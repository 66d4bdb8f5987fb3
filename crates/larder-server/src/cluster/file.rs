//! `nodes.conf`: read once, and written before anything is said that depends on it.
//!
//! A lock on it keeps a second node from using it as long as this one lives. The lock belongs to the file that has the name: a new text is locked
//! before it takes the name, so that there is no moment at which nobody has it.

use larder_persist::sync_dir;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The file, locked.
pub struct NodesFile {
    path: PathBuf,
    locked: File,
    /// Whether what was written last is on the disk.
    is_synced: bool,
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
        Ok((NodesFile { path, locked, is_synced: true }, text))
    }

    /// Writes the file again, whole or not at all. It survives a crash when this returns.
    pub fn save(&mut self, text: &str) -> io::Result<()> {
        self.put(text, true)
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

    fn put(&mut self, text: &str, must_sync: bool) -> io::Result<()> {
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".tmp-{}", std::process::id()));
        let temporary = PathBuf::from(name);
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
