//! Runs sequences against both servers, one step after the other, and compares every connection after each.

use super::rules::{Circumstances, INCOMPLETE, agree, agree_as_far_as_they_go};
use super::side::{PATIENCE, Side};
use super::step::Step;
use larder_testkit::{Clock, Kind, Value, encode, parse, words};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Functions that sequences call.
const LIBRARY: &str = "#!lua name=one
    server.register_function('push', function(keys) return server.call('RPUSH', keys[1], 'f') end)
    server.register_function('hang', function() while true do end end)
    server.register_function{function_name = 'read', callback = function(keys) return server.call('GET', keys[1]) end,
        flags = {'no-writes'}}
    server.register_function{function_name = 'stay', callback = function() while true do end end, flags = {'no-writes'}}";

/// What a sequence begins with.
const BEGIN: &[&str] = &[
    "CLIENT UNPAUSE",
    "CONFIG SET notify-keyspace-events \"\" maxmemory 0 busy-reply-threshold 1",
    "FLUSHALL SYNC",
    "SCRIPT FLUSH",
    "FUNCTION FLUSH",
    "ACL DELUSER u",
    "ACL SETUSER u reset on nopass +@all ~* &*",
    "ACL LOG RESET",
];

/// Past every pause and every deadline of a sequence.
const LATER_MS: u64 = 10_000_000;

/// How long a script runs, for a server that looks at its monotonic clock.
const SCRIPT_MS: u64 = 3;

/// A few periods of Valkey's periodic work.
const NOTICED_AFTER: Duration = Duration::from_millis(7);

/// How long a script may go on that was killed. One whose client gets no replies is waited for as long; meanwhile the monotonic clock
/// goes forward, by which waits may end.
const KILLED_WITHIN: Duration = Duration::from_millis(60);

/// How long commands without replies are waited for, at most.
const SILENT_FOR: Duration = Duration::from_millis(5);

/// The database of a key that shows what a server takes the time of day for, and when that key expires.
const CLOCK_DATABASE: &str = "15";
const CLOCK_EXPIRES_MS: u64 = 9_000_000_000_000;

/// Scripts that wait for one another to be killed, at most.
const SCRIPTS_MAX: usize = 200;

/// Bytes of append-only files after which they are rewritten.
const LOG_MAX: u64 = 100 << 10;

/// Comparisons before a difference is one: a machine that stands still for a while makes patience end.
const TRIES_MIN: u32 = 12;

/// How it is told that a sequence could not begin.
const UNUSABLE: &str = "before the sequence";

/// Where the servers differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// After which step; the number of steps: at the end.
    pub at: usize,
    /// What differs.
    pub what: String,
}

/// Commands that a pause of writes does not hold up.
const PASSES_PAUSE: [&str; 8] = ["CLIENT", "GET", "LLEN", "EXISTS", "ACL", "WATCH", "PING", "ECHO"];

/// Commands that may close connections, have a script or a transaction executed, or change how the server treats clients.
const FAR_REACHING: &[&str] = &[
    "ACL",
    "AUTH",
    "CLIENT",
    "CONFIG",
    "DEBUG",
    "EVAL",
    "EVALSHA",
    "EVALSHA_RO",
    "EVAL_RO",
    "EXEC",
    "FCALL",
    "FCALL_RO",
    "FLUSHALL",
    "FLUSHDB",
    "FUNCTION",
    "QUIT",
    "RESET",
    "SCRIPT",
    "SWAPDB",
    "WAIT",
    "WAITAOF",
];

/// A pause that `CLIENT PAUSE` has begun.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pause {
    None,
    Writes,
    All,
}

