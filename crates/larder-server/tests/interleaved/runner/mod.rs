//! Runs sequences against both servers, one step after the other, and compares every connection after each.
//!
//! `start` brings the servers into the state in which every sequence begins, `clock` has time pass, and `settle` waits until
//! both have done what they were asked to, and compares them.

mod clock;
mod settle;
mod start;

use super::side::{PATIENCE, Side};
use super::step::Step;
use larder_testkit::{Clock, Value, encode};
use settle::values_of;
use std::path::PathBuf;
use std::time::{Duration, Instant};

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
