//! Sending replicas the stream.
//!
//! Each worker looks at its replicas at the end of a round, after the append-only file has been written, and sends them what has come
//! since, straight from the log: a replica has no output of its own. A worker that has appended something wakes the others that have
//! replicas behind.

use super::{EventLoop, Hangup};
use crate::connection::Connection;
use crate::replication::syncs::Joiner;
use larder_engine::{ClientClass, Phase, Replica};
use mio::Token;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes taken from the log at once.
const PIECE_BYTES: usize = 64 << 10;
/// Bytes that one replica is sent in a round.
const TURN_BYTES: u64 = 1 << 20;

impl EventLoop {
    /// A client has become a replica, or has loaded its snapshot.
    pub(super) fn begin_stream(&mut self, slot: usize, connection: &mut Connection) -> Result<(), Hangup> {
        connection.session.begin_stream();
        let delays = self.shared.config.is_yes("repl-disable-tcp-nodelay");
        connection.stream.set_nodelay(!delays).map_err(|_| Hangup)?;
        if !std::mem::replace(&mut connection.flags.streams, true) {
            self.replicas.push(slot);
            let is_new =
                connection.session.replica().is_some_and(|replica| replica.phase() == Phase::Waiting);
            connection.flags.joins = is_new;
            if is_new && connection.output.is_empty() {
                return self.join_sync(connection);
            }
        }
        Ok(())
    }

    /// Hands a replica over to the thread that sends snapshots.
    pub(super) fn join_sync(&self, connection: &mut Connection) -> Result<(), Hangup> {
        connection.flags.joins = false;
        let Some(replica) = connection.session.replica().cloned() else { return Ok(()) };
        let stream = connection.stream.duplicate().map_err(|_| Hangup)?;
        self.syncs.join(Joiner { stream, replica }).map_err(|_| Hangup)
    }

    /// Sends replicas what has come, and wakes the workers of others.
    pub(super) fn send_streams(&mut self) {
        let engine = self.worker.engine();
        if !engine.replication().replicas.any() {
            return;
        }
        engine.ask_for_acks();
        let end = engine.append_log().stream_end();
        if std::mem::replace(&mut self.streamed, end) != end {
            engine.wake_senders(Some(self.index));
        }
        let mut replicas = std::mem::take(&mut self.replicas);
        replicas.retain(|&slot| {
            let Some(mut connection) = self.slots.take(slot) else { return false };
            let Some(replica) = connection.session.replica().cloned() else {
                self.slots.put(slot, connection);
                return false;
            };
            let sent = self.send_stream(slot, &mut connection, &replica);
            if sent.is_ok() {
                self.slots.put(slot, connection);
            } else {
                self.close(slot, connection);
            }
            sent.is_ok()
        });
        self.replicas = replicas;
    }

    fn send_stream(
        &mut self,
        slot: usize,
        connection: &mut Connection,
        replica: &Arc<Replica>,
    ) -> Result<(), Hangup> {
        let Some(cursor) = replica.cursor() else { return Ok(()) };
        if replica.is_online() && connection.output.is_empty() && connection.flags.writable {
            let end = self.worker.engine().append_log().stream_end();
            let until = end.min(cursor.position() + TURN_BYTES);
            let mut piece = std::mem::take(&mut self.piece);
            while cursor.position() < until && connection.flags.writable {
                piece.clear();
                self.worker.engine().append_log().read_stream(cursor.position(), &mut piece, PIECE_BYTES);
                let sent = match connection.stream.write(&piece) {
                    Ok(sent) => sent,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => return Err(Hangup),
                };
                cursor.advance(sent as u64);
                connection.flags.writable = sent == piece.len();
                connection.session.shared().add_net_out(sent);
                self.worker.stats().net_out.add(sent as u64);
                self.worker.stats().writes.add(1);
                self.worker.engine().replication().bytes_out.fetch_add(sent as u64, Relaxed);
            }
            self.piece = piece;
            let waits = !connection.flags.writable;
            if waits != std::mem::replace(&mut connection.flags.watches_writes, waits) {
                connection
                    .stream
                    .watch_writes(self.poll.registry(), Token(slot), waits)
                    .map_err(|_| Hangup)?;
            }
            self.has_more_to_stream |= !waits && cursor.position() < end;
        }
        self.check_stream_limit(connection, replica, cursor.position())
    }

    /// Closes the connection of a replica that takes the stream too slowly: `client-output-buffer-limit` of class `replica`, which is never
    /// less than the backlog.
    fn check_stream_limit(
        &mut self,
        connection: &Connection,
        replica: &Replica,
        position: u64,
    ) -> Result<(), Hangup> {
        let hot = &self.shared.config.hot;
        let left = self.worker.engine().append_log().stream_end().saturating_sub(position);
        let least = self.shared.config.number("repl-backlog-size") as u64;
        let over = |limit: u64| limit > 0 && left > limit.max(least);
        let limit = &hot.output_limits[ClientClass::Replica as usize];
        let now_ms = self.worker.wall_ms();
        let since_ms = &replica.over_limit_since_ms;
        if !over(limit.soft_bytes.load(Relaxed)) {
            since_ms.store(0, Relaxed);
        } else if since_ms.load(Relaxed) == 0 {
            since_ms.store(now_ms, Relaxed);
        }
        let since = since_ms.load(Relaxed);
        let is_long =
            since > 0 && now_ms.saturating_sub(since) / 1000 >= limit.soft_seconds.load(Relaxed).max(1);
        if !over(limit.hard_bytes.load(Relaxed)) && !is_long {
            return Ok(());
        }
        self.worker.stats().output_limit_closes.add(1);
        self.shared.log.warning(&format!(
            "Client {} scheduled to be closed ASAP for overcoming of output buffer limits.",
            connection.describe()
        ));
        Err(Hangup)
    }
}
