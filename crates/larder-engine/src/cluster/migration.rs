//! Atomic migrations of slots: the jobs of this node, and the slots whose keys are here and not to be seen.
//!
//! ```text
//!  export:  connecting > authenticating > establishing > snapshotting > waiting-to-pause > failover-paused > failover-granted > success
//!  import:  waiting-for-ack > receiving-snapshot > waiting-for-paused > failover-requested > failover-granted > success
//! ```
//! Any state before the last can become `failed` or `cancelled`; an import passes `cleaning-up` before, while the keys that have come are
//! deleted. A job is shared: of an export between the thread that does it (in the server) and those that ask, of an import between the worker
//! of its connection and the thread of the bus. Each change of state is one step under the job's lock, and a job that is over stays so.
//!
//! M1: the slots of two jobs that are not over are disjoint. M2: the slots of an import that is not over are hidden.
//!
//! Cost: a job has its slots as a bitmap of 2 KiB. Asking whether a slot is hidden is one load while none is.

use crate::clock::wall_ms;
use crate::keyspace::hash::{prefix_of_slot, slots_of_shard};
use crate::keyspace::shard::Table;
use larder_cluster::{NodeId, SLOTS, SlotSet};
use larder_collections::key_table::HashPrefix;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Which way the slots go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Away from this node.
    Export,
    /// To this node.
    Import,
}

/// How far a migration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrationState {
    /// Export: the target is dialled.
    Connecting,
    /// Export: it is told who this is.
    Authenticating,
    /// Export: it is asked to take the slots.
    Establishing,
    /// Export: the keys are sent.
    Snapshotting,
    /// Export: changes are sent, until the target asks for a pause and is close enough.
    WaitingToPause,
    /// Export: writes are paused, and the target has all.
    FailoverPaused,
    /// Export and import: the target may take the slots.
    FailoverGranted,
    /// Import: the source has not spoken yet.
    WaitingForAck,
    /// Import: keys come.
    ReceivingSnapshot,
    /// Import: changes come, until the source has paused.
    WaitingForPaused,
    /// Import: all has come.
    FailoverRequested,
    /// Import: it has failed, and what has come is deleted.
    CleaningUp,
    /// Import, on a replica: the primary does it.
    OnPrimary,
    /// The slots are the target's.
    Success,
    /// It came to nothing.
    Failed,
    /// Somebody has ended it.
    Cancelled,
}

impl MigrationState {
    /// As CLUSTER GETSLOTMIGRATIONS shows it.
    pub fn name(self) -> &'static str {
        match self {
            MigrationState::Connecting => "connecting",
            MigrationState::Authenticating => "reading-auth-response",
            MigrationState::Establishing => "reading-establish-response",
            MigrationState::Snapshotting => "snapshotting",
            MigrationState::WaitingToPause => "waiting-to-pause",
            MigrationState::FailoverPaused => "failover-paused",
            MigrationState::FailoverGranted => "failover-granted",
            MigrationState::WaitingForAck => "waiting-for-ack",
            MigrationState::ReceivingSnapshot => "receiving-snapshot",
            MigrationState::WaitingForPaused => "waiting-for-paused",
            MigrationState::FailoverRequested => "failover-requested",
            MigrationState::CleaningUp => "cleaning-up",
            MigrationState::OnPrimary => "occurring-on-primary",
            MigrationState::Success => "success",
            MigrationState::Failed => "failed",
            MigrationState::Cancelled => "cancelled",
        }
    }

    /// Whether nothing comes after it.
    pub fn is_over(self) -> bool {
        matches!(self, MigrationState::Success | MigrationState::Failed | MigrationState::Cancelled)
    }

    /// Whether it can still come to a good end.
    pub fn is_under_way(self) -> bool {
        !self.is_over() && self != MigrationState::CleaningUp
    }
}

/// What changes of a migration.
#[derive(Clone, Debug)]
pub struct Progress {
    /// How far it is.
    pub state: MigrationState,
    /// Why it has failed.
    pub message: String,
    /// When the state last changed, in seconds since 1970.
    pub updated_s: u64,
}

/// A migration.
pub struct Migration {
    /// 40 characters, chosen by the source.
    pub name: String,
    /// Which way it goes.
    pub operation: Operation,
    /// The slots.
    pub slots: SlotSet,
    /// Where they come from.
    pub source: NodeId,
    /// Where they go.
    pub target: NodeId,
    /// When it began, in seconds since 1970.
    pub created_s: u64,
    /// An import's connection: its worker, and its client.
    pub client: Option<(usize, u64)>,
    /// When the other side last gave a sign of life, in ms since 1970.
    pub acked_ms: AtomicU64,
    /// Bytes of changes that have not been sent.
    pub unsent_bytes: AtomicU64,
    progress: Mutex<Progress>,
}

