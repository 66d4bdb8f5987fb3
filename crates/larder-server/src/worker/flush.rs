//! Sending replies at the end of a round, and the limits on those that are not read.

use super::{EventLoop, Hangup, OUTPUT_TURN_BYTES};
use crate::connection::Connection;
use larder_engine::assert_no_shard_is_held;
use larder_engine::config::AppendFsync;
use mio::Token;
use std::sync::atomic::Ordering::{self, Relaxed};

/// Unsent output that a client may have that must authenticate and never has. Without a bound, every client
/// that can connect could have errors pile up here (CVE-2025-21605).
const STRANGER_OUTPUT_BYTES_MAX: usize = 17 * 1024;

impl EventLoop {
    /// Sends the output of every dirty connection, a turn's worth. Those who have more to be sent at once stay dirty.
    pub(super) fn flush_dirty(&mut self) {
        assert_no_shard_is_held("writes to sockets");
        let mut dirty = std::mem::take(&mut self.dirty);
        // Whoever was told something by a command is marked after the command's own client, and hears of it before the reply leaves.
        dirty.reverse();
        dirty.retain(|&slot| {
            let Some(mut connection) = self.slots.take(slot) else { return false };
            connection.flags.dirty = false;
            if self.flush(slot, &mut connection).is_err() {
                self.close(slot, connection);
                return false;
            }
            connection.noted_bytes = connection.output.memory();
            let flags = &mut connection.flags;
            flags.dirty = flags.writable && !flags.held && !connection.output.is_empty();
            let stays = flags.dirty;
            self.slots.put(slot, connection);
            stays
        });
        self.dirty = dirty;
        self.worker.forget_unsent();
    }

    /// Sends what sockets take of all output: there is no next turn.
    pub(super) fn flush_at_last(&mut self) {
        while !self.dirty.is_empty() {
            self.flush_dirty();
        }
    }

    fn flush(&mut self, slot: usize, connection: &mut Connection) -> Result<(), Hangup> {
        let may_wait = connection.hold > 0 || connection.awaited.is_some();
        if may_wait && self.holds_back(slot, connection) {
            self.report_output(connection);
            return self.check_output_limit(connection);
        }
        if connection.flags.writable {
            let Connection { output, stream, outlet, .. } = &mut *connection;
            let mut send = || output.flush(stream, &mut self.pool, OUTPUT_TURN_BYTES);
            let flushed = match outlet {
                Some(outlet) => outlet.alone(send),
                None => send(),
            };
            let flushed = flushed.map_err(|_| Hangup)?;
            connection.flags.writable = !flushed.is_full;
            let watched = std::mem::replace(&mut connection.flags.watches_writes, flushed.is_full);
            if watched != flushed.is_full {
                connection
                    .stream
                    .watch_writes(self.poll.registry(), Token(slot), flushed.is_full)
                    .map_err(|_| Hangup)?;
            }
            self.worker.stats().writes.add(1);
            self.worker.stats().net_out.add(flushed.bytes as u64);
            connection.session.shared().add_net_out(flushed.bytes);
            if flushed.bytes > 0 {
                connection.session.shared().last_active_ms.store(self.worker.wall_ms(), Relaxed);
            }
            if connection.output.is_empty() {
                self.sent_all(connection);
                if connection.flags.joins {
                    self.join_sync(connection)?;
                }
                return if connection.ends() { Err(Hangup) } else { Ok(()) };
            }
        }
        if connection.ends() && connection.session.shared().closes_now() {
            return Err(Hangup);
        }
        self.report_output(connection);
        self.check_output_limit(connection)
    }

    /// Whether the output must wait for the log, or for other workers.
    fn holds_back(&mut self, slot: usize, connection: &mut Connection) -> bool {
        if connection.hold <= self.safe_position() {
            connection.hold = 0;
        }
        if !self.is_awaiting(connection) && connection.hold == 0 {
            return false;
        }
        if !std::mem::replace(&mut connection.flags.held, true) {
            self.held.push(slot);
        }
        true
    }

    /// Has those sent whose part of the log is safe by now, and for which other workers have sent what comes before.
    pub(super) fn release_held(&mut self) {
        if self.held.is_empty() {
            return;
        }
        self.shared.posts()[self.index].holds.store(false, Ordering::SeqCst);
        let safe = self.safe_position();
        let mut held = std::mem::take(&mut self.held);
        held.retain(|&slot| {
            let Some(mut connection) = self.slots.take(slot) else { return false };
            let waits = self.is_awaiting(&mut connection) || connection.hold > safe;
            connection.flags.held = waits;
            if !waits
                && !connection.output.is_empty()
                && !std::mem::replace(&mut connection.flags.dirty, true)
            {
                self.dirty.push(slot);
            }
            self.slots.put(slot, connection);
            waits
        });
        if held.is_empty() {
            self.awaits_until = None;
        }
        self.held = held;
    }

