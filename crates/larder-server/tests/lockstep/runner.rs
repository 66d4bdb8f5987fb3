//! Runs sequences against both servers, one step after the other, and tells where they differ.

use super::commands::{batch, ends_listening, fields_may_expire, may_block, name_of, stores, takes_fields};
use super::generate::{CONNECTIONS, spread};
use super::replies::{in_order, is_wrong_type, same, without_minus_zero};
use super::rules::{Rule, normal, rule_of, rule_of_reply, subscribes};
use super::side::{PATIENCE, Side};
use super::step::Step;
use larder_testkit::syntax::Vocabulary;
use larder_testkit::{Client, Clock, Kind, Value, wait_until, words};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a message may take that another thread sends.
const MESSAGE_PATIENCE: Duration = Duration::from_millis(300);

/// After which time a server has counted the keys that it was given.
const COUNTED_AFTER_MS: u64 = 1000;

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
            encoding = ({skiplist = 'listpack', hashtable = 'listpack', int = 'embstr'})[encoding] or encoding
            if not is_empty then all[#all + 1] = db .. ' ' .. key .. ' ' .. idle .. ' ' .. encoding .. ' ' .. deadline end
        end
    end
    return all";

/// Hashes whose fields have all expired: Larder has none of these, Valkey keeps them until its own expiry comes by.
const SWEEP: &str = "
    local swept = 0
    for db = 0, 15 do
        redis.call('SELECT', db)
        for _, key in ipairs(redis.call('KEYS', '*')) do
            if redis.call('TYPE', key).ok == 'hash' and #redis.call('HKEYS', key) == 0 then
                swept = swept + redis.call('DEL', key)
            end
        end
    end
    return swept";

/// How a difference of this kind is told.
const STILL_WAITS: &str = "the other still waits";
const ABORTED: &str = "Larder does not execute the transaction, the other does";
const SERVED_ANYWAY: &str = "Larder serves a client that has another key of a wrong type";

/// Where the servers differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// After which step; the number of steps: in the data at the end.
    pub at: usize,
    /// What differs.
    pub what: String,
}

/// How many commands are under way at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// One.
    Single,
    /// Those that follow each other on one connection.
    Batches,
}

/// Both servers, on one clock.
pub struct Lockstep {
    sides: [Side; 2],
    clock: Clock,
    /// Commands sent to each.
    pub commands: u64,
    /// A hash has been deleted whose fields had all expired.
    swept: bool,
    /// A SORT was sent. Valkey gives a small sorted set that it sorts another encoding, which keeps scores of minus zero.
    sorted: bool,
    /// How many keys there are at the beginning for each name of a key.
    variants: u32,
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
    /// Starts both servers, which share a clock that lies in `dir`: a program of Larder, and Valkey.
    pub fn start(dir: &Path, larder: &Path, args: &[&str]) -> Lockstep {
        let clock = Clock::new(dir);
        let valkey = Kind::Valkey.program();
        let side = |kind: Kind, program: &Path, slow: u32, own: &[&str]| {
            let server =
                clock.start_server(program, slow, &[&["--enable-debug-command", "yes"], own].concat());
            let mut admin = server.client();
            for line in ["DEBUG SET-ACTIVE-EXPIRE 0", "CONFIG SET notify-keyspace-events KEAn"] {
                assert_eq!(admin.ask(line).text(), "OK", "{line}");
            }
            if kind == Kind::Larder {
                // The first hashes have a shape, later ones not, and collections move into their records and out all the time.
                // All values are compressed all the time, and all blocks are moved.
                for line in [
                    "DEBUG HASH-SHAPES-FROM 1",
                    "DEBUG HASH-SHAPES-MAX 8",
                    "DEBUG EMBEDDED-MAX 48",
                    "DEBUG COMPRESS-ALWAYS 1",
                    "DEBUG DEFRAG-ALWAYS 1",
                ] {
                    assert_eq!(admin.ask(line).text(), "OK", "{line}");
                }
            }
            Side { kind, server, admin, clients: Vec::new(), ids: Vec::new(), messages: Vec::new() }
        };
        // Larder counts on from the last reading of the time of day; Valkey reads it in its periodic work.
        let sides =
            [side(Kind::Larder, larder, 1_000_000, args), side(Kind::Valkey, &valkey, 1, &["--hz", "500"])];
        Lockstep { sides, clock, commands: 0, swept: false, sorted: false, variants: 0 }
    }

