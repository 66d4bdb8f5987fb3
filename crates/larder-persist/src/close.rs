//! What is kept before the process, or the store, ends.

use crate::error::CloseError;
use crate::state::Persist;
use larder_engine::NoShards;
use std::sync::atomic::Ordering::Relaxed;

impl Persist {
    /// Before the server ends: keeps what `save` says is to be kept. Writes of clients are put off from before the snapshot
    /// on, so that none is answered and lost; an error lets them go on.
    pub fn close(&self, save: bool, force: bool, no_shards: NoShards<'_>) -> Result<(), CloseError> {
        self.engine.close_gate(no_shards);
        let outcome = self.finish(save, force, no_shards);
        if outcome.is_err() {
            self.engine.gate().set_closing(false);
            self.engine.retry_put_off();
        }
        outcome
    }

    fn finish(&self, save: bool, force: bool, no_shards: NoShards<'_>) -> Result<(), CloseError> {
        if self.engine.persistence().log.lock().waits_for_base && !force {
            return Err(CloseError::InitialLog);
        }
        if self.engine.append_log().is_on() {
            self.engine.note_last_place();
            self.notice("Calling fsync() on the AOF file.");
            self.log.wait_until_written(&self.engine);
        }
        if !save {
            return Ok(());
        }
        self.notice("Saving the final RDB snapshot before exiting.");
        self.claim_save_soon();
        self.save_now(no_shards).map_err(CloseError::Unsaved)
    }

    /// Ends the threads, after [`Persist::close`] and whatever that has said. What they are writing is given up, as a
    /// script that is running, and no temporary file is left.
    /// Must not be called by one of them.
    pub fn end(&self) {
        self.engine.persistence().ending.store(true, Relaxed);
        self.abandon();
        // The threads may wait for the end of one, and what it has done is not kept any more.
        self.engine.abandon_scripts();
        drop(self.jobs.lock().take());
        self.engine.append_log().wake_writer();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // One that has panicked has said so.
            let _: std::thread::Result<()> = thread.join();
        }
        self.log.sink().close();
    }

    /// Whether the threads are to end.
    pub(crate) fn is_ending(&self) -> bool {
        self.engine.persistence().ending.load(Relaxed)
    }
}
