//! Cutting off the torn end of a file, which is kept in a file next to it.
//!
//! ```text
//!   appendonly.aof.1.incr.aof             the file, cut at byte 8123
//!   appendonly.aof.1.incr.aof.cut-8123    what was there
//! ```
//!
//! What is cut off is on the disk in its new place before the file is shortened: a crash in between leaves both, and the next start cuts
//! again. No file is replaced: if one of that name has other content, the next free of `.cut-8123.2`, `.cut-8123.3`... is taken.
//! Nobody reads these files; they are there for people.

use super::commands::Torn;
use crate::error::PartError;
use crate::files::put_in_place;
use crate::pace::Pace;
use crate::state::Persist;
use crate::temporary;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes that are compared or copied at once.
const PIECE_BYTES: usize = 64 << 10;

/// Shortens a file of `size` bytes to what is whole.
///
/// # Errors
/// The end cannot be kept, or not be cut off; or the file has grown since: somebody else writes it. It is as it was.
pub(super) fn cut_off(persist: &Persist, path: &Path, size: u64, torn: Torn) -> Result<(), PartError> {
    let (name, good) = (path.display(), torn.good_bytes);
    persist.warning(&format!("!!! Warning: short read while loading the AOF file {name}!!!"));
    if torn.is_transaction {
        persist.warning(&format!("Revert incomplete MULTI/EXEC transaction from AOF file {name}"));
    }
    let cut = open_unchanged(path, size).and_then(|file| {
        let kept = keep(persist, &file, path, good).map_err(|error| {
            let text = format!(
                "cannot keep a copy of the bytes from offset {good} on before cutting them off: {error}"
            );
            io::Error::new(error.kind(), text)
        })?;
        file.set_len(good)?;
        file.sync_all()?;
        Ok(kept)
    });
    let kept = cut.map_err(|error| PartError::Truncate(name.to_string(), error))?;
    persist.warning(&format!(
        "AOF {name} loaded anyway because aof-load-truncated is enabled: truncating it from {size} to {good} bytes; \
         the bytes that were cut off are in {}",
        kept.display()
    ));
    Ok(())
}

fn open_unchanged(path: &Path, size: u64) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let is_unchanged = file.metadata()?.len() == size;
    if is_unchanged { Ok(file) } else { Err(io::Error::other("another process is writing to it")) }
}

/// Copies the end of a file, from `good` on, to a file next to it; returns the path of that.
fn keep(persist: &Persist, file: &File, path: &Path, good: u64) -> io::Result<PathBuf> {
    for number in 1_u32.. {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".cut-{good}"));
        if number > 1 {
            name.push(format!(".{number}"));
        }
        let copy = PathBuf::from(name);
        let mut rest = file;
        rest.seek(SeekFrom::Start(good))?;
        match File::open(&copy) {
            Ok(mut other) => {
                if is_same(&mut rest, &mut other)? {
                    return Ok(copy);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                write(persist, &mut rest, &copy)?;
                return Ok(copy);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many files with this name exist"))
}

fn write(persist: &Persist, from: &mut dyn Read, to: &Path) -> io::Result<()> {
    let temporary = std::path::absolute(to.with_file_name(format!("temp-cut-{}.aof", std::process::id())))?;
    persist.temporaries().write(&temporary, |temporary| {
        let mut file = temporary::open(temporary)?;
        io::copy(from, &mut file)?;
        file.sync_all()?;
        put_in_place(temporary, to, &mut Pace::hurry())
    })
}

/// Whether two sources have the same bytes.
fn is_same(one: &mut dyn Read, other: &mut dyn Read) -> io::Result<bool> {
    loop {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        (&mut *one).take(PIECE_BYTES as u64).read_to_end(&mut left)?;
        (&mut *other).take(PIECE_BYTES as u64).read_to_end(&mut right)?;
        if left != right || left.is_empty() {
            return Ok(left == right);
        }
    }
}
