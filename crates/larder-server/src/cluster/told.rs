//! Lines of the log about the state of the cluster: each state is logged once, when it begins.
//! Tools wait for some of these lines.

use crate::log::Log;
use larder_cluster::Hindrance;

/// What the log said last.
pub struct Told {
    is_down: bool,
    hindrance: Option<Hindrance>,
}

impl Told {
    /// Returns the state of a node that starts: the cluster is down.
    pub fn new() -> Told {
        Told { is_down: true, hindrance: None }
    }

    /// Logs whether the cluster is down, if that has changed.
    pub fn note_state(&mut self, is_down: bool, log: &Log) {
        if std::mem::replace(&mut self.is_down, is_down) != is_down {
            log.notice(&format!("Cluster state changed: {}", if is_down { "fail" } else { "ok" }));
        }
    }

    /// Logs why this node does not take the place of its primary, if that has changed.
    pub fn note_hindrance(&mut self, hindrance: Option<Hindrance>, log: &Log) {
        if let Some(reason) = hindrance.filter(|_| hindrance != self.hindrance) {
            log.notice(&format!("Currently unable to failover: {reason}"));
        }
        self.hindrance = hindrance;
    }
}
