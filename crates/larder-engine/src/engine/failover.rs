//! FAILOVER: writes wait, a replica that has everything is asked to lead, and this server follows it.

use crate::engine::Engine;
use crate::keyspace::locks::AllShards;
use crate::ledger::NoShards;
use crate::replication::failover::{Failover, FailoverPhase};
use crate::replication::replica::Replica;
use std::sync::Arc;

impl Engine {
    /// Begins a failover. Writes wait from now on.
    pub(crate) fn begin_failover(&self, failover: Failover) {
        *self.replication.failover.lock() = Some(failover);
        self.pause.set_failover(true);
        self.hurry_replicas();
    }

    /// Looks whether a failover can go on, or its time is over. No shard is held.
    pub(crate) fn look_at_failover(&self) {
        let Some(failover) = self.replication.failover.lock().clone() else { return };
        let is_late = failover.deadline_ms.is_some_and(|at| crate::clock::wall_ms() >= at);
        match failover.phase {
            FailoverPhase::WaitingForSync => {
                if let Some(replica) = self.ready_replica(&failover) {
                    self.hand_over(replica.address().to_owned(), replica.info.port, true);
                } else if let (true, true, Some((host, port))) =
                    (is_late, failover.is_forced, failover.target.clone())
                {
                    self.log_warning(
                        "Failover: timeout reached, continuing although the replica lacks some writes",
                    );
                    self.hand_over(host, port, false);
                } else if is_late {
                    self.abort_failover_soon("timeout reached", NoShards::outside_commands());
                }
            }
            FailoverPhase::InProgress => {}
        }
    }

    /// A replica that may lead and has acknowledged everything.
    fn ready_replica(&self, failover: &Failover) -> Option<Arc<Replica>> {
        let end = self.append_log.stream_end();
        self.replication.replicas.list().into_iter().find(|replica| {
            let is_meant = failover.target.as_ref().is_none_or(|(host, port)| {
                replica.address().eq_ignore_ascii_case(host) && replica.info.port == *port
            });
            is_meant && replica.is_online() && replica.acked() >= end
        })
    }

    /// Follows a replica from now on, which is asked to lead. `complete`: only if nothing was written meanwhile.
    fn hand_over(&self, host: String, port: u16, complete: bool) {
        // A script runs for too long: the next look is soon.
        let Ok(held) = self.shards.try_lock_all(NoShards::outside_commands()) else { return };
        let mut failover = self.replication.failover.lock();
        let Some(current) = failover.as_mut().filter(|f| f.phase == FailoverPhase::WaitingForSync) else {
            return;
        };
        if complete && self.ready_replica(current).is_none() {
            return;
        }
        current.phase = FailoverPhase::InProgress;
        current.target = Some((host.clone(), port));
        drop(failover);
        self.log_warning(&format!("Failover: asking {host}:{port} to become the primary"));
        self.pause.await_leader();
        self.follow_with(host, port, true, held.all_shards());
        drop(held);
    }

    /// The new primary leads: this server is its replica.
    pub fn finish_failover(&self) {
        let Some(failover) = self.replication.failover.lock().take() else { return };
        self.log_warning("Failover done: this server is now a replica");
        self.pause.set_failover(false);
        if let Some((host, port)) = failover.target {
            self.redirect_waiting(&host, port);
        }
        self.retry_put_off();
    }

    /// Ends a failover, for a thread that executes no command. While a script runs for too long nothing is done: the thread
    /// comes here again.
    pub fn abort_failover_soon(&self, reason: &str, no_shards: NoShards<'_>) {
        if let Ok(held) = self.shards.try_lock_all(no_shards) {
            self.abort_failover(reason, held.all_shards());
        }
    }

    /// Ends a failover; this server leads again. Returns false if there is none.
    pub(crate) fn abort_failover(&self, reason: &str, all: AllShards<'_>) -> bool {
        let Some(failover) = self.replication.failover.lock().take() else { return false };
        self.log_warning(&format!("Failover aborted: {reason}"));
        if failover.phase == FailoverPhase::InProgress {
            self.lead(all);
        }
        self.pause.set_failover(false);
        self.retry_put_off();
        true
    }

    /// A primary asks this server to lead in its place, since it has everything of this history. False if it is another's.
    pub(crate) fn take_over(&self, id: &[u8], no_shards: NoShards<'_>) -> bool {
        // Fine while a script runs for too long: the primary tries again.
        let Ok(held) = self.shards.try_lock_all(no_shards) else { return false };
        let is_own = self.replication.state().history.id().is_named(id);
        if is_own {
            self.log_warning("Failover: the primary has asked this server to become the primary");
            self.lead(held.all_shards());
        }
        drop(held);
        is_own
    }
}
