//! Threads whose clients use keys of different shards pass no cache line to one another.
//!
//! A server with sixteen threads runs under QEMU's user emulation, whose plugin `sharing/lines.c` sees every access to memory: a machine of
//! sixteen cores, simulated by counting. Each thread has one client, and all of them send the same command at the same time: first each with
//! keys of its own shards, then all with the same key, which shows that the plugin counts.

use larder_collections::keyed_hash::{Purpose, keyed_hasher, set_seed};
use larder_testkit::{Client, Clock, Kind, Server, preload, temp_dir};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

const THREADS: usize = 16;
const SHARDS: usize = 256;
const SEED: &str = "sharing";
/// Commands of each client that are counted, and before them those that make what is made once.
const COUNTED: usize = 320;
const BEFORE: usize = 320;
/// How much slower than time the server's clock runs: what it does by the clock, which visits all shards, is not the commands'.
const SLOW: u32 = 1000;
/// Parts of the names of functions of threads that wake up now and then, whatever the server's clock says. What one of them has written, every
/// other thread may read once, and the passes of a line are counted without those.
const BACKGROUND: [&str; 3] = ["maintenance", "5crash4wait", "__rust_begin_short_backtrace"];
/// How often a line may be passed on, in a hundred commands.
const MOST: f64 = 0.5;
/// The same where small values that change lie side by side with those of other shards.
const MOST_SMALL: f64 = 5.0;
/// The same for values that grow beyond a kilobyte: the memory that one thread gives back is what another takes, with what is on its lines.
const MOST_GROWING: f64 = 600.0;

/// The commands, and how often a line may be passed on: after the name a key's type, for which the key is put, and numbers below ten for each
/// `#`. Of two with a stroke between them one is sent to all keys, then the other.
const COMMANDS: [(&str, f64); 13] = [
    ("PING", MOST),
    ("GET s", MOST),
    ("SET s value-#", MOST),
    ("INCR n", MOST),
    ("LPUSH l value-#", MOST_SMALL),
    (
        "APPEND a one-hundred-bytes-are-appended-each-time-so-that-it-soon-takes-more-than-a-kilobyte-of-the-memory-#",
        MOST_GROWING,
    ),
    ("RPOP l", MOST_SMALL),
    ("SADD m member-#", MOST),
    ("HSET h field-# value", MOST),
    ("ZADD z #.5 member-#", MOST),
    ("XADD x MAXLEN 10 * field value-#", MOST_SMALL),
    ("EXPIRE s 1000#", MOST),
    ("SET s value-# | DEL s", MOST),
];

