//! How long the clients of a replica do not wait for the stream of its primary.

use larder_engine::Caught;
use std::time::{Duration, Instant};

/// A replica that is behind is not waited for this long, so clients spend a small part of their time with waiting.
const LAG: Duration = Duration::from_millis(100);

/// Clients do not wait for the stream at present.
pub(super) struct Lag {
    /// When they do again.
    until: Instant,
    /// If the link did nothing, how many bytes it had dealt with: clients wait again as soon as that changes.
    stuck_at: Option<u64>,
}

impl Lag {
    /// Returns what follows from a wait for the link.
    pub(super) fn after(caught: Caught) -> Option<Lag> {
        let stuck_at = match caught {
            Caught::Up => return None,
            Caught::Behind => None,
            Caught::Stuck(at) => Some(at),
        };
        Some(Lag { until: larder_engine::instant() + LAG, stuck_at })
    }

    /// Whether clients wait again, with a link that has dealt with this many bytes.
    pub(super) fn is_over(&self, dealt_with: u64) -> bool {
        self.stuck_at.is_some_and(|at| at != dealt_with) || larder_engine::instant() >= self.until
    }
}
