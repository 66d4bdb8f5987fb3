//! Clients that write, wait for replicas, and remember what their keys may look like.

use super::model::{Data, Entry, FAR_MS, Keys, Op, expected, read, times};
use crate::{must_not_hang, now_ms};
use larder_testkit::{Client, Value, words};
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// A deadline that may pass while a command is on its way.
const NEAR_MS: u64 = 5_000;

/// Keys of each type.
const KEYS: usize = 3;

/// A writer, which alone writes to its keys.
pub struct Writer {
    name: String,
    rng: fastrand::Rng,
    number: i64,
    /// What its keys were after each command, oldest first.
    states: Vec<Keys>,
    /// Index of the newest state that a replica has acknowledged.
    waited: usize,
    /// Index of the newest state that the primary has acknowledged.
    answered: usize,
    /// Whether replicas keep logs, whose syncs can be waited for.
    are_logged: bool,
}

/// The oldest state that a server may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Everything that was answered.
    Answered,
    /// What replicas have acknowledged.
    Waited,
}

/// Answers of servers that do not take writes at the moment.
const REFUSALS: &[&str] = &["READONLY", "LOADING", "MASTERDOWN", "UNBLOCKED", "NOREPLICAS"];

impl Writer {
    pub fn new(number: usize, seed: u64, are_logged: bool) -> Writer {
        let rng = fastrand::Rng::with_seed(seed);
        let name = format!("w{number}");
        Writer { name, rng, number: 0, states: vec![Keys::new()], waited: 0, answered: 0, are_logged }
    }

    /// Writes until it is stopped, or the server takes no more.
    pub fn run(&mut self, clients: [Client; 2], stop: &AtomicBool, count: &AtomicUsize) {
        let [mut client, mut other] = clients;
        while !stop.load(Relaxed) {
            let (what, done) = match self.rng.u8(..24) {
                0 => ("BLMOVE and RPUSH", self.hand_over(&mut client, &mut other)),
                1..=4 => ("WAIT", self.wait(&mut client)),
                _ => ("a write", self.write(&mut client)),
            };
            if let Err(error) = done {
                return must_not_hang(&error, what);
            }
            count.fetch_add(1, Relaxed);
        }
    }

    fn last(&self) -> &Keys {
        self.states.last().expect("there is a state")
    }

    /// Adds a state that was acknowledged.
    fn add(&mut self, keys: Keys) {
        self.states.push(keys);
        self.answered = self.states.len() - 1;
    }

    fn write(&mut self, client: &mut Client) -> io::Result<()> {
        let (key, op) = self.choose();
        self.execute(client, &key, &op)
    }

    /// Sends a command, and remembers what it has done or may have done.
    fn execute(&mut self, client: &mut Client, key: &str, op: &Op) -> io::Result<()> {
        let before = now_ms();
        let reply = client.try_cmd(&words(&op.line(key)));
        let mut times = times(self.last(), key, before, now_ms());
        // On a busy machine the command's own deadline may have passed when it is executed.
        if let Op::FieldExpire(_, deadline) = op {
            times.extend([*deadline].into_iter().filter(|deadline| *deadline <= now_ms()));
        }
        let outcomes: Vec<(Value, Keys)> = times
            .into_iter()
            .map(|time| {
                let mut keys = self.last().clone();
                (op.apply(&mut keys, key, time), keys)
            })
            .collect();
        match reply {
            Err(error) => {
                self.states.extend(outcomes.into_iter().map(|(_, keys)| keys));
                Err(error)
            }
            Ok(Value::Error(text)) if is_refusal(&text) => Err(io::Error::other(text)),
            Ok(reply) => {
                let was = self.last().get(key).cloned();
                let fits = outcomes.into_iter().find(|(expected, _)| *expected == reply);
                let (_, keys) = fits.unwrap_or_else(|| {
                    panic!("{} at {before}: {reply}, and the key was {was:?}", op.line(key));
                });
                self.add(keys);
                Ok(())
            }
        }
    }

    /// A key and a command for it.
    fn choose(&mut self) -> (String, Op) {
        self.number += 1;
        let now = now_ms();
        let ahead = [FAR_MS, FAR_MS, 20, 100, 400][self.rng.usize(..5)];
        let (deadline, number) = (now + ahead, self.number);
        let (at, field) = (self.rng.usize(..KEYS), self.rng.u8(1..4));
        let kind = ["s", "l", "h"][self.rng.usize(..3)];
        let key = format!("{}:{kind}{at}", self.name);
        let entry = self.last().get(&key);
        // A hash that loses its last field takes its own deadline with it, as soon as the server notices.
        let has_undying =
            entry.is_some_and(|entry| matches!(&entry.data, Data::Hash(fields) if fields.contains_key(&0)));
        // The reply of a command for a field does not always tell whether the key was there.
        let is_near =
            entry.is_some_and(|entry| entry.deadline.is_some_and(|deadline| deadline < now + NEAR_MS));
        let op = match (kind, self.rng.u8(..12)) {
            ("h", _) if is_near => {
                [Op::Expire(deadline), Op::Persist, Op::Delete][self.rng.usize(..3)].clone()
            }
            ("h", 0..=4) if !has_undying => Op::FieldIncr(0),
            (_, 0) => Op::Delete,
            (_, 1 | 2) => Op::Expire(deadline),
            (_, 3) => Op::Persist,
            ("s", 4 | 5) => Op::Set(number, self.rng.bool().then_some(deadline)),
            ("s", 6 | 7) => Op::GetEx(self.rng.bool().then_some(deadline)),
            ("s", _) => Op::Incr,
            ("l", _) => Op::Push(number),
            (_, 4 | 5) => Op::FieldSet(field, number, deadline),
            (_, 6 | 7) => Op::FieldExpire(field, deadline),
            (_, 8) => Op::FieldGetEx(field, deadline),
            (_, 9) => Op::FieldPersist(field),
            _ => Op::FieldIncr(field),
        };
        (key, op)
    }

