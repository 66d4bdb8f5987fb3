//! A whole load: one thread reads, groups and cuts batches; workers send them.

use crate::error::{Error, Result};
use crate::group::{Group, Grouper};
use crate::mapping::{Added, Kind, Mapping};
use crate::reader::{Format, Line, read};
use crate::reject::Rejects;
use crate::row::Row;
use crate::spill::Spill;
use crate::state::{Past, State, fnv};
use crate::target::{Facts, Target};
use crate::worker::{Batch, Counts, Shared, lock, run};
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Keys of a batch at most.
const BATCH_KEYS: usize = 512;
/// Bytes of elements at which a batch ends.
const BATCH_BYTES: usize = 1 << 20;

/// What is to be loaded, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file; None for the standard input.
    pub input: Option<PathBuf>,
    /// Its form.
    pub format: Format,
    /// What rows become.
    pub mapping: Mapping,
    /// Who is loaded.
    pub target: Target,
    /// Threads that build and send, each with a connection.
    pub workers: usize,
    /// Memory for groups, in bytes; what is more goes to disk.
    pub budget_bytes: usize,
    /// The rows of a key follow each other: a key is sent when another one comes.
    pub adjacent: bool,
    /// Keys that are there are replaced; else they stay, and are rejects.
    pub replace: bool,
    /// Nothing is sent.
    pub dry_run: bool,
    /// Where rejects are written.
    pub rejects: Option<PathBuf>,
    /// Where is noted what is loaded.
    pub state: Option<PathBuf>,
    /// Where groups go that do not fit into memory.
    pub spill: PathBuf,
    /// No progress is shown.
    pub quiet: bool,
}

/// What a load has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The server, by its own words.
    pub target: String,
    /// Rows that were read and are none of the rejects.
    pub rows: u64,
    /// Keys that are loaded, or would be.
    pub keys: u64,
    /// Elements in them.
    pub elements: u64,
    /// Bytes of values and payloads.
    pub payload_bytes: u64,
    /// Memory that they take in Larder, about.
    pub memory_bytes: u64,
    /// Rows and keys that were not loaded.
    pub rejected: u64,
    /// Reasons of the first of them.
    pub first_rejects: Vec<String>,
    /// Batches that an earlier load had done.
    pub skipped_batches: u64,
    /// Whether groups went to disk.
    pub spilled: bool,
    /// Why the load ended early, if it did.
    pub failure: Option<String>,
}

/// Loads. What was done before a failure is in the report.
///
/// # Errors
/// Nothing could be begun: the input cannot be opened, the target not reached, or the state is that of another load.
pub fn load(options: &Options) -> Result<Report> {
    let (source, size) = open(options)?;
    let facts = facts(options)?;
    let state = State::open(options.state.as_deref(), fingerprint(options)?)?;
    let shared = Shared {
        mapping: &options.mapping,
        target: &options.target,
        facts: &facts,
        owners: RwLock::new(facts.slots.clone().unwrap_or_default()),
        replace: options.replace,
        dry_run: options.dry_run,
        counts: Counts::default(),
        rejects: Mutex::new(Rejects::new(options.rejects.as_deref())?),
        state: Mutex::new(state),
    };
    let bar = bar(options, size);
    let (sender, receiver) = sync_channel(2 * options.workers);
    let receiver = Mutex::new(receiver);
    let mut cutter = Cutter {
        shared: &shared,
        sender: Some(sender),
        pending: Vec::new(),
        bytes: 0,
        number: 0,
        skipped: 0,
    };
    let mut input = Input { options, shared: &shared, spill: None, rows: 0, spilled: false };
    let failure = std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..options.workers).map(|_| scope.spawn(|| work(&shared, &receiver))).collect();
        let source = bar.wrap_read(source);
        let read = input.read(source, &mut cutter, &bar);
        cutter.sender = None;
        let failed =
            workers.into_iter().filter_map(|worker| worker.join().expect("a worker does not panic").err());
        // Why a worker failed says more than that the reader could not hand on.
        failed.collect::<Vec<_>>().into_iter().next().or(read.err())
    });
    bar.finish_and_clear();
    let mut rejects = lock(&shared.rejects);
    rejects.flush()?;
    let counts = &shared.counts;
    Ok(Report {
        target: facts.name.clone(),
        rows: input.rows,
        keys: counts.keys.load(Relaxed),
        elements: counts.elements.load(Relaxed),
        payload_bytes: counts.payload_bytes.load(Relaxed),
        memory_bytes: counts.memory_bytes.load(Relaxed),
        rejected: rejects.count(),
        first_rejects: rejects.first().to_vec(),
        skipped_batches: cutter.skipped,
        spilled: input.spilled,
        failure: failure.map(|error| error.to_string()),
    })
}

/// A worker, after whose failure no batch is taken by others: the reader notices when the channel is gone.
fn work(shared: &Shared<'_>, receiver: &Mutex<Receiver<Batch>>) -> Result<()> {
    run(shared, receiver).inspect_err(|_| {
        let (_, closed) = sync_channel(0);
        *lock(receiver) = closed;
    })
}

