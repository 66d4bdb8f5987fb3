//! Reading an RDB file into the keyspace, with all cores: one thread finds where the values end and checks the sum, the
//! others make the values.

use larder_engine::config::RdbVersionCheck;
use larder_engine::{Busy, Engine, Loader, Overdue};
use larder_rdb::read::{Checks, Event, FileReader, RawKeys};
use larder_rdb::{Error, Result};
use std::io::{self, Read};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

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
pub struct Rules {
    /// What must be right about it.
    pub checks: Checks,
    /// What becomes of keys whose time is over.
    pub overdue: Overdue,
    /// Whether its libraries of functions may replace those that there are.
    pub merge: bool,
}

/// The checks that the configuration asks for.
pub fn checks(engine: &Engine) -> Checks {
    let config = engine.config();
    Checks {
        sum: config.is_yes("rdbchecksum") && !engine.skips_checksums(),
        version: config.hot.rdb_version_check.get() == RdbVersionCheck::Strict,
    }
}

/// Reads a whole file. Returns the source, and what has been read of it beyond the file. No script runs meanwhile.
pub fn load<R: Read>(engine: &Engine, source: R, rules: Rules) -> Result<(R, Vec<u8>)> {
    let Rules { checks, overdue, merge } = rules;
    let turn = engine.take_turn(None).map_err(|Busy| io::Error::other("a script runs"))?;
    let may_wait = turn.may_wait();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (sender, receiver) = sync_channel::<Batch>(BATCHES_WAITING * threads);
    let receiver = Mutex::new(receiver);
    let options = *Loader::new(engine, may_wait, overdue).options();
    thread::scope(|scope| {
        let makers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| make_values(Loader::new(engine, may_wait, overdue), &receiver)))
            .collect();
        let read =
            FileReader::new(source, options, checks).and_then(|file| read_file(engine, file, merge, &sender));
        drop(sender);
        let made = makers.into_iter().map(|maker| maker.join().unwrap_or(Err(Error::Damaged("panic"))));
        // What a maker found stands before the end of the file.
        made.collect::<Result<Vec<()>>>()?;
        read
    })
}

fn read_file<R: Read>(
    engine: &Engine,
    mut file: FileReader<R>,
    merge: bool,
    makers: &SyncSender<Batch>,
) -> Result<(R, Vec<u8>)> {
    let new_batch = || RawKeys::with_room(BATCH_KEYS, BATCH_BYTES + BATCH_BYTES / 8);
    let (mut db, mut batch) = (0, new_batch());
    let loaded_before = engine.persistence().load.loaded_bytes.load(Relaxed);
    // The makers stay until there is nothing more to come: sending does not fail.
    let hand_over = |db, batch: &mut RawKeys| {
        if !batch.is_empty() {
            drop(makers.send((db, std::mem::replace(batch, new_batch()))));
        }
    };
    while let Some(event) = file.next_event(&mut batch)? {
        match event {
            Event::SelectDb(number) => {
                hand_over(db, &mut batch);
                db = database(engine, number)?;
            }
            Event::Key if batch.size_bytes() >= BATCH_BYTES || batch.len() >= BATCH_KEYS => {
                engine.persistence().load.loaded_bytes.store(loaded_before + file.position(), Relaxed);
                hand_over(db, &mut batch);
            }
            Event::Key | Event::Aux(..) | Event::ResizeDb(..) => {}
            Event::Function(text) => add_library(engine, &text, merge)?,
        }
    }
    hand_over(db, &mut batch);
    Ok(file.into_rest())
}

/// A library that does not load would be lost: the file is refused.
fn add_library(engine: &Engine, text: &[u8], replace: bool) -> Result<()> {
    engine.add_library(text, replace).map_err(|reason| {
        engine.log_warning(&format!("Loading a library of functions failed: {reason}"));
        Error::Damaged("a library of functions that does not load")
    })
}

fn database(engine: &Engine, number: u64) -> Result<usize> {
    let db = usize::try_from(number).ok().filter(|&db| db < engine.database_count());
    db.ok_or(Error::Damaged("a database that the option 'databases' does not allow"))
}

fn make_values(mut loader: Loader<'_>, batches: &Mutex<Receiver<Batch>>) -> Result<()> {
    let options = *loader.options();
    let delay = super::key_delay(loader.engine().config().number("key-load-delay"));
    let mut outcome = Ok(());
    loop {
        let next = batches.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(batch) = next else { return outcome };
        // After an error the rest is taken all the same: the reader must not wait for room.
        if outcome.is_ok() {
            outcome = batch.1.read(&options, |record| {
                loader.put(batch.0, record);
                if !delay.is_zero() {
                    thread::sleep(delay);
                }
            });
        }
    }
}
