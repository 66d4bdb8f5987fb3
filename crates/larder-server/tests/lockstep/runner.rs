//! Runs sequences against both servers, one step after the other, and tells where they differ.

use super::clock::Clock;
use super::generate::CONNECTIONS;
use super::rules::{FAR_TIME_MS, Rule, normal, rule_of, rule_of_reply};
use super::step::Step;
use larder_testkit::{Client, Kind, Server, Value};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a server may take for what takes no time.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is known of every key but its value.
const KEYSPACE: &str = "
    local all = {}
    for db = 0, 15 do
        redis.call('SELECT', db)
        local keys = redis.call('KEYS', '*')
        table.sort(keys)
        for _, key in ipairs(keys) do
            local idle = redis.call('OBJECT', 'IDLETIME', key)
            -- A hash without fields is one that is not deleted yet.
            local is_empty = redis.call('TYPE', key).ok == 'hash' and #redis.call('HKEYS', key) == 0
            local deadline = math.min(redis.call('PEXPIRETIME', key), 2 ^ 47)
            local encoding = redis.call('OBJECT', 'ENCODING', key)
            encoding = ({skiplist = 'listpack', int = 'embstr'})[encoding] or encoding
            if not is_empty then all[#all + 1] = db .. ' ' .. key .. ' ' .. idle .. ' ' .. encoding .. ' ' .. deadline end
        end
    end
    return all";

/// Steps of a scan, at most.
const SCAN_STEPS_MAX: usize = 1000;

/// Where the servers differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// After which step; the number of steps: in the data at the end.
    pub at: usize,
    /// What differs.
    pub what: String,
}

/// Both servers, on one clock.
pub struct Lockstep {
    sides: [Side; 2],
    clock: Clock,
    /// Commands sent to each.
    pub commands: u64,
}

/// One server and the connections to it. The first side is Larder, the second the one that it is compared with.
struct Side {
    kind: Kind,
    server: Server,
    admin: Client,
    clients: Vec<Client>,
    ids: Vec<i64>,
}

/// What is known of a connection, the same on both sides.
#[derive(Clone, Default)]
struct State {
    /// The commands of a transaction.
    queue: Option<Vec<Vec<Vec<u8>>>>,
    /// The command that it waits in.
    blocked: Option<Vec<Vec<u8>>>,
}

impl Lockstep {
    /// Starts both servers, which share a clock that lies in `dir`.
    pub fn start(dir: &Path, larder: &[&str]) -> Lockstep {
        let clock = Clock::new(dir);
        let side = |kind: Kind, slow: u32, own: &[&str]| {
            let variables = clock.environment(slow);
            let program = kind.program();
            let program = program.to_string_lossy();
            let mut command = vec!["env"];
            command.extend(variables.iter().map(String::as_str));
            command.push(&program);
            let server = Server::start(&command, &[&["--enable-debug-command", "yes"], own].concat());
            let mut admin = server.client();
            assert_eq!(admin.ask("DEBUG SET-ACTIVE-EXPIRE 0").text(), "OK");
            Side { kind, server, admin, clients: Vec::new(), ids: Vec::new() }
        };
        // Larder counts on from the last reading of the time of day; Valkey reads it in its periodic work.
        let sides = [side(Kind::Larder, 1000, larder), side(Kind::Valkey, 1, &["--hz", "500"])];
        Lockstep { sides, clock, commands: 0 }
    }

    /// Both clients of the tests' own, for questions before the start.
    pub fn oracle(&mut self) -> &mut Client {
        &mut self.sides[1].admin
    }

    /// Runs a sequence from a clean state on. The first difference, if there is one.
    pub fn run(&mut self, steps: &[Step]) -> Option<Difference> {
        self.reset();
        let mut states = vec![State::default(); CONNECTIONS];
        for (at, step) in steps.iter().enumerate() {
            let result = match step {
                Step::Advance { ms } => {
                    self.clock.advance(*ms);
                    let wall_us = self.clock.wall_us();
                    self.sides.iter_mut().try_for_each(|side| side.wait_for_time(wall_us))
                }
                Step::Send { connection, .. } if states[*connection].blocked.is_some() => Ok(()),
                Step::Send { connection, args } => self.send(*connection, args, &mut states[*connection]),
            };
            let result = result.and_then(|()| self.settle(&mut states));
            if let Err(what) = result {
                return Some(Difference { at, what });
            }
        }
        self.compare_data().err().map(|what| Difference { at: steps.len(), what })
    }

    fn reset(&mut self) {
        for side in &mut self.sides {
            side.clients.clear();
            side.clients.extend((0..CONNECTIONS).map(|_| side.server.client()));
            side.ids = side.clients.iter_mut().map(|client| client.ask("CLIENT ID").int()).collect();
            for line in ["FLUSHALL SYNC", "SCRIPT FLUSH", "FUNCTION FLUSH"] {
                assert_eq!(side.admin.ask(line).text(), "OK", "{line}");
            }
        }
    }

    fn both<R>(&mut self, mut ask: impl FnMut(&mut Side) -> R) -> [R; 2] {
        let [larder, other] = &mut self.sides;
        [ask(larder), ask(other)]
    }

