//! The files of a store that has a directory: what is loaded, what is kept of each call, and what becomes of them at the end.
//!
//! They are written and read by `larder-persist`, as those of the server are. A call that has changed something gives the kernel its part of
//! the log before it returns, so that the end of the process loses nothing; with `appendfsync always` it waits until that is on the disk,
//! and calls that wait at the same time share a sync.
//!
//! Tested by `larder-embed/tests/directory`.

use crate::error::{Error, Result};
use crate::host::EmbeddedHost;
use larder_engine::config::AppendFsync;
use larder_engine::{Engine, NoShards};
use larder_persist::temporary::Temporaries;
use larder_persist::{DirLock, LoadError, Persist, Process};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Those who wait for the disk look up this often: the options may have changed meanwhile.
const LOOK: Duration = Duration::from_millis(50);
/// How often it is looked whether a log that was just switched on has its base.
const LOOK_FOR_BASE: Duration = Duration::from_millis(2);

/// The files of a store. When this is dropped they are let go as they are; see [`Files::close`].
pub struct Files {
    persist: Arc<Persist>,
    waiting: Arc<Waiting>,
    saves_at_end: bool,
    lock: Mutex<Option<DirLock>>,
}

/// The files that a store writes without a command that asks for it.
#[derive(Clone, Copy)]
pub struct Keeps {
    /// The data, in the RDB file, when the store is closed.
    pub saves_at_end: bool,
    /// Every write, because there is a directory and no option says otherwise.
    pub implies_log: bool,
}

/// Threads that wait for the disk.
#[derive(Default)]
struct Waiting {
    count: AtomicUsize,
    /// The store has ended: nothing comes to the disk any more.
    is_over: AtomicBool,
    held: Mutex<()>,
    freed: Condvar,
    /// The store does not end while this is held.
    turn: Mutex<()>,
}

impl Files {
    /// Loads what the directory has, and begins to keep what changes. Nobody has used the engine yet; after an error nobody must.
    ///
    /// # Errors
    /// [`Error::Directory`], [`Error::InUse`], [`Error::Load`], [`Error::Write`], or the system starts no thread.
    pub fn open(
        engine: &Arc<Engine>,
        host: &EmbeddedHost,
        directory: &Path,
        Keeps { saves_at_end, implies_log }: Keeps,
    ) -> Result<Files> {
        // The program may change its working directory.
        let absolute = std::path::absolute(directory);
        let dir = absolute.map_err(|error| Error::Directory { path: directory.to_owned(), error })?;
        let lock = lock(&dir)?;
        let waiting = Arc::new(Waiting::default());
        let process = Arc::clone(&waiting) as Arc<dyn Process>;
        let persist = Persist::start(process, Arc::clone(engine), dir.clone()).map_err(Error::Thread)?;
        host.set_files(&persist);
        // Any text is a directory's name.
        let _ = engine.config().store_own("dir", &dir.to_string_lossy());
        let files = Files { persist, waiting, saves_at_end, lock: Mutex::new(Some(lock)) };
        if implies_log && files.has_only_rdb(&dir) {
            files.load_and_begin_log(dir)?;
        } else {
            files.load(dir)?;
        }
        Ok(files)
    }

    /// Whether there is an RDB file and no append-only file.
    fn has_only_rdb(&self, dir: &Path) -> bool {
        let config = self.persist.engine().config();
        let name = config.value("appendfilename");
        let manifest = dir.join(config.value("appenddirname")).join(format!("{name}.manifest"));
        let has_log = manifest.exists() || dir.join(name).exists();
        !has_log && dir.join(config.value("dbfilename")).exists()
    }

    /// Loads the RDB file, and begins an append-only file with what it has.
    fn load_and_begin_log(&self, dir: PathBuf) -> Result<()> {
        let config = self.persist.engine().config();
        let set = |value| drop(config.store_own("appendonly", value));
        set("no");
        self.load(dir)?;
        set("yes");
        self.persist.keep_log(true).map_err(|error| Error::Write(error.to_string()))?;
        self.wait_for_base();
        let log = self.persist.engine().persistence().log.lock();
        if log.waits_for_base { Err(Error::Write(log.write_error.clone())) } else { Ok(()) }
    }

    fn load(&self, dir: PathBuf) -> Result<()> {
        let (persist, engine) = (&self.persist, self.persist.engine());
        persist.sweep_temporaries();
        let keeps_log = engine.config().is_yes("appendonly");
        if !persist.is_to_load(keeps_log) {
            persist.start_empty();
            return Ok(());
        }
        engine.gate().begin_loading(false);
        persist.load(keeps_log).map_err(|error| not_loaded(&error, dir))?;
        if keeps_log {
            persist.append_file().open(persist).map_err(|error| Error::Write(error.to_string()))?;
        }
        persist.end_load().map_err(|error| Error::Write(error.to_string()))
    }

    /// What is written and read.
    pub fn persist(&self) -> &Arc<Persist> {
        &self.persist
    }

