//! CLIENT PAUSE: commands are put off until a moment in time. And writes are put off while a replica, or the
//! target of a slot migration, takes over.

use crate::clients::session::{Session, client_flags};
use crate::cluster::migration::SharedSlots;
use crate::command::spec::{Command, Found, Scope, flags};
use crate::scripts::Scripts;
use crate::scripts::declared::flags_of;
use larder_cluster::{SlotSet, key_slot};
use larder_resp::Args;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// What is put off, and until when.
#[derive(Default)]
pub(crate) struct Pause {
    /// Wall clock in ms; 0: nothing is paused.
    until_ms: AtomicU64,
    all: AtomicBool,
    /// Writes are put off while a replica takes over.
    failover: AtomicBool,
    /// This server follows that replica already, and waits until it leads.
    awaits_leader: AtomicBool,
    /// Migrations of slots that put writes off while the target takes over.
    migrations: AtomicUsize,
    /// The slots of these: writes that are known to be of another one go on.
    moving: SharedSlots,
}

impl Pause {
    /// Pauses writes, or everything. A pause in force is never shortened or narrowed.
    pub(crate) fn start(&self, until_ms: u64, all: bool, now_ms: u64) {
        self.all.store(all || (self.in_force(now_ms) && self.all.load(Relaxed)), Relaxed);
        self.until_ms.fetch_max(until_ms, Relaxed);
    }

    /// Ends the pause.
    pub(crate) fn end(&self) {
        self.until_ms.store(0, Relaxed);
        self.all.store(false, Relaxed);
    }

    /// Whether there may be a pause: one look for commands that hold their shards.
    #[inline]
    pub(crate) fn is_any(&self) -> bool {
        self.until_ms.load(Relaxed) != 0 || self.is_for_failover()
    }

    /// Whether anything is paused.
    pub(crate) fn in_force(&self, now_ms: u64) -> bool {
        self.until_ms.load(Relaxed) > now_ms || self.is_for_failover()
    }

    /// Puts writes off while a replica takes over, or not any more.
    pub(crate) fn set_failover(&self, on: bool) {
        self.failover.store(on, Relaxed);
        self.awaits_leader.store(false, Relaxed);
    }

    /// The replica is asked to lead, and followed. Clients that would be sent to it wait from now on.
    pub(crate) fn await_leader(&self) {
        self.awaits_leader.store(true, Relaxed);
    }

    /// Whether a replica is asked to lead, and followed.
    pub(crate) fn awaits_leader(&self) -> bool {
        self.awaits_leader.load(Relaxed)
    }

    /// Puts writes off while another node takes slots over: once for each migration, of which no two have the same slot.
    pub(crate) fn begin_migration(&self, slots: &SlotSet) {
        self.moving.insert_all(slots);
        self.migrations.fetch_add(1, Relaxed);
    }

    /// Ends that pause.
    pub(crate) fn end_migration(&self, slots: &SlotSet) {
        self.migrations.fetch_sub(1, Relaxed);
        self.moving.remove_all(slots);
    }

    /// Whether writes wait for another server: those of one slot, if it is said, or of any.
    #[inline]
    pub(crate) fn is_for_failover_of(&self, slot: Option<u16>) -> bool {
        self.is_for_failover()
            && (self.failover.load(Relaxed) || slot.is_none_or(|slot| self.moving.contains(slot)))
    }

    /// Whether writes are put off while a replica, or the target of a migration, takes over.
    pub(crate) fn is_for_failover(&self) -> bool {
        self.failover.load(Relaxed) || self.migrations.load(Relaxed) > 0
    }

    /// Whether a pause has just run out; true once a pause.
    pub(crate) fn expired(&self, now_ms: u64) -> bool {
        let until_ms = self.until_ms.load(Relaxed);
        // One that begins at this moment is another.
        (1..=now_ms).contains(&until_ms)
            && self.until_ms.compare_exchange(until_ms, 0, Relaxed, Relaxed).is_ok()
    }

    /// Why something is paused now, what, and for how many ms more. A pause of everything is told first, and then the one that lasts longest:
    /// what waits for another server has no end of its own.
    pub(crate) fn state(&self, now_ms: u64) -> Option<(&'static str, &'static str, u64)> {
        let left = self.until_ms.load(Relaxed).saturating_sub(now_ms);
        let endless = i64::MAX as u64 - now_ms;
        if left > 0 && self.all.load(Relaxed) {
            Some(("client_pause", "all", left))
        } else if self.failover.load(Relaxed) {
            Some(("failover_in_progress", "write", endless))
        } else if self.migrations.load(Relaxed) > 0 {
            Some(("slot_migration_in_progress", "write", endless))
        } else {
            (left > 0).then_some(("client_pause", "write", left))
        }
    }

    /// Whether the command must wait: nothing is exempt from a pause of everything, not even CLIENT UNPAUSE.
    #[inline]
    pub(crate) fn applies(
        &self,
        scripts: &Scripts,
        now_ms: u64,
        session: &Session,
        found: Found,
        args: Args<'_>,
    ) -> bool {
        if !self.in_force(now_ms) || session.import.is_some() || session.is_of_file() {
            return false;
        }
        let is_clients = self.until_ms.load(Relaxed) > now_ms;
        if is_clients && self.all.load(Relaxed) {
            return true;
        }
        if session.follows_redirects() && self.awaits_leader() {
            let flags = flags_of(scripts, found.command, args);
            if is_for_primary(session, found.command, flags) {
                return true;
            }
        }
        let slot = || found.only_key(args.len()).and_then(|at| args.get(at)).map(key_slot);
        (is_clients || self.is_for_failover_of(slot())) && may_write(scripts, session, found.command, args)
    }
}

/// Whether a replica sends the client to its primary with this command; with EXEC, for what is queued.
pub(crate) fn is_for_primary(session: &Session, command: &Command, flags: u32) -> bool {
    let queue = session.commands_of_exec().filter(|_| command.scope == Scope::Exec);
    let flags = queue.map_or(flags, |queue| queue.flags());
    flags & flags::WRITE != 0
        || flags & flags::READONLY != 0 && !session.shared.has(client_flags::READS_REPLICA)
}

/// Whether a command may change something, or has others do it; EXEC, if one of its queue may and it will not be refused. A script that says of
/// itself that it only reads is taken at its word: it will be held to it.
pub(crate) fn may_write(scripts: &Scripts, session: &Session, command: &Command, args: Args<'_>) -> bool {
    const MAY: u32 = flags::WRITE | flags::MAY_REPLICATE;
    flags_of(scripts, command, args) & MAY != 0
        || command.scope == Scope::Exec
            && session.commands_of_exec().is_some_and(|queue| queue.flags() & MAY != 0 && !queue.poisoned)
}
