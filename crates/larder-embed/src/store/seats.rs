//! Seats: workers of the engine, each with the session of a client that is the program itself.
//!
//! A thread takes the seat of its number first, and another one if that is taken; so threads seldom wait, and a seat's memory stays in the
//! cache of its processor. A seat is made when it is taken first. Taking one costs a lock that nobody else wants.

use crate::reply::fields::Fields;
use larder_engine::{Engine, LocalWorker, Permit, Session};
use larder_resp::{Args, OwnedArgs, Span};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// Seats for each processor: commands are short, but their threads may be put to sleep in the middle.
const SEATS_PER_PROCESSOR: usize = 4;
const SEATS_MAX: usize = 128;
/// Capacity of buffers that is kept from command to command.
const KEPT_BYTES: usize = 1 << 20;

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The number of this thread among those that have used a store.
    static NUMBER: usize = THREADS.fetch_add(1, Relaxed);
}

/// All seats of a store.
pub struct Seats(Box<[Mutex<Option<Box<Seat>>>]>);

impl Seats {
    /// None of them is made.
    pub fn new() -> Seats {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let count = (SEATS_PER_PROCESSOR * processors).min(SEATS_MAX);
        Seats((0..count).map(|_| Mutex::new(None)).collect())
    }

    /// Does something with a seat.
    pub fn with<R>(&self, engine: &Arc<Engine>, work: impl FnOnce(&mut Seat) -> R) -> R {
        // A thread that is ending has no number any more.
        let own = NUMBER.try_with(|number| *number).unwrap_or(0) % self.0.len();
        let free = (0..self.0.len()).find_map(|step| self.0[(own + step) % self.0.len()].try_lock());
        let mut slot = free.unwrap_or_else(|| self.0[own].lock());
        work(slot.get_or_insert_with(|| Box::new(Seat::new(engine))))
    }
}

/// A worker and its client.
pub struct Seat {
    worker: LocalWorker,
    session: Session,
    /// The words of the command, one after the other.
    words: Vec<u8>,
    spans: Vec<Span>,
    reply: Vec<u8>,
}

impl Seat {
    /// One more worker of the engine.
    pub fn new(engine: &Arc<Engine>) -> Seat {
        // Nothing is in the mail that cannot wait for the next command.
        let mut worker = engine.local_worker(Box::new(|| {}));
        let session = worker.open_own();
        Seat { worker, session, words: Vec::new(), spans: Vec::new(), reply: Vec::new() }
    }

    /// Executes a command in a database; returns the reply as it is written for RESP3.
    pub fn run<'w>(&mut self, db: usize, words: impl Iterator<Item = &'w [u8]>) -> &[u8] {
        self.begin();
        self.take(words);
        let args = Args::new(&self.words, &self.spans);
        self.worker.run(&mut self.session, (db, Permit::Data), args, false, &mut self.reply);
        self.end()
    }

    /// The same, into a buffer of the caller.
    pub fn run_into<'w>(&mut self, db: usize, words: impl Iterator<Item = &'w [u8]>, reply: &mut Vec<u8>) {
        std::mem::swap(&mut self.reply, reply);
        self.run(db, words);
        std::mem::swap(&mut self.reply, reply);
    }

    /// The hash of a key, if there is one, as HGETALL finds it; or the reply that is an error.
    pub fn hash(&mut self, db: usize, key: &[u8]) -> Result<Option<Fields>, &[u8]> {
        self.begin();
        self.take([&b"HGETALL"[..], key].into_iter());
        let args = Args::new(&self.words, &self.spans);
        let hash = self.worker.hash(&mut self.session, db, args, &mut self.reply);
        match self.end() {
            [] => Ok(hash.map(|(hash, due_ms)| Fields::new(hash, due_ms))),
            error => Err(error),
        }
    }

    /// Executes commands as a transaction; returns the array of their replies, or an error.
    pub fn run_transaction(&mut self, db: usize, commands: &[OwnedArgs]) -> &[u8] {
        self.begin();
        self.worker.run_transaction(&mut self.session, (db, Permit::Data), commands, &mut self.reply);
        self.end()
    }

    /// Whether a command may run a script.
    pub fn may_run_script<'w>(&mut self, words: impl Iterator<Item = &'w [u8]>) -> bool {
        // All of them begin with one of these letters.
        let mut words = words.peekable();
        let first = words.peek().and_then(|name| name.first()).map(u8::to_ascii_lowercase);
        if !matches!(first, Some(b'e' | b'f' | b's')) {
            return false;
        }
        self.take(words);
        self.worker.may_run_script(Args::new(&self.words, &self.spans))
    }

    fn begin(&mut self) {
        self.reply.clear();
        self.reply.shrink_to(KEPT_BYTES);
        self.worker.begin();
    }

    fn end(&mut self) -> &[u8] {
        self.worker.end();
        // What may come (a notice to try again) is for those who wait.
        drop(self.worker.mail());
        &self.reply
    }

    fn take<'w>(&mut self, words: impl Iterator<Item = &'w [u8]>) {
        self.words.clear();
        self.words.shrink_to(KEPT_BYTES);
        self.spans.clear();
        for word in words {
            let start = self.words.len();
            self.words.extend_from_slice(word);
            self.spans.push(Span { start, end: self.words.len() });
        }
    }
}
