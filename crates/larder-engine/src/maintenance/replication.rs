//! What time brings to replication: signs of life, replicas that are silent, a backlog that nobody needs.

use crate::clock::wall_ms;
use crate::engine::Engine;
use crate::replication::replica::Phase;
use std::sync::atomic::Ordering::Relaxed;

/// When it last looked, and when it last sent PING. To be used about every 100 ms.
#[derive(Default)]
pub(crate) struct ReplicationCron {
    looked_at_s: u64,
    /// `None` before the first look: replicas that come right after the start get their first PING a period later.
    pinged_at_s: Option<u64>,
}

impl ReplicationCron {
    /// Looks at a failover each time, and at everything else once a second.
    pub(crate) fn tick(&mut self, engine: &Engine) {
        let now_ms = wall_ms();
        engine.look_at_failover();
        if self.looked_at_s == now_ms / 1000 {
            return;
        }
        self.looked_at_s = now_ms / 1000;
        let is_ping_due = self.is_ping_due(engine, now_ms / 1000);
        if !engine.replication.has_stream.load(Relaxed) {
            return;
        }
        engine.append_log.set_backlog_size(engine.config.number("repl-backlog-size") as u64);
        drop_silent(engine, now_ms);
        if is_ping_due && engine.replication.replicas.any() && engine.append_log.streams() {
            engine.append_log.append_to_stream(&[b"ping"], || engine.stream_has_ended());
        }
        engine.wake_senders(None);
        engine.check_replicas();
        forget_backlog(engine, now_ms);
    }

    /// Whether a period has passed, with or without replicas.
    fn is_ping_due(&mut self, engine: &Engine, now_s: u64) -> bool {
        let period_s = engine.config.number("repl-ping-replica-period") as u64;
        let is_due = self.pinged_at_s.is_some_and(|at_s| now_s >= at_s + period_s);
        if is_due || self.pinged_at_s.is_none() {
            self.pinged_at_s = Some(now_s);
        }
        is_due
    }
}

/// Closes the connections of replicas that have acknowledged nothing for `repl-timeout`.
fn drop_silent(engine: &Engine, now_ms: u64) {
    let timeout_s = engine.config.number("repl-timeout") as u64;
    for replica in engine.replication.replicas.list() {
        if replica.phase() == Phase::Online && !replica.is_old && replica.lag_ms(now_ms) / 1000 > timeout_s {
            engine.log_warning(&format!(
                "Disconnecting timedout replica (streaming sync): {}:{}",
                replica.address(),
                replica.info.port
            ));
            engine.drop_replica(&replica);
        }
    }
}

/// A primary forgets its backlog when nobody has followed it for `repl-backlog-ttl`.
fn forget_backlog(engine: &Engine, now_ms: u64) {
    let ttl_s = engine.config.number("repl-backlog-ttl") as u64;
    let is_primary = !engine.replication.is_replica();
    let alone_since = engine.replication.state().alone_since_ms;
    let is_over = alone_since.is_some_and(|since_ms| now_ms.saturating_sub(since_ms) / 1000 > ttl_s);
    let is_read = engine.replication.replicas.any() || engine.cluster.migrations.needs_stream();
    if is_primary && ttl_s > 0 && is_over && !is_read {
        engine.end_stream();
    }
}