fn open(options: &Options) -> Result<(Box<dyn Read + Send>, Option<u64>)> {
    let Some(path) = &options.input else { return Ok((Box::new(io::stdin()), None)) };
    let failed = |error: io::Error| Error::file(path.display(), &error);
    let file = File::open(path).map_err(failed)?;
    let facts = file.metadata().map_err(failed)?;
    Ok((Box::new(file), facts.is_file().then_some(facts.len())))
}

/// What the target says; a dry run asks nobody.
fn facts(options: &Options) -> Result<Facts> {
    if !options.dry_run {
        return options.target.facts();
    }
    let form = crate::build::Form { version: larder_rdb::Version::V11, own: true };
    Ok(Facts { name: "nobody (dry run)".to_owned(), form, slots: None })
}

/// A number for all that decides what the batches are.
fn fingerprint(options: &Options) -> Result<u64> {
    let Some(state) = &options.state else { return Ok(0) };
    let Some(path) = &options.input else {
        return Err(Error::Usage(format!("{} needs a file as input", state.display())));
    };
    let facts = path.metadata().map_err(|error| Error::file(path.display(), &error))?;
    let changed = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let Options { format, mapping, budget_bytes, adjacent, replace, .. } = options;
    let address = (options.target.address(), options.target.db);
    let all = (path, facts.len(), changed, format, mapping, budget_bytes, adjacent, replace, address);
    Ok(fnv(format!("{all:?}").as_bytes()))
}

fn bar(options: &Options, size: Option<u64>) -> ProgressBar {
    if options.quiet {
        return ProgressBar::hidden();
    }
    let (bar, template) = match size {
        Some(size) => (ProgressBar::new(size), "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta} {msg}"),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes} {bytes_per_sec} {msg}"),
    };
    bar.enable_steady_tick(Duration::from_millis(200));
    bar.with_style(ProgressStyle::with_template(template).expect("the template is right"))
}

/// The reading side.
struct Input<'a> {
    options: &'a Options,
    shared: &'a Shared<'a>,
    spill: Option<Spill>,
    rows: u64,
    spilled: bool,
}

impl Input<'_> {
    fn read(&mut self, source: impl Read, cutter: &mut Cutter<'_>, bar: &ProgressBar) -> Result<()> {
        let options = self.options;
        let replaces = matches!(options.mapping.kind, Kind::String(_));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64);
        let (mut grouper, mut added, mut number) = (Grouper::new(replaces), Added::default(), 0);
        read(source, options.format, &options.mapping, &mut |line, what| {
            let (reason, text) = match what {
                Line::Bad(reason, text) => (reason, text),
                Line::Row(row) => {
                    number += 1;
                    match options.mapping.map(row, number, now, &mut added) {
                        Ok(()) => {
                            self.rows += 1;
                            return self.add(&mut grouper, &added, line, cutter);
                        }
                        Err(reason) => (reason, text_of(row)),
                    }
                }
            };
            let mut rejects = lock(&self.shared.rejects);
            bar.set_message(format!("{} rejected", rejects.count() + 1));
            rejects.add(line, &reason, &text)
        })?;
        match self.spill.take() {
            None => cutter.add(grouper.take())?,
            Some(mut spill) => {
                spill.write(&grouper.take())?;
                spill.read(replaces, &mut |groups| cutter.add(groups))?;
            }
        }
        cutter.flush()
    }

    fn add(
        &mut self,
        grouper: &mut Grouper,
        added: &Added,
        line: u64,
        cutter: &mut Cutter<'_>,
    ) -> Result<()> {
        if self.options.adjacent && !grouper.contains(&added.key) {
            cutter.add(grouper.take())?;
        }
        grouper.add(&added.key, &added.element, added.expire_at_ms, line);
        if grouper.bytes() > self.options.budget_bytes && !self.options.adjacent {
            let spill = match &mut self.spill {
                Some(spill) => spill,
                none => none.insert(Spill::new(&self.options.spill)?),
            };
            spill.write(&grouper.take())?;
            self.spilled = true;
        }
        Ok(())
    }
}

/// A row for the file of rejects.
fn text_of(row: &dyn Row) -> Vec<u8> {
    let mut text = Vec::new();
    row.each(&mut |name, value| {
        if !text.is_empty() {
            text.push(b',');
        }
        text.extend_from_slice(name.as_bytes());
        text.push(b'=');
        text.extend_from_slice(value);
    });
    text
}

/// Cuts groups into batches, and hands them on unless they are loaded already.
struct Cutter<'a> {
    shared: &'a Shared<'a>,
    sender: Option<SyncSender<Batch>>,
    pending: Vec<Group>,
    bytes: usize,
    number: u64,
    skipped: u64,
}

impl Cutter<'_> {
    fn add(&mut self, groups: Vec<Group>) -> Result<()> {
        for group in groups {
            self.bytes += group.elements.len();
            self.pending.push(group);
            if self.pending.len() >= BATCH_KEYS || self.bytes >= BATCH_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        let (groups, number) = (std::mem::take(&mut self.pending), self.number);
        if groups.is_empty() {
            return Ok(());
        }
        self.number += 1;
        let past = lock(&self.shared.state).past(number);
        if past == Past::Done {
            self.skipped += 1;
            return Ok(());
        }
        let sent = self.sender.as_ref().map(|sender| sender.send(Batch { number, groups, past }));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(Error::Target("all connections have failed".to_owned())),
        }
    }
}
