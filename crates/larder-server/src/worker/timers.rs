//! What becomes due: deadlines of blocked clients, idle clients, soft output limits, paused commands.

use super::{EventLoop, Hangup};
use crate::connection::Connection;
use larder_engine::wall_ms;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Between two looks at all connections.
const LOOK_MS: u64 = 1000;
/// Between two tries of a paused command.
const RETRY_MS: u64 = 10;

impl EventLoop {
    /// How long to wait for events.
    pub(super) fn wait_time(&self) -> Option<Duration> {
        if !self.list.is_empty()
            || !self.dirty.is_empty()
            || self.accepting
            || self.has_more_to_stream
            || self.worker.has_mail()
        {
            return Some(Duration::ZERO);
        }
        let now = self.worker.now_ms();
        let deadline = self.deadlines.first().map(|(at, _)| at.saturating_add(1).saturating_sub(now));
        let retry = (!self.paused.is_empty()).then_some(RETRY_MS);
        let look = (!self.by_id.is_empty()).then_some(LOOK_MS);
        let accept = self.accept_again_ms.map(|at| at.saturating_sub(now));
        let due = [deadline, retry, look, accept].into_iter().flatten().min().map(Duration::from_millis);
        [due, self.awaiting_time()].into_iter().flatten().min()
    }

    /// Everything that is due.
    pub(super) fn run_timers(&mut self) {
        let now_ms = self.worker.now_ms();
        self.end_waits(now_ms);
        if now_ms.saturating_sub(self.last_retry_ms) >= RETRY_MS {
            self.last_retry_ms = now_ms;
            self.retry_paused();
        }
        if now_ms.saturating_sub(self.last_timers_ms) >= LOOK_MS {
            self.last_timers_ms = now_ms;
            self.look_at_all();
        }
        if self.accept_again_ms.is_some_and(|at| at <= now_ms) {
            self.accepting = true;
        }
    }

    /// A client has blocked: it gives up at `deadline_ms`.
    pub(super) fn set_deadline(
        &mut self,
        slot: usize,
        connection: &mut Connection,
        deadline_ms: Option<u64>,
    ) {
        connection.deadline_ms = deadline_ms;
        self.deadlines.extend(deadline_ms.map(|at| (at, slot)));
    }

    /// A client is not blocked any more.
    pub(super) fn clear_deadline(&mut self, slot: usize, connection: &mut Connection) {
        if let Some(at) = connection.deadline_ms.take() {
            self.deadlines.remove(&(at, slot));
        }
    }

    /// The client did something else than send a command: it is not idle.
    pub(super) fn touch(connection: &Connection) {
        connection.session.shared().last_active_ms.store(wall_ms(), Relaxed);
    }

    /// Lets go on what was put off.
    pub(super) fn retry_paused(&mut self) {
        for slot in std::mem::take(&mut self.paused) {
            let Some(mut connection) = self.slots.take(slot) else { continue };
            if std::mem::take(&mut connection.flags.paused) {
                self.worker.end_pause(&connection.session);
                if connection.away.is_some() {
                    self.leaving.push(slot);
                }
                connection.flags.backlog = true;
                self.schedule(slot, &mut connection.flags);
            }
            self.slots.put(slot, connection);
        }
    }

    /// A wait ends when its deadline is over, not in the millisecond of it: as in Valkey.
    fn end_waits(&mut self, now_ms: u64) {
        while let Some(&(at, slot)) = self.deadlines.first()
            && at < now_ms
        {
            self.deadlines.pop_first();
            let Some(mut connection) = self.slots.take(slot) else { continue };
            connection.deadline_ms = None;
            connection.output.open(&mut self.pool);
            // Otherwise it has been served meanwhile, and the mail is on its way.
            if self.worker.block_timeout(&mut connection.session, &mut connection.output.tail) {
                Self::touch(&connection);
                connection.flags.backlog = true;
                self.schedule(slot, &mut connection.flags);
            }
            self.mark_dirty(slot, &mut connection);
            self.slots.put(slot, connection);
        }
    }

    fn look_at_all(&mut self) {
        let timeout_ms = self.shared.config.hot.timeout_s.load(Relaxed).max(0) as u64 * 1000;
        let wall_ms = wall_ms();
        for slot in 0..self.slots.end() {
            let Some(mut connection) = self.slots.take(slot) else { continue };
            let mut look = || {
                self.check_idle(&connection, timeout_ms, wall_ms)?;
                if connection.output.is_empty() { Ok(()) } else { self.check_output_limit(&mut connection) }
            };
            match look() {
                Ok(()) => self.slots.put(slot, connection),
                Err(Hangup) => self.close(slot, connection),
            }
        }
    }

    fn check_idle(&self, connection: &Connection, timeout_ms: u64, wall_ms: u64) -> Result<(), Hangup> {
        let last_ms = connection.session.shared().last_active_ms.load(Relaxed);
        let idle = timeout_ms > 0 && wall_ms.saturating_sub(last_ms) > timeout_ms;
        if !idle || connection.session.exempt_from_timeout() {
            return Ok(());
        }
        self.shared.log.verbose("Closing idle client");
        Err(Hangup)
    }
}
