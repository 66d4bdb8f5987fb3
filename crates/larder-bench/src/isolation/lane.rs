//! A server in one configuration, and what it has measured.

use super::cell::{self, Cell};
use super::heavy::Heavy;
use super::options::Options;
use super::server::Running;
use crate::peer::Peer;
use std::io;
use std::time::Duration;

/// A server that is started when it is needed.
pub struct Lane<'a> {
    /// The server.
    pub peer: &'a Peer,
    /// `None` for servers whose threads are not ours to choose: those are measured once.
    threads: Option<usize>,
    running: Option<Running>,
    /// By the number of the command.
    cells: Vec<Option<Result<Cell, String>>>,
}

impl<'a> Lane<'a> {
    /// A lane for this many commands.
    pub fn new(peer: &'a Peer, threads: Option<usize>, commands: usize) -> Self {
        Lane { peer, threads, running: None, cells: (0..commands).map(|_| None).collect() }
    }

    /// What the command of this number has measured, now or before, or why it could not be measured.
    pub fn cell(&mut self, at: usize, heavy: &Heavy, options: &Options) -> Result<Cell, String> {
        if let Some(measured) = &self.cells[at] {
            return measured.clone();
        }
        let measured = self.measure(heavy, options).map_err(|error| error.to_string());
        if measured.is_err() {
            // Whatever state it is in: the next command gets another one.
            self.running = None;
        }
        self.cells[at] = Some(measured.clone());
        measured
    }

    fn measure(&mut self, heavy: &Heavy, options: &Options) -> io::Result<Cell> {
        let running = match &mut self.running {
            Some(running) => running,
            none => none.insert(Running::start(self.peer, self.threads, options.scale)?),
        };
        cell::measure(running, heavy, Duration::from_secs_f64(options.seconds))
    }
}
