//! Counters. Each worker has its own, written by it alone without locked instructions, and summed when somebody asks.

use crate::histogram::Histogram;
use crate::table::table;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A counter with one writer: an addition is a load and a store.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`. Only the thread that owns the counter may call it; a concurrent reset may be lost.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed) + n, Relaxed);
    }

    /// The sum so far.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Starts again at zero.
    pub fn reset(&self) {
        self.0.store(0, Relaxed);
    }
}

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
            /// By command id.
            pub commands: Box<[CommandStats]>,
        }

        impl Default for ThreadStats {
            fn default() -> Self {
                let commands = (0..table().len()).map(|_| CommandStats::default()).collect();
                ThreadStats { $($name: Counter::default(),)* commands }
            }
        }

        impl ThreadStats {
            /// Starts all counters again at zero.
            pub fn reset(&self) {
                $(self.$name.reset();)*
                self.commands.iter().for_each(CommandStats::reset);
            }
        }
    };
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
    reads: "Reads from sockets.",
    writes: "Writes to sockets.",
    rejected_connections: "Connections refused.",
    query_limit_closes: "Connections closed because of a query buffer too large.",
    output_limit_closes: "Connections closed because of output not read.",
    loops: "Iterations of the event loop.",
    dirty: "Changes to the data.",
}
