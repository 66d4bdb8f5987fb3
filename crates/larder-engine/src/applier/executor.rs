//! A thread that executes commands of the primary: its worker and its session.

use super::plan::{Plan, PlannedUnit};
use crate::clients::session::{ClientShared, ConnInfo, Session, client_flags};
use crate::command::spec::Found;
use crate::engine::Engine;
use crate::execution::unit;
use crate::stats::counters::ThreadStats;
use crate::worker::{NO_WORKER, PREFETCH_MAX, Worker};
use larder_resp::{Args, OwnedArgs};
use std::sync::Arc;

/// Executes commands for a link.
pub(super) struct Executor {
    pub worker: Worker,
    pub session: Session,
    reply: Vec<u8>,
    /// The epoch of the link.
    epoch: u64,
}

impl Executor {
    /// For the link of an epoch, which `info` describes as a client.
    pub fn new(engine: &Arc<Engine>, info: ConnInfo, epoch: u64, stats: Arc<ThreadStats>) -> Executor {
        let worker = Worker::without_clients(engine, stats);
        let shared = Arc::new(ClientShared::new(info, NO_WORKER, crate::clock::wall_ms()));
        shared.set_flag(client_flags::PRIMARY, true);
        let mut session = Session::for_replay(shared, &engine.acl);
        session.is_of_primary = true;
        Executor { worker, session, reply: Vec::new(), epoch }
    }

    /// Selects a database.
    pub fn select(&mut self, db: usize) {
        self.session.select(db);
    }

    /// Executes a command of a batch, which has been looked up and may run: it is not asked again.
    pub fn run_found(&mut self, found: Found, args: Args<'_>) {
        self.worker.state.admitted = Some(found);
        self.run(args);
    }

    /// Drops keys that this replica does not hold, and that a command has written all the same.
    pub fn drop_keys(&mut self, keys: &[&[u8]]) {
        let args: OwnedArgs = std::iter::once(&b"UNLINK"[..]).chain(keys.iter().copied()).collect();
        self.run(args.as_args());
    }

    /// Executes the units of a plan that are this thread's; says how many commands they were. `bytes` are those that were planned.
    pub fn run_units(&mut self, plan: &Plan, bytes: &[u8], owner: usize) -> u64 {
        let mut count = 0;
        let mut units = plan.units.iter().filter(|unit| unit.owner == owner).peekable();
        let mut next: Vec<&PlannedUnit> = Vec::with_capacity(PREFETCH_MAX);
        while units.peek().is_some() {
            next.clear();
            let mut keys = 0;
            while let Some(unit) = units.next_if(|unit| next.is_empty() || keys + unit.len() <= PREFETCH_MAX)
            {
                keys += unit.len();
                next.push(unit);
            }
            let hashes = next.iter().flat_map(|unit| plan.hashes(unit).map(|hash| (unit.db, hash)));
            self.worker.prefetch_hashes(hashes);
            for unit in &next {
                self.run_unit(plan, unit, bytes);
                count += unit.len() as u64;
            }
        }
        count
    }

    /// Executes a unit, however long a script makes it wait.
    fn run_unit(&mut self, plan: &Plan, unit: &PlannedUnit, bytes: &[u8]) {
        self.session.db = unit.db;
        loop {
            self.reply.clear();
            let (commands, shards, frame) = plan.commands(unit, bytes);
            let Worker { engine, state } = &mut self.worker;
            let done =
                unit::execute(engine, state, &mut self.session, commands, (shards, frame), &mut self.reply);
            if done.is_ok() {
                return;
            }
            self.worker.keep_link_waiting();
            if self.worker.engine.replication.epoch() != self.epoch {
                return;
            }
            self.worker.tick();
        }
    }

    /// Executes a command, however long a script makes it wait.
    pub fn run(&mut self, args: Args<'_>) {
        let epoch = self.epoch;
        let is_current = |engine: &Engine| engine.replication.epoch() == epoch;
        self.worker.execute_patiently(&mut self.session, args, &mut self.reply, is_current);
    }
}