    /// Waits for a replica: then it has everything.
    fn wait(&mut self, client: &mut Client) -> io::Result<()> {
        let is_logged = self.are_logged && self.rng.bool();
        let reply = client.try_cmd(&words(if is_logged { "WAITAOF 0 1 300" } else { "WAIT 1 300" }))?;
        let count = match &reply {
            Value::Int(count) => *count,
            Value::Array(counts) => counts[1].int(),
            other => return Err(io::Error::other(other.to_string())),
        };
        if count > 0 {
            self.waited = self.answered;
        }
        Ok(())
    }

    /// Another connection waits for an element, gets it, and waits for a replica.
    fn hand_over(&mut self, client: &mut Client, other: &mut Client) -> io::Result<()> {
        self.number += 1;
        let (queue, list, number) = (format!("{}:q", self.name), format!("{}:m", self.name), self.number);
        if self.last().contains_key(&queue) {
            // The element of a hand-over that a crash has cut short.
            self.execute(client, &queue, &Op::Delete)?;
        }
        let push = |keys: &Keys, key: &str| {
            let mut keys = keys.clone();
            let empty = Entry { data: Data::List(Vec::new()), deadline: None };
            let entry = keys.entry(key.to_owned()).or_insert(empty);
            if let Data::List(values) = &mut entry.data {
                values.push(number);
            }
            keys
        };
        let (pushed, moved) = (push(self.last(), &queue), push(self.last(), &list));
        other.send_raw(&encoded(&format!("BLMOVE {queue} {list} LEFT RIGHT 0")))?;
        let reply = client.try_cmd(&words(&format!("RPUSH {queue} {number}")));
        match reply {
            Ok(Value::Error(text)) => {
                assert!(is_refusal(&text), "RPUSH: {text}");
                return Err(io::Error::other(text));
            }
            Ok(_) => {
                // The push is done, and its element served by it.
                self.states.extend([pushed, moved.clone()]);
                self.answered = self.states.len() - 2;
            }
            Err(error) => {
                self.states.extend([pushed, moved]);
                return Err(error);
            }
        }
        let element = other.read()?;
        if element.is_error() {
            assert!(is_refusal(&element.text()), "BLMOVE: {element}");
            return Err(io::Error::other(element.text()));
        }
        assert_eq!(element.text(), number.to_string(), "BLMOVE");
        self.add(moved);
        self.wait(other)
    }

    /// Checks that a server shows one of the possible states, and continues from that state.
    ///
    /// # Errors
    /// No state fits; the text names a key.
    pub fn check(&mut self, client: &mut Client, promise: Promise) -> Result<(), String> {
        let first = if promise == Promise::Waited { self.waited } else { self.answered };
        let names: BTreeSet<String> = self.states.iter().flat_map(|keys| keys.keys().cloned()).collect();
        let seen: Vec<(String, String, u64, u64)> = names
            .into_iter()
            .map(|key| {
                let before = now_ms();
                let shown = read(client, &key);
                (key, shown, before, now_ms())
            })
            .collect();
        let misfit = |keys: &Keys| {
            seen.iter().find(|(key, shown, before, after)| {
                !times(keys, key, *before, *after).into_iter().any(|time| expected(keys, key, time) == *shown)
            })
        };
        let Some(found) = self.states[first..].iter().rposition(|keys| misfit(keys).is_none()) else {
            let newest = &self.states[self.answered];
            let fault = misfit(newest).or_else(|| misfit(self.last()));
            let fault = fault.map(|(key, shown, before, _)| {
                let expected = expected(newest, key, *before);
                format!("{key} at {before} is {shown}, and {expected} was answered")
            });
            let older = self.states[..first].iter().rposition(|keys| misfit(keys).is_none());
            return Err(format!(
                "none of the states from {first} to {} fits, {older:?} does; {fault:?}",
                self.states.len() - 1
            ));
        };
        self.states = vec![self.states.swap_remove(first + found)];
        (self.waited, self.answered) = (0, 0);
        Ok(())
    }
}

fn encoded(line: &str) -> Vec<u8> {
    let mut request = Vec::new();
    larder_testkit::encode(&mut request, &words(line));
    request
}

fn is_refusal(text: &str) -> bool {
    REFUSALS.iter().any(|word| text.starts_with(word))
}
