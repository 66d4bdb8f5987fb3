//! Waiting until both servers have done what they were asked to, and comparing them.

use super::super::rules::{Circumstances, INCOMPLETE, agree, agree_as_far_as_they_go};
use super::super::side::{PATIENCE, Side};
use super::Interleaved;
use larder_testkit::{Value, parse};
use std::time::{Duration, Instant};

/// Past every pause and every deadline of a sequence.
const LATER_MS: u64 = 10_000_000;

/// How long a script runs, for a server that looks at its monotonic clock.
const SCRIPT_MS: u64 = 3;

/// How long a script may go on that was killed. One whose client gets no replies is waited for as long; meanwhile the monotonic clock
/// goes forward, by which waits may end.
const KILLED_WITHIN: Duration = Duration::from_millis(60);

/// How long commands without replies are waited for, at most.
const SILENT_FOR: Duration = Duration::from_millis(5);

/// Scripts that wait for one another to be killed, at most.
const SCRIPTS_MAX: usize = 200;

/// Comparisons before a difference is one: a machine that stands still for a while makes patience end.
const TRIES_MIN: u32 = 12;

impl Interleaved {
    /// Waits until both servers have done what they were asked to, and compares all connections.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        self.settle_within(self.patience)
    }

    pub(super) fn settle_within(&mut self, patience: Duration) -> Result<(), String> {
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
    pub(super) fn barrier(&mut self) -> Result<(), String> {
        self.rounds()?;
        while self.sides.iter_mut().any(|side| side.has_lost_controls()) {
            self.rounds()?;
        }
        Ok(())
    }

    pub(super) fn rounds(&mut self) -> Result<(), String> {
        if self.sides.iter_mut().any(|side| side.has_lost_controls()) {
            // A command that kills one of them kills all, on both servers.
            let deadline = Instant::now() + PATIENCE;
            while self.sides.iter_mut().any(|side| !side.has_lost_all_controls()) && Instant::now() < deadline
            {
                // It has lost them because it is no more.
                let mut sides = self.sides.iter_mut();
                if let Some(late) =
                    sides.find_map(|side| side.server.has_ended().is_some().then(|| side.silence()))
                {
                    return Err(late);
                }
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
    pub(super) fn compare(&mut self) -> Result<(), String> {
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
    pub(super) fn await_end_of_script(&mut self) -> Result<(), String> {
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
    pub(super) fn finish(&mut self) -> Result<(), String> {
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
    pub(super) fn end_scripts(&mut self) -> Result<(), String> {
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
    pub(super) fn is_calm(&mut self) -> Result<bool, String> {
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
    pub(super) fn compare_data(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + self.patience;
        loop {
            let compared = self.compare_data_now();
            if compared.is_ok() || Instant::now() > deadline {
                return compared;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(super) fn compare_data_now(&mut self) -> Result<(), String> {
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

    /// Waits, for a moment, until both servers have executed equally many commands of a connection that may get no replies: a script
    /// may be executed by another thread.
    pub(super) fn await_silent(&mut self, connection: usize) -> Result<(), String> {
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
}

fn difference(number: usize, larder: &[Value], valkey: &[Value]) -> String {
    let text = |values: &[Value]| values.iter().map(Value::to_string).collect::<Vec<_>>().join("  ");
    format!("connection {number}:\n    Larder: {}\n    Valkey: {}", text(larder), text(valkey))
}

fn mood_text(mood: &Option<Value>) -> String {
    mood.as_ref().map_or_else(|| "waits".to_owned(), Value::to_string)
}

pub(super) fn values_of(mut bytes: &[u8]) -> Vec<Value> {
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
