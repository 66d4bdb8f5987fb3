//! Counting times and bytes by slot, while `cluster-slot-stats-enabled` says so: what a client's
//! command on keys of a slot costs belongs to that slot, and so does what a replica executes for
//! its primary. A transaction's commands count when they are queued, with what they bring, and EXEC
//! counts for all of them with its time and its reply. A command that waits counts when it is
//! served. A script without keys that keeps to one slot belongs to that. Requests count as if they
//! were sent as arrays: what inline commands and other ways to write a length save or add is not
//! known here.

use crate::clients::session::{ReplyMode, Session};
use crate::command::spec::{Found, Scope};
use crate::context::WorkerState;
use crate::context::flow::Flow;
use crate::engine::Engine;
use crate::execution::redirection::declared_slot;
use crate::keyspace::hash::slot_of;
use larder_resp::{Args, encoded_bytes};
use std::sync::atomic::Ordering::Relaxed;

/// A command that is counted.
#[derive(Clone, Copy)]
pub(crate) struct Counted {
    /// `None`: that of the keys that the script will have used.
    slot: Option<u16>,
    request_bytes: usize,
    begun_ns: u64,
}

/// Whether commands are counted by slot.
#[inline]
pub(crate) fn is_on(engine: &Engine) -> bool {
    engine.config.hot.cluster_slot_stats_enabled.load(Relaxed) && engine.cluster.is_on()
}

/// A command that is about to be executed, if it is one of a client and has a slot.
#[cold]
pub(crate) fn begin(
    worker: &mut WorkerState,
    session: &Session,
    found: Found,
    args: Args<'_>,
) -> Option<Counted> {
    if session.replays && !session.is_of_primary || session.reply_mode == ReplyMode::Import {
        return None;
    }
    worker.called_slot = None;
    let (slot, frame_bytes) = match (found.command.scope, &session.multi) {
        (Scope::Exec, Some(queue)) if queue.poisoned => return None,
        (Scope::Exec, Some(queue)) => (
            queue.commands.iter().find_map(|(found, args)| declared_slot(*found, args.as_args())),
            MULTI_BYTES,
        ),
        _ => (declared_slot(found, args), 0),
    };
    if slot.is_none() && found.command.scope != Scope::Script {
        return None;
    }
    let request_bytes = encoded_bytes(args.iter()) + frame_bytes;
    Some(Counted { slot, request_bytes, begun_ns: worker.clock.mono_ns() })
}

/// MULTI, whose slot is known only later.
const MULTI_BYTES: usize = b"*1\r\n$5\r\nmulti\r\n".len();

impl Counted {
    /// What it has done is about to be sent to replicas.
    #[cold]
    pub(crate) fn note_sent_to_replicas(self, engine: &Engine, worker: &WorkerState) {
        let Some(slot) = self.slot.or(worker.called_slot) else { return };
        let bytes: usize = worker.effects.for_stream().map(|(_, command)| command.len()).sum();
        let replicas = engine.replication.replicas.list().len();
        worker.stats.slots.of(slot).bytes_out.add((bytes * replicas) as u64);
    }

    /// It has been executed, or waits now.
    #[cold]
    pub(crate) fn end(self, worker: &WorkerState, session: &Session, flow: &Flow, reply_bytes: usize) {
        let Some(slot) = self.slot.or(worker.called_slot) else { return };
        if matches!(flow, Flow::Blocked { .. }) {
            return;
        }
        let counters = worker.stats.slots.of(slot);
        counters.nanos.add(worker.clock.mono_ns().saturating_sub(self.begun_ns));
        counters.bytes_in.add(self.request_bytes as u64);
        if session.reply_mode == ReplyMode::On && !session.replays {
            counters.bytes_out.add(reply_bytes as u64);
        }
    }
}

/// A command is put into the queue of a transaction.
#[cold]
pub(crate) fn note_queued(worker: &WorkerState, found: Found, args: Args<'_>) {
    if let Some(slot) = declared_slot(found, args) {
        worker.stats.slots.of(slot).bytes_in.add(encoded_bytes(args.iter()) as u64);
    }
}

/// A command that waited has been answered.
#[cold]
pub(crate) fn note_served(worker: &WorkerState, found: Found, args: Args<'_>, reply_bytes: usize) {
    if let Some(slot) = declared_slot(found, args) {
        let counters = worker.stats.slots.of(slot);
        counters.bytes_in.add(encoded_bytes(args.iter()) as u64);
        counters.bytes_out.add(reply_bytes as u64);
    }
}

/// A message has been handed to this many subscribers of a shard channel.
pub(crate) fn note_heard(
    engine: &Engine,
    worker: &WorkerState,
    (channel, payload): (&[u8], &[u8]),
    heard: usize,
) {
    if heard > 0 && is_on(engine) {
        let bytes = encoded_bytes([b"smessage", channel, payload].into_iter());
        worker.stats.slots.of(slot_of(engine.key(channel).hash)).bytes_out.add((heard * bytes) as u64);
    }
}
