//! Threads that help the link to apply a plan: each takes the units that it owns.

use super::executor::Executor;
use super::plan::{Plan, UNITS_MAX};
use crate::clients::session::ConnInfo;
use crate::engine::Engine;
use crate::keyspace::locks::spawn_background;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// The most threads of a link.
const THREADS_MAX: usize = 8;
/// Fewer commands are applied sooner by one thread: waking another takes as long as this many.
const COMMANDS_MIN: usize = 256;

/// A plan with the bytes that it is about.
#[derive(Default)]
struct Work {
    bytes: Vec<u8>,
    plan: Plan,
}

/// What a team has done.
pub(super) struct Done {
    /// The bytes of the stream that it took.
    pub bytes: usize,
    /// The database that is selected after them.
    pub db: usize,
    /// How many commands the helpers have executed.
    pub helped: u64,
}

/// The threads that help.
pub(super) struct Team {
    work: Arc<Work>,
    helpers: Vec<(Sender<Arc<Work>>, JoinHandle<()>)>,
    /// A helper is done: how many commands it has executed.
    done: Receiver<u64>,
}

impl Team {
    /// The team of the link of an epoch; `None` if the server has but one thread, or the system starts no other.
    pub fn new(engine: &Arc<Engine>, info: &ConnInfo, epoch: u64) -> Option<Team> {
        let count = engine.threads.min(THREADS_MAX).saturating_sub(1);
        let (tell, done) = channel();
        let helpers = (1..=count)
            .map(|owner| start(engine, info, epoch, owner, tell.clone()))
            .collect::<std::io::Result<Vec<_>>>()
            .inspect_err(|error| {
                engine.log_warning(&format!(
                    "Failed to start more threads to apply the replication stream: {error}"
                ));
            })
            .ok()?;
        (count > 0).then(|| Team { work: Arc::default(), helpers, done })
    }

    /// Applies what `bytes` begin with by all threads, `own` among them. `None`, and nothing is done, if that is not worth it.
    pub fn apply(&mut self, own: &mut Executor, bytes: &[u8]) -> Option<Done> {
        let threads = self.helpers.len() + 1;
        let work = Arc::get_mut(&mut self.work).expect("the helpers are done with it");
        let engine = Arc::clone(&own.worker.engine);
        work.plan.make(&engine, &mut own.worker.state, own.session.db, bytes, (threads, UNITS_MAX));
        if work.plan.command_count() < COMMANDS_MIN {
            return None;
        }
        let (used, db) = (work.plan.bytes, work.plan.db);
        work.bytes.clear();
        work.bytes.extend_from_slice(&bytes[..used]);
        for (helper, _) in &self.helpers {
            helper.send(Arc::clone(&self.work)).expect("helpers take work as long as the team lives");
        }
        own.run_units(&self.work.plan, &self.work.bytes, 0);
        let mut helped = 0;
        for _ in &self.helpers {
            helped += self.done.recv().expect("helpers say when they are done");
        }
        Some(Done { bytes: used, db, helped })
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        for (work, thread) in self.helpers.drain(..) {
            drop(work);
            let _: std::thread::Result<()> = thread.join();
        }
    }
}

fn start(
    engine: &Arc<Engine>,
    info: &ConnInfo,
    epoch: u64,
    owner: usize,
    done: Sender<u64>,
) -> std::io::Result<(Sender<Arc<Work>>, JoinHandle<()>)> {
    let (engine, info) = (Arc::clone(engine), info.clone());
    let (give, take) = channel::<Arc<Work>>();
    let thread = spawn_background(&format!("larder-apply-{owner}"), move |_| {
        let stats = engine.stats.of_applier(owner);
        let mut executor = Executor::new(&engine, info, epoch, stats);
        executor.session.in_batch = true;
        for work in take {
            crate::panic_on_demand::panic_if_armed();
            executor.worker.tick();
            let count = executor.run_units(&work.plan, &work.bytes, owner);
            executor.worker.finish_round();
            drop(work);
            if done.send(count).is_err() {
                break;
            }
        }
    })?;
    Ok((give, thread))
}