    /// From now on a sequence begins with so many keys for each name of a key.
    pub fn fill(&mut self, variants: u32) {
        self.variants = variants;
    }

    /// Both clients of the tests' own, for questions before the start.
    pub fn oracle(&mut self) -> &mut Client {
        &mut self.sides[1].admin
    }

    /// Runs a sequence from a clean state on. The first difference, if there is one.
    pub fn run(&mut self, steps: &[Step], pace: Pace) -> Option<Difference> {
        self.reset();
        if self.variants > 0
            && let Err(what) = self.advance(COUNTED_AFTER_MS)
        {
            return Some(Difference { at: 0, what });
        }
        let fields_expire = steps.iter().any(fields_may_expire);
        let mut states = vec![State::default(); CONNECTIONS];
        let mut at = 0;
        while at < steps.len() {
            let mut len = 1;
            let result = match &steps[at] {
                Step::Advance { ms } => self.advance(*ms),
                Step::Send { connection, .. } if states[*connection].blocked.is_some() => {
                    at += 1;
                    continue;
                }
                Step::Unblock { connection } if states[*connection].blocked.is_some() => {
                    self.unblock(*connection)
                }
                Step::Unblock { .. } => {
                    at += 1;
                    continue;
                }
                Step::Send { connection, .. } => {
                    let commands = match pace {
                        Pace::Single => batch(&steps[at..=at]),
                        Pace::Batches => batch(&steps[at..]),
                    };
                    len = commands.len();
                    self.send(*connection, &commands, &mut states[*connection])
                }
            };
            let result = result.and_then(|()| self.settle(&mut states));
            let no_field_may_live = fields_expire && steps[at..at + len].iter().any(takes_fields);
            let swept = no_field_may_live && self.sweep()[1] > 0;
            if let Err(what) = result {
                // Larder serves those who wait for a key also when STORE replaces what it held, and when another of their
                // keys has got another type: what follows differs then.
                let stores = steps[at..at + len].iter().any(stores);
                if stores && what.ends_with(STILL_WAITS) || what == SERVED_ANYWAY {
                    return None;
                }
                // A field that is taken out after its time is a change of its key, for who watches it, and a hash of which all
                // fields are overdue may be there for one of the two.
                let is_there_for_one = what.matches("WRONGTYPE").count() == 1;
                if fields_expire && (what.ends_with(ABORTED) || is_there_for_one) {
                    return None;
                }
                // What is known to differ may show elsewhere first.
                let is_served = self.settle(&mut states).is_err_and(|what| what == SERVED_ANYWAY);
                if is_served || swept || self.sweep()[1] > 0 {
                    return None;
                }
                // In the middle of a batch there may have been such a hash, which has got a field since.
                if no_field_may_live && len > 1 {
                    return self.run(steps, Pace::Single);
                }
                return Some(Difference { at: at + len - 1, what });
            }
            at += len;
        }
        let result = self.compare_messages(&states, !fields_expire).and_then(|()| self.compare_data());
        result.err().map(|what| Difference { at: steps.len(), what })
    }

    fn unblock(&mut self, connection: usize) -> Result<(), String> {
        let [larder, other] = self.both(|side| side.unblock(connection));
        same(&larder, &other)
    }

    fn advance(&mut self, ms: u64) -> Result<(), String> {
        self.clock.advance(ms);
        let wall_us = self.clock.wall_us();
        self.sides.iter_mut().try_for_each(|side| side.wait_for_time(wall_us))?;
        self.sweep();
        Ok(())
    }

    /// Deletes hashes whose fields have all expired; returns how many there were.
    fn sweep(&mut self) -> [i64; 2] {
        if self.variants > 0 {
            // No field has a deadline there.
            return [0, 0];
        }
        let swept = self.both(|side| side.admin.cmd(&["EVAL", SWEEP, "0"]).int());
        self.swept |= swept != [0, 0];
        swept
    }

