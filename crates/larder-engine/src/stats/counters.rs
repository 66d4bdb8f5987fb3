//! Counters. Each worker has its own, written by it alone without locked instructions, and summed when somebody asks.

use crate::command::table::table;
pub use crate::stats::counter::Counter;
use crate::stats::histogram::Histogram;
use crate::stats::slots::SlotStats;
use parking_lot::{Mutex, RwLock};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// What one thread counts for one command.
#[derive(Default)]
pub struct CommandStats {
    /// Executions.
    pub calls: Counter,
    /// Nanoseconds spent in them.
    pub nanos: Counter,
    /// Refused before execution.
    pub rejected: Counter,
    /// Answered with an error.
    pub failed: Counter,
    latencies: OnceLock<Box<Histogram>>,
}

impl CommandStats {
    /// Counts one execution.
    #[inline]
    pub fn record(&self, nanos: u64, track_latency: bool) {
        self.calls.add(1);
        self.nanos.add(nanos);
        if track_latency {
            self.latencies.get_or_init(Box::default).record(nanos);
        }
    }

    /// The distribution of the execution times, if any was recorded.
    pub fn latencies(&self) -> Option<&Histogram> {
        self.latencies.get().map(|h| &**h)
    }

    fn reset(&self) {
        [&self.calls, &self.nanos, &self.rejected, &self.failed].into_iter().for_each(Counter::reset);
        if let Some(histogram) = self.latencies.get() {
            histogram.reset();
        }
    }
}

macro_rules! thread_stats {
    ($($name:ident: $doc:literal,)*) => {
        /// What one thread counts, on cache lines of its own.
        #[repr(align(128))]
        pub struct ThreadStats {
            $(#[doc = $doc] pub $name: Counter,)*
            /// Changes to the data, which save points count: never reset.
            pub dirty: Counter,
            /// By command id.
            pub commands: Box<[CommandStats]>,
            /// By slot, if they are counted.
            pub slots: SlotStats,
            /// What the thread is executing.
            pub current: Current,
        }

        impl Default for ThreadStats {
            fn default() -> Self {
                let commands = (0..table().len()).map(|_| CommandStats::default()).collect();
                ThreadStats {
                    $($name: Counter::default(),)*
                    dirty: Counter::default(),
                    commands,
                    slots: SlotStats::default(),
                    current: Current::default(),
                }
            }
        }

        impl ThreadStats {
            /// Starts all counters again at zero but that of changes.
            pub fn reset(&self) {
                $(self.$name.reset();)*
                self.commands.iter().for_each(CommandStats::reset);
                self.slots.reset();
            }
        }
    };
}

/// The command that a thread executes, for the report of a crash.
#[derive(Default)]
pub struct Current {
    client: AtomicU64,
    argc: AtomicU32,
    /// The arguments, where they may be shown.
    args: Mutex<Vec<u8>>,
}

impl Current {
    /// A command of a client begins.
    #[inline]
    pub(crate) fn begin(&self, client: u64, argc: usize) {
        self.client.store(client, Relaxed);
        self.argc.store(argc as u32, Relaxed);
    }

    /// It has ended.
    #[inline]
    pub(crate) fn end(&self) {
        self.client.store(0, Relaxed);
    }

    /// The client and the number of arguments, while there is a command.
    pub(crate) fn get(&self) -> Option<(u64, usize)> {
        let client = self.client.load(Relaxed);
        (client != 0).then(|| (client, self.argc.load(Relaxed) as usize))
    }

    /// Keeps the text of the arguments.
    #[cold]
    pub(crate) fn keep(&self, text: Vec<u8>) {
        *self.args.lock() = text;
    }

    /// The text of the arguments, if it was kept.
    pub(crate) fn text(&self) -> Vec<u8> {
        self.args.try_lock().map(|text| text.clone()).unwrap_or_default()
    }
}

thread_stats! {
    connections: "Connections accepted.",
    processed: "Commands executed.",
    hits: "Keys found by reading commands.",
    misses: "Keys not found by reading commands.",
    expired: "Keys removed because their time was over.",
    errors: "Error replies.",
    net_in: "Bytes received.",
    net_out: "Bytes sent.",
    unsent: "Bytes of replies that the sockets have not been offered yet.",
    reads: "Reads from sockets.",
    writes: "Writes to sockets.",
    rejected_connections: "Connections refused.",
    query_limit_closes: "Connections closed because of a query buffer too large.",
    output_limit_closes: "Connections closed because of output not read.",
    expired_fields: "Fields of hashes removed because their time was over.",
    loops: "Iterations of the event loop.",
    loop_ns: "Nanoseconds that they took, without waiting for events.",
}

/// The counters of all threads.
#[derive(Default)]
pub(crate) struct AllStats {
    all: RwLock<Vec<Arc<ThreadStats>>>,
    /// Those of threads that apply what a primary sends.
    appliers: Mutex<Vec<Arc<ThreadStats>>>,
    /// Those of threads for commands that take long.
    long: Mutex<Vec<Arc<ThreadStats>>>,
}

impl AllStats {
    /// Those of the next thread.
    pub(crate) fn add(&self) -> Arc<ThreadStats> {
        let stats = Arc::default();
        self.all.write().push(Arc::clone(&stats));
        stats
    }

    /// Those of a thread that applies what a primary sends: the link's own is the first. The threads of the next link go on with them.
    pub(crate) fn of_applier(&self, index: usize) -> Arc<ThreadStats> {
        let mut appliers = self.appliers.lock();
        while appliers.len() <= index {
            appliers.push(self.add());
        }
        Arc::clone(&appliers[index])
    }

    /// Those of the next thread for commands that take long.
    pub(crate) fn add_long(&self) -> Arc<ThreadStats> {
        let stats = self.add();
        self.long.lock().push(Arc::clone(&stats));
        stats
    }

    /// Those of such a thread, unless somebody holds the list.
    pub(crate) fn try_of_long(&self, number: usize) -> Option<Arc<ThreadStats>> {
        self.long.try_lock()?.get(number).cloned()
    }

    /// Number of threads.
    pub(crate) fn len(&self) -> usize {
        self.all.read().len()
    }

    /// Those of a thread.
    pub(crate) fn of(&self, thread: usize) -> Option<Arc<ThreadStats>> {
        self.all.read().get(thread).cloned()
    }

    /// The same, unless somebody holds the list.
    pub(crate) fn try_of(&self, thread: usize) -> Option<Arc<ThreadStats>> {
        self.all.try_read()?.get(thread).cloned()
    }

    /// Calls `each` with those of every thread.
    pub(crate) fn each(&self, mut each: impl FnMut(&ThreadStats)) {
        self.all.read().iter().for_each(|stats| each(stats));
    }

    /// The sum of one counter over all threads.
    pub(crate) fn sum(&self, pick: impl Fn(&ThreadStats) -> &Counter) -> u64 {
        self.all.read().iter().map(|stats| pick(stats).get()).sum()
    }
}
