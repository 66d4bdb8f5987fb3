//! Elements that move through queues while the server crashes.
//!
//! Producers push numbered elements, and consumers move them on: through lists, a sorted set and the group of a stream, with
//! commands that block and that do not, in transactions and scripts. Each queue is a chain of stages, and elements move one way.
//! The server is killed at a random moment, or stopped in order. With `appendfsync always` the power may fail as well: the log is
//! cut down to what had been synced. Each reply promises where its element is; the checker finds every element in that stage,
//! or in a later one that an unanswered command may have moved it to.

mod model;
mod worker;

use crate::power::Powered;
use crate::run_histories;
use larder_testkit::wait_until;
use model::{Model, observe};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use worker::{ROLES, Worker};

/// Ends of the server in a history.
const ENDS: usize = 16;

/// How the server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// kill -9, and what was not synced is lost.
    PowerFailure,
    /// kill -9.
    Kill,
    /// SIGTERM.
    Stop,
}

#[test]
fn acknowledged_moves_survive_every_end() {
    run_histories(1_000, 5, history);
}

/// A process that is killed has not synced everything. The next one does before clients see what it has loaded.
#[test]
fn what_a_start_has_loaded_survives_a_power_failure() {
    let args = ["--appendonly", "yes", "--appendfsync", "no"];
    let mut powered = Powered::start(0, &args);
    assert_eq!(powered.server.client().ask("SET key value").text(), "OK");
    powered.server.kill();
    assert!(powered.server.start_again(&args));
    assert_eq!(powered.server.client().ask("GET key").text(), "value");
    powered.cut();
    assert!(powered.server.start_again(&args));
    assert_eq!(powered.server.client().ask("GET key").text(), "value");
}

fn history(seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let threads = if rng.bool() { "4" } else { "1" };
    let is_always = rng.u8(..4) > 0;
    let policy = if is_always { "always" } else { "everysec" };
    let delay_us = [0, 5_000, 30_000][rng.usize(..3)];
    println!("{threads} threads, appendfsync {policy}, syncs take up to {delay_us} us more");
    let args = ["--threads", threads, "--appendonly", "yes", "--appendfsync", policy];
    let mut powered = Powered::start(delay_us, &args);
    let mut model = Model::default();
    let next = AtomicU64::new(1);
    for round in 0..ENDS {
        let ends: &[End] =
            if is_always { &[End::PowerFailure, End::Kill, End::Stop] } else { &[End::Kill, End::Stop] };
        // A power failure is a kill that keeps less.
        let end = if is_always && rng.bool() { End::PowerFailure } else { ends[rng.usize(..ends.len())] };
        run_until(&mut powered, &mut model, &next, &mut rng, end);
        assert!(powered.server.start_again(&args), "SEED={seed}: {}", powered.server.log());
        let seen = observe(&mut powered.server.client());
        if let Err(fault) = model.check(&seen) {
            panic!("SEED={seed} round {round} after {end:?}: {fault}");
        }
        model.accept(seen);
    }
}

/// Has the workers work until the server ends, and notes what they know.
fn run_until(powered: &mut Powered, model: &mut Model, next: &AtomicU64, rng: &mut fastrand::Rng, end: End) {
    let answered = AtomicUsize::new(0);
    let rewrites = rng.u8(..4) == 0;
    let enough = rng.usize(10..100);
    std::thread::scope(|scope| {
        let workers: Vec<_> = ROLES
            .iter()
            .map(|&role| {
                let client = powered.server.client();
                let mut worker = Worker::new(client, role, rng.u64(..), next, &answered);
                scope.spawn(move || {
                    worker.run();
                    worker.into_knowledge()
                })
            })
            .collect();
        let count = || answered.load(std::sync::atomic::Ordering::Relaxed);
        if rewrites {
            wait_until("half of the commands are answered", || count() >= enough / 2);
            powered.server.client().ask("BGREWRITEAOF");
        }
        wait_until("commands are answered", || count() >= enough || workers.iter().all(|w| w.is_finished()));
        match end {
            End::PowerFailure => powered.cut(),
            End::Kill => powered.server.kill(),
            End::Stop => assert!(powered.server.stop().success(), "it stops in order"),
        }
        for worker in workers {
            model.learn(worker.join().expect("the worker ends with its connection"));
        }
    });
}
