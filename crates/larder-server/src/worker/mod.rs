//! The event loop of one worker thread.
//!
//! An iteration: wait for events; take new connections and mail; serve every connection on the list (one
//! read, then every whole command in it); do what is due; write the log; send all replies, one write each;
//! send replicas the stream. Sockets are registered once, edge-triggered; what an edge said is remembered in
//! the connection's flags:
//! - after a read that did not fill the buffer the socket is empty, and the read that would say so is left out;
//! - a connection whose socket or input is not exhausted stays on the list, and the next wait does not wait.
//!
//! The work for one connection in one iteration is bounded (one read, commands of four times [`READ_BYTES`],
//! [`OUTPUT_TURN_BYTES`] of output), so that nobody waits for one client's pipeline.
//!
//! Invariants:
//! - I1: `flags.listed` holds exactly for the connections on `list` or `serving`, `flags.dirty` for those on `dirty`.
//! - I2: a connection with unsent output is dirty, or waits for its socket (`!writable`), or for the log or other workers (on `held`).
//! - I3: a slot freed in an iteration is reused in the next one at the earliest: events of the old connection may
//!   still be in this one's batch.

mod absent;
mod accept;
mod awaiting;
mod away;
mod debugging;
mod flush;
mod greet;
mod lag;
mod mail;
mod serve;
mod slots;
mod spin;
mod streaming;
mod streams;
mod timers;
mod yielding;

use crate::connection::output::Pool;
use crate::connection::{Connection, Flags};
use crate::crash;
use crate::memory;
use crate::replication::syncs::Syncs;
use crate::shared::{FIRST_LISTENER, Post, Shared};
use absent::Absent;
use lag::Lag;
use larder_engine::{Mail, Worker};
use larder_persist::Persist;
use larder_resp::{Parser, Span};
use mio::event::Event;
use mio::{Events, Poll, Token};
use slots::Slots;
use spin::Spin;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use streaming::Streaming;

/// The waker's token.
pub const WAKE: Token = Token(usize::MAX);

/// Bytes of the read buffer that all connections of a worker share.
const READ_BYTES: usize = 64 * 1024;
/// More unsent output than this is looked at after every command.
const OUTPUT_LOOK_BYTES: usize = 64 * 1024;
/// A connection with this much unsent output gets its next turn after a flush.
const OUTPUT_TURN_BYTES: usize = 256 * 1024;
/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 1024;

/// One worker's event loop.
pub struct EventLoop {
    index: usize,
    shared: Arc<Shared>,
    persist: Arc<Persist>,
    syncs: Arc<Syncs>,
    poll: Poll,
    worker: Box<Worker>,
    /// Takes the worker's place while that runs a script.
    spare: Option<Box<Worker>>,
    /// This is a round that a script allows the other connections.
    in_round: bool,
    /// Replies of this round wait until what they tell of is on the disk.
    always_syncs: bool,
    slots: Slots,
    /// Slots by client id, for mail.
    by_id: HashMap<u64, usize, foldhash::fast::RandomState>,
    /// Connections to serve in the next round.
    list: Vec<usize>,
    /// Those to serve in this one, the next of them last.
    serving: Vec<usize>,
    /// Connections to flush at the end of the round.
    dirty: Vec<usize>,
    /// Up to here the log has been written: the effects that this worker's sent replies show.
    log_written: u64,
    /// Up to here the log holds effects of other workers that this one's next replies show.
    log_seen: u64,
    /// Connections whose output waits for the log, or for other workers.
    held: Vec<usize>,
    /// The last of those that wait for other workers does so no longer.
    awaits_until: Option<Instant>,
    /// The link to the primary is behind, and clients do not wait for it.
    lag: Option<Lag>,
    /// Connections of replicas.
    replicas: Vec<Streaming>,
    /// The end of the stream when other workers were last told of it.
    streamed: u64,
    /// A part of the stream, on its way to a socket.
    piece: Vec<u8>,
    /// A replica has not been sent everything, though its socket takes more.
    has_more_to_stream: bool,
    /// Connections whose next command is put off.
    paused: Vec<usize>,
    /// Connections with a command for another thread.
    leaving: Vec<usize>,
    /// Where the arguments of such a command lie in the input of the connection that is being served: the buffer will go with them.
    large_args: Option<Vec<Span>>,
    /// Clients whose connections are out of their slots beyond the moment.
    absent: Absent,
    /// Deadlines of blocked clients.
    deadlines: BTreeSet<(u64, usize)>,
    /// Read into by whichever connection has its turn.
    scratch: Vec<u8>,
    /// For connections that are not in the middle of a command.
    parser: Parser,
    pool: Pool,
    mail: Vec<Mail>,
    /// Listeners may have more connections.
    accepting: bool,
    /// When to look for them again, since the last one could not be accepted.
    accept_again_ms: Option<u64>,
    /// The worker that gets the next connection.
    next_worker: usize,
    /// When the timers were last looked at.
    last_timers_ms: u64,
    /// When paused commands were last tried.
    last_retry_ms: u64,
    /// How often the cache of free blocks was to be emptied.
    releases_seen: u64,
}

