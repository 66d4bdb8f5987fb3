//! Files that are written under another name until they are whole. None of them outlives the server: the
//! thread that ends the process takes away those that there are, and a server that starts takes away those of
//! one that was killed.
//!
//! The names have the number of the process. In containers these numbers are the same, and servers may share a directory: so a file is
//! locked (`flock`) as long as it is under way, and a file that another server has locked is left alone.
//!
//! Tested by `tests/persistence/states.rs`.

use larder_engine::assert_no_shard_is_held;
use parking_lot::Mutex;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The files of this process that are not whole.
#[derive(Debug, Default)]
pub struct Temporaries(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    paths: Vec<(PathBuf, File)>,
    /// The process ends.
    closed: bool,
}

impl Temporaries {
    /// Has a file written, and put in its place: when that fails it goes.
    pub fn write<R, E: From<io::Error>>(
        &self,
        path: &Path,
        write: impl FnOnce(&Path) -> Result<R, E>,
    ) -> Result<R, E> {
        self.add(path)?;
        let outcome = write(path);
        if outcome.is_err() {
            let _ = fs::remove_file(path);
        }
        self.keep(path);
        outcome
    }

    /// Makes an empty file and notes it. Who fills it opens it by [`open`]: one that was taken away stays away.
    ///
    /// # Errors
    /// It cannot be made, another server is writing it, or the process ends.
    pub fn add(&self, path: &Path) -> io::Result<()> {
        assert_no_shard_is_held("writes a file");
        let mut state = self.0.lock();
        if state.closed {
            return Err(io::Error::other("the server is shutting down"));
        }
        // A lock of this process is in its own way.
        state.paths.retain(|(other, _)| other != path);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        if is_locked(&file) {
            let text = format!("another server is writing {}", path.display());
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
        }
        file.set_len(0)?;
        state.paths.push((path.to_owned(), file));
        Ok(())
    }

    /// A file is whole, or gone.
    pub fn keep(&self, path: &Path) {
        self.0.lock().paths.retain(|(other, _)| other != path);
    }

    /// Takes all of them away. No other is begun from now on.
    pub fn abandon(&self) {
        let mut state = self.0.lock();
        state.closed = true;
        for (path, _) in state.paths.drain(..) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Opens a file that [`Temporaries::add`] has made, empty.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).truncate(true).open(path)
}

/// Takes away what processes that are no more have left in a directory.
pub fn sweep(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_left = entry.file_name().to_str().and_then(process_of).is_some_and(is_gone);
        if is_left && File::open(entry.path()).is_ok_and(|file| !is_locked(&file)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether another server has a file locked; it is locked by this one if not. Where there are no locks it is not.
fn is_locked(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive)
        .is_err_and(|error| error == rustix::io::Errno::WOULDBLOCK)
}

/// The process whose temporary file has this name.
fn process_of(name: &str) -> Option<u32> {
    let number = |prefix: &str, suffix: &str| name.strip_prefix(prefix)?.strip_suffix(suffix)?.parse().ok();
    let of_log = || {
        ["temp-rewriteaof-bg-", "temp-cut-", "temp-incr-", "temp-probe-"]
            .iter()
            .find_map(|prefix| number(prefix, ".aof"))
    };
    let received = || {
        let (second, process) = name.strip_prefix("temp-")?.strip_suffix(".rdb")?.split_once('.')?;
        second.parse::<u64>().ok().and(process.parse().ok())
    };
    number("temp-", ".rdb").or_else(|| number("temp-repl-", ".rdb")).or_else(of_log).or_else(received)
}

/// Whether no other process has this number. (This one has not begun to write.)
fn is_gone(process: u32) -> bool {
    process == std::process::id()
        || Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{process}")).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_another_server_writes_are_left_alone() {
        let dir = std::env::temp_dir().join(format!("larder-temporaries-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join(format!("temp-{}.rdb", std::process::id()));
        let (one, other) = (Temporaries::default(), Temporaries::default());
        one.add(&path).unwrap();
        fs::write(&path, "half").unwrap();
        assert!(other.add(&path).is_err());
        sweep(&dir);
        assert_eq!(fs::read_to_string(&path).unwrap(), "half");
        one.keep(&path);
        // What a process that was killed has left is in nobody's way.
        other.add(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
        other.keep(&path);
        sweep(&dir);
        assert!(!path.exists());
        fs::remove_dir(&dir).unwrap();
    }

    #[test]
    fn names_of_temporary_files_are_recognised() {
        assert_eq!(process_of("temp-12.rdb"), Some(12));
        assert_eq!(process_of("temp-rewriteaof-bg-7.aof"), Some(7));
        assert_eq!(process_of("temp-incr-7.aof"), Some(7));
        assert_eq!(process_of("temp-repl-7.rdb"), Some(7));
        assert_eq!(process_of("temp-1795612345.7.rdb"), Some(7));
        for other in [
            "temp-x.rdb",
            "temp-x.7.rdb",
            "temp-1.rdb.7",
            "dump.rdb",
            "temp-.rdb",
            "temp-appendonly.aof.manifest",
        ] {
            assert_eq!(process_of(other), None, "{other}");
        }
    }
}
