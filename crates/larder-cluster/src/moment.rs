//! The time of an input, by two clocks.

/// A point in time by both clocks. What is measured here is measured by the monotonic one; the wall clock is what is shown and sent, and
/// may jump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds of a clock that never goes back. It begins where it likes.
    pub mono_ms: u64,
    /// Milliseconds since 1970.
    pub wall_ms: u64,
}

impl Moment {
    /// How long ago a monotonic time was, in ms; 0 for one to come.
    pub fn since(self, mono_ms: u64) -> u64 {
        self.mono_ms.saturating_sub(mono_ms)
    }

    /// What the wall clock would have shown at a monotonic time that has passed, by what it shows now.
    pub fn wall_of(self, mono_ms: u64) -> u64 {
        self.wall_ms.saturating_sub(self.since(mono_ms))
    }

    /// The monotonic time of what the wall clock showed; `None` for a time to come.
    pub fn mono_of(self, wall_ms: u64) -> Option<u64> {
        let ago = self.wall_ms.checked_sub(wall_ms)?;
        Some(self.mono_ms.saturating_sub(ago))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_are_converted_by_what_they_show_now() {
        let now = Moment { mono_ms: 1000, wall_ms: 5_000_000 };
        assert_eq!((now.since(400), now.since(1400)), (600, 0));
        assert_eq!((now.wall_of(400), now.wall_of(2000)), (4_999_400, 5_000_000));
        assert_eq!(
            (now.mono_of(4_999_400), now.mono_of(1), now.mono_of(5_000_001)),
            (Some(400), Some(0), None)
        );
    }
}
