//! Random sequences over several connections.

use super::step::Step;
use fastrand::Rng;
use larder_testkit::words;
use std::collections::VecDeque;

/// The most connections of a sequence.
const CONNECTIONS_MAX: usize = 5;

/// A subject of sequences: lines, of which each is as likely, and several of a connection's commands in a row.
struct Subject {
    lines: &'static [&'static str],
    /// Commands that one connection sends one after the other, separated by `;`.
    plans: &'static [&'static str],
}

// In lines, `{l}` is the key of a list, `{z}` of a sorted set, `{x}` of a stream, `{s}` of a string, `{k}` of anything; `{c}` is a channel,
// `{n}` a connection, `{t}` and `{T}` a time to wait in seconds and ms, `{m}` a time to live in ms, and `{w}` any command of data.

const DATA: Subject = Subject {
    lines: &[
        "RPUSH {l} a",
        "RPUSH {l} a",
        "LPUSH {l} b c",
        "LPUSH {l} d",
        "LPOP {l}",
        "RPOP {l} 2",
        "LLEN {l}",
        "LRANGE {l} 0 -1",
        "LMOVE {l} {l} LEFT RIGHT",
        "RPOPLPUSH {l} {l}",
        "LPUSHX {l} x",
        "LTRIM {l} 0 0",
        "LMPOP 2 {l} {l} LEFT COUNT 2",
        "ZADD {z} 1 a",
        "ZADD {z} 2 b 3 c",
        "ZADD {z} NX 1 a",
        "ZPOPMIN {z}",
        "ZCARD {z}",
        "ZRANGE {z} 0 -1 WITHSCORES",
        "ZINCRBY {z} 2 a",
        "ZRANGESTORE {z} {z} 0 -1",
        "XADD {x} * f v",
        "XADD {x} * f v",
        "XLEN {x}",
        "XTRIM {x} MAXLEN 0",
        "XGROUP CREATE {x} g $ MKSTREAM",
        "XGROUP CREATE {x} g 0 MKSTREAM",
        "XGROUP DESTROY {x} g",
        "XGROUP SETID {x} g 0",
        "XREADGROUP GROUP g c1 COUNT 1 STREAMS {x} >",
        "XREAD STREAMS {x} 0",
        "XPENDING {x} g",
        "XDEL {x} 1800000000000-0",
        "SET {s} v",
        "SET {s} 1",
        "SET {s} 1 PX {m}",
        "INCR {s}",
        "GET {s}",
        "APPEND {s} y",
        "GETDEL {s}",
        "GETEX {s} PX {m}",
        "SETRANGE {s} 1 z",
        "MSET {s} a {s} b",
        "MGET {s} {s}",
        "SETNX {s} n",
        "HSET h1 f 1",
        "HINCRBY h1 g 1",
        "HGET h1 f",
        "HDEL h1 f",
        "SADD t1 a b",
        "SREM t1 a",
        "SCARD t1",
        "DEL {k}",
        "UNLINK {k}",
        "EXISTS {k}",
        "TYPE {k}",
        "RENAME {k} {k}",
        "RENAMENX {k} {k}",
        "COPY {k} {k} REPLACE",
        "PEXPIRE {k} {m}",
        "EXPIRE {k} 0",
        "PTTL {k}",
        "PERSIST {k}",
        "MOVE {k} 1",
        "TOUCH {k}",
        "SET {k} v",
        "DEL {k} {k}",
        "LINSERT {l} BEFORE a q",
        "SORT {l} ALPHA",
        "OBJECT ENCODING {l}",
    ],
    plans: &["RPUSH {l} x;RENAME {l} {l}", "DEL {l};RPUSH {l} one two"],
};

