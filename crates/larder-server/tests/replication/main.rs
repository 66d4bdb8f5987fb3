//! Replication, with servers of every kind on both ends.

mod acknowledged;
mod applying;
mod blocks;
mod compressed;
mod deadlines;
mod faults;
mod followers;
mod loading_beside;
mod old_primaries;
mod own_file;
mod proxy;
#[path = "../common/random_writes.rs"]
mod random_writes;
mod redirect;
mod roles;
mod stream;

use larder_testkit::{Client, Kind, Server, Value, wait_until};
use random_writes::write_until;
use std::time::Duration;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server whose snapshots for replicas begin at once.
fn start(kind: Kind, args: &[&str]) -> Server {
    Server::of(kind, &[&["--repl-diskless-sync-delay", "0", "--repl-timeout", "20"], args].concat())
}

/// A field of INFO.
fn info(client: &mut Client, section: &str, name: &str) -> String {
    let text = client.ask(&format!("INFO {section}")).text();
    let field = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned));
    field.unwrap_or_default()
}

fn offset(client: &mut Client) -> i64 {
    info(client, "replication", "master_repl_offset").parse().expect("INFO has the offset")
}

fn follow(client: &mut Client, primary: &Server) {
    let reply = client.ask(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
    assert_eq!(reply, Value::Simple("OK".to_owned()));
}

fn wait_for_link(client: &mut Client) {
    wait_until("the link comes up", || info(client, "replication", "master_link_status") == "up");
}

/// Waits until a replica has everything and compares the data.
fn wait_for_same_data(what: &str, primary: &Server, replica: &Server) {
    let (mut ours, mut theirs) = (primary.client(), replica.client());
    wait_for_link(&mut theirs);
    wait_until(&format!("{what}: the offsets meet"), || offset(&mut ours) == offset(&mut theirs));
    let digests = (ours.ask("DEBUG DIGEST").text(), theirs.ask("DEBUG DIGEST").text());
    assert_eq!(
        digests.0,
        digests.1,
        "{what}: the data differs\n{}\n{}\n{}",
        ours.ask("INFO keyspace").text(),
        theirs.ask("INFO keyspace").text(),
        replica.log()
    );
}

/// Has writers stop when it is dropped, also by a test that fails.
struct StopAtEnd<'s>(&'s std::sync::atomic::AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
