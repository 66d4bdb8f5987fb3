//! A primary and two replicas that are restarted and change roles, while clients write keys and fields with deadlines.
//!
//! Each writer knows what its keys must look like after every command: deadlines pass, and are extended before they do. Servers
//! are stopped in order and started from their files, killed where settings promise that nothing is lost, and replicas are
//! promoted by FAILOVER, or by hand when the primary is gone. The keys of each writer are then in one of the states after the
//! last one that was acknowledged, or, when the primary is lost, that WAIT or WAITAOF has acknowledged; and all servers agree.

mod model;
mod writer;

use crate::state::{Compared, wait_for_same};
use crate::{follow, info_number, now_ms, run_histories, start, start_again, wait_for_offset, wait_past};
use larder_testkit::{Kind, Server, wait_until, wait_until_rewritten};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use writer::{Promise, Writer};

/// What happens to servers in a history.
const STEPS: usize = 6;
const WRITERS: usize = 3;

struct History {
    servers: Vec<Server>,
    options: Vec<Vec<&'static str>>,
    /// Which server is the primary.
    primary: usize,
    writers: Vec<Writer>,
    rng: fastrand::Rng,
}

#[test]
fn what_was_acknowledged_survives_restarts_and_promotions() {
    run_histories(5_000, 3, history);
}

fn history(seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let threads = ["1", "2", "4"][rng.usize(..3)];
    let options: Vec<Vec<&str>> = (0..3)
        .map(|_| {
            let kept: &[&str] = match rng.u8(..4) {
                0 => &["--appendonly", "yes", "--appendfsync", "always"],
                1 => &["--appendonly", "yes"],
                _ => &["--save", "3600 1000000"],
            };
            [kept, &["--threads", threads]].concat()
        })
        .collect();
    println!("{options:?}");
    let servers: Vec<Server> = options.iter().map(|options| start(Kind::Larder, options)).collect();
    let are_logged = options.iter().all(|options| options.contains(&"--appendonly"));
    let writers = (0..WRITERS).map(|number| Writer::new(number, rng.u64(..), are_logged)).collect();
    let mut history = History { servers, options, primary: 0, writers, rng };
    for at in 1..3 {
        history.attach(at);
    }
    for step in 0..STEPS {
        let is_active = history.rng.u8(..4) > 0;
        for server in &history.servers {
            server.client().ask(&format!("DEBUG SET-ACTIVE-EXPIRE {}", u8::from(is_active)));
        }
        let mut what = "";
        let promise = history.while_writing(|history| {
            let (done, promise) = history.step();
            what = done;
            promise
        });
        println!("{what}");
        history.check(&format!("SEED={seed} step {step}, {what}"), promise);
    }
}

impl History {
    fn is_logged(&self, at: usize) -> bool {
        self.options[at].contains(&"--appendonly")
    }

    /// Has a server follow the primary.
    fn attach(&self, at: usize) {
        follow(&mut self.servers[at].client(), &self.servers[self.primary]);
        wait_for_offset(
            "a replica is attached",
            &mut self.servers[self.primary].client(),
            &mut self.servers[at].client(),
        );
    }

    /// Runs `step` while all writers write.
    fn while_writing(&mut self, step: impl FnOnce(&mut History) -> Promise) -> Promise {
        let (stop, count) = (AtomicBool::new(false), AtomicUsize::new(0));
        let mut writers = std::mem::take(&mut self.writers);
        let primary = &self.servers[self.primary];
        let clients: Vec<_> = writers.iter().map(|_| [primary.client(), primary.client()]).collect();
        let promise = std::thread::scope(|scope| {
            let stops = crate::StopAtEnd(&stop);
            let running: Vec<_> = writers
                .iter_mut()
                .zip(clients)
                .map(|(writer, clients)| {
                    let (stop, count) = (&stop, &count);
                    scope.spawn(move || writer.run(clients, stop, count))
                })
                .collect();
            let enough = self.rng.usize(10..400);
            let ended = || running.iter().any(|writer| writer.is_finished());
            wait_until("writers write", || count.load(Relaxed) >= enough || ended());
            let promise = step(self);
            let more = count.load(Relaxed) + self.rng.usize(1..100);
            wait_until("writers go on or end", || {
                count.load(Relaxed) >= more || running.iter().all(|writer| writer.is_finished())
            });
            drop(stops);
            promise
        });
        self.writers = writers;
        promise
    }

