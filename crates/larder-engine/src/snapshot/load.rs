//! Filling the keyspace from files.

use crate::clients::session::{ClientShared, ConnInfo, ConnKind, Session};
use crate::clock::wall_s;
use crate::config::PropagationErrorBehavior;
use crate::context::Context;
use crate::delivery::mailbox::Mailbox;
use crate::engine::Engine;
use crate::execution::lookup::look_up;
use crate::execution::replay::{note_failure, passed_over, text_of};
use crate::execution::transaction;
use crate::keyspace::access::AccessRules;
use crate::keyspace::deadlines::{NOTHING_IS_DUE, due_at};
use crate::keyspace::encoding_limits::rdb_options;
use crate::keyspace::locks::MayWait;
use crate::persistence::state::LoadProgress;
use crate::snapshot;
use crate::snapshot::dropped::Dropped;
use crate::snapshot::staged::Staged;
use crate::worker::Worker;
use larder_collections::key_table::ExpireChange;
use larder_collections::value::Value;
use larder_rdb::read::{Content, KeyRecord, Options};
use larder_resp::Args;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// What becomes of keys, and of fields of hashes, whose deadline is over when they are loaded.
#[derive(Clone, Copy, Debug)]
pub enum Overdue<'d> {
    /// They are kept: another server, or commands that follow, say when they go.
    Keep,
    /// They are left out.
    Drop {
        /// The time at which deadlines are judged, in milliseconds since 1970.
        now_ms: u64,
        /// Takes the deletions, which others must learn of.
        dropped: &'d Dropped,
    },
}

/// Puts keys into the keyspace, for one thread that reads a file. Several may work at once. Keys are gathered, and put some thousand at a
/// time, or by [`put_staged`](Loader::put_staged).
pub struct Loader<'e> {
    engine: &'e Engine,
    options: Options,
    access: AccessRules,
    now_s: u64,
    due_ms: u64,
    dropped: Option<&'e Dropped>,
    loaded: u64,
    expired: u64,
    emptied: u64,
    progress: &'e LoadProgress,
    may_wait: &'e MayWait,
    staged: Staged,
}

impl<'e> Loader<'e> {
    /// For keys that are read now. `progress` counts them in the end.
    pub fn new(
        engine: &'e Engine,
        may_wait: &'e MayWait,
        overdue: Overdue<'e>,
        progress: &'e LoadProgress,
    ) -> Self {
        let access = AccessRules::load(&engine.config.hot);
        let (due_ms, dropped) = match overdue {
            Overdue::Keep => (NOTHING_IS_DUE, None),
            Overdue::Drop { now_ms, dropped } => (due_at(now_ms), Some(dropped)),
        };
        Loader {
            engine,
            options: rdb_options(&engine.config.hot),
            access,
            now_s: wall_s(),
            due_ms,
            dropped,
            loaded: 0,
            expired: 0,
            emptied: 0,
            progress,
            may_wait,
            staged: Staged::default(),
        }
    }

    /// The engine whose keyspace it fills.
    pub fn engine(&self) -> &Engine {
        self.engine
    }

    /// How values are to be built.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Puts a key, unless it is left out because its time, or that of all its fields, is over.
    pub fn put(&mut self, db: usize, record: KeyRecord<'_>) {
        let Some(mut value) = record.value else { return };
        let expire = match record.expire_at_ms.map(Context::deadline) {
            None => ExpireChange::Clear,
            Some(at) if at > self.due_ms => ExpireChange::At(at),
            Some(_) => {
                self.expired += 1;
                self.dropped.iter().for_each(|dropped| dropped.add(db, record.key, Vec::new()));
                return;
            }
        };
        if let Content::Value(Value::Hash(hash)) = &mut value {
            let mut fields: Vec<Box<[u8]>> = Vec::new();
            hash.take_due(self.due_ms, usize::MAX, |field| fields.push(field.name().into()));
            let is_emptied = !fields.is_empty() && hash.is_empty();
            if let Some(dropped) = self.dropped.filter(|_| !fields.is_empty()) {
                dropped.add(db, record.key, fields);
            }
            if is_emptied {
                self.emptied += 1;
                return;
            }
        }
        let (rules, now_s) = (&self.access, self.now_s);
        let word = match (record.idle_s, record.frequency) {
            (Some(idle_s), _) if !rules.counts => rules.with_idle(idle_s, now_s),
            (_, Some(frequency)) if rules.counts => rules.with_counter(u32::from(frequency), now_s),
            _ => rules.fresh(now_s),
        };
        self.place(db, record.key, value, expire, word);
        self.loaded += 1;
    }

