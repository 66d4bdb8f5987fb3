//! Putting files in their places and taking them away, for good, and without holding up anybody.
//!
//! A file that goes away takes its pages out of the kernel's cache with it, in one call: 36 to 58 ms for 170 MB, during which
//! many kernels let nobody else onto the processor. So the pages go first, a few at a time. That changes nothing for
//! others who have the file open, or have another name for it.

use crate::pace::Pace;
use rustix::fs::Advice;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroU64;
use std::path::Path;

/// Bytes whose pages are given up at a time, some 50 us of work.
const STEP_BYTES: u64 = 256 << 10;

/// Puts a finished file in the place of another, for good: the directory is on the disk as well.
pub fn put_in_place(from: &Path, to: &Path, pace: &mut Pace<'_>) -> io::Result<()> {
    // As long as it is open it is not gone.
    let old = File::open(to).ok();
    fs::rename(from, to)?;
    sync_dir(to)?;
    if let Some(old) = old {
        forget_pages(&old, pace);
    }
    Ok(())
}

/// Prepares a file to be taken away, if it is there.
pub fn forget_pages_of(path: &Path, pace: &mut Pace<'_>) {
    if let Ok(file) = File::open(path) {
        forget_pages(&file, pace);
    }
}

/// Has the kernel drop the pages of a file that are on the disk. Nobody is going to read them soon.
pub fn forget_pages(file: &File, pace: &mut Pace<'_>) {
    if pace.hurries() {
        return;
    }
    let len = file.metadata().map_or(0, |metadata| metadata.len());
    for start in (0..len).step_by(STEP_BYTES as usize) {
        let step = NonZeroU64::new(len.min(start + STEP_BYTES) - start);
        // They are dropped later if this fails.
        let _ = rustix::fs::fadvise(file, start, step, Advice::DontNeed);
        pace.look();
    }
}

/// Has the directory of a path on the disk.
pub fn sync_dir(path: &Path) -> io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(dir)?.sync_all()
}
