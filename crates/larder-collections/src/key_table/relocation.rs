//! Segments, long keys and values move out of sparse slabs.

use super::KeyTable;
use super::hash::KeyHash;
use larder_packed::heap::Mover;
use larder_packed::segment::IntoRaw;

impl<V: IntoRaw + Clone, H: KeyHash> KeyTable<V, H> {
    /// Moves blocks that lie in sparse slabs and are not shared, from a position on, as long as the mover has effort left.
    /// Returns where to continue, or `None` at the end of the table.
    ///
    /// Nothing but addresses changes, so a snapshot that is going on need not know. A mover that has stopped inside of a
    /// segment continues there if it is passed in again with the position.
    pub fn move_blocks(&mut self, from: u32, mover: &mut Mover) -> Option<u32> {
        let mut at = from;
        loop {
            self.directory.get(at)?;
            let slot = self.directory.slot(at);
            self.directory.update(slot, |records| records.move_blocks(mover));
            if mover.has_stopped() {
                return Some(at);
            }
            at = u32::try_from(self.directory.positions(slot).end).ok()?;
            if mover.is_spent() {
                return Some(at);
            }
        }
    }
}
