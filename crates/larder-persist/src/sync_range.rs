//! Syncing parts of files, which rustix does not offer.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// Has the kernel begin to write a part of a file to the disk; nothing is waited for.
pub fn begin_sync(file: &File, part: Range<u64>) -> io::Result<()> {
    sync_range(file, part, libc::SYNC_FILE_RANGE_WRITE)
}

/// Waits until a part of a file has been written to the disk. That it can be found there takes a true sync of the file.
pub fn finish_sync(file: &File, part: Range<u64>) -> io::Result<()> {
    let wait = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    sync_range(file, part, wait | libc::SYNC_FILE_RANGE_WRITE)
}

/// An error that this tells, a later sync of the file would not tell again. File systems that cannot do it are no error.
fn sync_range(file: &File, part: Range<u64>, flags: libc::c_uint) -> io::Result<()> {
    let len = part.end.saturating_sub(part.start);
    // SAFETY: takes no pointers, and the descriptor is open as long as `file` is borrowed.
    let done = unsafe {
        libc::sync_file_range(file.as_raw_fd(), part.start as libc::off64_t, len as libc::off64_t, flags)
    };
    let error = io::Error::last_os_error();
    let is_told =
        matches!(error.raw_os_error(), Some(libc::EIO | libc::ENOSPC | libc::EDQUOT | libc::ENOMEM));
    if done != 0 && is_told { Err(error) } else { Ok(()) }
}