/// A connection must be closed; whatever it has to say is lost.
#[derive(Debug)]
struct Hangup;

impl EventLoop {
    /// A loop that has not started.
    pub fn new(
        index: usize,
        shared: Arc<Shared>,
        persist: Arc<Persist>,
        syncs: Arc<Syncs>,
        poll: Poll,
        mut worker: Worker,
    ) -> EventLoop {
        worker.put_aside();
        worker.give_away();
        EventLoop {
            index,
            shared,
            persist,
            syncs,
            poll,
            worker: Box::new(worker),
            spare: None,
            in_round: false,
            always_syncs: false,
            slots: Slots::default(),
            by_id: HashMap::default(),
            list: Vec::new(),
            serving: Vec::new(),
            dirty: Vec::new(),
            log_written: 0,
            log_seen: 0,
            held: Vec::new(),
            awaits_until: None,
            lag: None,
            replicas: Vec::new(),
            streamed: 0,
            piece: Vec::new(),
            has_more_to_stream: false,
            paused: Vec::new(),
            leaving: Vec::new(),
            large_args: None,
            absent: Absent::default(),
            deadlines: BTreeSet::new(),
            scratch: vec![0; READ_BYTES],
            parser: Parser::new(),
            pool: Pool::default(),
            mail: Vec::new(),
            accepting: false,
            accept_again_ms: None,
            next_worker: 0,
            last_timers_ms: 0,
            last_retry_ms: 0,
            releases_seen: 0,
        }
    }

