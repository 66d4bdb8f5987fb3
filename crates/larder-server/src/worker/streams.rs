//! Sending replicas the stream.
//!
//! Each worker looks at its replicas at the end of a round, after the append-only file has been written, and sends them what has come
//! since, straight from the log: a replica has no output of its own. A worker that has appended something also sends it to the replicas of
//! other workers (`outlets`), and wakes those workers whose replicas have not got all of it.

use super::streaming::Streaming;
use super::{EventLoop, Hangup};
use crate::connection::output::Unsent;
use crate::connection::{Compressed, Connection, Stream};
use crate::replication::outlets::{PIECE_BYTES, Sender, TURN_BYTES, send_from};
use crate::replication::syncs::Joiner;
use larder_engine::{Cursor, Phase, Replica};
use mio::Token;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl EventLoop {
    /// A client has become a replica, or has loaded its snapshot.
    pub(super) fn begin_stream(&mut self, slot: usize, connection: &mut Connection) -> Result<(), Hangup> {
        connection.session.begin_stream();
        connection.outlet = None;
        if !std::mem::replace(&mut connection.flags.streams, true) {
            let delays = self.shared.config.is_yes("repl-disable-tcp-nodelay");
            connection.stream.set_nodelay(!delays).map_err(|_| Hangup)?;
            connection.compressed = Compressed::of(&connection.session);
            self.replicas.push(Streaming { slot, client: connection.session.id() });
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
            self.shared.outlets.send(engine, self.index, end, &mut self.piece);
            engine.wake_senders(Some(self.index));
        }
        let mut replicas = std::mem::take(&mut self.replicas);
        replicas.retain(|&Streaming { slot, client }| {
            let Some(mut connection) = self.slots.take(slot) else { return false };
            let replica = connection.session.replica().filter(|replica| replica.client == client).cloned();
            let Some(replica) = replica else {
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
            let mut piece = std::mem::take(&mut self.piece);
            let written = match connection.compressed.take() {
                None => self.write_stream(connection, replica, end, &mut piece),
                Some(mut compressed) => {
                    let written =
                        self.write_compressed(connection, &cursor, end, &mut piece, &mut compressed);
                    connection.compressed = Some(compressed);
                    written
                }
            };
            self.piece = piece;
            written?;
            let waits = !connection.flags.writable;
            if waits != std::mem::replace(&mut connection.flags.watches_writes, waits) {
                connection
                    .stream
                    .watch_writes(self.poll.registry(), Token(slot), waits)
                    .map_err(|_| Hangup)?;
            }
            self.has_more_to_stream |= !waits && cursor.position() < end;
        }
        self.check_output_limit(connection)
    }

    /// Writes until the socket takes no more, the stream ends at `end`, or the others are to have their turn. `piece` is room to work in.
    fn write_stream(
        &self,
        connection: &mut Connection,
        replica: &Arc<Replica>,
        end: u64,
        piece: &mut Vec<u8>,
    ) -> Result<(), Hangup> {
        let engine = self.worker.engine();
        let sent = if matches!(connection.stream, Stream::Tls(_)) || self.shared.posts().len() == 1 {
            // No other worker sends here.
            let Some(cursor) = replica.cursor() else { return Ok(()) };
            let Connection { stream, session, .. } = connection;
            send_from(engine, &cursor, end, piece, |bytes| {
                self.worker.stats().writes.add(1);
                stream.write(bytes).inspect(|&sent| session.shared().add_net_out(sent))
            })
        } else {
            if connection.outlet.as_ref().is_none_or(|open| open.of(replica).is_none()) {
                let client = connection.session.shared_handle();
                let opened = self.shared.outlets.open(&connection.stream, replica, client);
                connection.outlet = Some(opened.map_err(|_| Hangup)?);
            }
            let Some(outlet) = connection.outlet.as_ref().and_then(|open| open.of(replica)) else {
                return Ok(());
            };
            self.worker.stats().writes.add(1);
            outlet.send(engine, Sender::Own, end, piece)
        };
        connection.flags.writable = sent.map_err(|_| Hangup)?;
        Ok(())
    }

    /// The same for a link that is compressed. What a socket does not take of a message waits in `compressed`.
    fn write_compressed(
        &self,
        connection: &mut Connection,
        cursor: &Cursor,
        end: u64,
        piece: &mut Vec<u8>,
        compressed: &mut Compressed,
    ) -> Result<(), Hangup> {
        let until = end.min(cursor.position() + TURN_BYTES);
        while connection.flags.writable {
            if compressed.sent < compressed.messages.len() {
                compressed.sent += self.write_piece(connection, &compressed.messages[compressed.sent..])?;
                continue;
            }
            if cursor.position() >= until {
                break;
            }
            piece.clear();
            self.worker.engine().append_log().read_stream(cursor.position(), piece, PIECE_BYTES);
            compressed.messages.clear();
            compressed.sent = 0;
            compressed.encoder.encode(piece, &mut compressed.messages);
            cursor.advance(piece.len() as u64);
        }
        Ok(())
    }

    /// Writes what the socket takes; says how much that was. It is writable no more when it does not take all.
    fn write_piece(&self, connection: &mut Connection, bytes: &[u8]) -> Result<usize, Hangup> {
        let sent = match connection.stream.write(bytes) {
            Ok(sent) => sent,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(_) => return Err(Hangup),
        };
        connection.flags.writable = sent == bytes.len();
        connection.session.shared().add_net_out(sent);
        self.worker.stats().writes.add(1);
        self.worker.engine().replication().bytes_out.fetch_add(sent as u64, Relaxed);
        Ok(sent)
    }

    /// What a connection, if it is a replica, has to be sent of the stream.
    pub(super) fn unsent_stream(&self, connection: &Connection) -> Unsent {
        let Some(cursor) = connection.session.replica().and_then(|replica| replica.cursor()) else {
            return Unsent::default();
        };
        Unsent {
            bytes: self.worker.engine().append_log().stream_end().saturating_sub(cursor.position()),
            hard_bytes_min: self.shared.config.number("repl-backlog-size") as u64,
        }
    }
}
