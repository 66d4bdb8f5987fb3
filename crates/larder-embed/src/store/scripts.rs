//! The thread that runs scripts: Lua needs a larger stack than threads of a program have. One script runs at a time anyway.

use super::seats::Seat;
use crate::error::{Error, Result};
use larder_engine::{Engine, Permit, STACK_BYTES_MIN, spawn_background_with_stack};
use larder_resp::OwnedArgs;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a script waits for another one.
const PATIENCE: Duration = Duration::from_secs(5);
const BUSY: &[u8] = b"-BUSY Another script has been running for too long; SCRIPT KILL ends it\r\n";

/// Commands, and who gets the reply.
struct Job {
    db: usize,
    commands: Vec<OwnedArgs>,
    is_transaction: bool,
    reply: Sender<Ran>,
}

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

    fn ask(
        &self,
        engine: &Arc<Engine>,
        db: usize,
        commands: Vec<OwnedArgs>,
        is_transaction: bool,
    ) -> Result<Ran> {
        let (reply, answered) = channel();
        let Some(mut running) = self.running.try_lock_for(PATIENCE) else {
            return Ok((BUSY.to_vec(), None));
        };
        let running = match &mut *running {
            Some(running) => running,
            none => none.insert(start(engine, self.permit)?),
        };
        let job = Job { db, commands, is_transaction, reply };
        let sent = running.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        let reply = if sent { answered.recv().ok() } else { None };
        reply.ok_or_else(|| Error::Thread(std::io::Error::other("the thread for scripts has ended")))
    }
}

fn start(engine: &Arc<Engine>, permit: Permit) -> Result<Running> {
    let (jobs, todo) = channel::<Job>();
    let engine = Arc::clone(engine);
    let thread = spawn_background_with_stack("larder-scripts", STACK_BYTES_MIN, move |_| {
        let mut seat = Seat::new(&engine, permit);
        for Job { db, commands, is_transaction, reply } in todo {
            let bytes = match &commands[..] {
                [command] if !is_transaction => seat.run(db, command.as_args().iter()),
                commands => seat.run_transaction(db, commands),
            };
            let bytes = bytes.to_vec();
            // Who asked waits.
            let _ = reply.send((bytes, seat.unkept()));
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