    fn reset(&mut self) {
        self.swept = false;
        self.sorted = false;
        for side in &mut self.sides {
            side.clients.clear();
            // One that waits would be served by the next sequence.
            wait_until("clients of the last sequence are gone", || {
                side.admin.ask("CLIENT LIST").text().lines().count() == 1
            });
            side.messages = vec![Vec::new(); CONNECTIONS];
            side.clients.extend((0..CONNECTIONS).map(|_| side.server.client()));
            side.ids = side.clients.iter_mut().map(|client| client.ask("CLIENT ID").int()).collect();
            for line in ["FLUSHALL SYNC", "SCRIPT FLUSH", "FUNCTION FLUSH"] {
                assert_eq!(side.admin.ask(line).text(), "OK", "{line}");
            }
            for number in 0..self.variants {
                let mut commands: Vec<_> = Vocabulary::data().iter().map(|line| words(line)).collect();
                commands.iter_mut().for_each(|args| spread(args, || number));
                side.admin.send_all(&commands.iter().map(Vec::as_slice).collect::<Vec<_>>());
                for args in &commands {
                    let reply = side.admin.read().expect("the server replies");
                    assert!(!reply.is_error(), "{}: {reply}", name_of(args));
                }
            }
        }
    }

    fn both<R>(&mut self, mut ask: impl FnMut(&mut Side) -> R) -> [R; 2] {
        let [larder, other] = &mut self.sides;
        [ask(larder), ask(other)]
    }

    /// Sends commands at once; only the last may block.
    fn send(&mut self, connection: usize, commands: &[&[Vec<u8>]], state: &mut State) -> Result<(), String> {
        self.commands += commands.len() as u64;
        self.sorted |= commands
            .iter()
            .copied()
            .flatten()
            .any(|arg| arg.eq_ignore_ascii_case(b"SORT") || arg.eq_ignore_ascii_case(b"SORT_RO"));
        if ends_listening(commands[0]) && state.queue.is_none() {
            // Larder drops what is on its way to a connection that listens no more.
            let [larder, other] = self.both(|side| side.replies_until_ping(connection));
            same(&Value::Array(larder?), &Value::Array(other?))?;
        }
        if subscribes(commands[0]) {
            // Its replies are as many as the channels. In a transaction they would come in the midst of those of EXEC.
            return if state.queue.is_none() { self.subscribe(connection, commands[0]) } else { Ok(()) };
        }
        for side in &mut self.sides {
            side.clients[connection].send_all(commands);
        }
        for args in commands {
            let [larder, other] = if may_block(args) {
                self.both(|side| side.reply_or_block(connection))
            } else {
                self.both(|side| side.reply(connection).map(Some))
            };
            let result = match (larder?, other?) {
                (Some(larder), Some(other)) => self.compare(connection, args, &larder, &other, state),
                (None, None) => {
                    state.blocked = Some(args.to_vec());
                    Ok(())
                }
                (Some(larder), None) => Err(format!("Larder answers {larder}, the other waits")),
                (None, Some(other)) => Err(format!("Larder waits, the other answers {other}")),
            };
            result.map_err(
                |what| if commands.len() == 1 { what } else { format!("{}: {what}", name_of(args)) },
            )?;
        }
        Ok(())
    }

    fn subscribe(&mut self, connection: usize, args: &[Vec<u8>]) -> Result<(), String> {
        self.sides.iter_mut().for_each(|side| side.clients[connection].send(args));
        let [larder, other] = self.both(|side| side.replies_until_ping(connection));
        // All channels are left in any order.
        let rule = if args.len() == 1 { Rule::Shape } else { Rule::Same };
        let [larder, other] = [larder?, other?].map(|replies| normal(&Value::Array(replies), rule));
        same(&larder, &other)
    }