    /// A call has changed something: keeps the log up to `end`, as `appendfsync` says. No shard is held.
    ///
    /// # Errors
    /// [`Error::NotKept`]; or [`Error::Closed`], if the store was closed meanwhile.
    pub fn keep(&self, end: u64) -> Result<()> {
        let log = self.persist.engine().append_log();
        while self.syncs_each() {
            if log.synced() >= end {
                return Ok(());
            }
            if self.is_over() {
                return Err(Error::Closed);
            }
            if self.persist.is_log_lost() {
                return Err(Error::NotKept(self.write_error()));
            }
            log.wake_writer();
            self.waiting.wait(|| {
                log.synced() >= end || self.is_over() || self.persist.is_log_lost() || !self.syncs_each()
            });
        }
        // What comes after all was written goes nowhere: a key that a reader has found expired, or what a script has done.
        let is_too_late = || self.is_over() && log.synced() < end;
        if is_too_late() {
            return Err(Error::Closed);
        }
        self.persist.write_log_to(end);
        log.wait_for_room();
        if is_too_late() { Err(Error::Closed) } else { Ok(()) }
    }

    fn is_over(&self) -> bool {
        self.waiting.is_over.load(Ordering::SeqCst)
    }

    fn syncs_each(&self) -> bool {
        self.persist.engine().config().hot.appendfsync.get() == AppendFsync::Always
    }

    fn write_error(&self) -> String {
        self.persist.engine().persistence().log.lock().write_error.clone()
    }

    /// Waits until everything that was written is on the disk. Without a log there is nothing to wait for.
    ///
    /// # Errors
    /// [`Error::Write`]: the append-only file cannot be written at the moment.
    pub fn sync(&self) -> Result<()> {
        let engine = self.persist.engine();
        if self.persist.is_log_lost() {
            return Err(Error::Write(self.write_error()));
        }
        let end = engine.append_log().end();
        self.persist.append_file().wait_until_written(engine);
        let is_on_disk = !engine.append_log().is_on() || engine.append_log().synced() >= end;
        if is_on_disk { Ok(()) } else { Err(Error::Write(self.write_error())) }
    }

    /// Keeps what is to be kept before the store ends; writes are put off from now on. After an error they are taken again, unless `at_any_cost`.
    ///
    /// # Errors
    /// [`Error::Write`]. With `at_any_cost` as well, when all has been done that can be.
    pub fn close(&self, at_any_cost: bool) -> Result<()> {
        let _turn = self.waiting.turn.lock();
        self.wait_for_base();
        // Those whose writes a lost log does not have were told.
        if !at_any_cost && !self.persist.is_log_lost() {
            self.sync()?;
        }
        let config = self.persist.engine().config();
        let saves = self.saves_at_end || !config.value("save").is_empty();
        self.persist.close(saves, at_any_cost, NoShards::outside_commands()).map_err(|error| match error {
            larder_persist::CloseError::Unsaved(error) => Error::Write(error.to_string()),
            error @ larder_persist::CloseError::InitialLog => Error::Write(error.to_string()),
        })
    }

    /// A log that was just switched on keeps nothing before it has a base.
    fn wait_for_base(&self) {
        let waits = || {
            let log = self.persist.engine().persistence().log.lock();
            log.waits_for_base && !log.rewrite_failed
        };
        while waits() {
            std::thread::sleep(LOOK_FOR_BASE);
        }
    }

    /// Ends the threads, and lets others have the directory.
    pub fn end(&self) {
        self.waiting.is_over.store(true, Ordering::SeqCst);
        self.waiting.wake_holders();
        self.persist.end();
        drop(self.lock.lock().take());
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.end();
    }
}

impl Waiting {
    fn wait(&self, mut is_over: impl FnMut() -> bool) {
        // Who has news looks at the number afterwards; who waits looks for news afterwards.
        self.count.fetch_add(1, Ordering::SeqCst);
        let mut held = self.held.lock();
        while !is_over() {
            self.freed.wait_for(&mut held, LOOK);
        }
        drop(held);
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Process for Waiting {
    fn wake_holders(&self) {
        if self.count.load(Ordering::SeqCst) > 0 {
            let _held = self.held.lock();
            self.freed.notify_all();
        }
    }

    fn keep_alive(&self) -> Option<MutexGuard<'_, ()>> {
        Some(self.turn.lock())
    }

    /// The program is not ended for it.
    fn log_is_lost(&self, _temporaries: &Temporaries) {}

    fn may_have_replicas(&self) -> bool {
        false
    }
}

/// Makes a directory, and sees to it that nobody else has it open.
fn lock(dir: &Path) -> Result<DirLock> {
    fs::create_dir_all(dir).and_then(|()| DirLock::alone(dir)).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => Error::InUse(dir.to_owned()),
        _ => Error::Directory { path: dir.to_owned(), error },
    })
}

fn not_loaded(error: &LoadError, dir: PathBuf) -> Error {
    let (file, at) = error.place();
    Error::Load { file: file.map_or(dir, PathBuf::from), at, reason: error.reason() }
}
