//! Commands that take long, on their way to a thread and back.

use crate::connection::Connection;
use larder_engine::Flow;
use larder_resp::OwnedArgs;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io;
use std::thread::JoinHandle;

/// A connection with a command that takes long.
pub struct Job {
    /// The worker that it belongs to.
    pub worker: usize,
    /// Its slot there.
    pub slot: usize,
    /// The connection.
    pub connection: Box<Connection>,
    /// The command.
    pub args: Box<OwnedArgs>,
}

/// A connection whose command has been executed, or is to be tried again.
pub struct Done {
    /// What was to be done.
    pub job: Job,
    /// What became of the command.
    pub flow: Flow,
    /// Where in the log its effects end, if it had any.
    pub log_end: Option<u64>,
}

/// The commands that wait, and the threads for them.
#[derive(Default)]
pub struct LongQueue {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: Vec<JoinHandle<()>>,
    /// Threads that wait for a job.
    idle: usize,
    has_ended: bool,
}

impl LongQueue {
    /// Adds a command. If more wait than threads do, and there are less than `threads_max`, another one is started: `start` gets its number.
    ///
    /// # Errors
    /// It could not be started: the command waits for those that there are.
    pub fn push(
        &self,
        job: Job,
        threads_max: usize,
        start: impl FnOnce(usize) -> io::Result<JoinHandle<()>>,
    ) -> io::Result<()> {
        self.state.lock().jobs.push_back(job);
        self.filled.notify_one();
        self.add_threads(threads_max, start)
    }

    /// Starts another thread in the same way, if there may be one more than when the commands that wait were added.
    ///
    /// # Errors
    /// It could not be started.
    pub fn add_threads(
        &self,
        threads_max: usize,
        start: impl FnOnce(usize) -> io::Result<JoinHandle<()>>,
    ) -> io::Result<()> {
        let mut state = self.state.lock();
        let number = state.threads.len();
        if state.jobs.len() > state.idle && number < threads_max && !state.has_ended {
            state.threads.push(start(number)?);
        }
        Ok(())
    }

    /// Takes the first thread in.
    pub fn add_thread(&self, thread: JoinHandle<()>) {
        self.state.lock().threads.push(thread);
    }

    /// The next command; waits for one. `None` when there will be none any more.
    pub fn next(&self) -> Option<Job> {
        let mut state = self.state.lock();
        loop {
            if state.has_ended {
                return None;
            }
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            state.idle += 1;
            self.filled.wait(&mut state);
            state.idle -= 1;
        }
    }

    /// Has the threads end when they have executed what they are at; waits for that. What waits is given up.
    pub fn end(&self) {
        let (threads, jobs) = {
            let mut state = self.state.lock();
            state.has_ended = true;
            (std::mem::take(&mut state.threads), std::mem::take(&mut state.jobs))
        };
        drop(jobs);
        self.filled.notify_all();
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}
