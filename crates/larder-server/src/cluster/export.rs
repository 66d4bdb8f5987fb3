//! Slots that go to another node by an atomic migration: a thread for each of them, with a connection to the port for clients of the target.
//!
//! ```text
//!  ESTABLISH > keys, slot by slot, and what changes > SNAPSHOT-EOF > changes > (writes pause) rest, PAUSED > FAILOVER-GRANTED > wait for the map
//! ```
//! The thread makes room for those that serve clients ([`Pace`]) until writes pause: then it hurries, since clients wait for it.
//!
//! The socket does not block: while the target takes nothing the thread still sees that the migration has been cancelled, what the target
//! says, and how much waits for it: the limits for the output of replicas hold here too. Whatever ends the thread ends the pause, after the slot map that the bus has handed out by then.

use super::target::{self, Unreachable};
use crate::shared::Shared;
use crate::tls::NodeStream;
use larder_engine::{
    ClientClass, Engine, ExportError, ExportLink, MayWait, Migration, MigrationState, SlotExport,
    spawn_background, wall_ms,
};
use larder_persist::Pace;
use larder_resp::{Limits, Parsed, Parser};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// A sign of life for the target.
const ACK_PERIOD: Duration = Duration::from_secs(1);
/// Between two looks when there is nothing to do.
pub(super) const LOOK: Duration = Duration::from_micros(500);
/// The same while writes pause.
const PAUSED_LOOK: Duration = Duration::from_micros(50);
/// Bytes sent at once, which the target executes without a look at its other clients.
const PIECE_BYTES: usize = 16 << 10;
/// A line of the target is not longer.
const LINE_BYTES_MAX: usize = 64 << 10;
/// How long a target that still deletes keys of these slots is asked again.
const ESTABLISH_PATIENCE: Duration = Duration::from_secs(10);
/// Migrations that are done at the same time; others wait.
const THREADS_MAX: usize = 16;

const ROLE_CHANGED: &str = "The role has changed";
const TARGET_LOST: &str =
    "Connection lost to target. Check CLUSTER GETSLOTMIGRATIONS on the target node for more information.";

/// The exports of this node.
#[derive(Default)]
pub struct Exports {
    waiting: Vec<Arc<Migration>>,
    running: Arc<()>,
}

impl Exports {
    /// Slots are to go.
    pub fn add(&mut self, job: Arc<Migration>) {
        self.waiting.push(job);
    }

    /// Starts those that may.
    pub fn start(&mut self, shared: &Arc<Shared>, engine: &Arc<Engine>) {
        while Arc::strong_count(&self.running) <= THREADS_MAX && !self.waiting.is_empty() {
            let job = self.waiting.remove(0);
            let token = Arc::clone(&self.running);
            let (shared, engine, failed) = (Arc::clone(shared), Arc::clone(engine), Arc::clone(&job));
            let started = spawn_background("larder-export", move |may_wait| {
                run(&shared, &engine, &job, may_wait);
                drop(token);
            });
            if let Err(error) = started {
                failed.fail(&format!("Failed to start snapshot: {error}"));
            }
        }
    }
}

fn run(shared: &Shared, engine: &Arc<Engine>, job: &Arc<Migration>, may_wait: &MayWait) {
    let name = job.ranges_text();
    shared.log.notice(&format!("Exporting slots {name} to {}", job.target));
    match Export::connect(shared, engine, job, may_wait).and_then(|mut export| export.run()) {
        Ok(()) => shared.log.notice(&format!("Slots {name} now belong to {}", job.target)),
        Err(Ended::Cancelled) => shared.log.notice(&format!("The export of slots {name} was cancelled")),
        Err(Ended::Failed(message)) => {
            job.fail(&message);
            shared.log.warning(&format!("Failed to export slots {name}: {message}"));
        }
    }
}

/// Why an export has ended without success.
enum Ended {
    /// Its state says why.
    Cancelled,
    Failed(String),
}

