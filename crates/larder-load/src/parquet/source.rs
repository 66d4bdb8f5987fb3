//! The file, read at any place, and how much of it is in memory.

use indicatif::ProgressBar;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of pages that may be in memory at once whatever the file's size, and how many more for each of its bytes.
const HELD_FLOOR: u64 = 256 << 20;
const HELD_PER_BYTE: u64 = 64;

/// A file.
pub struct Source {
    file: File,
    len: u64,
    bar: ProgressBar,
    /// Bytes of pages that are in memory.
    held: AtomicU64,
}

impl Source {
    /// Opens a file; what is read of it moves the bar.
    ///
    /// # Errors
    /// There is none, or it is a folder or a pipe, which cannot be read from its end.
    pub fn open(path: &Path, bar: &ProgressBar) -> Result<Source, String> {
        let failed = |error: std::io::Error| error.to_string();
        let facts = std::fs::metadata(path).map_err(failed)?;
        if !facts.is_file() {
            return Err("not a regular file, which Parquet needs because it is read from its end".to_owned());
        }
        let file = File::open(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        Ok(Source { file, len, bar: bar.clone(), held: AtomicU64::new(0) })
    }

    /// Its size in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The bytes from an offset on, which must be in the file.
    pub fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>, String> {
        let end = offset.checked_add(len as u64);
        if end.is_none_or(|end| end > self.len) {
            return Err(format!("offset {offset}: the file ends before these {len} bytes"));
        }
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, offset).map_err(|error| format!("offset {offset}: {error}"))?;
        self.bar.inc(len as u64);
        Ok(bytes)
    }

    /// Notes that bytes of pages are in memory instead of others.
    ///
    /// # Errors
    /// They are more than a file of this size should take.
    pub fn hold(&self, bytes: u64, instead_of: u64) -> Result<(), String> {
        self.held.fetch_add(bytes, Relaxed);
        self.let_go(instead_of);
        let most = HELD_FLOOR + HELD_PER_BYTE.saturating_mul(self.len);
        let held = self.held.load(Relaxed);
        if held > most {
            return Err(format!(
                "the pages of a row take {held} bytes, more than the limit of {most} for a file of this size"
            ));
        }
        Ok(())
    }

    /// Notes that bytes of pages are not in memory any more.
    pub fn let_go(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_stays_in_the_file_and_in_bounds() {
        let folder = larder_testkit::temp_dir();
        let path = folder.join("file");
        std::fs::write(&path, b"0123456789").unwrap();
        let source = Source::open(&path, &ProgressBar::hidden()).unwrap();
        assert_eq!(source.read(3, 4).unwrap(), b"3456");
        assert_eq!((source.read(0, 10).unwrap().len(), source.read(10, 0).unwrap().len()), (10, 0));
        assert!(source.read(9, 2).is_err() && source.read(u64::MAX, 2).is_err());
        assert!(source.read(0, usize::MAX).is_err());
        assert_eq!(source.hold(HELD_FLOOR, 0), Ok(()));
        assert_eq!(source.hold(HELD_FLOOR, HELD_FLOOR), Ok(()));
        assert!(source.hold(HELD_PER_BYTE * 10 + 1, 0).is_err());
        let error = Source::open(&folder, &ProgressBar::hidden()).err().unwrap();
        assert!(error.contains("not a regular file"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
