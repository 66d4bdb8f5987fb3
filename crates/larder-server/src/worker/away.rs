//! Connections that are away, on a thread for commands that take long.
//!
//! Such a connection is out of its slot. Events for it get lost, so it is taken to be readable and writable when it comes back; mail for it is
//! kept until then ([`super::absent`]). It leaves at the end of an iteration, after its replies so far have been sent.

use super::{EventLoop, Hangup, READ_BYTES};
use crate::connection::Connection;
use crate::long;
use crate::long::queue::{Done, Job};
use larder_engine::Flow;
use larder_resp::Args;

impl EventLoop {
    /// A command takes long: its connection leaves at the end of the iteration. If its arguments, in `bytes`, are large, they are not copied: the
    /// connection's own buffer goes with them.
    pub(super) fn leave(&mut self, slot: usize, connection: &mut Connection, args: Args<'_>, bytes: &[u8]) {
        let large = args.extent_bytes() > READ_BYTES;
        match args.spans_in(bytes).filter(|_| large) {
            Some(spans) => self.large_args = Some(spans),
            None => connection.away = Some(Box::new(args.to_owned())),
        }
        self.leaving.push(slot);
    }

    /// Sends off those that leave.
    pub(super) fn send_away(&mut self) {
        for slot in std::mem::take(&mut self.leaving) {
            let Some(mut connection) = self.slots.take(slot) else { continue };
            if connection.flags.dirty {
                // More than a turn's worth is sent first.
                self.leaving.push(slot);
                self.slots.put(slot, connection);
                continue;
            }
            match connection.away.take() {
                Some(args) => {
                    connection.output.open(&mut self.pool);
                    self.absent.leave(connection.session.id(), connection.session.class());
                    let job = Job { worker: self.index, slot, connection, args };
                    long::give(&self.shared, self.worker.engine(), job);
                }
                // Another one has the slot of one that has been closed.
                None => self.slots.put(slot, connection),
            }
        }
    }

    /// Takes those back whose commands have been executed.
    pub(super) fn take_returns(&mut self) {
        let returns = std::mem::take(&mut *self.post().returns.lock());
        for done in returns {
            self.come_back(done);
        }
    }

    fn come_back(&mut self, done: Done) {
        let Done { job: Job { slot, mut connection, args, .. }, flow, log_end } = done;
        self.absent.come_back(connection.session.id());
        // What it was listed for has been passed by.
        for list in [&mut self.list, &mut self.serving, &mut self.dirty, &mut self.held] {
            list.retain(|&listed| listed != slot);
        }
        let flags = &mut connection.flags;
        (flags.listed, flags.dirty, flags.held) = (false, false, false);
        (flags.readable, flags.writable) = (true, true);
        if let Some(end) = log_end {
            self.log_seen = self.log_seen.max(end);
            self.hold(&mut connection, end);
        }
        if flow == Flow::Retry {
            connection.away = Some(args);
        }
        connection.flags.backlog = true;
        let stays = self.follow(slot, &mut connection, flow).and_then(|stop| match stop {
            Some(stop) => self.settle(&mut connection, stop),
            None => Ok(()),
        });
        match stays {
            Ok(()) => {
                self.schedule(slot, &mut connection.flags);
                self.mark_dirty(slot, &mut connection);
                self.slots.put(slot, connection);
            }
            Err(Hangup) => self.close(slot, connection),
        }
    }
}