impl Ended {
    fn failed(message: impl Into<String>) -> Ended {
        Ended::Failed(message.into())
    }
}

impl From<Unreachable> for Ended {
    fn from(why: Unreachable) -> Ended {
        Ended::failed(why.to_string())
    }
}

/// The pause of writes to the slots; over when it is dropped.
struct Pause<'e> {
    engine: &'e Engine,
    job: &'e Migration,
    since: Instant,
}

impl<'e> Pause<'e> {
    fn begin(engine: &'e Engine, job: &'e Migration) -> Pause<'e> {
        engine.pause_writes_for_migration(&job.slots);
        Pause { engine, job, since: Instant::now() }
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.engine.resume_writes_after_migration(&self.job.slots);
    }
}

struct Export<'e> {
    shared: &'e Shared,
    engine: &'e Arc<Engine>,
    job: &'e Migration,
    may_wait: &'e MayWait,
    pace: Pace<'e>,
    stream: NodeStream,
    link: ExportLink,
    /// What is read of the keys, once that has begun.
    slots: Option<SlotExport>,
    /// Since when more waits for the target than the soft limit.
    soft_since_ms: Option<u64>,
    /// To be sent.
    out: Vec<u8>,
    /// What the target has said and has not been looked at.
    input: Vec<u8>,
    parser: Parser,
    acked: Instant,
    /// The target has ended the connection.
    is_closed: bool,
    wants_pause: bool,
    wants_failover: bool,
}

