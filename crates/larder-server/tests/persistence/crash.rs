//! kill -9 under load: with the append-only file every write that was acknowledged is there, otherwise a prefix of each
//! client's.

use larder_testkit::{Client, Server, full_run, seed};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

const WRITERS: usize = 4;

/// Writes numbers in order to a list of its own until the connection breaks; counts those acknowledged.
fn write(mut client: Client, writer: usize, from: u64, acknowledged: &AtomicU64) {
    for number in from.. {
        client.send(&["RPUSH", &format!("list:{writer}"), &number.to_string()]);
        match client.read() {
            Ok(reply) if !reply.is_error() => acknowledged.store(number + 1, Ordering::SeqCst),
            _ => return,
        }
    }
}

/// The numbers of a list, which must be 0, 1, 2..; returns how many there are.
fn length(client: &mut Client, writer: usize, seed: u64) -> u64 {
    let reply = client.ask(&format!("LRANGE list:{writer} 0 -1"));
    for (at, item) in reply.items().iter().enumerate() {
        assert_eq!(item.text(), at.to_string(), "SEED={seed}");
    }
    reply.items().len() as u64
}

/// Crashes a server again and again. `keeps`: what was acknowledged must be there.
fn crash(args: &[&str], rounds: usize, keeps: bool, own_seed: u64) {
    let seed = seed(own_seed);
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut server = Server::larder(args);
    let mut lengths = [0; WRITERS];
    for round in 0..rounds {
        let acknowledged: Vec<_> = lengths.iter().map(|&len| Arc::new(AtomicU64::new(len))).collect();
        let start = Arc::new(Barrier::new(WRITERS + 1));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (client, start) = (server.client(), Arc::clone(&start));
                let (from, count) = (lengths[writer], Arc::clone(&acknowledged[writer]));
                thread::spawn(move || {
                    start.wait();
                    write(client, writer, from, &count);
                })
            })
            .collect();
        start.wait();
        let until = acknowledged[0].load(Ordering::SeqCst) + rng.u64(1..300);
        if rng.bool() {
            let snapshot = if rng.bool() { "BGSAVE" } else { "BGREWRITEAOF" };
            server.client().ask(snapshot);
        }
        while acknowledged[0].load(Ordering::SeqCst) < until {
            thread::sleep(Duration::from_millis(1));
        }
        server.kill();
        writers.into_iter().for_each(|writer| writer.join().expect("the writer ends"));
        assert!(server.start_again(args), "SEED={seed} round {round}\n{}", server.log());
        let mut client = server.client();
        for writer in 0..WRITERS {
            lengths[writer] = length(&mut client, writer, seed);
            let acknowledged = acknowledged[writer].load(Ordering::SeqCst);
            assert!(
                !keeps || lengths[writer] >= acknowledged,
                "SEED={seed} round {round}: {} of {acknowledged}",
                lengths[writer]
            );
        }
    }
}

fn rounds() -> usize {
    if full_run() { 200 } else { 10 }
}

#[test]
fn always_keeps_what_was_acknowledged() {
    crash(&["--threads", "2", "--appendonly", "yes", "--appendfsync", "always"], rounds(), true, 1);
}

#[test]
fn everysec_keeps_what_was_acknowledged() {
    crash(&["--threads", "2", "--appendonly", "yes"], rounds(), true, 2);
}

#[test]
fn a_log_without_syncs_keeps_what_was_acknowledged() {
    crash(&["--threads", "4", "--appendonly", "yes", "--appendfsync", "no"], rounds(), true, 4);
}

#[test]
fn snapshots_keep_a_prefix() {
    crash(&["--threads", "4", "--save", "1 1"], rounds(), false, 3);
}