#[test]
#[ignore = "runs a server under QEMU (package qemu-user); for the full run"]
fn threads_with_shards_of_their_own_pass_no_cache_line_on() {
    assert!(set_seed(SEED.as_bytes()));
    let report = count();
    println!("cache lines passed on, per command:  shards of its own, the same key");
    let mut failed = Vec::new();
    for ((command, most), at) in COMMANDS.iter().zip(0..) {
        let [own, same] = [own_phase(at), own_phase(at) + 1].map(|number| Phase::read(&report, number));
        println!("{:.36} {:8.4} {:8.2}", format!("{command:36}"), own.rate(), same.rate());
        assert!(own.threads >= THREADS && same.threads >= THREADS, "{command}: a thread has no client");
        assert!(*command == "PING" || same.rate() > 1.0, "{command}: all threads write the shard's lock");
        if own.rate() > most / 100.0 {
            failed.push(format!("{command}:\n{}", own.functions()));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Runs the server; what the plugin reports.
fn count() -> String {
    let dir = temp_dir();
    let (control, report) = (dir.join("control"), dir.join("report"));
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sharing/lines.c"));
    let library = preload::library(source, &dir);
    let phase = OpenOptions::new().create(true).truncate(true).write(true).open(&control).expect("it opens");
    let begin = |number: u8| phase.write_all_at(&[number], 0).expect("it is written");
    begin(0);
    let plugin = format!("{},control={},report={}", library.display(), control.display(), report.display());
    let (clock, program) = (Clock::new(&dir), Kind::Larder.program());
    let settings = clock.environment(SLOW);
    let mut words = vec!["qemu-x86_64", "-plugin", &plugin];
    settings.iter().for_each(|setting| words.extend(["-E", setting]));
    let program = program.to_string_lossy();
    words.push(&program);
    let mut server = Server::start(&words, &["--threads", &THREADS.to_string(), "--hash-seed", SEED]);
    let mut clients: Vec<Client> = (0..THREADS).map(|_| server.client()).collect();
    for ((command, _), at) in COMMANDS.iter().zip(0..) {
        let keys = keys(command);
        // Client c has the keys of those shards whose number is c modulo the number of clients.
        let own = |client: usize, round: usize| &*keys[(round * THREADS + client) % SHARDS];
        let same = |_, _| &*keys[0];
        run(&mut clients, command, BEFORE, own);
        begin(own_phase(at));
        run(&mut clients, command, COUNTED, own);
        begin(0);
        run(&mut clients, command, BEFORE, same);
        begin(own_phase(at) + 1);
        run(&mut clients, command, COUNTED, same);
        begin(0);
    }
    drop(clients);
    server.stop();
    let text = fs::read_to_string(&report).expect("the plugin has written it");
    let _ = fs::remove_dir_all(&dir);
    text
}

/// The phase in which a command has keys of its own; the next one is that of the same key.
fn own_phase(command: u8) -> u8 {
    2 * command + 1
}

/// For each shard the name of a key of the command's type.
fn keys(command: &str) -> Vec<String> {
    let hasher = keyed_hasher(Purpose::Keys);
    let kind = command.split(' ').nth(1).unwrap_or_default();
    let mut keys = vec![String::new(); SHARDS];
    let mut left = SHARDS;
    for name in (0_u32..).map(|number| format!("{kind}:{number}")) {
        // Which shard that is, larder-engine/src/keyspace/hash.rs says.
        let key = &mut keys[(hasher.hash(name.as_bytes()) >> 16) as usize % SHARDS];
        if key.is_empty() {
            *key = name;
            left -= 1;
        }
        if left == 0 {
            break;
        }
    }
    keys
}

/// Every client executes a command a number of times, all at once.
fn run<'k>(clients: &mut [Client], command: &str, times: usize, key: impl Fn(usize, usize) -> &'k str) {
    let commands: Vec<&str> = command.split(" | ").collect();
    for round in 0..times {
        // Others when the client comes to the same key again.
        let pass = round * THREADS / SHARDS;
        let (number, command) = ((pass % 10).to_string(), commands[pass % commands.len()]);
        for (client, at) in clients.iter_mut().zip(0..) {
            let words = command.replace('#', &number);
            let mut words: Vec<&str> = words.split(' ').collect();
            if let Some(kind) = words.get_mut(1) {
                *kind = key(at, round);
            }
            client.send(&words);
        }
        for client in &mut *clients {
            let reply = client.read().expect("a reply");
            assert!(!reply.is_error(), "{command}: {reply:?}");
        }
    }
}

/// What the plugin reports of a phase.
#[derive(Default)]
struct Phase {
    /// How many threads have touched memory.
    threads: usize,
    /// By the function: how often a cache line was passed on, and how many lines that were.
    passed: BTreeMap<String, (u64, usize)>,
}

impl Phase {
    fn read(report: &str, number: u8) -> Phase {
        let mut phase = Phase::default();
        // By the line's address: how often it may have been passed on because of threads in the background.
        let mut excused: BTreeMap<&str, u64> = BTreeMap::new();
        let mut all = Vec::new();
        for line in report.lines() {
            let words: Vec<&str> = line.splitn(5, ' ').collect();
            match words[..] {
                ["thread", of, ..] if of == number.to_string() => phase.threads += 1,
                ["line", of, address, times, function] if of == number.to_string() => {
                    let times: u64 = times.parse().expect("a number");
                    if BACKGROUND.iter().any(|part| function.contains(part)) {
                        *excused.entry(address).or_default() += times * THREADS as u64;
                    } else {
                        all.push((address, times, function));
                    }
                }
                _ => {}
            }
        }
        for (address, times, function) in all {
            let excused = excused.entry(address).or_default();
            let because = times.min(*excused);
            *excused -= because;
            if times > because {
                let sum = phase.passed.entry(function.to_owned()).or_default();
                sum.0 += times - because;
                sum.1 += 1;
            }
        }
        phase
    }

    /// How often a line was passed on, per command.
    fn rate(&self) -> f64 {
        self.passed.values().map(|(times, _)| times).sum::<u64>() as f64 / (COUNTED * THREADS) as f64
    }

    /// Where that was.
    fn functions(&self) -> String {
        let mut passed: Vec<_> = self.passed.iter().collect();
        passed.sort_unstable_by_key(|(_, times)| Reverse(**times));
        let line = |(function, (times, lines)): &(&String, &(u64, usize))| {
            format!("  {times} times, {lines} lines: {function}\n")
        };
        passed.iter().map(line).collect()
    }
}
