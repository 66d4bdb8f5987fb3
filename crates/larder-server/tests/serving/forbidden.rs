//! What a command forbids is not done any more when it has replied, by whichever client in whatever way.

use larder_testkit::{Kind, Server};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A command that forbids writes to clients of the user `u`, and one that allows them again.
const CASES: &[(&str, &str)] = &[
    ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
    ("ACL SETUSER u -incr", "ACL SETUSER u +incr"),
    ("ACL SETUSER u resetkeys", "ACL SETUSER u allkeys"),
    ("CLIENT PAUSE 100000 WRITE", "CLIENT UNPAUSE"),
    ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"),
];

const ROUNDS: usize = 25;
/// Reads that must all find the same.
const READS: usize = 40;

/// Adds to the counter over and over, in one of several ways.
fn add(server: &Server, way: usize, is_over: &AtomicBool) {
    let mut client = server.client();
    assert_eq!(client.ask("AUTH u p").text(), "OK");
    while !is_over.load(Ordering::Relaxed) {
        // A pause holds it until the end.
        match way {
            0 | 1 => drop(client.ask("INCR n")),
            2 => drop(crate::pipeline(&mut client, &["MULTI", "GET n", "INCR n", "EXEC"])),
            _ => drop(client.cmd(&["EVAL", "return redis.call('incr', KEYS[1])", "1", "n"])),
        }
    }
}

/// Ends the threads that add, even when an assertion fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn what_is_forbidden_is_not_done_any_more() {
    let server = Server::of(Kind::Larder, &["--io-threads", "4"]);
    let mut admin = server.client();
    assert_eq!(admin.ask("ACL SETUSER u on nopass ~* +@all").text(), "OK");
    let is_over = AtomicBool::new(false);
    let late = thread::scope(|scope| {
        let _over = Over(&is_over);
        for way in 0..4 {
            let (server, is_over) = (&server, &is_over);
            scope.spawn(move || add(server, way, is_over));
        }
        let mut late = Vec::new();
        for (forbid, allow) in CASES {
            for _ in 0..ROUNDS {
                assert_eq!(admin.ask(forbid).text(), "OK", "{forbid}");
                let first = admin.ask("GET n");
                late.extend((0..READS).any(|_| admin.ask("GET n") != first).then_some(*forbid));
                assert_eq!(admin.ask(allow).text(), "OK", "{allow}");
                (0..READS).for_each(|_| drop(admin.ask("GET n")));
            }
        }
        late
    });
    assert!(late.is_empty(), "changed afterwards: {late:?}");
    assert!(admin.ask("GET n").text().parse::<u64>().is_ok_and(|count| count > 0));
}
