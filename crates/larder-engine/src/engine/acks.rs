//! Who has what was written: this server's disk, and the replicas, as WAIT and WAITAOF ask.

use crate::aof::log::Ends;
use crate::delivery::unblock::deliver;
use crate::engine::Engine;
use crate::error::CommandError;
use crate::keyspace::waiting::{BlockedOp, Waiter};
use larder_resp::Reply;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The answer to WAITAOF where there is no append-only file to wait for.
pub(crate) const LOG_IS_OFF: CommandError =
    CommandError::Fixed("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");

impl Engine {
    /// How many replicas have applied the stream up to a position.
    pub(crate) fn replicas_with(&self, position: u64) -> usize {
        self.replication.replicas.count_online(|replica| replica.acked() >= position)
    }

    /// How many replicas have the stream up to a position on their disks.
    fn replicas_with_on_disk(&self, position: u64) -> usize {
        self.replication.replicas.count_online(|replica| replica.synced() >= position)
    }

    /// Whether the append-only file has the log up to a position on the disk: not before it has its base, without which a
    /// start does not find the rest.
    fn has_on_disk(&self, position: u64) -> bool {
        self.append_log.is_on()
            && self.append_log.synced() >= position
            && !self.persistence.log.lock().waits_for_base
    }

    /// Whether what WAIT or WAITAOF waits for is so.
    pub(crate) fn is_acknowledged(&self, op: &BlockedOp) -> bool {
        match *op {
            BlockedOp::Replicas { position, wanted } => self.replicas_with(position) >= wanted,
            BlockedOp::OnDisk { file, stream, here, wanted } => {
                (!here || self.has_on_disk(file)) && self.replicas_with_on_disk(stream) >= wanted
            }
            _ => false,
        }
    }

    /// The reply of WAIT or WAITAOF as things are now.
    pub(crate) fn write_acknowledged(&self, op: &BlockedOp, reply: &mut Reply<'_>) {
        match *op {
            BlockedOp::Replicas { position, .. } => reply.count(self.replicas_with(position)),
            BlockedOp::OnDisk { file, stream, .. } => {
                reply.array(2);
                reply.int(i64::from(self.has_on_disk(file)));
                reply.count(self.replicas_with_on_disk(stream));
            }
            _ => reply.null_array(),
        }
    }

    /// A client waits for acknowledgements. What it waits for may have become so since it was looked at.
    pub(crate) fn wait_for_acks(&self, waiter: Arc<Waiter>) {
        self.replication.ack_waiters.add(waiter);
        self.replication.wants_acks.store(true, Relaxed);
        self.serve_ack_waiters();
    }

    /// Something was acknowledged: answers those who have waited for it.
    pub fn serve_ack_waiters(&self) {
        let waiters = &self.replication.ack_waiters;
        if !waiters.any() {
            return;
        }
        let log_is_kept = self.persistence.log.lock().enabled;
        let waits_in_vain =
            |op: &BlockedOp| !log_is_kept && matches!(op, BlockedOp::OnDisk { here: true, .. });
        for waiter in waiters.take(|waiter| waits_in_vain(&waiter.op) || self.is_acknowledged(&waiter.op)) {
            if waiter.take() {
                let mut reply = Vec::new();
                let mut writer = Reply::new(&mut reply, waiter.protocol);
                match waits_in_vain(&waiter.op) {
                    true => {
                        self.errors.count(&LOG_IS_OFF);
                        writer.error(&LOG_IS_OFF.wire());
                    }
                    false => self.write_acknowledged(&waiter.op, &mut writer),
                }
                deliver(&self.mailboxes, &waiter, reply, Ends::NO_EFFECT);
            }
        }
    }
}
