//! Slots that are on their way to or from the primary of this replica, as a snapshot says it.

use crate::cluster::ForBus;
use crate::cluster::migration::{Migration, MigrationState, Operation};
use crate::engine::Engine;
use larder_cluster::{NodeId, SlotSet};
use std::sync::Arc;

impl Engine {
    /// The migrations of slots to the primary that a snapshot of it has, each with its name and ranges of slots: their keys are hidden until the primary
    /// says what became of them. Others, of which was heard before, are over.
    pub fn follow_imports(&self, imports: impl Iterator<Item = (Vec<u8>, Vec<(u16, u16)>)>) {
        if !self.is_cluster_node() {
            return;
        }
        let migrations = &self.cluster.migrations;
        migrations.active().iter().filter(|job| job.state() == MigrationState::OnPrimary).for_each(|job| {
            self.abandon_import(job);
        });
        // A snapshot does not say who the source is.
        let nobody = NodeId::parse(&[b'0'; larder_cluster::ID_BYTES]).expect("digits");
        for (name, ranges) in imports {
            let mut slots = SlotSet::new();
            ranges.into_iter().flat_map(|(first, last)| first..=last).for_each(|slot| {
                slots.insert(slot);
            });
            let name = String::from_utf8_lossy(&name).into_owned();
            self.follow_import(Migration::new(name, Operation::Import, slots, (nobody, nobody), None));
        }
    }

    /// Returns what a snapshot for a replica says of the slots that SETSLOT has opened here; `None`
    /// if there are none.
    pub fn open_slots_text(&self) -> Option<String> {
        self.slot_map()?.open_slots_text()
    }

    /// Hands what a snapshot of the primary says of such slots to the bus.
    pub fn follow_open_slots(&self, text: Vec<u8>) {
        if self.is_cluster_node() {
            self.cluster.send(ForBus::OpenSlots(text));
        }
    }

    /// The primary imports slots. A migration that overlaps is over there; what it says of that may have been lost.
    pub(crate) fn follow_import(&self, job: Migration) {
        job.go_on(MigrationState::OnPrimary);
        let job = Arc::new(job);
        while let Err((_, other)) = self.begin_migrations(vec![Arc::clone(&job)]) {
            self.abandon_import(&other);
        }
    }

    /// Registers migrations, as the option for their log wants it. Else a slot that is in one already, and that.
    pub(crate) fn begin_migrations(&self, new: Vec<Arc<Migration>>) -> Result<(), (u16, Arc<Migration>)> {
        self.cluster.migrations.begin(new, self.migration_log_len())
    }

    /// `cluster-slot-migration-log-max-len`.
    pub(crate) fn migration_log_len(&self) -> usize {
        usize::try_from(self.config.number("cluster-slot-migration-log-max-len")).unwrap_or(usize::MAX)
    }

    fn abandon_import(&self, job: &Migration) {
        self.cluster.migrations.reveal(job);
        job.go_on(MigrationState::Failed);
        job.finish_cleanup();
    }
}