    /// Puts a key as another keyspace has it.
    pub(crate) fn copy(&mut self, db: usize, record: &snapshot::Record<'_>) {
        let expire = record.expire_at_ms.map_or(ExpireChange::Clear, ExpireChange::At);
        let value = match record.content {
            snapshot::Content::String(bytes) => Content::String(bytes),
            snapshot::Content::Value(value) => Content::Value(value.clone()),
        };
        self.place(db, record.key, value, expire, record.access);
    }

    fn place(&mut self, db: usize, name: &[u8], value: Content<'_>, expire: ExpireChange, access: u32) {
        let key = self.engine.key(name);
        if self.staged.add(db, &key, value, expire, access) {
            self.put_staged();
        }
    }

    /// Puts what has been gathered. Dropping the loader does so as well.
    pub fn put_staged(&mut self) {
        self.staged.put(self.engine, &self.options.list, self.may_wait);
    }
}

impl Drop for Loader<'_> {
    fn drop(&mut self) {
        self.put_staged();
        let progress = self.progress;
        progress.keys_loaded.fetch_add(self.loaded, Relaxed);
        progress.keys_expired.fetch_add(self.expired, Relaxed);
        progress.hashes_expired.fetch_add(self.emptied, Relaxed);
    }
}

impl Engine {
    /// How values of files are built.
    pub fn load_options(&self) -> Options {
        rdb_options(&self.config.hot)
    }

    /// Adds a library of functions that a file holds, in the place of one of its name if that is allowed.
    ///
    /// # Errors
    /// What FUNCTION LOAD would have answered.
    pub fn add_library(&self, text: &[u8], replace: bool) -> Result<(), String> {
        crate::commands::scripting::restore_one(self, text, replace)
    }
}

/// Executes the commands of one of the files of an append-only file: each begins in database 0, outside of a transaction.
pub struct Replay {
    worker: Worker,
    session: Session,
    reply: Vec<u8>,
}

impl Replay {
    /// Starts in database 0.
    pub fn new(engine: &Arc<Engine>) -> Self {
        let mailbox = Arc::new(Mailbox::new(Box::new(|| {})));
        let worker = Worker::new(Arc::clone(engine), 0, mailbox, Arc::default());
        let info =
            ConnInfo { id: 0, addr: String::new(), laddr: String::new(), fd: -1, kind: ConnKind::Unix };
        let shared = Arc::new(ClientShared::new(info, 0, 0));
        let session = Session { loads: true, ..Session::for_replay(shared, &engine.acl) };
        Replay { worker, session, reply: Vec::new() }
    }

    /// Reads clocks and options; every now and then.
    pub fn tick(&mut self) {
        self.worker.tick();
    }

    /// The same, as if it were this time at least, in microseconds since 1970.
    #[cfg(debug_assertions)]
    pub(crate) fn tick_not_before(&mut self, wall_us: u64) {
        self.tick();
        self.worker.state.clock.not_before(wall_us);
    }

    /// Executes a command. One that fails is noted in the log of the server: it has changed nothing, as it most likely did
    /// when it was written. So is one that does not belong into such a file, which is passed over.
    ///
    /// # Errors
    /// There is no such command: the file is another's. Or it failed, when `propagation-error-behavior` wants that to be the end.
    pub fn execute(&mut self, args: Args<'_>) -> Result<(), String> {
        let found =
            look_up(&self.worker.engine, &mut self.worker.state, args).map_err(|error| text_of(&error))?;
        let failed = match passed_over(found, self.in_transaction()) {
            Some(error) => {
                note_failure(&self.worker.engine, &self.session, Some(found), &error);
                true
            }
            None => {
                self.run(args);
                self.reply.first() == Some(&b'-')
            }
        };
        if failed
            && self.worker.engine.config.choice::<PropagationErrorBehavior>("propagation-error-behavior")
                == PropagationErrorBehavior::Panic
        {
            return Err("a command failed, which propagation-error-behavior does not allow".to_owned());
        }
        Ok(())
    }

    fn run(&mut self, args: Args<'_>) {
        self.worker.execute_patiently(&mut self.session, args, &mut self.reply, |_| true);
    }

    /// Executes a command that only reads; returns its reply, or nothing if that is an error.
    pub(crate) fn ask(&mut self, args: Args<'_>) -> Option<&[u8]> {
        self.run(args);
        (self.reply.first() != Some(&b'-')).then_some(&self.reply)
    }

    /// Whether a transaction has begun and not ended.
    pub fn in_transaction(&self) -> bool {
        self.session.multi.is_some()
    }
}

impl Drop for Replay {
    /// Forgets a transaction that has not ended, and the keys that it watches.
    fn drop(&mut self) {
        transaction::forget(&self.worker.engine, &mut self.session);
    }
}