    /// Does something to one of the servers; returns what, and what must be there afterwards.
    fn step(&mut self) -> (&'static str, Promise) {
        let replica = (self.primary + self.rng.usize(1..3)) % 3;
        match self.rng.u8(..10) {
            0 | 1 => {
                self.stop(self.primary);
                self.pass_deadlines();
                self.restart(self.primary, None);
                ("the primary is restarted in order", Promise::Answered)
            }
            2 if self.is_logged(self.primary) => {
                self.wait_for_base(self.primary);
                self.servers[self.primary].kill();
                self.pass_deadlines();
                self.restart(self.primary, None);
                ("the primary is killed and starts from its log", Promise::Answered)
            }
            3 | 4 => {
                self.stop(replica);
                self.pass_deadlines();
                self.restart(replica, Some(self.primary));
                ("a replica is restarted in order", Promise::Answered)
            }
            5 => {
                self.servers[replica].kill();
                self.pass_deadlines();
                self.restart(replica, Some(self.primary));
                ("a replica is killed", Promise::Answered)
            }
            6 | 7 => {
                self.fail_over(replica);
                ("FAILOVER", Promise::Answered)
            }
            _ => {
                self.lose_primary();
                ("the primary is lost, and a replica promoted", Promise::Waited)
            }
        }
    }

    /// Lets near deadlines pass while a server is down.
    fn pass_deadlines(&mut self) {
        wait_past(now_ms() + [0, 50, 200][self.rng.usize(..3)]);
    }

    /// After a synchronization a log begins again. Until it has its base, it promises nothing, and the server does not stop.
    fn wait_for_base(&self, at: usize) {
        wait_until_rewritten(&mut self.servers[at].client());
    }

    /// Stops a server in order, with its data in its files.
    fn stop(&mut self, at: usize) {
        if self.is_logged(at) {
            self.wait_for_base(at);
            assert!(self.servers[at].stop().success(), "it stops in order");
        } else {
            self.servers[at].client().send(&["SHUTDOWN", "SAVE"]);
            self.servers[at].wait();
        }
    }

    fn restart(&mut self, at: usize, primary: Option<usize>) {
        let upstream = primary.map(|primary| format!("127.0.0.1 {}", self.servers[primary].port()));
        let mut options = self.options[at].clone();
        if let Some(upstream) = &upstream {
            options.extend(["--replicaof", upstream]);
        }
        start_again(&mut self.servers[at], &options);
    }

    /// Hands the primary's role over to a replica.
    fn fail_over(&mut self, to: usize) {
        let from = self.primary;
        let port = self.servers[to].port();
        let mut client = self.servers[from].client();
        wait_until("FAILOVER begins", || {
            let reply = client.ask(&format!("FAILOVER TO 127.0.0.1 {port}")).text();
            // The replica may not be online yet.
            assert!(reply == "OK" || reply.contains("FAILOVER target replica"), "{reply}");
            reply == "OK"
        });
        wait_until("the roles change", || {
            client.ask("ROLE").items()[0].text() == "slave"
                && self.servers[to].client().ask("ROLE").items()[0].text() == "master"
        });
        self.primary = to;
        self.attach(3 - from - to);
    }

    /// Kills the primary and promotes the replica that has more; the other servers follow it.
    fn lose_primary(&mut self) {
        let lost = self.primary;
        self.servers[lost].kill();
        let offset =
            |at: usize| info_number(&mut self.servers[at].client(), "replication", "slave_repl_offset");
        let (one, other) = ((lost + 1) % 3, (lost + 2) % 3);
        // What is in its socket is executed before the link ends.
        for at in [one, other] {
            wait_until("the link is down", || {
                crate::info(&mut self.servers[at].client(), "replication", "master_link_status") == "down"
            });
        }
        let (to, rest) = if offset(one) >= offset(other) { (one, other) } else { (other, one) };
        assert_eq!(self.servers[to].client().ask("REPLICAOF NO ONE").text(), "OK");
        self.primary = to;
        self.attach(rest);
        self.restart(lost, Some(to));
    }

    fn check(&mut self, what: &str, promise: Promise) {
        let mut client = self.servers[self.primary].client();
        for writer in &mut self.writers {
            if let Err(fault) = writer.check(&mut client, promise) {
                panic!("{what}: {fault}");
            }
        }
        for at in (0..3).filter(|at| *at != self.primary) {
            wait_for_offset(what, &mut client, &mut self.servers[at].client());
        }
        for server in &self.servers {
            server.client().ask("DEBUG SET-ACTIVE-EXPIRE 1");
        }
        let names = ["server 0", "server 1", "server 2"];
        let mut order = [0, 1, 2];
        order.rotate_left(self.primary);
        let servers =
            order.map(|at| Compared { name: names[at], kind: Kind::Larder, server: &self.servers[at] });
        if let Err(difference) = wait_for_same(&servers) {
            panic!("{what}: {difference}");
        }
    }
}
