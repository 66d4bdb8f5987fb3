//! A whole load: one thread reads and cuts batches, workers send them; what cannot be gathered follows by one connection.

use crate::commands::Commands;
use crate::cutter::Cutter;
use crate::error::{Error, Result};
use crate::files;
use crate::gather;
use crate::options::{Options, Report, Source};
use crate::parquet;
use crate::rdb;
use crate::reader;
use crate::reject::Rejects;
use crate::server;
use crate::shared::{Batch, Counts, Shared, lock, now_ms};
use crate::state::{State, fnv};
use crate::survey::Survey;
use crate::table;
use crate::tail::{self, Tail};
use crate::target::Facts;
use crate::worker::run;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// Loads. What was done before a failure is in the report.
///
/// # Errors
/// Nothing could be begun: the input cannot be opened or is broken, the target not reached, the state is that
/// of another load, or the file of rejects cannot be made.
pub fn load(options: &Options) -> Result<Report> {
    let begun = Instant::now();
    let (files, size) = files::parts(options)?;
    files::check_outputs(options, &files)?;
    let survey = files::verify(options, &files)?;
    let facts = facts(options)?;
    let mut state = State::open(options.state.as_deref(), fingerprint(options)?)?;
    let mut rejects = Rejects::new(options.rejects.as_deref(), options.source.place_unit())?;
    let earlier = state.take_rejects();
    earlier.iter().try_for_each(|reject| rejects.add(reject))?;
    if !earlier.is_empty() {
        rejects.flush()?;
    }
    let shared = Shared {
        source: &options.source,
        target: &options.target,
        facts: &facts,
        owners: RwLock::new(facts.slots.clone().unwrap_or_default()),
        replace: options.replace,
        dry_run: options.dry_run,
        now_ms: now_ms(),
        counts: Counts::default(),
        rejects: Mutex::new(rejects),
        notes: Mutex::default(),
        state: Mutex::new(state),
    };
    let bar = bar(options, size);
    let (sender, receiver) = sync_channel(2 * options.workers);
    let receiver = Mutex::new(receiver);
    let mut done = Done::default();
    let mut failure = std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..options.workers).map(|_| scope.spawn(|| work(&shared, &receiver))).collect();
        let mut cutter = Cutter::new(&shared, sender);
        let read = read(options, (files, survey), &shared, &mut cutter, &bar);
        done.skipped_batches = cutter.skipped();
        drop(cutter);
        let failed =
            workers.into_iter().filter_map(|worker| worker.join().expect("a worker does not panic").err());
        // Why a worker failed says more than that the reader could not hand on.
        let failed = failed.collect::<Vec<_>>().into_iter().next();
        match read {
            Err(error) => Some(failed.unwrap_or(error)),
            Ok((spilled, tail)) => {
                (done.spilled, done.tail) = (spilled, tail);
                failed
            }
        }
    });
    if let Some(tail) = done.tail.take().filter(|_| failure.is_none()) {
        failure = tail::send(tail, &shared).err();
    }
    bar.finish_and_clear();
    Ok(Report { seconds: begun.elapsed().as_secs_f64(), ..report(&shared, &done, failure) })
}

/// What the reading side has done.
#[derive(Default)]
struct Done {
    spilled: bool,
    skipped_batches: u64,
    tail: Option<Tail>,
}

fn report(shared: &Shared<'_>, done: &Done, failure: Option<Error>) -> Report {
    let mut rejects = lock(&shared.rejects);
    // What ended the load says more than what came of it in this file.
    let failure = failure.or(rejects.flush().err());
    let counts = &shared.counts;
    Report {
        target: shared.facts.name.clone(),
        rows: counts.rows.load(Relaxed),
        row_unit: shared.source.row_unit(),
        keys: counts.keys.load(Relaxed),
        elements: counts.elements.load(Relaxed),
        payload_bytes: counts.payload_bytes.load(Relaxed),
        memory_bytes: counts.memory_bytes.load(Relaxed),
        commands: counts.commands.load(Relaxed),
        expired: counts.expired.load(Relaxed),
        rejected: rejects.count(),
        first_rejects: rejects.first().to_vec(),
        notes: lock(&shared.notes).clone(),
        skipped_batches: done.skipped_batches,
        spilled: done.spilled,
        failure: failure.map(|error| error.to_string()),
        seconds: 0.0,
    }
}

