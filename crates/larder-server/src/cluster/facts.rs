//! What the state machine asks of the engine.

use larder_cluster::{Facts, Moment, Place, PrimaryLink};
use larder_engine::{Engine, instant, wall_ms};
use std::sync::Arc;
use std::time::Instant;

/// The engine, as the state machine sees it.
pub struct EngineFacts(pub Arc<Engine>);

impl Facts for EngineFacts {
    fn place(&self) -> Place {
        self.0.place()
    }

    fn primary_link(&self) -> PrimaryLink {
        self.0.primary_link()
    }

    /// A shard that a script keeps may have keys: what depends on there being none is refused.
    fn keys_in_slot(&self, slot: u16) -> u64 {
        self.0.keys_in_slot(slot).unwrap_or(1)
    }

    fn has_keys(&self) -> bool {
        self.0.has_keys().unwrap_or(true)
    }
}

/// The time.
pub struct Clock(Instant);

impl Clock {
    /// Begins to count.
    pub fn new() -> Clock {
        Clock(instant())
    }

    /// Now, by both clocks. The monotonic one never says 0.
    pub fn now(&self) -> Moment {
        Moment { mono_ms: self.0.elapsed().as_millis() as u64 + 1, wall_ms: wall_ms() }
    }
}
