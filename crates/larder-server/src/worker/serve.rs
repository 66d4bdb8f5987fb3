//! Serving a connection: one read, then the whole commands that have arrived, until the connection's turn is
//! over.

use super::{EventLoop, Hangup, OUTPUT_LOOK_BYTES, OUTPUT_TURN_BYTES, READ_BYTES};
use crate::connection::Connection;
use larder_engine::{Flow, PREFETCH_MAX};
use larder_resp::{Limits, Parsed, Parser};
use std::io;
use std::sync::atomic::Ordering::Relaxed;

/// Why the execution of a buffer ended.
#[derive(Clone, Copy)]
pub(super) enum Stop {
    /// No whole command is left in it.
    Starved,
    /// The connection's turn is over, or it waits: there may be whole commands left.
    Paused,
    /// Nothing more will be executed.
    Closing,
}

impl EventLoop {
    /// Serves every connection on the list once.
    pub(super) fn serve_list(&mut self) {
        std::mem::swap(&mut self.list, &mut self.serving);
        self.serving.reverse();
        while let Some(slot) = self.serving.pop() {
            let Some(mut connection) = self.slots.take(slot) else { continue };
            connection.flags.listed = false;
            match self.serve(slot, &mut connection) {
                Ok(()) => self.slots.put(slot, connection),
                Err(Hangup) => self.close(slot, connection),
            }
        }
    }

    fn serve(&mut self, slot: usize, connection: &mut Connection) -> Result<(), Hangup> {
        let flags = &mut connection.flags;
        if flags.dirty && flags.writable && connection.output.len() > OUTPUT_TURN_BYTES {
            // Its socket takes what it has been answered: that goes out first.
            self.schedule(slot, flags);
            return Ok(());
        }
        if connection.flags.backlog && connection.runs() {
            self.run_pending(slot, connection)?;
        }
        connection.flags.readable &= !connection.flags.half_closed;
        if connection.flags.readable && !(connection.flags.backlog && connection.runs()) {
            self.read(slot, connection)?;
        }
        self.await_told(connection);
        if connection.flags.half_closed {
            self.end_half_closed(slot, connection)?;
        }
        let flags = connection.flags;
        if flags.readable || flags.backlog && connection.runs() {
            self.schedule(slot, &mut connection.flags);
        }
        self.mark_dirty(slot, connection);
        Ok(())
    }

    /// One read, and what it brings.
    fn read(&mut self, slot: usize, connection: &mut Connection) -> Result<(), Hangup> {
        if connection.flags.closing {
            return self.drain(connection);
        }
        if let Some((buffer, room)) = connection.input.direct() {
            let result = connection.stream.read_to_end_of(buffer, room);
            if self.received(connection, result, room)? == 0 {
                return Ok(());
            }
            self.catch_up(connection);
            return self.run_pending(slot, connection);
        }
        let result = connection.stream.read(&mut self.scratch);
        let n = self.received(connection, result, READ_BYTES)?;
        if n == 0 {
            return Ok(());
        }
        self.catch_up(connection);
        if connection.input.is_empty() && connection.runs() {
            self.run_scratch(slot, connection, n)?;
            return if connection.session.queued_bytes() > 0 { self.check_input(connection) } else { Ok(()) };
        }
        connection.input.append(&self.scratch[..n]);
        self.run_pending(slot, connection)
    }

    /// Counts the outcome of a read of at most `room` bytes. An error closes the connection; its end is noted.
    fn received(
        &mut self,
        connection: &mut Connection,
        read: io::Result<usize>,
        room: usize,
    ) -> Result<usize, Hangup> {
        self.worker.stats().reads.add(1);
        if connection.flags.greets {
            self.greet(connection, &read)?;
        }
        let n = match read {
            Ok(0) => {
                (connection.flags.readable, connection.flags.half_closed) = (false, true);
                return Ok(0);
            }
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                connection.flags.readable = false;
                return Ok(0);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(0),
            Err(error) => {
                return Err(self.hangup(connection, &format!("Reading from client: {error}")));
            }
        };
        if connection.stream.is_drained(n, room) && !connection.flags.hung_up {
            connection.flags.readable = false;
        }
        self.worker.note_received(&connection.session, n);
        Ok(n)
    }

