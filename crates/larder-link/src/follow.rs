//! The link to the primary: one thread that connects, introduces the server, takes the snapshot if it needs one, and follows the stream.
//!
//! ```text
//!   connect -> PING, AUTH, REPLCONF.. -> PSYNC -+-> +FULLRESYNC -> snapshot -+-> stream, until it breaks
//!                                               +-> +CONTINUE ---------------+
//! ```
//!
//! Every step looks whether the role has changed meanwhile: the state has an epoch, and a link is of one. After a link that broke the next
//! one is tried a second later.

use crate::attempt::{Link, LinkError, Process, Synchronized, Wire, is_patience};
use crate::compression::{Damaged, Decoder};
use crate::handshake::{self, Answer};
use crate::peer::{Peer, send};
use crate::transfer::{self, TakeSnapshot};
use larder_engine::{Applied, Applier, ConnInfo, Engine, LinkState, LogLevel, MayWait, random_id};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long to wait before the next attempt.
const RETRY: Duration = Duration::from_secs(1);
/// A primary is told how far the server has come at least this often.
const ACK_PERIOD: Duration = Duration::from_secs(1);
/// Under load, the append-only file says this often how far the stream is applied.
const NOTE_PERIOD: Duration = Duration::from_secs(1);
/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;

/// Follows the primary that the engine's role names, until the process ends; sleeps while there is none. For
/// a thread of its own.
pub fn run<A>(around: &Arc<A>, engine: &Arc<Engine>, may_wait: &MayWait)
where
    A: Process + TakeSnapshot + 'static,
{
    let replication = engine.replication();
    let long = Duration::from_secs(3600);
    while !around.is_stopping() {
        larder_engine::panic_if_armed();
        let (epoch, upstream) = {
            let state = replication.state();
            (state.epoch, state.upstream.clone())
        };
        let Some(upstream) = upstream else {
            replication.wait_for_change(epoch, long);
            continue;
        };
        let mut link =
            Link { process: Arc::clone(around) as Arc<dyn Process>, engine: Arc::clone(engine), epoch };
        let outcome = link.follow(&upstream.host, upstream.port, &**around, may_wait);
        if let Err(error) = outcome {
            if !matches!(error, LinkError::Over) {
                around.log(LogLevel::Warning, &format!("The link to the primary ended: {error}"));
            }
            if matches!(error, LinkError::Unfit) {
                replication.state().can_resume = false;
            }
            around.ended(&error);
        }
        link.set_state(LinkState::Connect);
        if !around.is_stopping() {
            replication.wait_for_change(epoch, RETRY);
        }
    }
}

impl Link {
    /// Follows the primary until the link breaks.
    fn follow(
        &mut self,
        host: &str,
        port: u16,
        taker: &dyn TakeSnapshot,
        may_wait: &MayWait,
    ) -> Result<(), LinkError> {
        self.notice(&format!("Connecting to PRIMARY {host}:{port}"));
        self.set_state(LinkState::Connecting);
        let mut peer = Peer::connect(self, host, port)?;
        self.set_state(LinkState::Handshake);
        handshake::introduce(self, &mut peer)?;
        let (mut how, mut acknowledges) = (Synchronized::Partially, true);
        let db = match handshake::ask_for_stream(self, &mut peer)? {
            Answer::Continue(id) => {
                self.notice("Successful partial resynchronization with primary.");
                if let Some(id) = id {
                    self.engine().rename_history(&id);
                }
                self.engine().finish_failover();
                self.engine().stream_db()
            }
            Answer::Full { id, offset } => {
                self.engine().finish_failover();
                self.set_state(LinkState::Transfer);
                how = Synchronized::Fully;
                transfer::receive(self, &mut peer, (&id, offset), taker, may_wait)?
            }
            Answer::Unnumbered => {
                self.set_state(LinkState::Transfer);
                (how, acknowledges) = (Synchronized::Fully, false);
                let db = transfer::receive(self, &mut peer, (&random_id(), 0), taker, may_wait)?;
                // Nobody else knows the name of this history.
                self.engine().replication().state().can_resume = false;
                db
            }
        };
        self.engine().replication().update_upstream(self.epoch, |upstream| upstream.takes_over = false);
        self.set_state(LinkState::Connected);
        self.process.synchronized(how);
        self.stream(peer, db, acknowledges)
    }