const BLOCK: Subject = Subject {
    lines: &[
        "BLPOP {l} {t}",
        "BLPOP {l} {l} {t}",
        "BRPOP {l} {t}",
        "BLMPOP {t} 2 {l} {l} LEFT COUNT 2",
        "BLMPOP {t} 1 {l} RIGHT",
        "BLMOVE {l} {l} LEFT RIGHT {t}",
        "BLMOVE {l} {l} RIGHT LEFT {t}",
        "BRPOPLPUSH {l} {l} {t}",
        "BZPOPMIN {z} {t}",
        "BZPOPMAX {z} {z} {t}",
        "BZMPOP {t} 1 {z} MIN",
        "BZMPOP {t} 2 {z} {z} MAX COUNT 2",
        "XREAD BLOCK {T} STREAMS {x} $",
        "XREAD BLOCK {T} STREAMS x1 x2 $ $",
        "XREAD COUNT 1 BLOCK {T} STREAMS {x} +",
        "XREADGROUP GROUP g c1 BLOCK {T} STREAMS {x} >",
        "XREADGROUP GROUP g c2 BLOCK {T} NOACK STREAMS {x} >",
        "WAIT 0 0",
        "WAIT 1 {T}",
        "WAITAOF 1 0 {T}",
        "WAITAOF 0 1 {T}",
        "CLIENT UNBLOCK %{n}",
        "CLIENT UNBLOCK %{n} ERROR",
        "CLIENT UNBLOCK %{n} TIMEOUT",
        "CLIENT UNBLOCK %{n}",
    ],
    plans: &[
        "BLPOP {l} 0;{w};{w}",
        "XGROUP CREATE {x} g $ MKSTREAM;XREADGROUP GROUP g c1 BLOCK 0 STREAMS {x} >",
    ],
};

const MULTI: Subject = Subject {
    lines: &["WATCH {k}", "WATCH {k} {k}", "UNWATCH", "EXEC", "DISCARD"],
    plans: &[
        "MULTI;{w};{w};EXEC",
        "MULTI;{w};{w};{w};EXEC",
        "MULTI;{w};DISCARD",
        "WATCH {k};MULTI;{w};EXEC",
        "WATCH {k};GET {s};MULTI;{w};{w};EXEC",
        "MULTI;BLPOP {l} 0;{w};EXEC",
        "MULTI;{b};{w};EXEC",
        "MULTI;SELECT 1;{w};EXEC",
        "MULTI;NOSUCH;{w};EXEC",
        "MULTI;{a};{a};EXEC",
        "MULTI;{a};{w};EXEC",
        "MULTI;{w};{a};{w};EXEC",
    ],
};

const PAUSE: Subject = Subject {
    lines: &[
        "CLIENT PAUSE {T} WRITE",
        "CLIENT PAUSE 50 WRITE",
        "CLIENT PAUSE 50 ALL",
        "CLIENT PAUSE 500",
        "CLIENT UNPAUSE",
        "CLIENT UNPAUSE",
    ],
    plans: &[
        "CLIENT PAUSE 5000 WRITE;{w};CLIENT UNPAUSE",
        "MULTI;{w};CLIENT PAUSE 100 WRITE;EXEC",
        "MULTI;CLIENT PAUSE 1000 ALL;GET {s};EXEC",
    ],
};

/// What no pause of writes holds up.
const DURING_PAUSE: [&str; 9] = [
    "CLIENT UNPAUSE",
    "CLIENT UNPAUSE",
    "GET {s}",
    "LLEN {l}",
    "EXISTS {k}",
    "CLIENT UNBLOCK %{n}",
    "CLIENT KILL ID %{n}",
    "ACL SETUSER u -@all",
    "WATCH {k}",
];

const KILL: Subject = Subject {
    lines: &[
        "CLIENT KILL ID %{n}",
        "CLIENT KILL ID %{n} SKIPME no",
        "CLIENT KILL TYPE normal SKIPME yes",
        "CLIENT KILL TYPE normal SKIPME no",
        "CLIENT KILL TYPE pubsub",
        "CLIENT KILL USER u",
        "CLIENT KILL USER u SKIPME no",
        "CLIENT KILL @{n}",
        "CLIENT KILL ADDR @{n}",
        "CLIENT KILL ID %{n} ID %{n}",
        "CLIENT KILL TYPE normal SKIPME yes ID %{n}",
        "CLIENT KILL NOT-ID %{n} TYPE pubsub",
        "QUIT",
        "CLIENT KILL USER nobody",
    ],
    plans: &[
        "MULTI;CLIENT KILL ID %{n};{w};EXEC;LLEN {l}",
        "MULTI;CLIENT KILL TYPE normal SKIPME yes;LPUSH {l} hello;EXEC;LLEN {l}",
    ],
};

