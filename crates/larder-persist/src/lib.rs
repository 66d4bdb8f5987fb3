//! Files: snapshots in the RDB format, and the append-only file, of whatever process has the engine.
//!
//! A thread of its own writes them, one job after the other; another one follows the log of effects, see [`aof`]. Snapshots for replicas
//! are written by a thread of the server, in turn with these. What they are doing is told to the engine, which shows it to clients and
//! refuses what cannot be done meanwhile. What depends on the process is asked of a [`Process`]. No lock of the keyspace is held while a
//! file is touched.
//!
//! Tested by `larder-server/tests/persistence` and `larder-embed/tests/directory`.

#![deny(unsafe_code)]

pub mod aof;
mod close;
mod dir_lock;
mod error;
mod files;
mod pace;
mod process;
mod save;
pub mod snapshot;
mod start;
mod state;
#[allow(unsafe_code, reason = "calls that rustix does not offer")]
mod sync_range;
mod synced_file;
pub mod temporary;
mod turn;

pub use dir_lock::DirLock;
pub use error::{
    CloseError, CommandError, LoadError, ManifestError, ManifestFormatError, ManifestLineError, PartError,
    WriteError,
};
pub use files::sync_dir;
pub use pace::Pace;
pub use process::Process;
pub use start::{Placing, Received};
pub use state::{Options, Persist, Purpose};
pub use sync_range::begin_sync;
pub use synced_file::SyncedFile;
