//! The thread that runs scripts: Lua needs a larger stack than threads of a program have. One script runs at a time anyway.

use super::client::Client;
use super::seats::Seat;
use crate::error::{Error, Result};
use larder_engine::{Engine, Permit, STACK_BYTES_MIN, spawn_background_with_stack};
use larder_resp::OwnedArgs;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a script waits for another one.
const PATIENCE: Duration = Duration::from_secs(5);
const BUSY: &[u8] = b"-BUSY Another script has been running for too long; SCRIPT KILL ends it\r\n";

/// A job of the thread.
enum Job {
    /// Commands of the store, and who gets the reply.
    Commands { db: usize, commands: Vec<OwnedArgs>, is_transaction: bool, reply: Sender<Ran> },
    /// A command of a connection, which is lent to the thread meanwhile.
    Connected { client: Box<Client>, args: OwnedArgs, reply: Sender<Connected> },
}

/// A connection that comes back; its reply, what became of the command, and up to where the log is to be kept.
type Connected = (Box<Client>, Vec<u8>, larder_engine::Ran, Option<u64>);

/// A reply, and up to where the log is to be kept before it is returned, if more was added to it.
type Ran = (Vec<u8>, Option<u64>);

/// The way to the thread, which is started with the first script.
pub struct Scripts {
    running: Mutex<Option<Running>>,
    permit: Permit,
}

struct Running {
    /// `None` once it is to end.
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Scripts {
    /// The thread is not started.
    pub fn new(permit: Permit) -> Scripts {
        Scripts { running: Mutex::default(), permit }
    }

    /// Executes one command; returns its reply, and up to where the log is to be kept, if more was added to it.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn run(&self, engine: &Arc<Engine>, db: usize, commands: Vec<OwnedArgs>) -> Result<Ran> {
        self.ask(engine, db, commands, false)
    }

    /// Executes commands as a transaction.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn run_transaction(&self, engine: &Arc<Engine>, db: usize, commands: Vec<OwnedArgs>) -> Result<Ran> {
        self.ask(engine, db, commands, true)
    }

    /// Executes a command of a connection.
    ///
    /// # Errors
    /// The system starts no thread. The connection is lost then.
    pub fn run_connected(
        &self,
        engine: &Arc<Engine>,
        client: Box<Client>,
        args: OwnedArgs,
    ) -> Result<Connected> {
        match self.acquire(engine)? {
            Some(running) => ask(running.as_ref(), |reply| Job::Connected { client, args, reply }),
            None => Ok((client, BUSY.to_vec(), larder_engine::Ran::Answered, None)),
        }
    }

    fn ask(
        &self,
        engine: &Arc<Engine>,
        db: usize,
        commands: Vec<OwnedArgs>,
        is_transaction: bool,
    ) -> Result<Ran> {
        match self.acquire(engine)? {
            Some(running) => {
                ask(running.as_ref(), |reply| Job::Commands { db, commands, is_transaction, reply })
            }
            None => Ok((BUSY.to_vec(), None)),
        }
    }

    /// Acquires the thread, which is started if it is not there; `None` if another script has been running for too long.
    fn acquire(&self, engine: &Arc<Engine>) -> Result<Option<MutexGuard<'_, Option<Running>>>> {
        let Some(mut running) = self.running.try_lock_for(PATIENCE) else { return Ok(None) };
        if running.is_none() {
            *running = Some(start(engine, self.permit)?);
        }
        Ok(Some(running))
    }
}

/// Sends a job to the thread and waits for its result.
fn ask<R>(running: Option<&Running>, job: impl FnOnce(Sender<R>) -> Job) -> Result<R> {
    let (reply, answered) = channel();
    let jobs = running.and_then(|running| running.jobs.as_ref());
    let is_sent = jobs.is_some_and(|jobs| jobs.send(job(reply)).is_ok());
    let result = if is_sent { answered.recv().ok() } else { None };
    result.ok_or_else(|| Error::Thread(std::io::Error::other("the script thread has ended")))
}

fn start(engine: &Arc<Engine>, permit: Permit) -> Result<Running> {
    let (jobs, todo) = channel::<Job>();
    let engine = Arc::clone(engine);
    let thread = spawn_background_with_stack("larder-scripts", STACK_BYTES_MIN, move |_| {
        let mut seat = Seat::new(&engine, permit);
        for job in todo {
            // Who asked waits.
            match job {
                Job::Commands { db, commands, is_transaction, reply } => {
                    let bytes = match &commands[..] {
                        [command] if !is_transaction => seat.run(db, command.as_args().iter()),
                        commands => seat.run_transaction(db, commands),
                    };
                    let bytes = bytes.to_vec();
                    let _ = reply.send((bytes, seat.unkept()));
                }
                Job::Connected { mut client, args, reply } => {
                    let mut bytes = Vec::new();
                    let (ran, log_end) = client.run(&args, &mut bytes);
                    let _ = reply.send((client, bytes, ran, log_end));
                }
            }
        }
    });
    Ok(Running { jobs: Some(jobs), thread: Some(thread.map_err(Error::Thread)?) })
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _: std::thread::Result<()> = thread.join();
        }
    }
}
