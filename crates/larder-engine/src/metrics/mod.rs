//! Metrics: what monitoring reads of a server, in the text format of Prometheus.
//!
//! A page is made by a thread that serves no clients. It sums the counters that each thread keeps of its own, and holds each shard for the
//! time of a few loads; so a scrape costs the threads that serve clients nothing but a lock that they may meet.
//!
//! Tested by `larder-server/tests/metrics.rs`.

mod census;
mod commands;
mod figures;
mod page;
mod server;

pub use census::Census;
pub use figures::{Figures, LATENCY_ROWS};

use crate::engine::Engine;
use page::Page;

impl Engine {
    /// Appends a page of all metrics. `census` counts the keyspace by type. While a script runs for too long, the page is without the
    /// numbers of keys.
    pub fn write_metrics(&self, census: &Census, text: &mut String) {
        let mut page = Page::new(text);
        server::facts(self, &mut page);
        server::memory(self, &mut page);
        server::keyspace(self, &census.last(), &mut page);
        server::clients(self, &mut page);
        server::persistence(self, &mut page);
        server::replication(self, &mut page);
        commands::commands(self, &mut page);
        commands::errors(self, &mut page);
    }
}