    fn send(&mut self, connection: usize, args: &[Vec<u8>], state: &mut State) -> Result<(), String> {
        self.commands += 1;
        for side in &mut self.sides {
            side.clients[connection].send(args);
        }
        let may_block = state.queue.is_none() && may_block(args);
        let mut replies = Vec::new();
        for side in &mut self.sides {
            replies.push(if may_block {
                side.reply_or_block(connection)?
            } else {
                Some(side.reply(connection)?)
            });
        }
        let [larder, other] = &replies[..] else { unreachable!("there are two sides") };
        match (larder, other) {
            (Some(larder), Some(other)) => self.compare(connection, args, larder, other, state),
            (None, None) => {
                state.blocked = Some(args.to_vec());
                Ok(())
            }
            (Some(larder), None) => Err(format!("Larder answers {larder}, the other waits")),
            (None, Some(other)) => Err(format!("Larder waits, the other answers {other}")),
        }
    }

    /// Reads what those get who waited and do not any more.
    fn settle(&mut self, states: &mut [State]) -> Result<(), String> {
        for (connection, state) in states.iter_mut().enumerate() {
            let Some(args) = state.blocked.clone() else { continue };
            if self.sides[1].is_blocked(connection) {
                if !self.sides[0].is_blocked(connection) {
                    let reply = self.sides[0].reply(connection)?;
                    return Err(format!(
                        "connection {connection}: Larder answers {reply}, the other still waits"
                    ));
                }
                continue;
            }
            let [larder, other] = self.both(|side| side.reply(connection));
            state.blocked = None;
            self.compare(connection, &args, &larder?, &other?, state)?;
        }
        Ok(())
    }

    fn compare(
        &mut self,
        connection: usize,
        args: &[Vec<u8>],
        larder: &Value,
        other: &Value,
        state: &mut State,
    ) -> Result<(), String> {
        if rule_of(args) == Rule::Scan && state.queue.is_none() && !larder.is_error() && !other.is_error() {
            let [larder, other] = self.both(|side| side.scan(connection, args));
            return same(&larder?, &other?);
        }
        let is = |name: &str| args[0].eq_ignore_ascii_case(name.as_bytes());
        if is("EXEC") {
            let queue = state.queue.take().unwrap_or_default();
            let (ours, theirs) = (larder.items(), other.items());
            if ours.len() == theirs.len() && ours.len() == queue.len() {
                for ((args, larder), other) in queue.iter().zip(ours).zip(theirs) {
                    let rule = rule_of_reply(args);
                    same(&normal(larder, rule), &normal(other, rule))?;
                }
                return Ok(());
            }
            return same(larder, other);
        }
        if is("DISCARD") || is("RESET") {
            state.queue = None;
        }
        if is("MULTI") && !other.is_error() {
            state.queue = Some(Vec::new());
        }
        if other == &Value::Simple("QUEUED".to_owned())
            && let Some(queue) = &mut state.queue
        {
            queue.push(args.to_vec());
            return same(larder, other);
        }
        let rule = rule_of_reply(args);
        same(&normal(larder, rule), &normal(other, rule))
    }

    /// Every key of every database: its deadline and a digest of its value.
    fn compare_data(&mut self) -> Result<(), String> {
        let seen =
            self.both(|side| [side.admin.ask("DEBUG DIGEST"), side.admin.cmd(&["EVAL", KEYSPACE, "0"])]);
        if seen[0] == seen[1] {
            return Ok(());
        }
        let [larder, other] = self.both(Side::contents);
        for (ours, theirs) in larder.iter().zip(&other) {
            if ours != theirs {
                return Err(format!("data: Larder has {ours}, the other {theirs}"));
            }
        }
        if larder.len() != other.len() {
            return Err(format!("data: numbers of keys {} and {}", larder.len(), other.len()));
        }
        // What is left is keys whose time is over: each server deletes them when it comes across them.
        Ok(())
    }
}

fn same(larder: &Value, other: &Value) -> Result<(), String> {
    if larder == other { Ok(()) } else { Err(format!("Larder: {larder:?}\n      other:  {other:?}")) }
}

/// Whether a command may make its client wait.
fn may_block(args: &[Vec<u8>]) -> bool {
    const NAMES: [&str; 8] =
        ["BLPOP", "BRPOP", "BLMOVE", "BRPOPLPUSH", "BLMPOP", "BZPOPMIN", "BZPOPMAX", "BZMPOP"];
    let is = |name: &&str| args[0].eq_ignore_ascii_case(name.as_bytes());
    NAMES.iter().any(is) || ["XREAD", "XREADGROUP"].iter().any(is)
}

impl Side {
    fn reply(&mut self, connection: usize) -> Result<Value, String> {
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
    fn reply_or_block(&mut self, connection: usize) -> Result<Option<Value>, String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if self.clients[connection].has_reply() {
                return self.reply(connection).map(Some);
            }
            if self.is_blocked(connection) {
                return Ok(None);
            }
            if Instant::now() > deadline {
                return Err(format!("{:?} neither answers nor waits", self.kind));
            }
        }
    }

    fn is_blocked(&mut self, connection: usize) -> bool {
        let list = self.admin.ask(&format!("CLIENT LIST ID {}", self.ids[connection])).text();
        list.split(' ').any(|word| word.strip_prefix("flags=").is_some_and(|flags| flags.contains('b')))
    }

    /// All steps of a scan from its beginning on.
    fn scan(&mut self, connection: usize, args: &[Vec<u8>]) -> Result<Value, String> {
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
                items.sort_by_key(|item| format!("{item:?}"));
                items.dedup();
                return Ok(Value::Array(items));
            }
        }
        Err(format!("{:?} does not end a scan", self.kind))
    }

    /// Waits until the server has seen that time has passed.
    fn wait_for_time(&mut self, wall_us: u64) -> Result<(), String> {
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

    /// What each key is, as text.
    fn contents(&mut self) -> Vec<String> {
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
                let digest = self.admin.cmd(&[&b"DEBUG"[..], b"DIGEST-VALUE", &key]);
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