    /// A client has closed its side: the commands that have arrived are executed, and the connection closes when their replies
    /// are sent. The client may as well be gone, so it waits for nothing: neither for keys nor for the end of a pause.
    fn end_half_closed(&mut self, slot: usize, connection: &mut Connection) -> Result<(), Hangup> {
        let session = &mut connection.session;
        if session.replica().is_some() {
            return Err(self.hangup(connection, "Client closed connection"));
        }
        if session.is_blocked() {
            if !self.worker.stop_waiting(session) {
                // It is served again when the reply comes.
                return Ok(());
            }
            self.clear_deadline(slot, connection);
        } else if connection.flags.backlog && connection.runs() || connection.is_put_off() {
            return Ok(());
        }
        let hangup = self.hangup(connection, "Client closed connection");
        connection.flags.backlog = false;
        if connection.output.is_empty() {
            return Err(hangup);
        }
        connection.flags.closing = true;
        Ok(())
    }

    /// Executes the commands in the first `n` bytes of the shared buffer and keeps the rest.
    fn run_scratch(&mut self, slot: usize, connection: &mut Connection, n: usize) -> Result<(), Hangup> {
        let scratch = std::mem::take(&mut self.scratch);
        let mut parser = std::mem::take(&mut self.parser);
        let result = self.execute(slot, connection, &scratch[..n], &mut parser);
        if let Ok((consumed, Stop::Starved | Stop::Paused)) = result
            && consumed < n
        {
            connection.input.keep(&scratch[consumed..n], std::mem::take(&mut parser));
            self.report_input(connection);
        }
        self.scratch = scratch;
        self.parser = parser;
        self.settle(connection, result?.1)
    }

    /// Executes the commands in the connection's own buffer.
    fn run_pending(&mut self, slot: usize, connection: &mut Connection) -> Result<(), Hangup> {
        if !connection.runs() {
            connection.flags.backlog = true;
            return self.check_input(connection);
        }
        let Some(mut pending) = connection.input.take() else {
            connection.flags.backlog = false;
            return Ok(());
        };
        let (bytes, parser) = pending.parts();
        let result = self.execute(slot, connection, bytes, parser);
        if let Ok((consumed, Stop::Starved | Stop::Paused)) = result {
            match self.large_args.take() {
                Some(spans) => connection.away = Some(Box::new(pending.give_front(consumed, spans))),
                None => pending.consume(consumed),
            }
            connection.input.put_back(pending);
        }
        self.report_input(connection);
        self.settle(connection, result?.1)?;
        self.check_input(connection)
    }

    /// Remembers why execution ended.
    pub(super) fn settle(&mut self, connection: &mut Connection, stop: Stop) -> Result<(), Hangup> {
        match stop {
            Stop::Starved => connection.flags.backlog = false,
            Stop::Paused => connection.flags.backlog = !connection.input.is_empty(),
            Stop::Closing => {
                connection.flags.closing = true;
                connection.flags.backlog = false;
                if connection.output.is_empty() {
                    return Err(Hangup);
                }
            }
        }
        Ok(())
    }

    /// Executes the commands in `bytes`, up to a turn's worth. Says how many bytes they took.
    fn execute(
        &mut self,
        slot: usize,
        connection: &mut Connection,
        bytes: &[u8],
        parser: &mut Parser,
    ) -> Result<(usize, Stop), Hangup> {
        connection.output.open(&mut self.pool);
        let logged = self.worker.log_end();
        let outcome = self.execute_all(slot, connection, bytes, parser);
        self.worker.forget_keys();
        parser.forget_ahead();
        if self.worker.log_end() != logged {
            self.hold(connection, self.worker.log_end());
        }
        outcome
    }

