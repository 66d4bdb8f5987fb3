//! What a workload gets: the server to measure, the scale, and a place for its figures.

use crate::cli::Options;
use crate::figure::{Cost, Figure, Target};
use crate::peer::Peer;
use crate::session::Session;
use indicatif::ProgressBar;
use std::io;
use std::time::Duration;

/// One run of one workload on one server.
pub struct Context<'a> {
    /// The server.
    pub peer: &'a Peer,
    /// How to measure.
    pub options: &'a Options,
    bar: &'a ProgressBar,
    workload: &'a str,
    figures: Vec<Figure>,
}

impl<'a> Context<'a> {
    /// A run that has no figures yet.
    pub fn new(options: &'a Options, peer: &'a Peer, bar: &'a ProgressBar, workload: &'a str) -> Self {
        let context = Context { peer, options, bar, workload, figures: Vec::new() };
        context.stage("");
        context
    }

    /// The figures, in the order they were added.
    pub fn figures(self) -> Vec<Figure> {
        self.figures
    }

    /// Starts a fresh server.
    pub fn start(&self) -> io::Result<Session> {
        Session::start(self.peer)
    }

    /// A size or count by the scale, but no less than this many.
    pub fn scaled(&self, full: usize, least: usize) -> usize {
        ((full as f64 * self.options.scale).round() as usize).max(least)
    }

    /// A target in proportion to the size of the data.
    pub fn scaled_target(&self, full: f64) -> Target {
        Target::Most(full * self.options.scale)
    }

    /// Rounds of which the median counts; one when the scale says that the figures are not meant.
    pub fn rounds(&self, full: usize) -> usize {
        if self.options.scale < 0.1 { 1 } else { full }
    }

    /// How long memory must be still: allocators return it over seconds, which only a smoke run may ignore.
    pub fn still(&self) -> Duration {
        Duration::from_millis(if self.options.scale < 0.02 { 30 } else { 1500 })
    }

    /// Shows what is going on.
    pub fn stage(&self, what: &str) {
        self.bar.set_message(format!("{} on {} {what}", self.workload, self.peer.name));
        self.bar.tick();
    }

    /// Shows what is going on, so far through it.
    pub fn progress(&self, what: &str, done: usize, total: usize) {
        self.stage(&format!("{what} {} %", 100 * done / total.max(1)));
    }

    /// Adds a figure.
    pub fn figure(&mut self, row: impl Into<String>, unit: &'static str, value: f64, target: Target) {
        self.figures.push(Figure { row: row.into(), unit, value, worker: None, target });
    }

    /// Adds a figure of processor time per operation.
    pub fn cost(&mut self, row: impl Into<String>, cost: Cost, target: Target) {
        let worker = Some(cost.worker);
        self.figures.push(Figure { row: row.into(), unit: "ns/op", value: cost.whole, worker, target });
    }
}
