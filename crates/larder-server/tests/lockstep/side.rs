//! One server of the two, and the connections to it.

use super::commands::is_one;
use super::replies::{is_message, number_of, without_minus_zero, without_pattern};
use super::rules::{FAR_TIME_MS, Rule, normal};
use larder_testkit::{Client, Kind, Server, Value};
use std::time::{Duration, Instant};

/// How long a server may take for what takes no time.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Steps of a scan, at most.
const SCAN_STEPS_MAX: usize = 1000;

/// One server and the connections to it. The first side is Larder, the second the one that it is compared with.
pub struct Side {
    pub kind: Kind,
    pub server: Server,
    pub admin: Client,
    pub clients: Vec<Client>,
    pub ids: Vec<i64>,
    /// The messages that each has received.
    pub messages: Vec<Vec<Value>>,
}

impl Side {
    /// The next reply; messages that come before it are put aside.
    pub fn reply(&mut self, connection: usize) -> Result<Value, String> {
        loop {
            let value = self.read(connection)?;
            if !is_message(&value) {
                return Ok(value);
            }
            self.messages[connection].push(without_pattern(value));
        }
    }

    /// All replies up to that to a PING, which is sent now.
    pub fn replies_until_ping(&mut self, connection: usize) -> Result<Vec<Value>, String> {
        const WORD: &[u8] = b"until here";
        self.clients[connection].send(&[b"PING", WORD]);
        let mut replies = Vec::new();
        loop {
            let reply = self.reply(connection)?;
            // A connection that listens gets an array in the older protocol.
            if reply.bytes() == WORD || reply.items().get(1).is_some_and(|item| item.bytes() == WORD) {
                return Ok(replies);
            }
            replies.push(reply);
        }
    }

    pub fn read(&mut self, connection: usize) -> Result<Value, String> {
        let kind = self.kind;
        self.clients[connection].read().map_err(|error| {
            let tail: String = self
                .server
                .log()
                .lines()
                .rev()
                .take(40)
                .fold(String::new(), |all, line| format!("{line}\n{all}"));
            format!("{kind:?} does not answer: {error}\n{tail}")
        })
    }

    /// The reply, or nothing when the client waits.
    pub fn reply_or_block(&mut self, connection: usize) -> Result<Option<Value>, String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // Asked first: by the time that this is answered, the command is mostly done.
            if self.is_blocked(connection) {
                return Ok(None);
            }
            if self.clients[connection].has_reply() {
                let value = self.read(connection)?;
                if !is_message(&value) {
                    return Ok(Some(value));
                }
                self.messages[connection].push(without_pattern(value));
            }
            if Instant::now() > deadline {
                return Err(format!("{:?} neither answers nor waits", self.kind));
            }
        }
    }

    pub fn unblock(&mut self, connection: usize) -> Value {
        self.admin.ask(&format!("CLIENT UNBLOCK {}", self.ids[connection]))
    }

    pub fn is_blocked(&mut self, connection: usize) -> bool {
        self.ask_who_waits(&[connection]);
        self.who_waits(&[connection])[0]
    }

    pub fn ask_who_waits(&mut self, connections: &[usize]) {
        let ids: Vec<String> =
            connections.iter().map(|&connection| self.ids[connection].to_string()).collect();
        let mut args = vec!["CLIENT", "LIST", "ID"];
        args.extend(ids.iter().map(String::as_str));
        self.admin.send(&args);
    }

    /// Which of the connections wait, after it has been asked.
    pub fn who_waits(&mut self, connections: &[usize]) -> Vec<bool> {
        let list = self.admin.read().expect("the server replies").text();
        let waits = |&connection: &usize| {
            let id = format!("id={} ", self.ids[connection]);
            let line = list.lines().find(|line| line.starts_with(&id)).expect("the connection is there");
            line.split(' ').any(|word| word.strip_prefix("flags=").is_some_and(|flags| flags.contains('b')))
        };
        connections.iter().map(waits).collect()
    }

    /// All steps of a scan from its beginning on.
    pub fn scan(&mut self, connection: usize, args: &[Vec<u8>]) -> Result<Value, String> {
        let at = usize::from(!args[0].eq_ignore_ascii_case(b"SCAN")) + 1;
        let mut args = args.to_vec();
        let mut items: Vec<Value> = Vec::new();
        args[at] = b"0".to_vec();
        for _ in 0..SCAN_STEPS_MAX {
            self.clients[connection].send(&args);
            let reply = self.reply(connection)?;
            let [cursor, found] = reply.items() else { return Ok(reply) };
            items.extend_from_slice(found.items());
            args[at] = cursor.bytes().to_vec();
            if args[at] == b"0" {
                if is_one(&args, &["ZSCAN"]) {
                    // The digits of a score depend on the encoding, which SORT changes in Valkey.
                    items.iter_mut().for_each(|item| *item = number_of(item));
                }
                items.sort_by_key(|item| format!("{item:?}"));
                items.dedup();
                return Ok(Value::Array(items));
            }
        }
        Err(format!("{:?} does not end a scan", self.kind))
    }

    /// Waits until the server has seen that time has passed.
    pub fn wait_for_time(&mut self, wall_us: u64) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let time = self.admin.ask("TIME");
            let [seconds, us] = time.items() else { return Err(format!("TIME: {time}")) };
            if seconds.int() as u64 * 1_000_000 + us.int() as u64 >= wall_us {
                return Ok(());
            }
        }
        Err(format!("{:?} does not see the time", self.kind))
    }

    /// What is known of every key, as text; after a SORT, without the sign of scores that are zero.
    pub fn contents(&mut self, sorted: bool) -> Vec<String> {
        let mut all = Vec::new();
        for db in 0..16 {
            self.admin.ask(&format!("SELECT {db}"));
            let mut keys: Vec<Vec<u8>> =
                self.admin.ask("KEYS *").items().iter().map(|key| key.bytes().to_vec()).collect();
            keys.sort();
            for key in keys {
                let kind = self.admin.cmd(&[&b"TYPE"[..], &key]).text();
                if kind == "hash" && self.admin.cmd(&[&b"HKEYS"[..], &key]).items().is_empty() {
                    continue;
                }
                let deadline = self.admin.cmd(&[&b"PEXPIRETIME"[..], &key]);
                let deadline = normal(&deadline, Rule::UpTo(FAR_TIME_MS));
                let digest = if sorted && kind == "zset" {
                    without_minus_zero(&self.admin.cmd(&[&b"ZRANGE"[..], &key, b"0", b"-1", b"WITHSCORES"]))
                } else {
                    self.admin.cmd(&[&b"DEBUG"[..], b"DIGEST-VALUE", &key])
                };
                let encoding = self.admin.cmd(&[&b"OBJECT"[..], b"ENCODING", &key]);
                let encoding = normal(&encoding, Rule::Encoding);
                let idle = self.admin.cmd(&[&b"OBJECT"[..], b"IDLETIME", &key]);
                all.push(format!(
                    "db {db} {} {kind} until {deadline} digest {digest} {encoding} idle for {idle}",
                    key.escape_ascii()
                ));
            }
        }
        self.admin.ask("SELECT 0");
        all
    }
}