impl Migration {
    /// A migration that begins now.
    pub(crate) fn new(
        name: String,
        operation: Operation,
        slots: SlotSet,
        (source, target): (NodeId, NodeId),
        client: Option<(usize, u64)>,
    ) -> Migration {
        let state = match operation {
            Operation::Export => MigrationState::Connecting,
            Operation::Import => MigrationState::WaitingForAck,
        };
        let now_ms = wall_ms();
        Migration {
            name,
            operation,
            slots,
            source,
            target,
            created_s: now_ms / 1000,
            client,
            acked_ms: AtomicU64::new(now_ms),
            unsent_bytes: AtomicU64::new(0),
            progress: Mutex::new(Progress { state, message: String::new(), updated_s: now_ms / 1000 }),
        }
    }

    /// How far it is.
    pub fn state(&self) -> MigrationState {
        self.progress.lock().state
    }

    /// How far it is, and since when.
    pub fn progress(&self) -> Progress {
        self.progress.lock().clone()
    }

    /// The other side has given a sign of life.
    pub fn note_ack(&self) {
        self.acked_ms.store(wall_ms(), Ordering::Relaxed);
    }

    /// Goes on from one state to another; false if it was in a third one.
    pub fn advance(&self, from: MigrationState, to: MigrationState) -> bool {
        let mut progress = self.progress.lock();
        let is_in = progress.state == from;
        if is_in {
            progress.state = to;
            progress.updated_s = wall_ms() / 1000;
        }
        is_in
    }

    /// Goes on to a state unless it is over or being cleaned up; false if it was.
    pub fn go_on(&self, to: MigrationState) -> bool {
        self.change(to, "", MigrationState::is_under_way)
    }

    /// Ends an export because an operator wants it; false if it is over, or the target may have the slots already.
    pub(crate) fn cancel(&self) -> bool {
        let may = |state: MigrationState| state.is_under_way() && state != MigrationState::FailoverGranted;
        self.operation == Operation::Export && self.change(MigrationState::Cancelled, "", may)
    }

    /// Ends it without success, unless it is over. An import has to be cleaned up then.
    pub fn fail(&self, message: &str) -> bool {
        let to = match self.operation {
            Operation::Export => MigrationState::Failed,
            Operation::Import => MigrationState::CleaningUp,
        };
        self.change(to, message, MigrationState::is_under_way)
    }

    /// The keys of an import that has failed are gone.
    pub fn finish_cleanup(&self) -> bool {
        self.advance(MigrationState::CleaningUp, MigrationState::Failed)
    }

    fn change(&self, to: MigrationState, message: &str, may: impl Fn(MigrationState) -> bool) -> bool {
        let mut progress = self.progress.lock();
        let changes = may(progress.state);
        if changes {
            *progress = Progress { state: to, message: message.to_owned(), updated_s: wall_ms() / 1000 };
        }
        changes
    }

    /// The slots as ranges: `0-5 7-7`.
    pub fn ranges_text(&self) -> String {
        let mut text = String::new();
        for (start, end) in self.slots.ranges() {
            let blank = if text.is_empty() { "" } else { " " };
            write!(text, "{blank}{start}-{end}").expect("a string takes all");
        }
        text
    }
}

/// The migrations of this node.
#[derive(Default)]
pub struct Migrations {
    /// The newest first.
    jobs: Mutex<VecDeque<Arc<Migration>>>,
    hidden: SharedSlots,
    /// Exports that read the stream.
    streaming: AtomicUsize,
    /// Bytes that have come from sources.
    pub bytes_in: AtomicU64,
    /// Bytes that have gone to targets.
    pub bytes_out: AtomicU64,
    /// `DEBUG SLOTMIGRATION PREVENT-PAUSE`: exports do not come to their pause.
    pub(crate) no_pause: AtomicBool,
}

impl Migrations {
    /// What CONFIG RESETSTAT forgets.
    pub(crate) fn reset_counters(&self) {
        [&self.bytes_in, &self.bytes_out].into_iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }

    /// Whether exports may put writes off, to hand their slots over.
    pub fn may_pause(&self) -> bool {
        !self.no_pause.load(Ordering::Relaxed)
    }

