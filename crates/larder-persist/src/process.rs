//! What saving and loading ask of the process around them. The log is the engine's.

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

    /// What `appendfsync always` has promised cannot be kept, and no temporary file is left. A server does not return from this.
    fn log_is_lost(&self);
}