    fn execute_all(
        &mut self,
        slot: usize,
        connection: &mut Connection,
        bytes: &[u8],
        parser: &mut Parser,
    ) -> Result<(usize, Stop), Hangup> {
        let bulk_bytes_max = self.shared.config.hot.string_bytes_max();
        let mut at = 0;
        loop {
            let limits = Limits { bulk_bytes_max, authenticated: connection.session.authenticated() };
            if !parser.has_ahead() && at < bytes.len() {
                parser.look_ahead(&bytes[at..], &limits, PREFETCH_MAX);
                self.worker.prepare(&connection.session, parser.ahead(&bytes[at..]));
            }
            let rest = &bytes[at..];
            let (args, consumed) = match parser.next_ahead(rest, &limits) {
                Some(command) => command,
                None => match parser.next(rest, &limits) {
                    Ok(Parsed::Command { args, consumed }) => (args, consumed),
                    Ok(Parsed::Incomplete) => return Ok((at, Stop::Starved)),
                    Err(error) => {
                        self.worker.protocol_error(&mut connection.session, &error.text());
                        error.write(&mut connection.output.tail);
                        return Ok((at, Stop::Closing));
                    }
                },
            };
            if args.is_empty() {
                at += consumed;
                continue;
            }
            let mut flow = self.worker.execute(&mut connection.session, &args, &mut connection.output.tail);
            if matches!(flow, Flow::Debug | Flow::Script) {
                flow =
                    self.run_script(connection, args, bytes.get(at + consumed..).unwrap_or_default(), flow);
            }
            if flow != Flow::Retry {
                at += consumed;
            }
            if flow == Flow::Long {
                self.leave(slot, connection, args, bytes);
                return Ok((at, Stop::Paused));
            }
            if let Some(stop) = self.follow(slot, connection, flow)? {
                return Ok((at, stop));
            }
            if at > 4 * READ_BYTES {
                return Ok((at, Stop::Paused));
            }
        }
    }

    /// What a command's outcome means for the connection; `None`: the next command. Most often that is known without a call.
    #[inline(always)]
    pub(super) fn follow(
        &mut self,
        slot: usize,
        connection: &mut Connection,
        flow: Flow,
    ) -> Result<Option<Stop>, Hangup> {
        let is_short = connection.output.tail.len() < OUTPUT_LOOK_BYTES && connection.output.chain_len() == 0;
        if matches!(flow, Flow::Next) && is_short {
            return Ok(None);
        }
        self.follow_closely(slot, connection, flow)
    }

    #[inline(never)]
    fn follow_closely(
        &mut self,
        slot: usize,
        connection: &mut Connection,
        flow: Flow,
    ) -> Result<Option<Stop>, Hangup> {
        match flow {
            Flow::Next => self.check_output(connection),
            Flow::Replica => {
                self.begin_stream(slot, connection)?;
                Ok(None)
            }
            Flow::Deliver => {
                self.check_output(connection)?;
                Ok(Some(Stop::Paused))
            }
            Flow::CloseAfterFlush => Ok(Some(Stop::Closing)),
            Flow::CloseNow => Err(Hangup),
            Flow::Blocked { deadline_ms } => {
                self.set_deadline(slot, connection, deadline_ms);
                Ok(Some(Stop::Paused))
            }
            // A command was to be executed where it cannot be: it is tried again.
            Flow::Apart | Flow::Debug | Flow::Long | Flow::Retry | Flow::Script => {
                connection.flags.paused = true;
                self.paused.push(slot);
                Ok(Some(Stop::Paused))
            }
        }
    }

    /// After a command that left much output: the limits, and whether the turn is over.
    fn check_output(&mut self, connection: &mut Connection) -> Result<Option<Stop>, Hangup> {
        connection.output.settle();
        connection.output.open(&mut self.pool);
        self.check_output_limit(connection)?;
        Ok((connection.output.len() > OUTPUT_TURN_BYTES).then_some(Stop::Paused))
    }

    /// Closes a connection that sends more than it may have waiting: arguments of commands that wait for EXEC count, those of one that is
    /// arriving do not.
    fn check_input(&mut self, connection: &mut Connection) -> Result<(), Hangup> {
        let limit = self.shared.config.hot.client_query_buffer_limit.load(Relaxed);
        self.report_input(connection);
        if (connection.input.unparsed_len() + connection.session.queued_bytes()) as u64 <= limit {
            return Ok(());
        }
        self.worker.stats().query_limit_closes.add(1);
        self.shared.log.warning(&format!(
            "Closing client that reached max query buffer length: {} (qbuf initial bytes: \"\")",
            connection.describe()
        ));
        Err(Hangup)
    }

    fn report_input(&self, connection: &Connection) {
        connection.session.shared().set_query_buffer(connection.input.len(), connection.input.capacity());
        self.worker.recount(&connection.session);
    }

    /// The connection will be closed: what it still sends is thrown away.
    fn drain(&mut self, connection: &mut Connection) -> Result<(), Hangup> {
        let result = connection.stream.read(&mut self.scratch);
        self.received(connection, result, READ_BYTES).map(drop)
    }

    fn hangup(&self, connection: &Connection, reason: &str) -> Hangup {
        if self.shared.log.wants(larder_engine::LogLevel::Verbose) {
            self.shared.log.verbose(&format!("{reason} {}", connection.describe()));
        }
        Hangup
    }
}
