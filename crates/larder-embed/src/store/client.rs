//! The engine's side of a connection: a worker and a session, which are lent to the thread for scripts.

use larder_engine::{Engine, LocalWorker, Permit, Ran, Session};
use larder_resp::OwnedArgs;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

/// The engine's side of a connection.
pub struct Client {
    pub worker: LocalWorker,
    pub session: Session,
    pub bell: Arc<Bell>,
    permit: Permit,
    /// Whether a command that may run a script is queued in the transaction.
    queues_script: bool,
}

/// Rings when there is mail.
#[derive(Default)]
pub struct Bell {
    has_rung: Mutex<bool>,
    rings: Condvar,
}

/// A worker without a client.
pub struct Idle {
    pub worker: LocalWorker,
    pub bell: Arc<Bell>,
}

impl Bell {
    fn ring(&self) {
        *self.has_rung.lock() = true;
        self.rings.notify_one();
    }

    /// Waits for mail; false if none comes in this time.
    pub fn wait(&self, patience: Duration) -> bool {
        let mut has_rung = self.has_rung.lock();
        if !*has_rung {
            self.rings.wait_for(&mut has_rung, patience);
        }
        std::mem::take(&mut has_rung)
    }
}

impl Idle {
    /// One more worker of the engine.
    pub fn new(engine: &Arc<Engine>) -> Idle {
        let bell = Arc::new(Bell::default());
        let rung = Arc::clone(&bell);
        Idle { worker: engine.local_worker(Box::new(move || rung.ring())), bell }
    }
}

impl Client {
    /// A client with a new session of this worker.
    pub fn new(Idle { mut worker, bell }: Idle, permit: Permit) -> Client {
        worker.begin();
        let session = worker.open_connection();
        Client { worker, session, bell, permit, queues_script: false }
    }

    /// Executes a command; returns what became of it, and up to where the log is to be kept, if it has added to the log.
    pub fn run(&mut self, args: &OwnedArgs, reply: &mut Vec<u8>) -> (Ran, Option<u64>) {
        let before = self.worker.log_end();
        let ran = self.worker.run_connected(&mut self.session, self.permit, args.as_args(), reply);
        let end = self.worker.end();
        (ran, (end > before).then_some(end))
    }

    pub fn may_run_script(&mut self, args: &OwnedArgs) -> bool {
        let words = args.as_args();
        let is = |name: &[u8]| words.iter().next().is_some_and(|word| word.eq_ignore_ascii_case(name));
        if is(b"EXEC") || is(b"DISCARD") || is(b"RESET") {
            return std::mem::take(&mut self.queues_script);
        }
        let may_run_script = self.worker.may_run_script(words);
        if self.session.is_queueing() {
            self.queues_script |= may_run_script;
            return false;
        }
        may_run_script
    }
}