    /// All messages that the connections have received, those on the way too; without those of deletions, if it depends on the
    /// server when a key is deleted.
    fn compare_messages(&mut self, states: &[State], with_deletions: bool) -> Result<(), String> {
        if self.sweep() != [0, 0] || self.swept {
            // When such a hash is deleted, and by what, differs.
            return Ok(());
        }
        for (connection, state) in states.iter().enumerate() {
            if state.blocked.is_some() {
                continue;
            }
            if state.queue.is_some() {
                self.sides.iter_mut().for_each(|side| side.clients[connection].send(&["DISCARD"]));
                let [larder, other] = self.both(|side| side.reply(connection));
                same(&larder?, &other?)?;
            }
            let deadline = Instant::now() + MESSAGE_PATIENCE;
            loop {
                let [larder, other] = self.both(|side| side.replies_until_ping(connection));
                same(&Value::Array(larder?), &Value::Array(other?))?;
                let [ours, theirs] = [0, 1]
                    .map(|side: usize| in_order(&self.sides[side].messages[connection], with_deletions));
                // What another thread sends may be on its way.
                if ours.len() < theirs.len() && Instant::now() < deadline {
                    continue;
                }
                let at = ours
                    .iter()
                    .zip(&theirs)
                    .position(|(a, b)| a != b)
                    .unwrap_or(ours.len().min(theirs.len()));
                if ours.len() != at || theirs.len() != at {
                    return Err(format!(
                        "message {at} of {} and {}: Larder {:?}\n      other:  {:?}",
                        ours.len(),
                        theirs.len(),
                        ours.get(at),
                        theirs.get(at)
                    ));
                }
                break;
            }
        }
        Ok(())
    }

    /// Reads what those get who waited and do not any more.
    fn settle(&mut self, states: &mut [State]) -> Result<(), String> {
        let waiting: Vec<usize> =
            (0..states.len()).filter(|&connection| states[connection].blocked.is_some()).collect();
        if waiting.is_empty() {
            return Ok(());
        }
        self.sides.iter_mut().for_each(|side| side.ask_who_waits(&waiting));
        let [ours, theirs] = self.both(|side| side.who_waits(&waiting));
        for ((connection, ours), theirs) in waiting.into_iter().zip(ours).zip(theirs) {
            let state = &mut states[connection];
            let Some(args) = state.blocked.clone() else { continue };
            if theirs {
                if !ours {
                    let reply = self.sides[0].reply(connection)?;
                    return Err(format!("connection {connection}: Larder answers {reply}, {STILL_WAITS}"));
                }
                continue;
            }
            // The thread of Larder whose client it is may sleep: a new connection for each wakes all of them.
            let deadline = Instant::now() + PATIENCE;
            while ours && self.sides[0].is_blocked(connection) {
                drop(self.sides[0].server.client());
                if Instant::now() > deadline {
                    // Whoever looks at those who wait once more begins with the next.
                    state.blocked = None;
                    self.sides[1].admin.ask("PING");
                    let reply = self.sides[1].reply(connection)?;
                    return Err(format!("connection {connection}: Larder waits, the other answers {reply}"));
                }
            }
            // Valkey writes the reply to a wait that is over when its loop goes round once more, which can take a second.
            self.both(|side| side.admin.ask("PING"));
            let [larder, other] = self.both(|side| side.reply(connection));
            let (larder, other) = (larder?, other?);
            state.blocked = None;
            if is_wrong_type(&other) && !larder.is_error() {
                return Err(SERVED_ANYWAY.to_owned());
            }
            self.compare(connection, &args, &larder, &other, state)?;
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
                    self.same_reply(args, larder, other)?;
                }
                return Ok(());
            }
            if larder == &Value::NullArray || larder == &Value::Null {
                return if larder == other { Ok(()) } else { Err(ABORTED.to_owned()) };
            }
            return same(larder, other);
        }
        if (is("DISCARD") || is("RESET")) && !other.is_error() {
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
        self.same_reply(args, larder, other)
    }

    fn same_reply(&self, args: &[Vec<u8>], larder: &Value, other: &Value) -> Result<(), String> {
        let rule = rule_of_reply(args);
        let [larder, other] = [larder, other].map(|reply| normal(reply, rule));
        if self.sorted && without_minus_zero(&larder) == without_minus_zero(&other) {
            return Ok(());
        }
        same(&larder, &other)
    }

    /// Every key of every database: its deadline and a digest of its value.
    fn compare_data(&mut self) -> Result<(), String> {
        if self.variants > 0 {
            // To ask about each of them takes longer than the sequence.
            let [larder, other] = self.both(|side| side.admin.ask("DEBUG DIGEST"));
            return same(&larder, &other);
        }
        let seen =
            self.both(|side| [side.admin.ask("DEBUG DIGEST"), side.admin.cmd(&["EVAL", KEYSPACE, "0"])]);
        if seen[0] == seen[1] {
            return Ok(());
        }
        let sorted = self.sorted;
        let [larder, other] = self.both(|side| side.contents(sorted));
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