    /// Applies the stream. A primary that does not know what acknowledgements are would answer each with an error, in the middle of the stream.
    fn stream(&mut self, peer: Peer, db: usize, acknowledges: bool) -> Result<(), LinkError> {
        let engine = Arc::clone(self.engine());
        let (socket, mut bytes, mut decoder) = peer.into_parts();
        let mut applier = Applier::new(&engine, client_info(&engine, &*socket), self.epoch, db);
        if let Some(patterns) = self.process.patterns() {
            applier.hold_only(patterns);
        }
        let _followed = Followed::of(&engine);
        let mut acks = Acks::new(Arc::clone(&engine), acknowledges);
        acks.send(&*socket)?;
        let mut piece = vec![0; READ_BYTES];
        let mut heard = Instant::now();
        let mut noted = Instant::now();
        loop {
            applier.tick();
            let used = self.apply(&mut applier, &bytes, &mut acks, &*socket)?;
            applier.finish_piece();
            self.process.applied();
            bytes.drain(..used);
            if !decoder.as_ref().is_some_and(Decoder::has_message) {
                engine.replication().reception.note_dealt_with();
            }
            if used > 0
                && engine.gate().has_log_failed()
                && !self.config().is_yes("replica-ignore-disk-write-errors")
            {
                // What it acknowledges it must have: the primary is better off without it.
                panic!(
                    "this replica cannot write its append-only file, and replica-ignore-disk-write-errors is no"
                );
            }
            acks.send_if_due(&*socket)?;
            if noted.elapsed() >= NOTE_PERIOD {
                applier.note_place();
                noted = Instant::now();
            }
            self.check()?;
            if applier.is_killed() {
                return Err(LinkError::Killed);
            }
            let come = match decoder.as_ref().is_some_and(Decoder::has_message) {
                // Not all is expanded that has come.
                true => Ok(None),
                false => socket.wait().and_then(|()| {
                    engine.replication().reception.begin_read();
                    socket.read(&mut piece).map(Some)
                }),
            };
            match come {
                Ok(Some(0)) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(come) => {
                    heard = Instant::now();
                    engine.replication().reception.note_read(come.unwrap_or(0) as u64);
                    let come = &piece[..come.unwrap_or(0)];
                    match &mut decoder {
                        None => bytes.extend_from_slice(come),
                        Some(decoder) => decoder
                            .decode(come, &mut bytes)
                            .map_err(|Damaged| LinkError::damaged_message())?,
                    }
                    applier.note_received(come.len() as u64);
                    let received = engine.append_log().stream_end() + bytes.len() as u64;
                    engine.replication().update_upstream(self.epoch, |upstream| {
                        upstream.received = received;
                        upstream.hear();
                    });
                }
                // A moment of silence.
                Err(error) if is_patience(&error) && heard.elapsed() < self.timeout() => applier.note_place(),
                Err(error) if is_patience(&error) => {
                    let text = "Timeout: no data or PING received for repl-timeout seconds".to_owned();
                    return Err(LinkError::Refused(text));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Applies all whole commands in `bytes`; says how many bytes they took.
    fn apply(
        &self,
        applier: &mut Applier,
        bytes: &[u8],
        acks: &mut Acks,
        socket: &dyn Wire,
    ) -> Result<usize, LinkError> {
        let mut at = 0;
        loop {
            let (used, outcome) = applier.apply(&bytes[at..]).map_err(|error| {
                LinkError::Refused(format!("Protocol error from the primary: {}", error.text()))
            })?;
            at += used;
            match outcome {
                Applied::Everything => return Ok(at),
                Applied::Asked(end) => {
                    // The answer does not count the question, which a primary that is to hand over waits for.
                    acks.send_up_to(socket, end)?;
                    acks.send(socket)?;
                }
                Applied::Over => return Err(LinkError::Over),
                Applied::Unfit => return Err(LinkError::Unfit),
            }
        }
    }
}

/// While a link follows the stream: clients may wait for what has come.
struct Followed<'e>(&'e Engine);

impl Followed<'_> {
    fn of(engine: &Engine) -> Followed<'_> {
        engine.replication().reception.set_follows(true);
        Followed(engine)
    }
}

impl Drop for Followed<'_> {
    fn drop(&mut self) {
        self.0.replication().reception.set_follows(false);
    }
}

/// The link as a client of this server.
fn client_info(engine: &Engine, socket: &dyn Wire) -> ConnInfo {
    ConnInfo::of_own(engine.next_client_id(), [socket.peer_addr(), socket.local_addr()], socket.fd())
}

/// Telling the primary how far this server has come, and how far its append-only file.
struct Acks {
    engine: Arc<Engine>,
    /// Whether any are sent.
    is_on: bool,
    sent: Instant,
    /// Ends of the stream, and where the append-only file was then.
    unsynced: VecDeque<(u64, u64)>,
    synced: u64,
}

impl Acks {
    fn new(engine: Arc<Engine>, is_on: bool) -> Acks {
        Acks { engine, is_on, sent: Instant::now(), unsynced: VecDeque::new(), synced: 0 }
    }

    fn send(&mut self, socket: &dyn Wire) -> io::Result<()> {
        let end = self.engine.append_log().stream_end();
        self.send_up_to(socket, end)
    }

    fn send_if_due(&mut self, socket: &dyn Wire) -> io::Result<()> {
        if self.sent.elapsed() >= ACK_PERIOD { self.send(socket) } else { Ok(()) }
    }

    fn send_up_to(&mut self, socket: &dyn Wire, end: u64) -> io::Result<()> {
        self.sent = Instant::now();
        if !self.is_on {
            return Ok(());
        }
        let log = self.engine.append_log();
        let end_text = end.to_string();
        // Without its base, a start finds nothing of the file.
        if !log.is_on() || self.engine.persistence().log.lock().waits_for_base {
            return send(socket, &["REPLCONF", "ACK", &end_text]);
        }
        // What was applied before is in the log by now.
        self.unsynced.push_back((end, log.end()));
        log.wake_writer();
        let safe = log.synced();
        while let Some((end, _)) = self.unsynced.front().filter(|(_, file)| *file <= safe) {
            self.synced = *end;
            self.unsynced.pop_front();
        }
        send(socket, &["REPLCONF", "ACK", &end_text, "FACK", &self.synced.to_string()])
    }
}
