//! The hook for checking units: whether replaying the effects of a command or a transaction on the data before it gives the
//! data after it. Debug builds only; `crate::unit_check` does it.

use crate::aof::effects::Effects;
use crate::keyspace::locks::Held;

/// What looks at every unit while its shards are held. It remembers, for the calling thread, what a unit has begun with.
pub(crate) trait UnitCheck: Send + Sync {
    /// A unit begins, or has locked further shards which it has not changed yet.
    fn begin(&self, held: &mut Held<'_>);
    /// These effects of the unit are about to be appended to the log.
    fn note(&self, effects: &Effects);
    /// The unit is over, or does what cannot be checked.
    fn end(&self, held: &mut Held<'_>, outcome: Checked);
}

/// How a unit ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// It is to be checked; it ended at this time, in microseconds since 1970. The wall clock may have gone back since it began.
    At { wall_us: u64 },
    /// It held no shards in the meantime, or kept effects from the log on purpose.
    No,
}
