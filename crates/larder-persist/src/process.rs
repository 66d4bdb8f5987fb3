//! What saving and loading ask of the process around them. The log is the engine's.

use crate::temporary::Temporaries;
use parking_lot::MutexGuard;

/// The process around the files.
pub trait Process: Send + Sync {
    /// More of the append-only file is on the disk, or it is not kept any more: wakes those that hold replies back.
    fn wake_holders(&self);

    /// Keeps the process from ending until the guard is dropped; `None` if it ends.
    fn keep_alive(&self) -> Option<MutexGuard<'_, ()>>;

    /// Does some work, once, on the processors that an option names.
    fn bound(&self, _option: &str, work: &mut dyn FnMut()) {
        work();
    }

    /// What `appendfsync always` has promised cannot be kept. A server ends, and does not return from this; where it returns, the log is
    /// not written any more, and writes are refused for good.
    fn log_is_lost(&self, temporaries: &Temporaries);

    /// Whether replicas may follow: then the history of the data goes on from where the files say that it is.
    fn may_have_replicas(&self) -> bool;
}