    /// All that are remembered, the newest first: `log_len` with those that are not over.
    pub(crate) fn list(&self, log_len: usize) -> Vec<Arc<Migration>> {
        let mut jobs = self.jobs.lock();
        trim(&mut jobs, log_len);
        jobs.iter().cloned().collect()
    }

    /// Those that are not over.
    pub fn active(&self) -> Vec<Arc<Migration>> {
        self.jobs.lock().iter().filter(|job| !job.state().is_over()).cloned().collect()
    }

    /// The migration that a slot is in, if any.
    pub fn of_slot(&self, slot: u16) -> Option<Arc<Migration>> {
        self.jobs.lock().iter().find(|job| job.slots.contains(slot) && !job.state().is_over()).cloned()
    }

    /// Begins migrations if none of their slots is in one that is not over. Else a slot that is,
    /// and its migration. The oldest of those that are over are forgotten, down to `log_len` in
    /// all.
    pub(crate) fn begin(
        &self,
        new: Vec<Arc<Migration>>,
        log_len: usize,
    ) -> Result<(), (u16, Arc<Migration>)> {
        let mut jobs = self.jobs.lock();
        for job in jobs.iter().filter(|job| !job.state().is_over()) {
            let mut slots = new.iter().flat_map(|new| new.slots.iter());
            if let Some(slot) = slots.find(|&slot| job.slots.contains(slot)) {
                return Err((slot, Arc::clone(job)));
            }
        }
        for job in new {
            if job.operation == Operation::Import {
                self.hidden.insert_all(&job.slots);
            }
            jobs.push_front(job);
        }
        trim(&mut jobs, log_len);
        Ok(())
    }

    /// Has the keys of an import seen, as far as they are there. It is over, or about to be.
    pub fn reveal(&self, job: &Migration) {
        self.hidden.remove_all(&job.slots);
    }

    /// Fails all of a kind that are under way.
    pub fn fail_all(&self, message: &str, is_concerned: impl Fn(&Migration) -> bool) {
        for job in self.active().into_iter().filter(|job| is_concerned(job)) {
            job.fail(message);
        }
    }

    /// The slots whose keys are not to be seen.
    #[inline]
    pub(crate) fn hidden(&self) -> &SharedSlots {
        &self.hidden
    }