    /// What it shares with other threads.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Runs until the server stops.
    pub fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS_MAX);
        let mut spin = Spin::default();
        self.post().thread.store(crash::fault::thread_id(), Relaxed);
        while !self.shared.is_stopping() {
            let wait = self.wait_time();
            let spins = spin.should_spin() && wait != Some(Duration::ZERO);
            let wait = if spins { Some(Duration::ZERO) } else { wait };
            let start = Instant::now();
            self.post().busy_since_ms.store(0, Relaxed);
            let polled = self.poll.poll(&mut events, wait);
            let woken = Instant::now();
            spin.learn(spins, !events.is_empty(), woken - start);
            if spins && polled.is_ok() && events.is_empty() {
                continue;
            }
            match polled {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    self.shared.log.warning(&format!("Failed to wait for events: {error}"));
                    self.shared.request_stop(larder_engine::ShutdownFlags::default());
                }
                _ => self.iteration(&events),
            }
            self.worker.stats().loop_ns.add(woken.elapsed().as_nanos() as u64);
        }
        // Of what other threads have answered before the server could end: SCRIPT KILL for one.
        self.take_mail();
        self.flush_at_last();
    }

    fn post(&self) -> &Post {
        &self.shared.posts()[self.index]
    }

    fn iteration(&mut self, events: &Events) {
        larder_engine::panic_if_armed();
        memory::follow_release(&mut self.releases_seen);
        self.always_syncs = self.waits_for_sync();
        self.worker.engine().sleep_along();
        self.worker.tick();
        self.post().busy_since_ms.store(self.worker.wall_ms(), Relaxed);
        let mut woken = false;
        for event in events {
            match event.token() {
                WAKE => woken = true,
                Token(token) if token >= FIRST_LISTENER => self.accepting = true,
                Token(slot) => self.note(slot, event),
            }
        }
        if woken {
            self.take_arrivals();
            self.take_returns();
        }
        if self.accepting {
            self.accept();
        }
        self.take_mail();
        self.release_held();
        self.serve_list();
        self.run_timers();
        self.worker.finish_round();
        self.await_broadcasts();
        self.take_mail();
        self.write_log();
        self.has_more_to_stream = false;
        // Before the replies: a client that reads from a replica after its write finds the write there most often.
        self.send_streams();
        self.flush_dirty();
        if !self.held.is_empty() {
            self.look_after_held();
        }
        if !self.leaving.is_empty() {
            self.send_away();
        }
        if self.worker.delivered() {
            self.shared.wake_holders();
        }
        self.worker.limit_clients();
        self.slots.release();
    }

    /// Has what this round's replies tell of written, and waits if the disk does not keep up. With `always` the log's thread
    /// does it, and in a round that a script allows others, who may hold shards: none of the others has written anything.
    fn write_log(&mut self) {
        let end = self.worker.log_end().max(std::mem::take(&mut self.log_seen));
        if end <= self.log_written {
            return;
        }
        self.log_written = end;
        let log = self.worker.engine().append_log();
        if self.leaves_writing() {
            log.wake_writer();
        } else {
            self.persist.write_log_to(end);
        }
        log.wait_for_room();
    }

    /// Remembers what an event said.
    fn note(&mut self, slot: usize, event: &Event) {
        let Some(connection) = self.slots.get_mut(slot) else { return };
        let flags = &mut connection.flags;
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            flags.readable = true;
            flags.hung_up |= event.is_read_closed() || event.is_error();
            if !std::mem::replace(&mut flags.listed, true) {
                self.list.push(slot);
            }
        }
        if event.is_writable() {
            flags.writable = true;
            if !connection.output.is_empty() && !std::mem::replace(&mut connection.flags.dirty, true) {
                self.dirty.push(slot);
            }
            if connection.stream.has_unsent() {
                connection.flags.readable = true;
                if !std::mem::replace(&mut connection.flags.listed, true) {
                    self.list.push(slot);
                }
            }
        }
    }

    /// Has a connection served in the next round: puts it on the list, once.
    fn schedule(&mut self, slot: usize, flags: &mut Flags) {
        if !std::mem::replace(&mut flags.listed, true) {
            self.list.push(slot);
        }
    }

    /// Has a connection's output sent at the end of the round.
    fn mark_dirty(&mut self, slot: usize, connection: &mut Connection) {
        if connection.output.is_empty() {
            return;
        }
        let memory = connection.output.memory();
        if memory > connection.noted_bytes {
            self.worker.note_unsent(memory - connection.noted_bytes);
            connection.noted_bytes = memory;
        }
        if !std::mem::replace(&mut connection.flags.dirty, true) {
            self.dirty.push(slot);
        }
    }

    /// Takes a connection out for good.
    fn close(&mut self, slot: usize, connection: Box<Connection>) {
        self.by_id.remove(&connection.session.id());
        if let Some(deadline) = connection.deadline_ms {
            self.deadlines.remove(&(deadline, slot));
        }
        self.slots.free(slot);
        self.shared.connections.fetch_sub(1, Relaxed);
        let Connection { session, output, input, .. } = *connection;
        drop((output, input));
        self.worker.disconnect(session);
    }
}