/// Reads what there is, and hands it on; returns whether some of it was on disk, and what is to follow.
fn read(
    options: &Options,
    (mut files, survey): (VecDeque<PathBuf>, Option<Survey>),
    shared: &Shared<'_>,
    cutter: &mut Cutter<'_>,
    bar: &ProgressBar,
) -> Result<(bool, Option<Tail>)> {
    let open = |options: &Options| files::open(options, |file| Box::new(bar.wrap_read(file)));
    match &options.source {
        Source::Table(layout, mapping) => {
            let source = open(options)?;
            let rows =
                |each: reader::Each<'_>| reader::read((&options.name(), source), layout, mapping, each);
            Ok((table::load(rows, (mapping, survey), options, shared, cutter, bar)?, None))
        }
        Source::Parquet(mapping) => {
            let path = files.pop_front().unwrap_or_default();
            let rows = |each: reader::Each<'_>| parquet::read(&path, mapping, bar, each);
            Ok((table::load(rows, (mapping, None), options, shared, cutter, bar)?, None))
        }
        Source::Rdb => {
            rdb::load(open(options)?, &options.name(), options.db, shared, cutter)?;
            Ok((false, None))
        }
        Source::Server(source, db) => {
            server::load((source, *db), options.db, shared, cutter, bar)?;
            Ok((false, None))
        }
        Source::Resp => {
            files.pop_front();
            let commands = Commands::new(open(options)?, options.name(), false, (0, Vec::new()));
            gathered(commands, (files, survey), options, shared, cutter)
        }
        Source::Aof => append_only((files, survey), options, shared, cutter, bar),
    }
}

/// Reads the first file of an append-only file; the others follow as they are.
fn append_only(
    (mut files, survey): (VecDeque<PathBuf>, Option<Survey>),
    options: &Options,
    shared: &Shared<'_>,
    cutter: &mut Cutter<'_>,
    bar: &ProgressBar,
) -> Result<(bool, Option<Tail>)> {
    let first = files.pop_front();
    let name = first.as_ref().map_or_else(|| options.name(), |path| path.display().to_string());
    let first = Options { input: first, ..options.clone() };
    let source = files::open(&first, |file| Box::new(bar.wrap_read(file)))?;
    let (is_rdb, source) = files::is_rdb(source).map_err(|error| Error::file(&name, &error))?;
    if !is_rdb {
        let commands = Commands::new(source, name, true, (0, Vec::new()));
        return gathered(commands, (files, survey), options, shared, cutter);
    }
    let rest = rdb::load(source, &name, None, shared, cutter)?;
    let current = Commands::new(rest.source, name, true, (rest.offset, rest.read));
    Ok((false, Some(Tail { current, files, db: 0, is_aof: true })))
}

/// Gathers the commands of the first file, and says what is to follow.
fn gathered(
    mut current: Commands,
    (files, survey): (VecDeque<PathBuf>, Option<Survey>),
    options: &Options,
    shared: &Shared<'_>,
    cutter: &mut Cutter<'_>,
) -> Result<(bool, Option<Tail>)> {
    let gathered = gather::load(&mut current, survey, options, shared, cutter)?;
    let is_over = gathered.stopped.is_none() && files.is_empty();
    let is_aof = matches!(options.source, Source::Aof);
    let tail = Tail { current, files, db: gathered.stopped.unwrap_or(0), is_aof };
    Ok((gathered.spilled, (!is_over).then_some(tail)))
}

/// A worker, after whose failure no batch is taken by others: the reader notices when the channel is gone.
fn work(shared: &Shared<'_>, receiver: &Mutex<Receiver<Batch>>) -> Result<()> {
    run(shared, receiver).inspect_err(|_| {
        let (_, closed) = sync_channel(0);
        *lock(receiver) = closed;
    })
}

/// What the target says; a dry run asks nobody.
fn facts(options: &Options) -> Result<Facts> {
    if !options.dry_run {
        return options.target.facts();
    }
    let (version, newest) = (larder_rdb::Version::V11, larder_rdb::Version::NEWEST);
    let form = crate::build::Form { version, newest, own: true, measures: true };
    Ok(Facts { name: "dry run".to_owned(), form, slots: None })
}

/// A number for all that decides what the batches are.
fn fingerprint(options: &Options) -> Result<u64> {
    let Some(state) = &options.state else { return Ok(0) };
    let Some(path) = &options.input else {
        return Err(Error::Usage(format!(
            "--state {}: the input must be a file, not standard input",
            state.display()
        )));
    };
    let facts = fs::metadata(path).map_err(|error| Error::file(path.display(), &error))?;
    let changed = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let Options { source, budget_bytes, adjacent, replace, .. } = options;
    let address = (options.target.address(), options.db);
    let all = (path, facts.len(), changed, source, budget_bytes, adjacent, replace, address);
    Ok(fnv(format!("{all:?}").as_bytes()))
}

fn bar(options: &Options, size: Option<u64>) -> ProgressBar {
    if options.quiet {
        return ProgressBar::hidden();
    }
    let (bar, template) = match (&options.source, size) {
        (Source::Server(..), _) => (ProgressBar::new_spinner(), "{spinner} {pos} keys {per_sec} {msg}"),
        (_, Some(size)) => {
            (ProgressBar::new(size), "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta} {msg}")
        }
        (_, None) => (ProgressBar::new_spinner(), "{spinner} {bytes} {bytes_per_sec} {msg}"),
    };
    bar.enable_steady_tick(Duration::from_millis(200));
    bar.with_style(ProgressStyle::with_template(template).expect("the template is right"))
}
