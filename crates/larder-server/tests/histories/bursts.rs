//! Bursts of random writes to a primary with a chain of replicas, and reloads and restarts in between.
//!
//! Clients send random calls of every command that writes, transactions and scripts to a Larder primary. A Larder replica, its own
//! Larder replica and a Valkey replica follow. After each burst all four have the same data, deadlines and groups. Then one of them
//! loads its data again, or is restarted from its files, and the next burst begins.

use crate::state::{Compared, wait_for_same};
use crate::{again, follow, run_histories, start, wait_for_offset};
use fastrand::Rng;
use larder_testkit::syntax::{self, Generator, Vocabulary};
use larder_testkit::{Client, Kind, Server, Value, wait_until_rewritten, words};

/// Bursts of a history.
const BURSTS: usize = 6;
/// Clients that write at once.
const CLIENTS: usize = 4;

/// Groups of commands whose effects are compared.
const GROUPS: &[&str] =
    &["bitmap", "generic", "geo", "hash", "hyperloglog", "list", "set", "sorted-set", "stream", "string"];

/// Commands that need another server.
const EXCLUDED: &[&str] = &["MIGRATE", "WAIT", "WAITAOF"];

/// Servers of a history: the primary, its replicas, and the replica of the first replica.
const SERVERS: &[(&str, Kind, usize)] = &[
    ("the primary", Kind::Larder, 0),
    ("the replica", Kind::Larder, 0),
    ("Valkey", Kind::Valkey, 0),
    ("the replica's replica", Kind::Larder, 1),
];

struct History {
    servers: Vec<Server>,
    /// Whether a server keeps an append-only file.
    logs: Vec<bool>,
    threads: &'static str,
    commands: Vec<syntax::Command>,
    rng: Rng,
    seed: u64,
}

#[test]
fn all_replicas_are_equal_after_every_burst() {
    run_histories(3_000, 3, history);
}

fn history(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let threads = ["1", "2", "4"][rng.usize(..3)];
    let logs: Vec<bool> = SERVERS.iter().map(|_| rng.bool()).collect();
    println!("{threads} threads, logs: {logs:?}");
    let servers: Vec<Server> = SERVERS
        .iter()
        .zip(&logs)
        .map(|((_, kind, _), &log)| start(*kind, &options(*kind, threads, log)))
        .collect();
    let mut commands = syntax::commands(&mut servers[2].client());
    let is_used = |command: &syntax::Command| {
        GROUPS.contains(&&*command.group) && !EXCLUDED.contains(&&*command.name[0])
    };
    commands.retain(is_used);
    assert!(commands.len() > 150, "most commands are used: {}", commands.len());
    let mut history = History { servers, logs, threads, commands, rng, seed };
    for (server, (_, _, upstream)) in history.servers.iter().zip(SERVERS).skip(1) {
        follow(&mut server.client(), &history.servers[*upstream]);
    }
    for round in 0..BURSTS {
        history.burst();
        history.compare(&format!("after burst {round}"));
        if let Some(what) = history.disturb() {
            println!("{what}");
            history.compare(&format!("after burst {round}: {what}"));
        }
    }
}

fn options(kind: Kind, threads: &'static str, log: bool) -> Vec<&'static str> {
    let mut options = vec!["--appendonly", if log { "yes" } else { "no" }];
    if kind == Kind::Larder {
        options.extend(["--threads", threads]);
    }
    options
}

impl History {
    /// Lets all clients write concurrently.
    fn burst(&mut self) {
        let len = self.rng.usize(20..400);
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                let (client, rng) = (self.servers[0].client(), Rng::with_seed(self.rng.u64(..)));
                let commands = &self.commands;
                scope.spawn(move || Writer { client, rng, commands }.write(len));
            }
        });
    }

    /// Waits until all servers are equal.
    fn compare(&self, what: &str) {
        let what = format!("SEED={} {what}", self.seed);
        for (at, (name, _, upstream)) in SERVERS.iter().enumerate().skip(1) {
            let mut primary = self.servers[*upstream].client();
            wait_for_offset(&format!("{what}: {name}"), &mut primary, &mut self.servers[at].client());
        }
        let servers: Vec<Compared<'_>> = SERVERS
            .iter()
            .zip(&self.servers)
            .map(|((name, kind, _), server)| Compared { name, kind: *kind, server })
            .collect();
        if let Err(difference) = wait_for_same(&servers) {
            panic!("{what}: {difference}");
        }
    }

    /// Reloads or restarts one of the servers; returns what was done.
    fn disturb(&mut self) -> Option<String> {
        let at = self.rng.usize(..SERVERS.len());
        let (name, kind, upstream) = SERVERS[at];
        let mut client = self.servers[at].client();
        let what = match self.rng.u8(..8) {
            0 | 1 => {
                assert_eq!(client.ask("DEBUG RELOAD").text(), "OK");
                "DEBUG RELOAD"
            }
            // Valkey executes what its primary sends while it loads the log. A key that the primary deletes in that moment comes
            // back, which two servers of Valkey show too.
            2 | 3 if self.logs[at] && !matches!(kind, Kind::Valkey) => {
                assert_eq!(client.ask("DEBUG LOADAOF").text(), "OK");
                "DEBUG LOADAOF"
            }
            4 | 5 => {
                // Until a log that begins again has its base, a server does not stop.
                wait_until_rewritten(&mut client);
                client.send(&["SHUTDOWN", "SAVE"]);
                self.servers[at].wait();
                let mut args = again(&options(kind, self.threads, self.logs[at]));
                if at > 0 {
                    args.extend([
                        "--replicaof".to_owned(),
                        format!("127.0.0.1 {}", self.servers[upstream].port()),
                    ]);
                }
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                let is_up = self.servers[at].start_again(&args);
                assert!(is_up, "SEED={}: {name} starts again: {}", self.seed, self.servers[at].log());
                "a restart"
            }
            _ => return None,
        };
        Some(format!("{what} of {name}"))
    }
}