/// Both servers, on one clock.
pub struct Interleaved {
    sides: [Side; 2],
    clock: Clock,
    dir: PathBuf,
    larder: PathBuf,
    threads: String,
    /// The sequence has a SWAPDB.
    swapped: bool,
    /// A script hangs in a transaction of the sequence.
    hangs_in_transaction: bool,
    /// The sequence has a script that hangs.
    hangs: bool,
    /// The connection whose command is the step, if one question to each server suffices after its reply.
    lone: Option<usize>,
    /// Several connections had sent further commands behind one that waits when the step began.
    has_pipelines: bool,
    /// The sequence changes rights or deadlines, or has clients that track keys.
    looks_again: bool,
    /// A client of the sequence tracks keys in broadcast mode, or there are keyspace notifications.
    broadcasts: bool,
    /// A client of the sequence tracks keys with `NOLOOP`, and keys expire.
    expires_without_loop: bool,
    /// The sequence has a pause.
    pauses: bool,
    /// The pause that is in force.
    pause: Pause,
    /// A script that hung has ended in this step.
    script_ended: bool,
    /// The step is one in which the servers load their files.
    reloads: bool,
    /// How long a difference must last to be one.
    pub patience: Duration,
    /// Steps of all sequences, without those that were left out.
    pub steps: u64,
}

impl Interleaved {
    /// Starts both servers with a clock of their own in `dir`: a program of Larder, and Valkey.
    pub fn start(dir: &Path, larder: &Path, threads: &str) -> Interleaved {
        let clock = Clock::new(dir);
        let sides = start_sides(&clock, dir, larder, threads);
        let (larder, threads) = (larder.to_owned(), threads.to_owned());
        Interleaved {
            sides,
            clock,
            dir: dir.to_owned(),
            larder,
            threads,
            swapped: false,
            hangs_in_transaction: false,
            hangs: false,
            lone: None,
            has_pipelines: false,
            looks_again: false,
            broadcasts: false,
            expires_without_loop: false,
            pauses: false,
            pause: Pause::None,
            script_ended: false,
            reloads: false,
            patience: Duration::from_secs(2),
            steps: 0,
        }
    }

    /// Starts both servers again, with empty files.
    pub fn restart(&mut self) {
        for side in &mut self.sides {
            side.server.kill();
            let _ = std::fs::remove_dir_all(self.dir.join(side.kind.name()));
        }
        self.sides = start_sides(&self.clock, &self.dir, &self.larder, &self.threads);
    }

    /// Whether a difference leaves servers that no further sequence can begin with.
    pub fn is_unusable(&mut self, difference: &Difference) -> bool {
        difference.what.starts_with(UNUSABLE)
            || difference.what.contains("does not answer")
            || self.sides.iter_mut().any(|side| side.server.has_ended().is_some())
    }