const REPLY: Subject = Subject {
    lines: &["CLIENT REPLY SKIP", "CLIENT REPLY ON", "CLIENT REPLY SKIP"],
    plans: &[
        "CLIENT REPLY OFF;{a};CLIENT REPLY ON",
        "CLIENT REPLY OFF;{a};{a};CLIENT REPLY ON",
        "CLIENT REPLY SKIP;{a};ECHO end",
        "CLIENT REPLY SKIP;{b};ECHO end",
        "CLIENT REPLY OFF;{b};CLIENT REPLY ON;ECHO end",
        "MULTI;CLIENT REPLY OFF;{a};EXEC;CLIENT REPLY ON",
        "MULTI;CLIENT REPLY SKIP;{a};EXEC;ECHO end",
        "CLIENT REPLY SKIP;MULTI;{a};EXEC;ECHO end",
    ],
};

const TRACKING: Subject = Subject {
    lines: &[
        "CLIENT TRACKING on",
        "CLIENT TRACKING on",
        "CLIENT TRACKING on NOLOOP",
        "CLIENT TRACKING on BCAST",
        "CLIENT TRACKING on BCAST PREFIX l PREFIX s",
        "CLIENT TRACKING on BCAST PREFIX l NOLOOP",
        "CLIENT TRACKING on OPTIN",
        "CLIENT TRACKING on OPTOUT",
        "CLIENT TRACKING on REDIRECT %{n}",
        "CLIENT TRACKING on REDIRECT %{n} BCAST",
        "CLIENT TRACKING on REDIRECT %{n} NOLOOP",
        "CLIENT TRACKING on REDIRECT 999999999",
        "CLIENT TRACKING off",
        "CLIENT CACHING yes",
        "CLIENT CACHING no",
        "CLIENT TRACKINGINFO",
        "CLIENT GETREDIR",
        "GET {s}",
        "MGET {s} {s}",
        "LRANGE {l} 0 -1",
    ],
    plans: &[
        "HELLO 3;CLIENT TRACKING on;GET {s};{w};{w}",
        "HELLO 3;CLIENT TRACKING on;GET {s};LLEN {l};{b}",
        "HELLO 3;CLIENT TRACKING on OPTIN;CLIENT CACHING yes;GET {s}",
        "HELLO 3;CLIENT TRACKING on OPTOUT;CLIENT CACHING no;GET {s};GET {s}",
        "HELLO 3;CLIENT TRACKING on;{b};{w}",
        "HELLO 3;CLIENT TRACKING on;MULTI;GET {s};{w};EXEC",
        "HELLO 3;CLIENT TRACKING on NOLOOP;GET {s};{w}",
        "HELLO 3;CLIENT TRACKING on;EVAL_RO \"return server.call('GET', KEYS[1])\" 1 {s}",
        "HELLO 3;CLIENT TRACKING on;FCALL_RO read 1 {s}",
        "HELLO 3;CLIENT TRACKING on;FCALL_RO nosuch 1 {s}",
        "SUBSCRIBE __redis__:invalidate",
    ],
};

const PUBSUB: Subject = Subject {
    lines: &[
        "SUBSCRIBE {c}",
        "PSUBSCRIBE c*",
        "SSUBSCRIBE {c}",
        "UNSUBSCRIBE",
        "PUNSUBSCRIBE",
        "SUNSUBSCRIBE",
        "UNSUBSCRIBE {c}",
        "PUNSUBSCRIBE c*",
        "PUBLISH {c} m",
        "PUBLISH {c} m",
        "SPUBLISH {c} m",
        "SUBSCRIBE __redis__:invalidate",
        "PUBSUB NUMSUB {c} {c}",
        "PUBSUB NUMPAT",
        "PING",
        "PSUBSCRIBE __key*__:*",
        "SUBSCRIBE __keyevent@0__:lpush",
        "CONFIG SET notify-keyspace-events KEA",
        "CONFIG SET notify-keyspace-events Elg",
        "CONFIG SET notify-keyspace-events \"\"",
        "PUBSUB SHARDNUMSUB {c}",
    ],
    plans: &[
        "HELLO 3;SUBSCRIBE {c};PUBLISH {c} own;UNSUBSCRIBE",
        "MULTI;SUBSCRIBE {c};PUBLISH {c} x;EXEC",
        "HELLO 3;PSUBSCRIBE *",
    ],
};

