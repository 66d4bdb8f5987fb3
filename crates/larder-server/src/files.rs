//! The server, as saving and loading see it.

use crate::cpus;
use crate::process;
use crate::shared::Shared;
use larder_persist::Process;
use larder_persist::temporary::Temporaries;
use parking_lot::MutexGuard;

impl Process for Shared {
    fn wake_holders(&self) {
        Shared::wake_holders(self);
    }

    fn keep_alive(&self) -> Option<MutexGuard<'_, ()>> {
        let turn = self.shutdown_turn.lock();
        (!self.is_stopping()).then_some(turn)
    }

    fn bound(&self, option: &str, work: &mut dyn FnMut()) {
        cpus::bound(&self.config, option, &self.log, work);
    }

    /// More has been promised than can be kept: the server ends.
    fn log_is_lost(&self, temporaries: &Temporaries) {
        temporaries.abandon();
        process::clean_up(self);
        std::process::exit(1);
    }

    fn may_have_replicas(&self) -> bool {
        true
    }
}