    /// Runs a sequence from a clean state on. Returns the first difference.
    pub fn run(&mut self, steps: &[Step]) -> Option<Difference> {
        let swaps = |arg: &Vec<u8>| arg.eq_ignore_ascii_case(b"SWAPDB");
        self.swapped =
            steps.iter().any(|step| matches!(step, Step::Send { args, .. } if args.iter().any(swaps)));
        let sends = |test: &dyn Fn(&[Vec<u8>]) -> bool| {
            steps.iter().any(|step| matches!(step, Step::Send { args, .. } if test(args)))
        };
        self.pauses =
            sends(&|args| args.first().is_some_and(|name| name == b"CLIENT") && is_word(args, 1, "PAUSE"));
        self.pause = Pause::None;
        self.broadcasts = sends(&|args| {
            args.iter().any(|arg| arg.eq_ignore_ascii_case(b"BCAST"))
                || is_word(args, 2, "notify-keyspace-events")
        });
        let has_word = |words: &[&str]| {
            sends(&|args| {
                args.iter().any(|arg| words.iter().any(|word| arg.eq_ignore_ascii_case(word.as_bytes())))
            })
        };
        self.expires_without_loop = has_word(&["NOLOOP"]) && has_word(&["PX", "PEXPIRE", "EXPIRE"]);
        self.looks_again = sends(&|args| {
            ["ACL", "PEXPIRE", "EXPIRE"].iter().any(|name| is_word(args, 0, name))
                || is_word(args, 1, "TRACKING")
        });
        let has_hang = sends(&hangs);
        self.hangs_in_transaction = has_hang && sends(&|args| args == [b"MULTI"]);
        // Of the last sequence, there may be one.
        self.hangs = true;
        if let Err(what) = self.reset(steps) {
            return Some(Difference { at: 0, what: format!("{UNUSABLE}: {what}") });
        }
        self.hangs = has_hang;
        for (at, step) in steps.iter().enumerate() {
            self.steps += 1;
            if let Err(what) = self.step(step) {
                return Some(Difference { at, what });
            }
        }
        self.finish().err().map(|what| Difference { at: steps.len(), what })
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        self.has_pipelines = self.pipelines() > 1;
        self.script_ended = false;
        match step {
            Step::Send { connection, args, joins_next } => {
                let is_closed = self.sides[1].clients[*connection].is_closed;
                if is_closed && !self.open(*connection)? || self.is_ambiguous(*connection, args) {
                    return self.skip();
                }
                // What this command releases would be executed before, or after, what is written together with it.
                let mut others = self.sides[1].clients.iter().enumerate();
                let owed_max = if is_word(args, 1, "UNPAUSE") { 0 } else { 1 };
                let joins_next = *joins_next
                    && !others.any(|(number, client)| number != *connection && client.owed > owed_max);
                for side in &mut self.sides {
                    let args: Vec<Vec<u8>> = args.iter().map(|arg| filled_in(arg, side)).collect();
                    let mut request = Vec::new();
                    encode(&mut request, &args);
                    side.clients[*connection].note(&args);
                    side.clients[*connection].pending.extend(request);
                    if !joins_next {
                        side.clients[*connection].flush();
                    }
                }
                if joins_next {
                    return Ok(());
                }
                self.lone = self.is_lone_command(*connection, args).then_some(*connection);
                self.settle()?;
                self.await_silent(*connection)?;
                self.note_pause()?;
                let ok = Value::Simple("OK".to_owned());
                let has_killed = match &self.sides[1].clients[*connection].last_reply {
                    Some(reply) => *reply == ok,
                    // One of the servers may have replied.
                    None => self
                        .sides
                        .iter()
                        .any(|side| values_of(&side.clients[*connection].received).last() == Some(&ok)),
                };
                if has_killed && is_kill_of_script(args) { self.await_end_of_script() } else { Ok(()) }
            }
            Step::Close { connection } => {
                self.close(*connection)?;
                self.settle()
            }
            Step::Advance { ms } => self.advance(*ms),
            Step::Reload => self.reload(),
        }
    }

    /// Connections with commands behind one that waits.
    fn pipelines(&self) -> usize {
        self.sides[1].clients.iter().filter(|client| client.owed > 1).count()
    }

    /// Leaves a step out.
    fn skip(&mut self) -> Result<(), String> {
        self.steps -= 1;
        Ok(())
    }

    /// Whether a server with one thread, once it has replied to a command, has written all messages that it caused when it answers
    /// a question: no connection is closed, and no script and no pause gets in the way.
    fn is_lone_command(&self, connection: usize, args: &[Vec<u8>]) -> bool {
        let calm = self.threads == "1" && !self.pauses && !self.hangs && self.executes();
        let reaches_far = FAR_REACHING.iter().any(|name| is_word(args, 0, name));
        calm && !reaches_far && self.sides[1].clients[connection].owed == 1
    }

