//! Who has a directory open: many servers at once, or one store inside of a program.
//!
//! The lock is the kernel's, on the directory itself (`flock`): there is no file of it, and it goes with the process, however that ends. A
//! server shares it with other servers, which may have files of different names in one directory, as they always could. A store has it
//! alone. Servers of other kinds know nothing of it.

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::path::Path;

/// A directory that is in use, until this is dropped.
#[derive(Debug)]
pub struct DirLock(File);

impl DirLock {
    /// For a store, which wants it alone.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`]: somebody else has it open. Others: it cannot be opened, or its file system has no locks.
    pub fn alone(dir: &Path) -> io::Result<DirLock> {
        DirLock::lock(dir, FlockOperation::NonBlockingLockExclusive)
    }

    /// For a server, which shares it with other servers. `None` where locks are not to be had: a server does without.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`]: a store has it open.
    pub fn shared(dir: &Path) -> io::Result<Option<DirLock>> {
        match DirLock::lock(dir, FlockOperation::NonBlockingLockShared) {
            Ok(lock) => Ok(Some(lock)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
            Err(_) => Ok(None),
        }
    }

    fn lock(dir: &Path, operation: FlockOperation) -> io::Result<DirLock> {
        let file = File::open(dir)?;
        flock(&file, operation)?;
        Ok(DirLock(file))
    }
}

impl Drop for DirLock {
    /// Not left to closing the file: a process that was forked meanwhile has it open as well.
    fn drop(&mut self) {
        // It ends with the process at the latest.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_alone_and_servers_are_not() {
        let dir = std::env::temp_dir().join(format!("larder-dir-lock-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let refused = |error: io::Error| error.kind() == io::ErrorKind::WouldBlock;
        let store = DirLock::alone(&dir).unwrap();
        assert!(DirLock::alone(&dir).is_err_and(refused));
        assert!(DirLock::shared(&dir).is_err_and(refused));
        drop(store);
        let servers = [DirLock::shared(&dir).unwrap(), DirLock::shared(&dir).unwrap()];
        assert!(servers.iter().all(Option::is_some));
        assert!(DirLock::alone(&dir).is_err_and(refused));
        drop(servers);
        assert!(DirLock::alone(&dir).is_ok());
        std::fs::remove_dir(&dir).unwrap();
        assert!(DirLock::alone(&dir).is_err_and(|error| error.kind() == io::ErrorKind::NotFound));
        assert!(DirLock::shared(&dir).is_ok_and(|lock| lock.is_none()));
    }
}