const ACL: Subject = Subject {
    lines: &[
        "ACL SETUSER u resetkeys",
        "ACL SETUSER u resetkeys ~l1",
        "ACL SETUSER u resetkeys %R~*",
        "ACL SETUSER u ~*",
        "ACL SETUSER u -@blocking",
        "ACL SETUSER u -@all",
        "ACL SETUSER u +@all",
        "ACL SETUSER u -lpush -rpush",
        "ACL SETUSER u -exec",
        "ACL SETUSER u off",
        "ACL SETUSER u on",
        "ACL SETUSER u resetchannels",
        "ACL SETUSER u resetchannels &c1",
        "ACL SETUSER u &*",
        "ACL DELUSER u",
        "ACL SETUSER u on nopass +@all ~* &*",
        "ACL SETUSER u reset on nopass +@all ~* &*",
        "ACL SETUSER u (+@read ~l*)",
        "ACL SETUSER u clearselectors",
        "ACL SETUSER u >p",
        "AUTH u x",
        "AUTH u x",
        "AUTH default x",
        "ACL WHOAMI",
        "ACL WHOAMI",
        "HELLO 3 AUTH u x",
        "ACL SETUSER u -@write",
        "ACL SETUSER u -blpop",
        "ACL SETUSER u -xread -xreadgroup",
    ],
    plans: &[
        "AUTH u x;{b}",
        "AUTH u x;{b};{w}",
        "AUTH u x;MULTI;{w};{w};EXEC",
        "AUTH u x;SUBSCRIBE {c}",
        "ACL DELUSER u;{w};{w}",
        "MULTI;ACL SETUSER u -@all;{w};EXEC",
        "MULTI;ACL DELUSER u;RPUSH {l} x;EXEC",
    ],
};

const SCRIPTS: Subject = Subject {
    lines: &[
        "EVAL \"return redis.call('RPUSH', KEYS[1], 'e')\" 1 {l}",
        "EVAL \"redis.call('LPOP', KEYS[1]) return redis.call('RPUSH', KEYS[1], 'e', 'f')\" 1 {l}",
        "EVAL \"redis.call('SET', KEYS[1], '1') return redis.call('INCR', KEYS[1])\" 1 {s}",
        "EVAL \"redis.call('PUBLISH', 'c1', 'x') return redis.call('ZADD', KEYS[1], 1, 'a')\" 1 {z}",
        "EVAL \"return redis.call('XADD', KEYS[1], '*', 'f', 'v')\" 1 {x}",
        "EVAL_RO \"return redis.call('GET', KEYS[1])\" 1 {s}",
        "EVAL_RO \"return redis.call('SET', KEYS[1], 'v')\" 1 {s}",
        "EVAL \"return redis.pcall('BLPOP', KEYS[1], 0)\" 1 {l}",
        "EVAL \"redis.call('SELECT', 1) return redis.call('RPUSH', KEYS[1], 'e')\" 1 {l}",
        "EVAL \"return redis.call('RENAME', KEYS[1], KEYS[2])\" 2 {l} {l}",
        "EVALSHA_RO ffffffffffffffffffffffffffffffffffffffff 1 {s}",
        "EVALSHA ffffffffffffffffffffffffffffffffffffffff 1 {s}",
        "FCALL push 1 {l}",
        "FCALL_RO read 1 {s}",
        "FCALL_RO nosuch 1 {s}",
        "FCALL_RO push 1 {l}",
        "SCRIPT FLUSH",
        "FUNCTION DELETE one",
    ],
    plans: &[],
};

const HANG: Subject = Subject {
    lines: &[
        "EVAL \"while true do end\" 0",
        "EVAL_RO \"while true do end\" 0",
        "EVAL \"redis.call('GET', KEYS[1]) while true do end\" 1 {s}",
        "EVAL \"redis.pcall('LLEN', KEYS[1]) while true do end\" 1 {l}",
        "FCALL hang 0",
        "FCALL_RO stay 0",
        "SCRIPT KILL",
        "FUNCTION KILL",
    ],
    plans: &[
        "MULTI;{w};EVAL \"while true do end\" 0;{w};EXEC",
        "MULTI;{w};{w};FCALL stay 0;EXEC",
        "MULTI;SET s1 1;RPUSH {l} x;EVAL \"while true do end\" 0;SET s2 1;EXEC",
        "SET {s} v PX 50;EVAL \"redis.call('GET', KEYS[1]) while true do end\" 1 s1",
        "MULTI;{w};{w};EXEC",
    ],
};

