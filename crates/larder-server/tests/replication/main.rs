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
mod redirect;
mod roles;
mod stream;

use larder_testkit::{Client, Kind, Server, Value, wait_until, words};
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

/// Writes at random until told to stop; returns how many commands were executed.
fn write_until(
    client: &mut Client,
    rng: &mut fastrand::Rng,
    databases: usize,
    stop: &std::sync::atomic::AtomicBool,
) -> u64 {
    let mut count = 0;
    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
        let batch: Vec<Vec<Vec<u8>>> =
            (0..rng.usize(1..40)).flat_map(|_| random_unit(rng, databases)).collect();
        batch.iter().for_each(|command| client.send(command));
        for command in &batch {
            let reply = client.read().expect("the server answers");
            let expected = ["WRONGTYPE", "LOADING", "EXECABORT"];
            let is_fine = !reply.is_error() || expected.iter().any(|word| reply.text().starts_with(word));
            assert!(is_fine, "{:?}: {reply}", String::from_utf8_lossy(&command.join(&b' ')));
            count += 1;
        }
    }
    count
}

/// A command, or a transaction. Types keep to their keys.
fn random_unit(rng: &mut fastrand::Rng, databases: usize) -> Vec<Vec<Vec<u8>>> {
    if rng.u8(..) < 12 {
        let inner = (0..rng.usize(1..5)).map(|_| random_command(rng));
        let multi = std::iter::once(words("MULTI")).chain(inner).chain([words("EXEC")]);
        return multi.collect();
    }
    if rng.u8(..) < 8 {
        return vec![words(&format!("SELECT {}", rng.usize(..databases)))];
    }
    if databases > 1 && rng.u8(..) == 0 {
        return vec![words(&format!("SWAPDB 0 {}", rng.usize(1..databases)))];
    }
    vec![random_command(rng)]
}

fn random_command(rng: &mut fastrand::Rng) -> Vec<Vec<u8>> {
    let (k, n, m) = (rng.u8(..40), rng.i64(0..1000), rng.u16(..300));
    let line = match rng.u8(..26) {
        0 => format!("SET s:{k} value{n}"),
        1 => format!("APPEND s:{k} {n}"),
        2 => format!("INCRBY n:{k} {n}"),
        3 => format!("INCRBYFLOAT f:{k} 0.{n}"),
        4 => format!("SET s:{k} {n} EX 100000"),
        5 => format!("EXPIRE h:{k} {}", 50_000 + n),
        6 => format!("RPUSH l:{k} {n} element{m}"),
        7 => format!("LPOP l:{k}"),
        8 => format!("LINSERT l:{k} BEFORE {n} x"),
        9 => format!("LTRIM l:{k} 0 200"),
        10 => format!("SADD m:{k} {m} member{n}"),
        11 => format!("SPOP m:{k} 2"),
        12 => format!("SREM m:{k} {m}"),
        13 => format!("HSET h:{k} f{m} {n} g{n} {m}"),
        14 => format!("HINCRBY h:{k} n {n}"),
        15 => format!("HDEL h:{k} f{m}"),
        16 => format!("ZADD z:{k} {n} member{m} 1.5 other{n}"),
        17 => format!("ZINCRBY z:{k} 2.25 member{m}"),
        18 => format!("ZPOPMIN z:{k}"),
        19 => format!("XADD x:{k} MAXLEN ~ 100 * field {n}"),
        20 => format!("DEL s:{k} l:{k} m:{}", rng.u8(..40)),
        21 => format!("COPY s:{k} s:{}", k + 1),
        22 => format!("COPY z:{k} z:{} REPLACE", k + 1),
        23 => format!(
            "EVAL \"redis.call('set','s:{k}',ARGV[1]) redis.call('rpush','l:{k}',ARGV[1],1) return 1\" 2 s:{k} l:{k} {n}"
        ),
        24 => format!("SETRANGE s:{k} {m} abc"),
        _ => format!("PFADD p:{k} {n} {m}"),
    };
    words(&line)
}
