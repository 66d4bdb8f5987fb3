//! Reading an RDB file into the keyspace, with all cores: one thread finds where the values end and checks the sum, the
//! others make the values.

use larder_engine::config::RdbVersionCheck;
use larder_engine::{Busy, Engine, History, LoadProgress, Loader, NoShards, Overdue, Patterns};
pub use larder_rdb::read::Checks;
use larder_rdb::read::{Event, FileReader, RawKeys, SlotImport};
use larder_rdb::{Error, Result};
use std::io::{self, Read};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Values are handed over in batches of about this size.
const BATCH_BYTES: usize = 256 << 10;
/// Or of this many keys.
const BATCH_KEYS: usize = 8192;
/// Batches that wait, for each thread.
const BATCHES_WAITING: usize = 4;

/// Keys of one database.
type Batch = (usize, RawKeys);

/// How a file is read.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'p> {
    /// What must be right about it.
    pub checks: Checks,
    /// What becomes of keys whose time is over.
    pub overdue: Overdue<'p>,
    /// Whether its libraries of functions may replace those that there are.
    pub merge: bool,
    /// The keys that are put; `None` for all.
    pub patterns: Option<&'p Patterns>,
}

/// The checks that the configuration asks for.
pub fn checks(engine: &Engine) -> Checks {
    let config = engine.config();
    Checks {
        sum: config.is_yes("rdbchecksum") && !engine.skips_checksums(),
        version: config.hot.rdb_version_check.get() == RdbVersionCheck::Strict,
    }
}

/// What has been read.
pub struct Loaded<R> {
    /// The source, and what has been read of it beyond the file.
    pub rest: (R, Vec<u8>),
    /// Where in the history of the data the file is, if it says so.
    pub history: Option<History>,
    /// Migrations of slots to who wrote it.
    pub imports: Vec<SlotImport>,
    /// Whether other servers can read it.
    pub is_portable: bool,
    /// The slots that SETSLOT has opened on the server that wrote it, if it says so.
    pub open_slots: Option<Vec<u8>>,
}

/// Reads a whole file. No script runs meanwhile. After an error, [`LoadProgress::loaded_bytes`] says how far it had been read.
pub fn load<R: Read>(engine: &Engine, source: R, rules: Rules<'_>) -> Result<Loaded<R>> {
    load_opened(engine, &engine.persistence().load, open(engine, source, rules.checks)?, rules)
}

/// That of Redis 8, whose older types are known.
const VERSION_OF_REDIS_8: u32 = 12;

/// Begins to read a file, or the snapshot of a primary: what a link accepts, a start must accept, as the snapshot becomes the server's own file. A file of
/// Redis 8 that is no such snapshot is refused later, when it turns out not to say where in a history it is.
///
/// # Errors
/// It is of a kind that is not known.
pub fn open<R: Read>(engine: &Engine, source: R, checks: Checks) -> Result<FileReader<R>> {
    let file = FileReader::new(source, engine.load_options(), Checks { version: false, ..checks })?;
    if checks.version && file.version() != VERSION_OF_REDIS_8 && !larder_rdb::is_known(file.version()) {
        return Err(Error::Version(file.version()));
    }
    Ok(file)
}

/// Reads what follows. `progress` tells how far it has come, after an error as well.
pub fn load_opened<R: Read>(
    engine: &Engine,
    progress: &LoadProgress,
    file: FileReader<R>,
    rules: Rules<'_>,
) -> Result<Loaded<R>> {
    let Rules { checks, overdue, merge, patterns } = rules;
    let must_have_place = checks.version && !larder_rdb::is_known(file.version());
    let turn = engine
        .try_take_turn(NoShards::outside_commands())
        .map_err(|Busy| io::Error::other("a script is running"))?;
    let may_wait = turn.may_wait();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (sender, receiver) = sync_channel::<Batch>(BATCHES_WAITING * threads);
    let receiver = Mutex::new(receiver);
    thread::scope(|scope| {
        let makers: Vec<_> = (0..threads)
            .map(|_| {
                let loader = Loader::new(engine, may_wait, overdue, progress);
                scope.spawn(|| make_values(loader, &receiver, patterns))
            })
            .collect();
        let read = read_file(engine, progress, file, (merge, must_have_place), &sender);
        drop(sender);
        let made = makers.into_iter().map(|maker| maker.join().unwrap_or(Err(Error::Damaged("panic"))));
        // What a maker found stands before the end of the file.
        made.collect::<Result<Vec<()>>>()?;
        read
    })
}