const CONNECTION: Subject = Subject {
    lines: &[
        "RESET",
        "QUIT",
        "HELLO 2",
        "HELLO 3",
        "HELLO 3",
        "SELECT 1",
        "SELECT 0",
        "SELECT 0",
        "ECHO x",
        "PING",
        "CLIENT SETNAME me",
        "CLIENT GETNAME",
        "CLIENT NO-TOUCH on",
    ],
    plans: &[],
};

const DATABASES: Subject = Subject {
    lines: &["SWAPDB 0 1", "FLUSHALL", "FLUSHDB", "FLUSHALL ASYNC", "DEBUG RELOAD", "DEBUG RELOAD"],
    plans: &["MULTI;SWAPDB 0 1;{w};EXEC", "MULTI;FLUSHALL;{w};EXEC"],
};

const CONFIG: Subject = Subject {
    lines: &[
        "CONFIG SET maxmemory 1",
        "CONFIG SET maxmemory 0",
        "CONFIG SET maxmemory 0",
        "CONFIG SET busy-reply-threshold 2",
    ],
    plans: &["CONFIG SET maxmemory 1;{w};CONFIG SET maxmemory 0"],
};

const SUBJECTS: [&Subject; 12] = [
    &BLOCK,
    &MULTI,
    &PAUSE,
    &KILL,
    &REPLY,
    &TRACKING,
    &PUBSUB,
    &ACL,
    &SCRIPTS,
    &HANG,
    &CONNECTION,
    &DATABASES,
];

/// The sequence of a seed.
pub fn sequence(seed: u64) -> Vec<Step> {
    Sequence::new(seed).make()
}

struct Sequence {
    rng: Rng,
    connections: usize,
    /// What each connection sends next.
    plans: Vec<VecDeque<String>>,
    /// Subjects, those that this sequence is about several times.
    subjects: Vec<&'static Subject>,
    /// The connection whose script hangs, as far as is known, and whether that is a function. Nothing else hangs then: which script is
    /// the next when one is killed is a server's own.
    hanging: Option<(usize, bool)>,
    /// Connections with a script that hangs in their transaction, which `EXEC` starts.
    queued: Vec<Option<bool>>,
    /// Connections in a transaction, as far as is known.
    in_transaction: Vec<bool>,
    /// Whether there was a pause.
    has_paused: bool,
    now_ms: u64,
    /// When the last pause ends, as far as is known, and the connection whose commands it holds up. Which of several connections goes
    /// first when a pause ends is a server's own.
    paused_until_ms: u64,
    waits: usize,
    /// The commands that are written together with the next one of their connection.
    joined: String,
    steps: Vec<Step>,
}

impl Sequence {
    fn new(seed: u64) -> Sequence {
        let mut rng = Rng::with_seed(seed);
        let connections = rng.usize(3..=CONNECTIONS_MAX);
        let mut subjects: Vec<&Subject> = Vec::new();
        for _ in 0..rng.usize(1..=3) {
            let subject = SUBJECTS[rng.usize(..SUBJECTS.len())];
            subjects.extend([subject; 12]);
        }
        subjects.extend([&DATA; 16]);
        subjects.extend([&BLOCK, &BLOCK, &MULTI, &MULTI, &CONNECTION, &CONFIG]);
        if rng.u8(..3) == 0 {
            subjects.extend(SUBJECTS.iter().filter(|_| rng.bool()));
        }
        // A script that hangs takes as long as a hundred other commands: a tenth of the sequences has some.
        if rng.u8(..3) > 0 {
            subjects.retain(|subject| !std::ptr::eq(*subject, &HANG));
        }
        let plans = vec![VecDeque::new(); connections];
        Sequence {
            rng,
            connections,
            plans,
            subjects,
            hanging: None,
            queued: vec![None; connections],
            in_transaction: vec![false; connections],
            has_paused: false,
            now_ms: 0,
            paused_until_ms: 0,
            waits: 0,
            joined: String::new(),
            steps: Vec::new(),
        }
    }