    /// An export reads the stream, or does not any more.
    pub(crate) fn note_streaming(&self, begins: bool) {
        if begins {
            self.streaming.fetch_add(1, Ordering::SeqCst);
        } else {
            self.streaming.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Whether an export reads the stream.
    pub(crate) fn needs_stream(&self) -> bool {
        self.streaming.load(Ordering::SeqCst) > 0
    }
}

/// Forgets the oldest migrations that are over, until `log_len` are left or none of them is over.
fn trim(jobs: &mut VecDeque<Arc<Migration>>, log_len: usize) {
    while jobs.len() > log_len
        && let Some(oldest) = jobs.iter().rposition(|job| job.state().is_over())
    {
        jobs.remove(oldest);
    }
}

/// A set of slots that all threads may ask.
pub(crate) struct SharedSlots {
    count: AtomicUsize,
    words: [AtomicU64; SLOTS as usize / 64],
}

impl Default for SharedSlots {
    fn default() -> Self {
        SharedSlots { count: AtomicUsize::new(0), words: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

impl SharedSlots {
    /// Adds slots, of which none is there.
    pub(crate) fn insert_all(&self, slots: &SlotSet) {
        for slot in slots.iter() {
            self.words[usize::from(slot) / 64].fetch_or(1 << (slot % 64), Ordering::SeqCst);
        }
        self.count.fetch_add(usize::from(slots.len()), Ordering::SeqCst);
    }

    /// Takes slots out, as far as they are there.
    pub(crate) fn remove_all(&self, slots: &SlotSet) {
        let mut removed = 0;
        for slot in slots.iter() {
            let bit = 1 << (slot % 64);
            let before = self.words[usize::from(slot) / 64].fetch_and(!bit, Ordering::SeqCst);
            removed += usize::from(before & bit != 0);
        }
        self.count.fetch_sub(removed, Ordering::SeqCst);
    }

    /// Whether there is any.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Whether a slot is among them. O(1).
    pub(crate) fn contains(&self, slot: u16) -> bool {
        self.any() && self.words[usize::from(slot) / 64].load(Ordering::Relaxed) >> (slot % 64) & 1 == 1
    }

    /// Whether the slot of a key is among them: of a hidden one, it is not to be seen.
    #[inline]
    pub(crate) fn hides(&self, key: &[u8]) -> bool {
        self.any() && self.contains(larder_cluster::key_slot(key))
    }

    /// Those of a shard. O(slots of a shard).
    pub(crate) fn of_shard(&self, shard: usize) -> impl Iterator<Item = u16> + '_ {
        slots_of_shard(shard).take_while(|_| self.any()).filter(|&slot| self.contains(slot))
    }

    /// Number of keys of a table of a shard that are to be seen. Neighbours in the table are counted together: O(segments of hidden slots).
    pub(crate) fn visible_len(&self, shard: usize, table: &Table) -> usize {
        let mut runs: Vec<HashPrefix> = Vec::new();
        for prefix in self.of_shard(shard).map(prefix_of_slot) {
            match runs.last_mut().and_then(|last| Some((last.joined(prefix)?, last))) {
                Some((joined, last)) => *last = joined,
                None => runs.push(prefix),
            }
        }
        table.len() - runs.into_iter().map(|run| table.count_prefix(run)).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(operation: Operation, slots: std::ops::Range<u16>) -> Arc<Migration> {
        let id = NodeId::parse(&[b'a'; 40]).expect("a name");
        Arc::new(Migration::new("n".to_owned(), operation, slots.collect(), (id, id), None))
    }

    #[test]
    fn slots_are_in_one_migration_and_hidden_while_they_come() {
        let all = Migrations::default();
        let import = job(Operation::Import, 5..70);
        assert!(all.begin(vec![Arc::clone(&import)], 10).is_ok());
        assert!(all.hidden().contains(69) && !all.hidden().contains(70));
        let refused = all.begin(vec![job(Operation::Export, 69..80)], 10);
        assert_eq!(refused.err().map(|(slot, _)| slot), Some(69));
        assert_eq!(all.hidden().of_shard(5).collect::<Vec<_>>(), [5]);
        assert!(import.fail("why") && import.state() == MigrationState::CleaningUp);
        assert!(all.begin(vec![job(Operation::Export, 69..80)], 10).is_err(), "its keys are still there");
        all.reveal(&import);
        assert!(import.finish_cleanup() && !all.hidden().any());
        assert!(all.begin(vec![job(Operation::Export, 69..80)], 10).is_ok());
    }

    /// States times events: what is over stays so, and nothing leads back.
    #[test]
    fn a_migration_that_is_over_stays_so() {
        use MigrationState::*;
        let states = [
            Connecting,
            Authenticating,
            Establishing,
            Snapshotting,
            WaitingToPause,
            FailoverPaused,
            FailoverGranted,
            WaitingForAck,
            ReceivingSnapshot,
            WaitingForPaused,
            FailoverRequested,
            CleaningUp,
            OnPrimary,
            Success,
            Failed,
            Cancelled,
        ];
        for operation in [Operation::Export, Operation::Import] {
            for state in states {
                let at = |state| {
                    let job = job(operation, 0..1);
                    job.progress.lock().state = state;
                    job
                };
                for to in states {
                    let job = at(state);
                    assert_eq!(job.go_on(to), state.is_under_way());
                    assert_eq!(job.state(), if state.is_under_way() { to } else { state });
                }
                let failed = at(state);
                assert_eq!(failed.fail("x"), state.is_under_way());
                let expected = match operation {
                    Operation::Export => Failed,
                    Operation::Import => CleaningUp,
                };
                assert_eq!(failed.state(), if state.is_under_way() { expected } else { state });
                let cleaned = at(state);
                assert_eq!(cleaned.finish_cleanup(), state == CleaningUp);
            }
        }
    }

    #[test]
    fn as_many_are_remembered_as_the_option_says() {
        let all = Migrations::default();
        for slot in 0..10 {
            let one = job(Operation::Export, slot..slot + 1);
            assert!(all.begin(vec![Arc::clone(&one)], 3).is_ok());
            one.fail("x");
        }
        assert_eq!(all.list(3).len(), 3);
        assert!(all.list(3)[0].slots.contains(9));
        let active = job(Operation::Export, 20..21);
        assert!(all.begin(vec![Arc::clone(&active)], 3).is_ok());
        assert_eq!((all.list(3).len(), all.list(1).len(), all.list(0).len()), (3, 1, 1), "it is not over");
        active.fail("x");
        assert!(all.list(0).is_empty());
    }
}
