//! Slots that come by an atomic migration: signs of life, the takeover, what is left of those that fail.
//!
//! The worker of the connection executes what the source sends; what needs the state machine, or goes on when the connection is gone, is done
//! here, by the thread of the bus.

use super::bus::Bus;
use larder_engine::{Migration, MigrationState, Operation, wall_ms};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// How often the source is told that this node is alive, in ms.
const ACK_PERIOD_MS: u64 = 1000;

impl Bus {
    /// Looks after the imports of this node.
    pub fn tend_imports(&mut self) {
        let engine = Arc::clone(&self.engine);
        let is_replica = self.cluster.me().is_replica();
        let now_ms = wall_ms();
        let acks = now_ms.saturating_sub(self.acked_ms) >= ACK_PERIOD_MS;
        if acks {
            self.acked_ms = now_ms;
        }
        let timeout_ms = self.shared.config.number("repl-timeout").max(1) as u64 * 1000;
        for job in engine.migrations().active() {
            if job.operation != Operation::Import {
                continue;
            }
            let state = job.state();
            if is_replica != (state == MigrationState::OnPrimary) {
                job.fail("A failover occurred during slot import");
            } else if acks && state.is_under_way() {
                engine.send_to_source(&job, &[b"CLUSTER", b"SYNCSLOTS", b"ACK"]);
            }
            let silence_ms = now_ms.saturating_sub(job.acked_ms.load(Relaxed));
            if silence_ms > timeout_ms && state != MigrationState::OnPrimary {
                job.fail("Timed out after too long with no interaction");
            }
            if job.state() == MigrationState::CleaningUp {
                engine.hang_up_on_source(&job);
                // The primary deletes what a replica has.
                if is_replica {
                    self.end_import(&job);
                } else {
                    self.deeds.clean_up(&job);
                }
            }
        }
        for job in self.deeds.take_cleaned() {
            self.end_import(&job);
        }
    }

    /// An import that has failed is over.
    fn end_import(&mut self, job: &Arc<Migration>) {
        self.engine.migrations().reveal(job);
        if job.finish_cleanup() {
            self.file.forget_prepared();
            let message = job.progress().message;
            self.shared.log.warning(&format!("Failed to import slots {}: {message}", job.ranges_text()));
            self.tell_finish(job, &message);
        }
    }

    /// The keys are here: has the file written that tells of the takeover, since that takes its time, and then asks the source for the pause.
    pub fn prepare_import(&mut self, job: &Arc<Migration>) {
        if job.state() != MigrationState::WaitingForPaused {
            return;
        }
        let text = self.cluster.text_if_taken(&job.slots, self.clock.now());
        // Without it the takeover takes longer, and tells what is wrong.
        let _ = self.file.prepare(&text);
        self.engine.send_to_source(job, &[b"CLUSTER", b"SYNCSLOTS", b"REQUEST-PAUSE"]);
    }

    /// The source has granted the takeover: the slots are this node's from now on, unless somebody else has got them.
    pub fn take_import(&mut self, job: &Arc<Migration>) {
        let owner = |slot| self.cluster.table().owner(slot).map(|key| self.cluster.table()[key].id);
        let is_source = |slot| owner(slot) == Some(job.source);
        let may = !self.cluster.me().is_replica() && job.slots.iter().all(is_source);
        if !may {
            job.fail("The source no longer owns the slots");
        }
        if job.state() != MigrationState::FailoverGranted {
            return;
        }
        let slots = job.slots.clone();
        self.input(|cluster, env| cluster.take_slots(&slots, env));
        self.act();
        job.go_on(MigrationState::Success);
        self.engine.migrations().reveal(job);
        self.shared.log.notice(&format!("Imported slots {} from {}", job.ranges_text(), job.source));
        self.tell_finish(job, "");
        self.engine.hang_up_on_source(job);
    }

    /// Tells the replicas what has become of an import.
    fn tell_finish(&self, job: &Migration, message: &str) {
        let state = job.state().name();
        let words: [&[u8]; 7] =
            [b"CLUSTER", b"SYNCSLOTS", b"FINISH", b"STATE", state.as_bytes(), b"NAME", job.name.as_bytes()];
        let more: [&[u8]; 2] = [b"MESSAGE", message.as_bytes()];
        let more = if message.is_empty() { &[][..] } else { &more[..] };
        self.engine.tell_replicas(&[&words, more].concat());
    }
}
