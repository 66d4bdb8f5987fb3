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

/// Where a seat is, once it is made: on a cache line of its own, as its thread locks it for every call.
#[repr(align(64))]
#[derive(Default)]
struct Place(Mutex<Option<Box<Seat>>>);

/// All seats of a store.
pub struct Seats {
    list: Box<[Place]>,
    /// What may be called.
    permit: Permit,
}

impl Seats {
    /// None of them is made.
    pub fn new(permit: Permit) -> Seats {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let count = (SEATS_PER_PROCESSOR * processors).min(SEATS_MAX);
        Seats { list: (0..count).map(|_| Place::default()).collect(), permit }
    }

    /// Does something with a seat. Returns what that gives, and up to where the log is to be kept then, if more was added to it: the seat is free by
    /// then, since that may take long.
    pub fn with<R>(&self, engine: &Arc<Engine>, work: impl FnOnce(&mut Seat) -> R) -> (R, Option<u64>) {
        // A thread that is ending has no number any more.
        let list = &self.list;
        let own = NUMBER.try_with(|number| *number).unwrap_or(0) % list.len();
        let free = (0..list.len()).find_map(|step| list[(own + step) % list.len()].0.try_lock());
        let mut slot = free.unwrap_or_else(|| list[own].0.lock());
        let seat = slot.get_or_insert_with(|| Box::new(Seat::new(engine, self.permit)));
        let outcome = work(seat);
        (outcome, seat.unkept())
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
    permit: Permit,
    /// Where the effects of its commands end in the log, and up to where somebody was told to keep them.
    log_end: u64,
    told: u64,
}

impl Seat {
    /// One more worker of the engine.
    pub fn new(engine: &Arc<Engine>, permit: Permit) -> Seat {
        // Nothing is in the mail that cannot wait for the next command.
        let mut worker = engine.local_worker(Box::new(|| {}));
        let session = worker.open_own();
        let (words, spans, reply) = (Vec::new(), Vec::new(), Vec::new());
        Seat { worker, session, words, spans, reply, permit, log_end: 0, told: 0 }
    }

    /// Up to where the log is to be kept, if its commands have added to it since the last call.
    pub fn unkept(&mut self) -> Option<u64> {
        let end = self.log_end;
        (end > std::mem::replace(&mut self.told, end)).then_some(end)
    }

    /// Executes a command in a database; returns the reply as it is written for RESP3.
    pub fn run<'w>(&mut self, db: usize, words: impl Iterator<Item = &'w [u8]>) -> &[u8] {
        self.begin();
        self.take(words);
        let args = Args::new(&self.words, &self.spans);
        self.worker.run(&mut self.session, (db, self.permit), args, false, &mut self.reply);
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
        self.worker.run_transaction(&mut self.session, (db, self.permit), commands, &mut self.reply);
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
        self.log_end = self.worker.end();
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