struct Writer<'h> {
    client: Client,
    rng: Rng,
    commands: &'h [syntax::Command],
}

impl Writer<'_> {
    /// Sends units in batches.
    fn write(&mut self, count: usize) {
        for line in Vocabulary::data() {
            self.client.cmd(&words(line));
        }
        for _ in 0..count {
            let unit = self.unit();
            let mut request = Vec::new();
            unit.iter().for_each(|command| larder_testkit::encode(&mut request, command));
            self.client.send_raw(&request).expect("the server takes the request");
            for command in &unit {
                self.client.read().unwrap_or_else(|error| {
                    panic!("{error}: {}", String::from_utf8_lossy(&command.join(&b' ')))
                });
            }
        }
    }

    /// A command, a script or a transaction.
    fn unit(&mut self) -> Vec<Vec<Vec<u8>>> {
        match self.rng.u8(..100) {
            0..=3 => vec![words(&format!("SELECT {}", self.rng.u8(..3)))],
            4 => vec![words(&format!("SWAPDB 0 {}", self.rng.u8(1..3)))],
            5 if self.rng.u8(..10) == 0 => vec![words("FLUSHDB")],
            6..=9 => self.restore(),
            10..=24 => {
                let count = self.rng.usize(1..6);
                let calls: Vec<_> = (0..count).map(|_| self.call()).collect();
                [vec![words("MULTI")], calls, vec![words("EXEC")]].concat()
            }
            25..=34 => {
                let script = "redis.pcall(unpack(ARGV)) return redis.call('PTTL', KEYS[1])";
                let mut call = vec![b"EVAL".to_vec(), script.into(), b"1".to_vec(), b"s1".to_vec()];
                call.extend(self.call());
                vec![call]
            }
            35..=44 => vec![self.deadline()],
            _ => {
                let call = self.call();
                let waits =
                    call[0].starts_with(b"B") || call.iter().any(|arg| arg.eq_ignore_ascii_case(b"BLOCK"));
                if waits { vec![words("MULTI"), call, words("EXEC")] } else { vec![call] }
            }
        }
    }

    fn call(&mut self) -> Vec<Vec<u8>> {
        let vocabulary = Vocabulary { near: true, ..Vocabulary::default() };
        let command = &self.commands[self.rng.usize(..self.commands.len())];
        let nearly = self.rng.u8(..5) == 0;
        let mut generator = Generator::new(&vocabulary, &mut self.rng);
        let call = if nearly { generator.nearly_valid(command) } else { generator.valid(command) };
        // Flushing is rare.
        if call[0].eq_ignore_ascii_case(b"FLUSHALL") || call[0].eq_ignore_ascii_case(b"FLUSHDB") {
            return words("PING");
        }
        call
    }

    /// A near or far deadline for a key or its fields.
    fn deadline(&mut self) -> Vec<Vec<u8>> {
        let key = ["s1", "l1", "h1", "t1", "z1", "x1", "h2", "h3", "n1"][self.rng.usize(..9)];
        let ms = [1, 3, 20, 100_000][self.rng.usize(..4)];
        let field = self.rng.u8(1..7);
        words(&match self.rng.u8(..8) {
            0 => format!("PEXPIRE {key} {ms}"),
            1 => format!("PERSIST {key}"),
            2 => format!("GETEX s1 PX {ms}"),
            3 => format!("HSETEX h1 PX {ms} FIELDS 2 f{field} v f1 w"),
            4 => format!("HPERSIST h1 FIELDS 1 f{field}"),
            5 => format!("HGETEX h2 PX {ms} FIELDS 1 f{field}"),
            6 => format!("SET s2 v PX {ms}"),
            _ => format!("HPEXPIRE h{} {ms} FIELDS 2 f{field} f1", self.rng.u8(1..4)),
        })
    }

    /// A copy of a value by its payload.
    fn restore(&mut self) -> Vec<Vec<Vec<u8>>> {
        let keys = ["s1", "l1", "h1", "t1", "z1", "x1", "p1"];
        let key = keys[self.rng.usize(..keys.len())];
        let Value::Bulk(payload) = self.client.cmd(&["DUMP", key]) else { return vec![words("PING")] };
        let ttl = ["0", "5", "100000"][self.rng.usize(..3)];
        let to = keys[self.rng.usize(..keys.len())];
        let head = [b"RESTORE".to_vec(), to.into(), ttl.into()];
        vec![[&head[..], &[payload, b"REPLACE".to_vec()]].concat()]
    }
}
