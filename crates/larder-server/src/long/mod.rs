//! Threads for commands that take long, so that a worker's other clients need not wait for them.
//!
//! A worker gives the whole connection away with the command, and gets it back when that has been executed. There is one thread from the
//! beginning; more are started while all are busy, up to as many as there are workers: so no fewer commands are executed at a time than
//! without them. While a script runs there may be one more, and one for each that waits for its end, up to twice as many and one.

pub mod queue;

use crate::connection::Connection;
use crate::shared::Shared;
use crate::{cpus, crash};
use larder_engine::{Engine, STACK_BYTES_MIN, Worker, panic_if_armed};
use queue::{Done, Job};
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Starts the first thread.
pub fn start(shared: &Arc<Shared>, engine: &Arc<Engine>) -> io::Result<()> {
    shared.long.add_thread(start_thread(shared, engine, 0)?);
    Ok(())
}

/// Has a command executed; the connection comes back by the post of its worker.
pub fn give(shared: &Arc<Shared>, engine: &Arc<Engine>, job: Job) {
    let start = |number| start_thread(shared, engine, number);
    warn(shared, shared.long.push(job, threads_max(shared, engine), start));
}

/// Starts a thread for commands that wait, if those that there are wait by now for a script or for all shards. To be called every now and then: when a command
/// was given, the thread that it counted on may just have been about to wait.
pub fn add_threads(shared: &Arc<Shared>, engine: &Arc<Engine>) {
    let start = |number| start_thread(shared, engine, number);
    warn(shared, shared.long.add_threads(threads_max(shared, engine), start));
}

fn threads_max(shared: &Shared, engine: &Engine) -> usize {
    let workers = shared.posts().len();
    workers + engine.waiting_threads().min(workers + 1)
}

fn warn(shared: &Shared, started: io::Result<()>) {
    if let Err(error) = started {
        shared.log.warning(&format!("Failed to start another thread for slow commands: {error}"));
    }
}

fn start_thread(shared: &Arc<Shared>, engine: &Arc<Engine>, number: usize) -> io::Result<JoinHandle<()>> {
    let (shared, worker) = (Arc::clone(shared), Worker::for_long_commands(engine));
    let name = format!("larder-long-{number}");
    thread::Builder::new().name(name).stack_size(STACK_BYTES_MIN).spawn(move || {
        crash::fault::use_signal_stack();
        cpus::bind(&shared.config, "server-cpulist", &shared.log);
        run(&shared, worker);
    })
}

fn run(shared: &Shared, mut worker: Worker) {
    while let Some(mut job) = shared.long.next() {
        panic_if_armed();
        let logged = worker.log_end();
        let Connection { session, output, .. } = &mut *job.connection;
        let flow = worker.execute_long(session, job.args.as_args(), &mut output.tail);
        let log_end = Some(worker.log_end()).filter(|&end| end != logged);
        let post = &shared.posts()[job.worker];
        post.returns.lock().push(Done { job, flow, log_end });
        let _ = post.waker.wake();
    }
}