    /// Whether what a command does depends on an order that is a server's own: which of two scripts that hang begins first; with
    /// several threads, which of two connections executes first what waits behind commands that one event has released.
    fn is_ambiguous(&self, connection: usize, args: &[Vec<u8>]) -> bool {
        let clients = &self.sides[1].clients;
        if hangs(args) && clients.iter().any(|client| client.carries_hang) {
            return true;
        }
        // A client that waits to move an element is served even if there is no memory, here.
        if is_word(args, 2, "maxmemory") && clients.iter().any(|client| client.moves) {
            return true;
        }
        // What begins such a script may have served other clients: Valkey does not read their commands until it has ended.
        let is_released = clients.iter().any(|client| client.hang_waits);
        let is_read = is_kill_of_script(args) && clients[connection].owed == 0;
        if is_released && self.sides[1].is_busy() && !is_read {
            return true;
        }
        // A transaction with a script that hangs holds its keys: what is watched then counts as changed, here.
        if is_word(args, 0, "WATCH") && self.sides[1].is_busy() {
            return true;
        }
        // Larder has sent to those who listen when a command ends, Valkey when its event loop sleeps.
        // A client of the older protocol gets no invalidations.
        let changes_tracking =
            is_word(args, 1, "TRACKING") || is_word(args, 0, "RESET") || is_word(args, 0, "HELLO");
        if self.broadcasts && changes_tracking && clients[connection].owed > 0 {
            return true;
        }
        // Valkey counts a client whose rights are gone until its event loop sleeps, Larder until the command has ended.
        let counts = ["PUBSUB", "PUBLISH", "SPUBLISH"].iter().any(|name| is_word(args, 0, name));
        if counts && clients[connection].takes_rights {
            return true;
        }
        // Other connections see LOADING meanwhile, and a transaction is refused, here.
        let sender = &clients[connection];
        if is_word(args, 1, "RELOAD") && (sender.queues || self.threads != "1" && sender.owed > 0) {
            return true;
        }
        let mut others = clients.iter().enumerate().filter(|(number, _)| *number != connection);
        if self.pause != Pause::None && others.clone().any(|(_, client)| client.is_held) {
            return self.pause == Pause::All || !PASSES_PAUSE.iter().any(|name| is_word(args, 0, name));
        }
        // A thread for slow commands executes a script or a transaction of which it is not known that it is short.
        let is_offloaded = may_be_offloaded(args) || clients.iter().any(|client| client.carries_script);
        let is_ordered =
            self.threads == "1" && !is_offloaded && !clients.iter().any(|client| client.carries_hang);
        !is_ordered && clients[connection].owed > 0 && others.any(|(_, client)| client.owed > 1)
    }

    /// Waits, for a moment, until both servers have executed equally many commands of a connection that may get no replies: a script
    /// may be executed by another thread.
    fn await_silent(&mut self, connection: usize) -> Result<(), String> {
        let is_silenced = self.sides[1].clients[connection].quits_unheard.0;
        let deadline = Instant::now() + SILENT_FOR;
        while is_silenced && !self.pauses && self.executes() && Instant::now() < deadline {
            let [larder, valkey] = self.both(|side| side.commands_of(connection));
            if larder? == valkey? {
                break;
            }
        }
        Ok(())
    }

    /// Asks for the pause that is in force, and notes which connections it holds up.
    fn note_pause(&mut self) -> Result<(), String> {
        if !self.pauses {
            return Ok(());
        }
        let [_, valkey] = &mut self.sides;
        let is_busy = valkey.is_busy();
        self.pause = if valkey.mood.is_none() {
            Pause::All
        } else if is_busy {
            return Ok(());
        } else if valkey.ask("INFO clients")?.text().contains("paused_actions:none") {
            Pause::None
        } else {
            Pause::Writes
        };
        for client in &mut valkey.clients {
            client.is_held = client.owed > 0 && (client.is_held || self.pause != Pause::None);
        }
        Ok(())
    }

    /// Has time pass, and waits until both servers have noticed: Valkey reads the clock in its periodic work.
    fn advance(&mut self, ms: u64) -> Result<(), String> {
        let waiting = self.sides[1].clients.iter().filter(|client| client.owed > 0).count();
        if self.sides.iter().any(Side::is_busy) || self.pipelines() > 0 && waiting > 1 {
            // If it ends the waits of two connections, which comes first, and what follows it, is a server's own. While a
            // script hangs, Larder ends waits whose time is over; Valkey does that when the script has ended.
            return self.skip();
        }
        self.clock.advance(ms);
        let deadline = Instant::now() + NOTICED_AFTER;
        loop {
            self.barrier()?;
            if Instant::now() >= deadline || !self.pauses && self.sees_time()? {
                break;
            }
        }
        self.barrier()?;
        self.settle()?;
        self.note_pause()
    }

    /// Whether Valkey has read the clock, as far as is known.
    fn sees_time(&mut self) -> Result<bool, String> {
        let left_ms = CLOCK_EXPIRES_MS - self.clock.wall_us() / 1000;
        let [_, valkey] = &mut self.sides;
        if !valkey.executes() {
            return Ok(false);
        }
        let lines = [&["SELECT", CLOCK_DATABASE][..], &["PTTL", "clock"], &["SELECT", "0"]];
        lines.iter().for_each(|line| valkey.send_on_control(line));
        valkey.control_reply()?;
        let ttl = valkey.control_reply()?;
        valkey.control_reply()?;
        Ok(ttl == Value::Int(left_ms as i64))
    }