    /// Asks to be woken when more of the log is safe, or delivered by other workers; it may have become so since it was looked at.
    pub(super) fn look_after_held(&mut self) {
        self.shared.posts()[self.index].holds.store(true, Ordering::SeqCst);
        let safe = self.safe_position();
        let held = std::mem::take(&mut self.held);
        let goes_on = held.iter().any(|&slot| {
            let Some(mut connection) = self.slots.take(slot) else { return false };
            let waits = self.is_awaiting(&mut connection) || connection.hold > safe;
            self.slots.put(slot, connection);
            !waits
        });
        self.held = held;
        if goes_on {
            self.release_held();
            self.flush_dirty();
            self.shared.posts()[self.index].holds.store(!self.held.is_empty(), Ordering::SeqCst);
        }
    }

    /// Holds the connection's output back until the log is safe up to a position, if another thread
    /// is going to write that.
    pub(super) fn hold(&self, connection: &mut Connection, position: u64) {
        if self.leaves_writing() && self.worker.engine().append_log().is_on() {
            connection.hold = connection.hold.max(position);
        }
    }

    /// Holds back what is to be sent, before the first round that a script allows the others.
    pub(super) fn hold_unsent(&mut self) {
        let log = self.worker.engine().append_log();
        if !log.is_on() {
            return;
        }
        let end = log.end();
        self.log_seen = self.log_seen.max(end);
        for &slot in &self.dirty {
            if let Some(mut connection) = self.slots.take(slot) {
                connection.hold = connection.hold.max(end);
                self.slots.put(slot, connection);
            }
        }
    }

    /// Whether the log's thread writes what this round's commands have done: when replies wait for
    /// the disk, and in a round that a script allows the others, as this thread may hold shards then.
    /// It is the same for all steps of a round: if the policy changed between a command and the
    /// writing, the reply would leave and nobody would have written what it tells of.
    pub(super) fn leaves_writing(&self) -> bool {
        self.in_round || self.always_syncs
    }

    /// The position up to which the log is as safe as replies ask for: on the disk with `appendfsync always`, else in the
    /// hands of the kernel.
    fn safe_position(&self) -> u64 {
        let log = self.worker.engine().append_log();
        if self.waits_for_sync() { log.synced() } else { log.written() }
    }

    /// Whether replies wait until what they tell of is on the disk.
    /// The option may change at any time; [`leaves_writing`](Self::leaves_writing) is for a round.
    pub(super) fn waits_for_sync(&self) -> bool {
        self.shared.config.hot.appendfsync.get() == AppendFsync::Always
    }

    /// Everything went out, after more than one try if some of it was reported.
    fn sent_all(&self, connection: &Connection) {
        let shared = connection.session.shared();
        if shared.output_bytes.load(Relaxed) > 0 {
            shared.set_output(0, 0);
            self.worker.recount(&connection.session);
            Self::touch(connection);
        }
    }

    fn report_output(&self, connection: &Connection) {
        connection.session.shared().set_output(connection.output.memory(), connection.output.chain_len());
        self.worker.recount(&connection.session);
    }

    /// Closes a connection that does not read what it asked for.
    pub(super) fn check_output_limit(&mut self, connection: &mut Connection) -> Result<(), Hangup> {
        let (class, now_ms) = (connection.session.class(), self.worker.now_ms());
        let limit = &self.shared.config.hot.output_limits[class as usize];
        let stream = self.unsent_stream(connection);
        let hoards = connection.session.is_stranger() && connection.output.len() > STRANGER_OUTPUT_BYTES_MAX;
        if !hoards && !connection.output.over_limit(limit, stream, now_ms) {
            return Ok(());
        }
        Err(self.exceed_output(connection))
    }

    /// A connection is to be closed, because too much waits for it.
    pub(super) fn exceed_output(&self, connection: &Connection) -> Hangup {
        self.worker.stats().output_limit_closes.add(1);
        self.shared.log.warning(&format!(
            "Client {} scheduled to be closed ASAP for overcoming of output buffer limits.",
            connection.describe()
        ));
        Hangup
    }
}
