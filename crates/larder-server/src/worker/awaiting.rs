//! What a reply waits for beside the log: that clients who cache what it has changed are told, and that what the primary has sent is applied.
//!
//! Valkey has one thread: what a command tells other clients is written to their sockets before its reply, or right after it. Here
//! other workers have these connections. A client that has its reply may tell another one, which must not find the old value in its
//! cache; so the reply of a write waits until invalidations are sent, [`AWAITED_MAX`] at most: another thread may be busy.
//! Published messages and replies to blocked clients are not waited for: nobody relies on their order, and it would cost
//! each a thread's way out of sleep.

use super::EventLoop;
use super::lag::Lag;
use crate::connection::{Awaited, Connection};
use larder_engine::Told;
use std::time::Duration;

/// How long a reply waits for other workers at most.
const AWAITED_MAX: Duration = Duration::from_millis(5);
/// How long a client of a replica waits at most until what has come from the primary is applied: while the stream is applied, and if the thread
/// that does it gets no processor.
const BEHIND_MAX: Duration = Duration::from_millis(1);
const STUCK_MAX: Duration = Duration::from_millis(20);

impl EventLoop {
    /// The commands of a connection have told clients of other workers something: its replies come later.
    pub(super) fn await_told(&mut self, connection: &mut Connection) {
        let told = self.worker.take_told();
        if !told.is_empty() {
            self.add_awaited(connection, told);
        }
    }

    /// The same for what is told at the end of a round, for all its commands together.
    pub(super) fn await_broadcasts(&mut self) {
        let told = self.worker.take_told();
        if told.is_empty() {
            return;
        }
        for slot in std::mem::take(&mut self.dirty) {
            if let Some(mut connection) = self.slots.take(slot) {
                self.add_awaited(&mut connection, told.clone());
                self.slots.put(slot, connection);
            }
            self.dirty.push(slot);
        }
    }

    fn add_awaited(&mut self, connection: &mut Connection, told: Vec<Told>) {
        let until = larder_engine::instant() + AWAITED_MAX;
        self.awaits_until = Some(until);
        match &mut connection.awaited {
            Some(awaited) => {
                awaited.told.extend(told);
                awaited.until = until;
            }
            None => connection.awaited = Some(Box::new(Awaited { told, until })),
        }
    }

    /// Whether the connection's output waits for other workers still.
    pub(super) fn is_awaiting(&self, connection: &mut Connection) -> bool {
        let waits = connection.awaited.as_ref().is_some_and(|awaited| {
            !self.worker.are_delivered(&awaited.told) && larder_engine::instant() < awaited.until
        });
        if !waits {
            connection.awaited = None;
        }
        waits
    }

    /// How long until no output waits for other workers any more.
    pub(super) fn awaiting_time(&self) -> Option<Duration> {
        let left = self.awaits_until?.saturating_duration_since(larder_engine::instant());
        // What is left then was released by this round, or waits for something else.
        (!left.is_zero()).then_some(left)
    }

    /// A client has sent something to this replica: what the primary has sent before is applied first.
    pub(super) fn catch_up(&mut self, connection: &Connection) {
        let reception = &self.worker.engine().replication().reception;
        let is_in_time = || self.lag.as_ref().is_none_or(|lag| lag.is_over(reception.dealt_with()));
        if !reception.is_awaited() || !is_in_time() || self.in_round || connection.session.replica().is_some()
        {
            return;
        }
        let Some(link) = self.shared.upstream.lock().upgrade() else { return };
        if link.unread() == 0 && reception.is_idle() {
            return;
        }
        self.lag = Lag::after(reception.wait(|| link.unread(), BEHIND_MAX, STUCK_MAX));
    }
}
