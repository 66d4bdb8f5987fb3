//! The server, as saving and loading see it, and the directory that it has its files in.

use crate::cpus;
use crate::process;
use crate::shared::Shared;
use larder_persist::temporary::Temporaries;
use larder_persist::{DirLock, Process};
use parking_lot::MutexGuard;
use std::io;
use std::path::Path;

impl Process for Shared {
    fn wake_holders(&self) {
        Shared::wake_holders(self);
    }

    fn keep_alive(&self) -> Option<MutexGuard<'_, ()>> {
        let turn = self.shutdown_turn.lock();
        (!self.is_stopping()).then_some(turn)
    }

    fn bound(&self, option: &str, work: &mut dyn FnMut()) {
        cpus::bound(&self.config, option, &self.log, work);
    }

    /// More has been promised than can be kept: the server ends.
    fn log_is_lost(&self, temporaries: &Temporaries) {
        temporaries.abandon();
        process::clean_up(self);
        std::process::exit(1);
    }

    fn may_have_replicas(&self) -> bool {
        true
    }
}

/// Has a directory entered, by `enter`, where the server's files are from then on.
///
/// # Errors
/// What `enter` says, or that a store inside of a program has the directory: that one believes that nobody else changes what is there.
pub fn use_dir<E: From<io::Error>>(
    shared: &Shared,
    dir: &Path,
    enter: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let lock =
        DirLock::shared(dir).map_err(|_| io::Error::other("an embedded store has the directory open"))?;
    enter()?;
    *shared.dir_lock.lock() = lock;
    Ok(())
}