fn read_file<R: Read>(
    engine: &Engine,
    progress: &LoadProgress,
    mut file: FileReader<R>,
    (merge, must_have_place): (bool, bool),
    makers: &SyncSender<Batch>,
) -> Result<Loaded<R>> {
    let new_batch = || RawKeys::with_room(BATCH_KEYS, BATCH_BYTES + BATCH_BYTES / 8);
    let (mut db, mut batch, mut place, mut imports) = (0, new_batch(), Place::default(), Vec::new());
    let mut open_slots = None;
    let loaded_before = progress.loaded_bytes.load(Relaxed);
    // The makers stay until there is nothing more to come: sending does not fail.
    let hand_over = |db, batch: &mut RawKeys| {
        if !batch.is_empty() {
            drop(makers.send((db, std::mem::replace(batch, new_batch()))));
        }
    };
    let came_to = |file: &FileReader<R>| {
        progress.loaded_bytes.store(loaded_before + file.position(), Relaxed);
    };
    loop {
        let next = file.next_event(&mut batch);
        if !matches!(next, Ok(Some(Event::Key))) {
            came_to(&file);
        }
        let event = next?;
        if must_have_place && place.id.is_none() && !matches!(event, Some(Event::Aux(..))) {
            return Err(Error::Version(file.version()));
        }
        let Some(event) = event else { break };
        match event {
            Event::SelectDb(number) => {
                hand_over(db, &mut batch);
                db = database(engine, number)?;
            }
            Event::Key if batch.size_bytes() >= BATCH_BYTES || batch.len() >= BATCH_KEYS => {
                came_to(&file);
                hand_over(db, &mut batch);
            }
            Event::Aux(name, value) if *name == *b"cluster-slot-states" => open_slots = Some(value.to_vec()),
            Event::Aux(name, value) => {
                note_used_memory(progress, &name, &value);
                place.note(&name, &value);
            }
            Event::Key | Event::ResizeDb(..) => {}
            Event::Function(text) => add_library(engine, &text, merge)?,
            Event::SlotImport(import) => imports.push(import),
        }
    }
    hand_over(db, &mut batch);
    let is_portable = file.is_portable();
    Ok(Loaded { rest: file.into_rest(), history: place.history(), imports, is_portable, open_slots })
}

/// Notes how much memory the server which wrote the file used, for INFO.
fn note_used_memory(progress: &LoadProgress, name: &[u8], value: &[u8]) {
    if name == b"used-mem" {
        let bytes = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
        progress.saved_used_memory.store(bytes.unwrap_or(0), Relaxed);
    }
}

/// What a file says of its place in the history of the data.
#[derive(Default)]
struct Place {
    id: Option<String>,
    offset: Option<u64>,
    db: Option<usize>,
}

impl Place {
    fn note(&mut self, name: &[u8], value: &[u8]) {
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b"repl-id" => self.id = Some(text()).filter(|id| id.len() == 40),
            b"repl-offset" => self.offset = text().parse().ok(),
            b"repl-stream-db" => self.db = text().parse().ok(),
            _ => {}
        }
    }

    fn history(self) -> Option<History> {
        Some(History { id: self.id?, position: self.offset?, db: self.db.unwrap_or(0) })
    }
}

/// A library that does not load would be lost: the file is refused.
fn add_library(engine: &Engine, text: &[u8], replace: bool) -> Result<()> {
    engine.add_library(text, replace).map_err(|reason| {
        engine.log_warning(&format!("Failed to load a function library: {reason}"));
        Error::Damaged("a function library that cannot be loaded")
    })
}

/// What the options `rdb-key-save-delay` and `key-load-delay` say, in microseconds.
pub fn key_delay(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

fn database(engine: &Engine, number: u64) -> Result<usize> {
    let db = usize::try_from(number).ok().filter(|&db| db < engine.database_count());
    db.ok_or(Error::Damaged("a database number beyond the option 'databases'"))
}

fn make_values(
    mut loader: Loader<'_>,
    batches: &Mutex<Receiver<Batch>>,
    patterns: Option<&Patterns>,
) -> Result<()> {
    let options = *loader.options();
    let delay = key_delay(loader.engine().config().number("key-load-delay"));
    let mut outcome = Ok(());
    loop {
        let next = batches.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(batch) = next else { return outcome };
        // After an error the rest is taken all the same: the reader must not wait for room.
        if outcome.is_ok() {
            outcome = batch.1.read(&options, |record| {
                if patterns.is_none_or(|patterns| patterns.matches(record.key)) {
                    loader.put(batch.0, record);
                }
                if !delay.is_zero() {
                    thread::sleep(delay);
                }
            });
        }
    }
}