    fn make(mut self) -> Vec<Step> {
        for connection in 0..self.connections {
            if self.rng.bool() {
                self.send(connection, "HELLO 3");
            }
            if self.is_about(&ACL) && self.rng.bool() {
                self.send(connection, "AUTH u x");
            }
        }
        let len = self.rng.usize(10..80);
        let mut connection = 0;
        for _ in 0..len {
            if self.rng.u8(..4) > 0 {
                connection = self.rng.usize(..self.connections);
            }
            match self.rng.u16(..1000) {
                // Valkey notices nothing of time while a script hangs.
                0..=24 if self.hanging.is_none() => {
                    let ms = [1, 10, 100, 1000, 6000, 30_000][self.rng.usize(..6)];
                    self.now_ms += ms;
                    self.steps.push(Step::Advance { ms });
                }
                25..=31 => self.steps.push(Step::Close { connection }),
                32..=34 => self.steps.push(Step::Reload),
                _ => self.command(connection),
            }
        }
        if self.rng.u8(..6) == 0 {
            self.steps.push(Step::Reload);
        }
        self.steps
    }

    fn command(&mut self, connection: usize) {
        if let Some((hanging, is_function)) = self.hanging
            && (connection == hanging || self.rng.u8(..4) == 0)
        {
            let kills_function = if self.rng.u8(..4) == 0 { !is_function } else { is_function };
            if kills_function == is_function && self.rng.u8(..8) > 0 {
                self.hanging = None;
            }
            let line = if kills_function { "FUNCTION KILL" } else { "SCRIPT KILL" };
            // A transaction would queue it.
            let others = (1..self.connections).map(|step| (hanging + step) % self.connections);
            let free = others.into_iter().find(|other| !self.in_transaction[*other]);
            let killer = free.unwrap_or((hanging + 1) % self.connections);
            return self.send(killer, if free.is_some() { line } else { "DISCARD" });
        }
        if self.now_ms < self.paused_until_ms && connection != self.waits {
            let line = DURING_PAUSE[self.rng.usize(..DURING_PAUSE.len())];
            return self.send(connection, line);
        }
        if let Some(line) = self.plans[connection].pop_front() {
            return self.send(connection, &line);
        }
        let subject = self.subjects[self.rng.usize(..self.subjects.len())];
        let at = self.rng.usize(..subject.lines.len() + 3 * subject.plans.len());
        if let Some(line) = subject.lines.get(at) {
            return self.send(connection, line);
        }
        let plan = subject.plans[(at - subject.lines.len()) % subject.plans.len()];
        // One key in it often is the same all through.
        self.plans[connection] = plan.split(';').map(str::to_owned).collect();
        self.command(connection);
    }

    fn send(&mut self, connection: usize, line: &str) {
        let mut line = self.fill_in(line);
        if line == "CLIENT UNPAUSE" {
            self.paused_until_ms = 0;
        }
        let is_paused = self.now_ms < self.paused_until_ms;
        if self.is_about(&HANG) {
            line = without_waits_for_scripts(line, self.has_paused);
        }
        self.has_paused |= line.starts_with("CLIENT PAUSE");
        // When the protocol changes with a broadcast under way, the message is of either.
        if line.contains("BCAST") {
            line = line.replace(&format!(" REDIRECT %{connection}"), "");
        }
        // In broadcast mode Valkey's NOLOOP does not hold for what a client's scripts change, and only the last of several clients that
        // change a key, such as one that is served, counts as its writer.
        if line.contains("BCAST") {
            line = line.replace(" NOLOOP", "");
        }
        // Whether a connection that is being closed is still killed, or woken up, is a matter of time; and whether what a pause has
        // held up is executed between that pause and the next.
        let is_next_to_change =
            ["ACL ", "CLIENT KILL", "CLIENT UNPAUSE"].iter().any(|part| self.joined.contains(part));
        if is_next_to_change
            && ["CLIENT KILL", "CLIENT UNBLOCK", "CLIENT PAUSE"].iter().any(|start| line.starts_with(start))
        {
            line = "PING".to_owned();
        }
        if line.starts_with("CLIENT PAUSE") {
            // Which commands come first when there is a pause among those that another held up is a server's own. In a transaction it
            // begins with what the transaction adds.
            if is_paused || self.in_transaction[connection] {
                return;
            }
            let ms = line.split(' ').nth(2).and_then(|word| word.parse().ok()).unwrap_or(0);
            self.waits = self.rng.usize(..self.connections);
            self.paused_until_ms = self.now_ms + if ms == 0 { 0 } else { ms + 1 };
        }
        // Valkey executes the rest of a transaction whose user is gone.
        if line == "ACL DELUSER u" && self.plans[connection].iter().any(|line| line == "EXEC") {
            line = "ACL SETUSER u off".to_owned();
        }
        if let Some(is_function) = function_that_hangs(&line) {
            let in_transaction = self.plans[connection].iter().any(|line| line == "EXEC");
            match self.hanging {
                Some(_) => line = "PING".to_owned(),
                None if in_transaction => self.queued[connection] = Some(is_function),
                None => self.hanging = Some((connection, is_function)),
            }
        }
        if line == "EXEC"
            && let Some(is_function) = self.queued[connection].take()
        {
            if self.hanging.is_some() {
                line = "DISCARD".to_owned();
            } else {
                self.hanging = Some((connection, is_function));
            }
        }
        // The reply to a kill may come before or after the end of the script. Clients of a user who has just been deleted may still be
        // served.
        let is_final = line.ends_with(" KILL") || line.starts_with("ACL DELUSER");
        let stands_alone = is_final || self.hanging.is_some();
        let joins_next = self.rng.u8(..8) == 0 && !stands_alone;
        match line.as_str() {
            "MULTI" => self.in_transaction[connection] = true,
            "EXEC" | "DISCARD" | "RESET" => self.in_transaction[connection] = false,
            _ => {}
        }
        self.steps.push(Step::Send { connection, args: words(&line), joins_next });
        self.joined.push_str(&line);
        if !joins_next {
            self.joined.clear();
        }
        if joins_next {
            self.command(connection);
        }
    }