impl<'e> Export<'e> {
    fn connect(
        shared: &'e Shared,
        engine: &'e Arc<Engine>,
        job: &'e Migration,
        may_wait: &'e MayWait,
    ) -> Result<Export<'e>, Ended> {
        let stream = target::dial(shared, engine, job)?;
        let link = ExportLink::new(engine, target::describe(engine, &stream));
        Ok(Export {
            shared,
            engine,
            job,
            may_wait,
            pace: Pace::of(engine),
            stream,
            link,
            slots: None,
            soft_since_ms: None,
            out: Vec::new(),
            input: Vec::new(),
            parser: Parser::new(),
            acked: Instant::now(),
            is_closed: false,
            wants_pause: false,
            wants_failover: false,
        })
    }

    fn run(&mut self) -> Result<(), Ended> {
        self.greet()?;
        self.introduce()?;
        self.go_on(MigrationState::Snapshotting)?;
        self.slots = SlotExport::begin(self.engine);
        self.send_keys()?;
        self.go_on(MigrationState::WaitingToPause)?;
        let pause = self.catch_up()?;
        self.hand_over(&pause)?;
        drop(pause);
        self.job.go_on(MigrationState::Success);
        Ok(())
    }

    /// Waits for the end of TLS's handshake, if there is one.
    fn greet(&mut self) -> Result<(), Ended> {
        let begun = Instant::now();
        while !self.stream.greet().map_err(Unreachable::from)? {
            if begun.elapsed() > target::CONNECT_TIMEOUT {
                return Err(Unreachable::Failed(ErrorKind::TimedOut.into()).into());
            }
            self.check()?;
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// What is read of the keys.
    fn slots(&mut self) -> Result<(&mut SlotExport, &mut Vec<u8>), Ended> {
        let slots = self.slots.as_mut().ok_or_else(|| Ended::failed(ROLE_CHANGED))?;
        Ok((slots, &mut self.out))
    }

    /// Says who this is and which slots are to go.
    fn introduce(&mut self) -> Result<(), Ended> {
        let (user, password) =
            (self.shared.config.value("masteruser"), self.shared.config.value("masterauth"));
        if !password.is_empty() {
            self.go_on(MigrationState::Authenticating)?;
            let words: Vec<&[u8]> = [&b"AUTH"[..], user.as_bytes(), password.as_bytes()]
                .into_iter()
                .filter(|word| !word.is_empty())
                .collect();
            self.say(&words);
            let line = self.read_line()?;
            if line != "+OK" {
                let text = line.trim_start_matches('-');
                return Err(Ended::failed(format!("Failed to AUTH to target node: {text}")));
            }
        }
        self.go_on(MigrationState::Establishing)?;
        let begun = Instant::now();
        loop {
            self.establish();
            let line = self.read_line()?;
            if line == "+OK" {
                break;
            }
            if !line.ends_with("is not empty on the target yet") || begun.elapsed() > ESTABLISH_PATIENCE {
                let text = line.trim_start_matches('-');
                return Err(Ended::failed(format!("Target node refused the migration: {text}")));
            }
            std::thread::sleep(Duration::from_millis(20));
            self.check()?;
        }
        self.job.note_ack();
        self.ack();
        self.flush()
    }

    fn establish(&mut self) {
        let ranges = self.job.slots.ranges();
        let numbers: Vec<String> =
            ranges.iter().flat_map(|(start, end)| [start.to_string(), end.to_string()]).collect();
        let head: [&[u8]; 8] = [
            b"CLUSTER",
            b"SYNCSLOTS",
            b"ESTABLISH",
            b"SOURCE",
            self.job.source.as_bytes(),
            b"NAME",
            self.job.name.as_bytes(),
            b"SLOTSRANGE",
        ];
        let words: Vec<&[u8]> =
            head.into_iter().chain(numbers.iter().map(|number| number.as_bytes())).collect();
        self.say(&words);
    }

    /// Sends all keys, and meanwhile what changes of those that are sent.
    fn send_keys(&mut self) -> Result<(), Ended> {
        let (job, may_wait) = (self.job, self.may_wait);
        let mut delayed_keys = 0;
        for slot in job.slots.iter() {
            let mut has_more = true;
            while has_more {
                let (slots, out) = self.slots()?;
                has_more = slots.read_some(slot, may_wait, out);
                self.read_changes()?;
                if self.out.len() >= PIECE_BYTES {
                    self.flush()?;
                }
                self.look()?;
                self.pace.look();
                self.delay(&mut delayed_keys)?;
            }
        }
        self.say(&[b"CLUSTER", b"SYNCSLOTS", b"SNAPSHOT-EOF"]);
        self.flush()
    }

    /// Waits as long as `rdb-key-save-delay` says for each key that was read since the last time.
    /// Changes are sent meanwhile.
    fn delay(&mut self, delayed_keys: &mut u64) -> Result<(), Ended> {
        let read = self.slots.as_ref().map_or(0, SlotExport::keys_read);
        let keys = u32::try_from(read - std::mem::replace(delayed_keys, read)).unwrap_or(u32::MAX);
        let begun = Instant::now();
        loop {
            let delay = larder_link::load::key_delay(self.shared.config.number("rdb-key-save-delay"));
            let left = delay.saturating_mul(keys).saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK));
            self.read_changes()?;
            self.flush()?;
            self.look()?;
        }
    }

    /// Sends changes until the target wants a pause and lacks little enough. Writes are paused then, and the target is told so after all
    /// that came before.
    fn catch_up(&mut self) -> Result<Pause<'e>, Ended> {
        loop {
            let changed = self.read_changes()?;
            self.flush()?;
            self.look()?;
            let limit = self.shared.config.number("slot-migration-max-failover-repl-bytes");
            let is_close = u64::try_from(limit).map_or(true, |limit| changed as u64 <= limit);
            if self.wants_pause && is_close && self.engine.migrations().may_pause() {
                break;
            }
            if changed == 0 {
                std::thread::sleep(LOOK);
            }
        }
        let pause = Pause::begin(self.engine, self.job);
        while self.engine.settle_writes().is_err() {
            self.look()?;
            self.check_pause(&pause)?;
            std::thread::sleep(PAUSED_LOOK);
        }
        self.read_changes()?;
        self.say(&[b"CLUSTER", b"SYNCSLOTS", b"PAUSED"]);
        self.flush()?;
        self.go_on(MigrationState::FailoverPaused)?;
        Ok(pause)
    }

    /// Grants the takeover when the target asks for it, and waits until the slot map shows it.
    fn hand_over(&mut self, pause: &Pause<'_>) -> Result<(), Ended> {
        loop {
            // Keys that expire, and the like.
            if !self.is_closed {
                self.read_changes()?;
                self.flush()?;
            }
            if self.job.state() == MigrationState::FailoverGranted {
                // The target may have said all that it has to say.
                if self.is_targets() {
                    return Ok(());
                }
                if !self.is_closed {
                    self.is_closed = self.read().is_err();
                }
            } else {
                self.look()?;
            }
            if std::mem::take(&mut self.wants_failover) {
                self.check_pause(pause)?;
                self.go_on(MigrationState::FailoverGranted)?;
                self.say(&[b"CLUSTER", b"SYNCSLOTS", b"FAILOVER-GRANTED"]);
                self.flush()?;
            }
            self.check_pause(pause)?;
            std::thread::sleep(PAUSED_LOOK);
        }
    }

    fn check_pause(&self, pause: &Pause<'_>) -> Result<(), Ended> {
        let limit = self.shared.config.number("cluster-manual-failover-timeout").max(1) as u64;
        if pause.since.elapsed() > Duration::from_millis(limit) {
            return Err(Ended::failed("Timed out waiting for the target to take over the slots"));
        }
        self.check()
    }

    /// Whether clients are told that the slots are the target's.
    fn is_targets(&self) -> bool {
        let Some(map) = self.engine.slot_map() else { return false };
        self.job.slots.iter().all(|slot| map.owner(slot).is_some_and(|owner| owner.id == self.job.target))
    }

    /// Whether it may go on.
    fn check(&self) -> Result<(), Ended> {
        if self.link.is_killed() {
            return Err(Ended::failed(TARGET_LOST));
        }
        if self.shared.is_stopping() || !self.job.state().is_under_way() {
            return Err(Ended::Cancelled);
        }
        let silence_ms = wall_ms().saturating_sub(self.job.acked_ms.load(Relaxed));
        if silence_ms > self.shared.config.number("repl-timeout").max(1) as u64 * 1000 {
            return Err(Ended::failed("Timed out after too long with no interaction"));
        }
        if self.job.state() == MigrationState::FailoverGranted {
            return Ok(());
        }
        let map = self.engine.slot_map().ok_or_else(|| Ended::failed(ROLE_CHANGED))?;
        if map.me().primary.is_some() || !self.job.slots.iter().all(|slot| map.is_mine(slot)) {
            return Err(Ended::failed("Slots are no longer owned by this node"));
        }
        Ok(())
    }

    fn go_on(&self, state: MigrationState) -> Result<(), Ended> {
        if self.job.go_on(state) { Ok(()) } else { Err(Ended::Cancelled) }
    }

    fn read_changes(&mut self) -> Result<usize, Ended> {
        let may_wait = self.may_wait;
        let (slots, out) = self.slots()?;
        let changed = slots.read_changes(may_wait, out).map_err(|error| match error {
            ExportError::Flushed => Ended::failed("Data was flushed"),
            ExportError::StreamLost => Ended::failed(ROLE_CHANGED),
        })?;
        self.note_unsent(0)?;
        Ok(changed)
    }

    /// Notes how much waits for the target, of which this many bytes of `out` do not any more.
    fn note_unsent(&mut self, sent: usize) -> Result<(), Ended> {
        let unread = self.slots.as_ref().map_or(0, SlotExport::unread_bytes);
        let out = (self.out.len() - sent) as u64;
        self.job.unsent_bytes.store(unread + out, Relaxed);
        // The keys of a slot are not changes, however many they are.
        let changes = if self.job.state() == MigrationState::Snapshotting { unread } else { unread + out };
        let config = &self.shared.config;
        let limit = &config.hot.output_limits[ClientClass::Replica as usize];
        let hard_bytes_min = config.number("repl-backlog-size") as u64;
        if limit.is_exceeded(changes, hard_bytes_min, &mut self.soft_since_ms, wall_ms()) {
            return Err(Ended::failed(
                "Target is too slow: the pending changes exceed the output buffer limit of replicas",
            ));
        }
        Ok(())
    }

    /// Looks at what the target says, gives a sign of life, and whether it may go on.
    fn look(&mut self) -> Result<(), Ended> {
        self.read()?;
        if self.acked.elapsed() >= ACK_PERIOD {
            self.check()?;
            self.ack();
            self.flush()?;
        }
        if self.job.state().is_under_way() { Ok(()) } else { Err(Ended::Cancelled) }
    }

    fn ack(&mut self) {
        self.acked = Instant::now();
        self.say(&[b"CLUSTER", b"SYNCSLOTS", b"ACK"]);
    }

    fn say(&mut self, words: &[&[u8]]) {
        larder_resp::encode_command(&mut self.out, words.iter().copied());
    }

    /// Sends what is to be sent.
    fn flush(&mut self) -> Result<(), Ended> {
        let mut sent = 0;
        while sent < self.out.len() {
            match self.stream.write(&self.out[sent..]) {
                Ok(0) => return Err(Ended::failed(TARGET_LOST)),
                Ok(count) => {
                    sent += count;
                    self.link.note_sent(count);
                    self.engine.migrations().bytes_out.fetch_add(count as u64, Relaxed);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.read()?;
                    self.check()?;
                    self.note_unsent(sent)?;
                    std::thread::sleep(LOOK);
                }
                Err(_) => return Err(Ended::failed(TARGET_LOST)),
            }
        }
        self.out.clear();
        self.out.shrink_to(4 * PIECE_BYTES);
        Ok(())
    }

    /// A line of the target.
    fn read_line(&mut self) -> Result<String, Ended> {
        self.flush()?;
        loop {
            if let Some(end) = self.input.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.input.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            self.receive()?;
            self.check()?;
            std::thread::sleep(LOOK);
        }
    }

    /// Reads what has come.
    fn receive(&mut self) -> Result<(), Ended> {
        let mut piece = [0; 4096];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(Ended::failed(TARGET_LOST)),
                Ok(count) => {
                    self.link.note_received(count);
                    self.input.extend_from_slice(&piece[..count]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(Ended::failed(TARGET_LOST)),
            }
            if self.input.len() > LINE_BYTES_MAX {
                return Err(Ended::failed("Target node sent a line that is too long"));
            }
        }
    }

    /// Follows what the target has said.
    fn read(&mut self) -> Result<(), Ended> {
        let received = self.receive();
        let limits = Limits { bulk_bytes_max: LINE_BYTES_MAX as u64, authenticated: false };
        loop {
            let consumed = match self.parser.next(&self.input, &limits) {
                Ok(Parsed::Command { args, consumed }) => {
                    let is = |at: usize, word: &str| {
                        args.get(at).is_some_and(|arg| arg.eq_ignore_ascii_case(word.as_bytes()))
                    };
                    if is(0, "cluster") && is(1, "syncslots") {
                        self.job.note_ack();
                        self.wants_pause |= is(2, "request-pause");
                        self.wants_failover |= is(2, "request-failover");
                    } else if !args.is_empty() {
                        return Err(Ended::failed("Unexpected reply from the target node"));
                    }
                    consumed
                }
                Ok(Parsed::Incomplete) => break,
                Err(_) => return Err(Ended::failed("Unexpected reply from the target node")),
            };
            self.input.drain(..consumed);
        }
        received
    }
}