    /// Has both servers load their append-only files, unless they refuse commands, and compares the data.
    fn reload(&mut self) -> Result<(), String> {
        // Valkey has waiting clients look again at the keys of the file: those whose rights are gone are refused, and consumers of a stream
        // that has expired; others that track keys track these again.
        let waits = self.looks_again && self.sides[1].clients.iter().any(|client| client.owed > 0);
        if waits || !self.executes() {
            return self.skip();
        }
        self.sides.iter_mut().for_each(|side| side.send_on_control(&["DEBUG", "LOADAOF"]));
        let [larder, valkey] = self.both(|side| side.control_reply());
        let (larder, valkey) = (larder?, valkey?);
        if larder != valkey {
            return Err(format!("DEBUG LOADAOF: Larder {larder}, Valkey {valkey}"));
        }
        self.reloads = true;
        let settled = self.settle();
        self.reloads = false;
        settled?;
        self.compare_data()
    }

    /// Whether both servers execute commands: no script hangs and there is no pause.
    fn executes(&self) -> bool {
        self.sides.iter().all(Side::executes)
    }

    fn both<R>(&mut self, mut ask: impl FnMut(&mut Side) -> R) -> [R; 2] {
        let [larder, valkey] = &mut self.sides;
        [ask(larder), ask(valkey)]
    }

    /// Opens a connection that was closed, or a further one, if the servers execute commands; it gets one id on both.
    fn open(&mut self, connection: usize) -> Result<bool, String> {
        if connection < self.sides[0].clients.len() && !self.executes() {
            return Ok(false);
        }
        let [larder, valkey] = self.both(|side| side.open(connection));
        let (mut larder, mut valkey) = (larder?, valkey?);
        let is_same = larder == valkey;
        while larder != valkey {
            if larder < valkey {
                larder = self.sides[0].open(connection)?;
            } else {
                valkey = self.sides[1].open(connection)?;
            }
        }
        if !is_same {
            // The servers notice that the ones before it are closed: `CLIENT KILL` counts connections.
            self.barrier()?;
        }
        Ok(true)
    }

    /// Closes a connection, and waits until the servers have noticed.
    fn close(&mut self, connection: usize) -> Result<(), String> {
        if !self.executes() {
            // The server does not look at a client whose script hangs.
            return self.skip();
        }
        for side in &mut self.sides {
            side.clients[connection].end();
            let deadline = Instant::now() + PATIENCE;
            while !side.clients[connection].is_closed {
                side.clients[connection].poll();
                if Instant::now() > deadline {
                    return Err(format!("{:?} does not close connection {connection}", side.kind));
                }
                std::thread::yield_now();
            }
            // How much of its replies a client that goes still gets is a matter of time.
            side.clients[connection].received.clear();
        }
        Ok(())
    }

    /// Waits until both servers have done what they were asked to, and compares all connections.
    fn settle(&mut self) -> Result<(), String> {
        self.settle_within(self.patience)
    }

