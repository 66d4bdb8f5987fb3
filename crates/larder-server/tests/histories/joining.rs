//! Replicas of every kind join and leave a primary in any order, while clients write to it.
//!
//! Links are cut from both sides, replicas are killed, stopped for a while and attached again. In the end each attached replica
//! has the primary's data, and no link was synchronized more often than it was cut.

use crate::random_writes::write_until;
use crate::state::{Compared, wait_for_same};
use crate::{StopAtEnd, follow, info_number, run_histories, start, wait_for_offset};
use larder_testkit::{Client, Kind, Server, wait_until};
use std::sync::atomic::AtomicBool;

/// Databases that the writers use.
const DATABASES: usize = 3;
/// What happens to replicas in a history.
const STEPS: usize = 16;

/// Every kind of replica.
const KINDS: &[(&str, Kind, &[&str])] = &[
    ("larder", Kind::Larder, &[]),
    ("larder, 2 threads, log", Kind::Larder, &["--threads", "2", "--appendonly", "yes"]),
    ("larder, lz4", Kind::Larder, &["--repl-compression", "lz4"]),
    ("larder, zstd", Kind::Larder, &["--repl-compression", "zstd", "--threads", "2"]),
    ("larder, swapdb", Kind::Larder, &["--repl-diskless-load", "swapdb"]),
    ("valkey", Kind::Valkey, &[]),
    ("valkey, two channels", Kind::Valkey, &["--dual-channel-replication-enabled", "yes"]),
    ("redis 7", Kind::Redis, &[]),
    ("redis 8", Kind::Redis8, &[]),
];

struct Replica {
    name: &'static str,
    kind: Kind,
    server: Server,
    is_attached: bool,
}

struct History {
    primary: Server,
    replicas: Vec<Replica>,
    /// The number of synchronizations that joins and cut links cause.
    explained: usize,
    /// The limit of replicas. With one, each replica takes the place of the one before.
    replicas_max: usize,
    rng: fastrand::Rng,
}

#[test]
fn attached_replicas_have_the_data() {
    run_histories(2_000, 2, history);
}

fn history(seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let threads = ["1", "2", "4"][rng.usize(..3)];
    let limit = ["replica 0 0 0", "replica 300kb 0 0"][rng.usize(..2)];
    let backlog = ["100kb", "10mb"][rng.usize(..2)];
    let diskless = ["yes", "no"][rng.usize(..2)];
    println!("{threads} threads, limit {limit}, backlog {backlog}, diskless {diskless}");
    let primary = start(
        Kind::Larder,
        &["--threads", threads, "--client-output-buffer-limit", limit, "--repl-backlog-size", backlog]
            .into_iter()
            .chain(["--repl-diskless-sync", diskless])
            .collect::<Vec<_>>(),
    );
    let replicas_max = [1, 2, 4][rng.usize(..3)];
    let mut history = History { primary, replicas: Vec::new(), explained: 0, replicas_max, rng };
    let stop = AtomicBool::new(false);
    let writers: Vec<Client> = (0..2).map(|_| history.primary.client()).collect();
    std::thread::scope(|scope| {
        let stops = StopAtEnd(&stop);
        for (mut client, number) in writers.into_iter().zip(1..) {
            let (mut rng, stop) = (fastrand::Rng::with_seed(seed ^ number), &stop);
            scope.spawn(move || write_until(&mut client, &mut rng, DATABASES, stop));
        }
        for _ in 0..STEPS {
            history.step();
            let more = history.rng.i64(1..600);
            history.wait_for_writes(more);
        }
        drop(stops);
    });
    history.check(seed);
}

impl History {
    /// Waits until the primary has executed this many commands more.
    fn wait_for_writes(&self, more: i64) {
        let mut client = self.primary.client();
        let first = info_number(&mut client, "stats", "total_commands_processed");
        wait_until("the writers write", || {
            info_number(&mut client, "stats", "total_commands_processed") > first + more
        });
    }

    fn step(&mut self) {
        let choice = self.rng.u8(..16);
        if self.replicas.is_empty() || choice < 5 && self.replicas.len() < self.replicas_max {
            return self.join();
        }
        let at = self.rng.usize(..self.replicas.len());
        let attached = self.replicas.iter().filter(|replica| replica.is_attached).count();
        let replica = &mut self.replicas[at];
        let mut client = replica.server.client();
        match choice {
            0..=5 if !replica.is_attached => {
                println!("{} comes back", replica.name);
                follow(&mut client, &self.primary);
                replica.is_attached = true;
                self.explained += 1;
            }
            0..=5 => wait_for_offset_or_progress(&mut self.primary.client(), &mut client),
            6 | 7 => {
                println!("{} leads itself", replica.name);
                // A server that loads a snapshot refuses the command.
                wait_until("it leads", || client.ask("REPLICAOF NO ONE").text() == "OK");
                if self.rng.bool() {
                    client.ask("SET own value");
                }
                replica.is_attached = false;
            }
            8 | 9 => {
                println!("{} is killed", replica.name);
                self.replicas.remove(at).server.kill();
            }
            10 | 11 => {
                println!("the primary cuts all links");
                self.primary.client().ask("CLIENT KILL TYPE replica");
                self.explained += attached;
            }
            12 | 13 => {
                println!("{} cuts its link", replica.name);
                client.ask("CLIENT KILL TYPE master");
                self.explained += 1;
            }
            _ => {
                println!("{} is stopped for a while", replica.name);
                replica.server.signal("STOP");
                let more = self.rng.i64(1..4000);
                self.wait_for_writes(more);
                self.replicas[at].server.signal("CONT");
                // It may be cut off more than once, as it is slow to catch up.
                self.explained += 2;
            }
        }
    }

    fn join(&mut self) {
        let (name, kind, args) = KINDS[self.rng.usize(..KINDS.len())];
        println!("{name} joins");
        let server = start(kind, args);
        let mut client = server.client();
        client.ask("SET old data");
        follow(&mut client, &self.primary);
        self.explained += 1;
        self.replicas.push(Replica { name, kind, server, is_attached: true });
    }

    fn check(&self, seed: u64) {
        let mut ours = self.primary.client();
        let attached: Vec<&Replica> = self.replicas.iter().filter(|replica| replica.is_attached).collect();
        for replica in &attached {
            wait_for_offset(
                &format!("SEED={seed} {}", replica.name),
                &mut ours,
                &mut replica.server.client(),
            );
        }
        let primary = Compared { name: "the primary", kind: Kind::Larder, server: &self.primary };
        let others = attached.iter().map(|replica| Compared {
            name: replica.name,
            kind: replica.kind,
            server: &replica.server,
        });
        let servers: Vec<Compared<'_>> = std::iter::once(primary).chain(others).collect();
        if let Err(difference) = wait_for_same(&servers) {
            panic!("SEED={seed}: {difference}");
        }
        let full = info_number(&mut ours, "stats", "sync_full");
        let partial = info_number(&mut ours, "stats", "sync_partial_ok");
        let most = i64::try_from(3 * self.explained + 8).expect("a small number");
        println!("{full} full and {partial} partial synchronizations, {} explained", self.explained);
        assert!(full + partial <= most, "SEED={seed}: {full} full and {partial} partial synchronizations");
    }
}

/// Waits until a replica is attached, if it is soon.
fn wait_for_offset_or_progress(primary: &mut Client, replica: &mut Client) {
    let first = info_number(primary, "stats", "total_commands_processed");
    wait_until("the link comes up, or others write much", || {
        crate::info(replica, "replication", "master_link_status") == "up"
            || info_number(primary, "stats", "total_commands_processed") > first + 2000
    });
}