    fn is_about(&self, subject: &Subject) -> bool {
        self.subjects.iter().any(|one| std::ptr::eq(*one, subject))
    }

    /// A line with something in the place of everything in braces.
    fn fill_in(&mut self, line: &str) -> String {
        let mut text = String::new();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else { break };
            text.push_str(before);
            let word = self.word(name);
            text.push_str(&word);
            rest = after;
        }
        text + rest
    }

    fn word(&mut self, name: &str) -> String {
        let words: &[&str] = match name {
            "l" => &["l1", "l1", "l2", "l3"],
            "z" => &["z1", "z1", "z2"],
            "x" => &["x1", "x1", "x2"],
            "s" => &["s1", "s1", "s2", "s3"],
            "k" => &["l1", "l2", "s1", "s2", "z1", "x1", "h1", "t1", "none"],
            "c" => &["c1", "c1", "c2"],
            "t" => &["0", "0", "0", "5", "20"],
            "T" => &["0", "0", "5000", "20000"],
            "m" => &["1", "50", "1000", "100000"],
            "n" => return self.rng.usize(..self.connections).to_string(),
            "w" => DATA.lines,
            "b" => &BLOCK.lines[..19],
            "a" => {
                let subject = SUBJECTS[self.rng.usize(..SUBJECTS.len())];
                // Of a script that hangs there is enough.
                // In a transaction Valkey may crash in DEBUG RELOAD.
                // What a transaction that begins a pause adds serves waiting clients when the pause has ended, here at once.
                if [&HANG, &DATABASES, &PAUSE].iter().any(|other| std::ptr::eq(subject, *other)) {
                    DATA.lines
                } else {
                    subject.lines
                }
            }
            _ => unreachable!("{name} is not a word of a line"),
        };
        let word = words[self.rng.usize(..words.len())];
        if word.contains('{') { self.fill_in(word) } else { word.to_owned() }
    }
}

/// Pauses of writes only, and scripts that no pause holds up: when a pause ends, which commands come before a script that was held up and
/// hangs is a server's own.
fn without_waits_for_scripts(line: String, has_paused: bool) -> String {
    if line.starts_with("CLIENT PAUSE") && !line.ends_with("WRITE") {
        return "CLIENT PAUSE 1000 WRITE".to_owned();
    }
    let hangs = function_that_hangs(&line).is_some();
    if hangs && has_paused && !line.starts_with("EVAL_RO") {
        "EVAL_RO \"while true do end\" 0".to_owned()
    } else {
        line
    }
}

/// Whether a line is a script that hangs, and if so, whether it is a function.
fn function_that_hangs(line: &str) -> Option<bool> {
    let is_function =
        ["FCALL hang", "FCALL stay", "FCALL_RO stay"].iter().any(|start| line.starts_with(start));
    (is_function || line.contains("while true")).then_some(is_function)
}