    fn settle_within(&mut self, patience: Duration) -> Result<(), String> {
        let lone = self.lone;
        self.barrier()?;
        if lone.is_some_and(|number| !self.sides.iter_mut().all(|side| side.has_heard(number))) {
            // The command waits, or has not been read.
            self.barrier()?;
        }
        let deadline = Instant::now() + patience;
        let mut pause = Duration::from_micros(20);
        for tries in 0.. {
            self.sides.iter_mut().for_each(Side::poll);
            let Err(what) = self.compare() else { return Ok(()) };
            if Instant::now() > deadline && tries >= TRIES_MIN {
                return Err(what);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
            self.barrier()?;
        }
        Ok(())
    }

    /// Waits until both servers have answered twice: the second time all replies to what came before the first are written. Once
    /// is enough after some commands.
    fn barrier(&mut self) -> Result<(), String> {
        self.rounds()?;
        while self.sides.iter_mut().any(|side| side.has_lost_controls()) {
            self.rounds()?;
        }
        Ok(())
    }

    fn rounds(&mut self) -> Result<(), String> {
        if self.sides.iter_mut().any(|side| side.has_lost_controls()) {
            // A command that kills one of them kills all, on both servers.
            let deadline = Instant::now() + PATIENCE;
            while self.sides.iter_mut().any(|side| !side.has_lost_all_controls()) && Instant::now() < deadline
            {
                std::thread::yield_now();
            }
            self.sides.iter_mut().for_each(Side::reopen_controls);
        }
        for asks_probe in if self.lone.take().is_some() { &[false][..] } else { &[false, true] } {
            self.sides.iter_mut().for_each(|side| side.begin_round(*asks_probe));
            let deadline = Instant::now() + PATIENCE;
            while let Some(late) =
                self.sides.iter_mut().rev().find_map(|side| (!side.end_round()).then_some(side))
            {
                if Instant::now() > deadline {
                    return Err(late.silence());
                }
                // A script may hang. Larder's time of day runs ahead by that until it reads the clocks again, so only then.
                if self.hangs {
                    self.clock.advance_monotonic(SCRIPT_MS);
                }
            }
            if self.sides[1].is_busy() {
                self.clock.advance_monotonic(SCRIPT_MS);
            }
        }
        Ok(())
    }

    /// Compares what has arrived since the last step; what agrees is dropped.
    fn compare(&mut self) -> Result<(), String> {
        let [larder, valkey] = &mut self.sides;
        let is_busy = valkey.is_busy();
        for (number, (ours, theirs)) in larder.clients.iter_mut().zip(&mut valkey.clients).enumerate() {
            if ours.received != theirs.received {
                let is_closed = ours.is_closed && theirs.is_closed;
                let (swapped, reloads) = (self.swapped, self.reloads);
                let circumstances = Circumstances {
                    swapped,
                    reloads,
                    hangs_in_transaction: self.hangs_in_transaction,
                    expires_without_loop: self.expires_without_loop,
                    is_closed,
                    has_pipelines: self.has_pipelines,
                    pushes_at_will: self.broadcasts || self.has_pipelines,
                };
                let [a, b] = [&ours.received, &theirs.received].map(|bytes| values_of(bytes));
                // While its script hangs, Valkey writes nothing to a client, replies to earlier commands neither; Larder sends what a
                // transaction invalidates when it has ended.
                if is_busy && agree_as_far_as_they_go(&a, &b, circumstances) {
                    continue;
                }
                if !agree(&a, &b, circumstances) {
                    return Err(difference(number, &a, &b));
                }
            }
            let carried_hang = theirs.carries_hang;
            theirs.note_replies(&values_of(&theirs.received));
            self.script_ended |= carried_hang && !theirs.carries_hang;
            ours.received.clear();
            theirs.received.clear();
            // Valkey keeps the connection of a client that gets no replies when it quits.
            if ours.is_closed && theirs.quits_unheard.1 {
                theirs.end();
                theirs.is_closed = true;
            }
            if ours.is_closed != theirs.is_closed {
                let closer = if ours.is_closed { "Larder" } else { "Valkey" };
                return Err(format!("connection {number}: only {closer} closes it"));
            }
        }
        let is_same = match (&larder.mood, &valkey.mood) {
            (Some(Value::Null), _) | (_, Some(Value::Null)) => true,
            (ours, theirs) => ours == theirs,
        };
        if !is_same {
            let [ours, theirs] = [&larder.mood, &valkey.mood].map(mood_text);
            return Err(format!("PING on another connection: Larder {ours}, Valkey {theirs}"));
        }
        Ok(())
    }

    /// Waits until a killed script has ended: it has its reply, or no script runs. There may be further ones.
    fn await_end_of_script(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + KILLED_WITHIN;
        while !self.script_ended && !self.executes() && Instant::now() < deadline {
            self.barrier()?;
            self.sides.iter_mut().for_each(Side::poll);
            // What differs for longer is found below.
            let _ = self.compare();
        }
        self.settle()
    }

    /// Ends scripts, and compares their replies and the data.
    fn finish(&mut self) -> Result<(), String> {
        for number in 0..self.sides[0].clients.len() {
            self.sides.iter_mut().for_each(|side| side.clients[number].flush());
            self.barrier()?;
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.barrier()?;
            // When one script is killed a further one may begin, on either server first.
            self.end_scripts()?;
            let settled = self.settle_within(Duration::from_millis(20));
            let is_busy = self.sides.iter().any(Side::is_busy);
            match settled {
                Ok(()) if !is_busy => break,
                _ if is_busy && Instant::now() < deadline => {}
                Ok(()) => return Err("scripts do not end".to_owned()),
                // It lasts, or is returned.
                Err(_) => self.settle()?,
            }
        }
        if !self.executes() {
            // In a pause.
            return Ok(());
        }
        self.compare_data()
    }

    /// Kills scripts until there is none.
    fn end_scripts(&mut self) -> Result<(), String> {
        for _ in 0..SCRIPTS_MAX {
            if self.executes() {
                return Ok(());
            }
            self.sides.iter_mut().filter(|side| !side.executes()).for_each(Side::kill_script);
            self.barrier()?;
            if self.both(|side| side.executes() || !side.has_killed()) == [true; 2] {
                return Ok(());
            }
        }
        Err("scripts do not end".to_owned())
    }

    /// Ends scripts and pauses; returns whether nothing is left of a sequence whose connections are closed.
    fn is_calm(&mut self) -> Result<bool, String> {
        self.barrier()?;
        self.end_scripts()?;
        self.clock.advance(LATER_MS);
        self.barrier()?;
        if !self.executes() {
            return Ok(false);
        }
        for side in &mut self.sides {
            if side.ask("CLIENT LIST")?.text().lines().count() != side.own_connections() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Compares the data, for as long as a difference may last: a command without a reply may be under way on a thread of its own.
    fn compare_data(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + self.patience;
        loop {
            let compared = self.compare_data_now();
            if compared.is_ok() || Instant::now() > deadline {
                return compared;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn compare_data_now(&mut self) -> Result<(), String> {
        let [larder, valkey] = self.both(|side| side.ask("DEBUG DIGEST"));
        if larder? == valkey? {
            return Ok(());
        }
        let [larder, valkey] = self.both(Side::contents);
        let (larder, valkey) = (larder?, valkey?);
        if larder != valkey {
            let [larder, valkey] = [larder, valkey].map(|contents| contents.join("\n        "));
            return Err(format!("data:\n    Larder:\n        {larder}\n    Valkey:\n        {valkey}"));
        }
        // Expired keys are left, which each server deletes when it comes across them.
        Ok(())
    }

    fn reset(&mut self, steps: &[Step]) -> Result<(), String> {
        self.sides.iter_mut().for_each(|side| {
            side.clients.clear();
            side.ids.clear();
        });
        let deadline = Instant::now() + PATIENCE;
        while !self.is_calm()? {
            if Instant::now() > deadline {
                return Err("the last sequence does not end".to_owned());
            }
        }
        for side in &mut self.sides {
            BEGIN.iter().for_each(|line| side.send_on_control(&words(line)));
            side.send_on_control(&["FUNCTION", "LOAD", LIBRARY]);
            side.send_on_control(&["SELECT", CLOCK_DATABASE]);
            side.send_on_control(&["SET", "clock", "", "PXAT", &CLOCK_EXPIRES_MS.to_string()]);
            side.send_on_control(&["SELECT", "0"]);
        }
        for side in &mut self.sides {
            for line in BEGIN.iter().chain(&["FUNCTION LOAD", "SELECT", "SET", "SELECT"]) {
                let reply = side.control_reply()?;
                if reply.is_error() {
                    return Err(format!("{:?}: {line}: {reply}", side.kind));
                }
            }
        }
        self.rewrite_large_logs()?;
        for number in 0..super::step::connections(steps) {
            self.open(number)?;
        }
        self.barrier()
    }

    /// Rewrites append-only files that have grown, of both servers: sequences have them loaded, and their commands touch keys.
    fn rewrite_large_logs(&mut self) -> Result<(), String> {
        let size = |side: &Side| -> u64 {
            let folder = self.dir.join(side.kind.name()).join("appendonlydir");
            let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
            files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
        };
        if self.sides.iter().all(|side| size(side) < LOG_MAX) {
            return Ok(());
        }
        for side in &mut self.sides {
            side.ask("BGREWRITEAOF")?;
            let deadline = Instant::now() + PATIENCE;
            while !side.ask("INFO persistence")?.text().contains("aof_rewrite_in_progress:0") {
                if Instant::now() > deadline {
                    return Err(format!("{:?} does not end its rewrite", side.kind));
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }
}

fn start_sides(clock: &Clock, dir: &Path, larder: &Path, threads: &str) -> [Side; 2] {
    let controls = threads.parse().expect("a number of threads");
    let side = |kind: Kind, program: &Path, slow: u32, own: &[&str]| {
        let data = dir.join(kind.name());
        std::fs::create_dir_all(&data).expect("the directory is writable");
        let data = data.to_string_lossy();
        let options = [
            "--enable-debug-command",
            "yes",
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
            "--auto-aof-rewrite-percentage",
            "0",
            "--dir",
            &data,
        ];
        let mut side =
            Side::new(kind, clock.start_server(program, slow, &[&options[..], own].concat()), controls);
        let reply = side.ask("DEBUG SET-ACTIVE-EXPIRE 0").expect("the server answers");
        assert_eq!(reply.text(), "OK");
        if kind == Kind::Larder {
            let reply = side.ask("DEBUG HASH-SHAPES-FROM 1").expect("the server answers");
            assert_eq!(reply.text(), "OK");
        }
        side
    };
    // Larder counts on from the last reading of the time of day; Valkey reads it in its periodic work.
    [
        side(Kind::Larder, larder, 1_000_000, &["--threads", threads]),
        side(Kind::Valkey, &Kind::Valkey.program(), 1, &["--hz", "500"]),
    ]
}

/// An argument with ids and addresses in the place of `%2` and `@2`.
fn filled_in(arg: &[u8], side: &Side) -> Vec<u8> {
    let number = |digit: &u8| char::from(*digit).to_digit(10).map(|digit| digit as usize);
    match arg {
        [b'%', digit] => {
            let id = number(digit).and_then(|number| side.ids.get(number));
            id.map_or_else(|| arg.to_vec(), |id| id.to_string().into_bytes())
        }
        [b'@', digit] => {
            let client = number(digit).and_then(|number| side.clients.get(number));
            client.map_or_else(|| arg.to_vec(), |client| client.address.clone().into_bytes())
        }
        _ => arg.to_vec(),
    }
}

/// Whether a command is a script or a function that hangs.
pub fn hangs(args: &[Vec<u8>]) -> bool {
    let is = |at: usize, word: &[u8]| args.get(at).is_some_and(|arg| arg.starts_with(word));
    is(0, b"FCALL") && (is(1, b"hang") || is(1, b"stay"))
        || is(0, b"EVAL")
            && args.get(1).is_some_and(|text| text.windows(10).any(|part| part == b"while true"))
}

/// Whether a command is a script, a function or a transaction.
pub fn may_be_offloaded(args: &[Vec<u8>]) -> bool {
    let is = |start: &[u8]| args.first().is_some_and(|name| name.starts_with(start));
    is(b"EVAL") || is(b"FCALL") || is(b"EXEC")
}

fn is_word(args: &[Vec<u8>], at: usize, word: &str) -> bool {
    args.get(at).is_some_and(|arg| arg.eq_ignore_ascii_case(word.as_bytes()))
}

fn is_kill_of_script(args: &[Vec<u8>]) -> bool {
    (is_word(args, 0, "SCRIPT") || is_word(args, 0, "FUNCTION")) && is_word(args, 1, "KILL")
}

fn values_of(mut bytes: &[u8]) -> Vec<Value> {
    let mut values = Vec::new();
    while let Ok(Some((value, len))) = parse(bytes) {
        values.push(value);
        bytes = &bytes[len..];
    }
    if !bytes.is_empty() {
        values.push(Value::Error(format!("{INCOMPLETE}{}", bytes.escape_ascii())));
    }
    values
}

fn difference(number: usize, larder: &[Value], valkey: &[Value]) -> String {
    let text = |values: &[Value]| values.iter().map(Value::to_string).collect::<Vec<_>>().join("  ");
    format!("connection {number}:\n    Larder: {}\n    Valkey: {}", text(larder), text(valkey))
}

fn mood_text(mood: &Option<Value>) -> String {
    mood.as_ref().map_or_else(|| "waits".to_owned(), Value::to_string)
}
