//! What the threads that serve clients share with the one that speaks to the other nodes of the cluster: the slot map comes one way, what
//! is for the bus goes the other.
//!
//! The map is immutable. A thread keeps the one that it has seen last, and compares its version with the newest, which is one load; it
//! takes another only where that differs. Nobody waits for the bus to read a map, and the bus waits for nobody to hand one out.
//!
//! Without `cluster-enabled` none of this is used.

pub mod migration;

use self::migration::{Migration, Migrations};
use crate::keyspace::waiting::Waiter;
use larder_cluster::{Origin, SlotMap, Viewer};
use larder_resp::{OwnedArgs, Protocol};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, OnceLock};

/// Called to wake the thread of the bus.
pub type WakeBus = Box<dyn Fn() + Send + Sync>;

/// The part of the engine that is about the cluster.
pub(crate) struct ClusterState {
    is_on: bool,
    /// Number of databases, if the options are those of a node.
    databases: Option<usize>,
    map: Mutex<Option<Arc<SlotMap>>>,
    /// That of `map`; 0 before there is one.
    version: AtomicU64,
    inbox: Mutex<Vec<ForBus>>,
    wake: OnceLock<WakeBus>,
    /// The bus is to be woken when a replica says how far it has come.
    watches_acks: AtomicBool,
    /// What CLUSTER INFO said last.
    info: Mutex<String>,
    /// Atomic migrations of slots.
    pub(crate) migrations: Migrations,
}

/// Something for the thread of the bus.
pub enum ForBus {
    /// A subcommand of CLUSTER.
    Ask(Request),
    /// Slots are to go to another node: an export that has begun.
    Export(Arc<Migration>),
    /// The slots that SETSLOT has opened on the primary, as its snapshot says.
    OpenSlots(Vec<u8>),
    /// The keys of an import are here: the source is to be asked to pause its writes, once the takeover is prepared.
    PrepareToTake(Arc<Migration>),
    /// The source of an import has granted that this node takes the slots.
    TakeSlots(Arc<Migration>),
    /// A message of a channel, for the other nodes.
    Publish {
        /// The channel.
        channel: Box<[u8]>,
        /// The message.
        payload: Box<[u8]>,
        /// Whether it is one of the shard's channels.
        is_sharded: bool,
    },
}

/// A subcommand of CLUSTER that the thread of the bus answers.
pub struct Request {
    /// The whole command.
    pub args: OwnedArgs,
    /// Who gives it.
    pub origin: Origin,
    /// Who is shown addresses.
    pub viewer: Viewer,
    /// What the client speaks.
    pub protocol: Protocol,
    /// The reply goes there, by `Engine::answer_cluster_request`.
    pub(crate) asker: Asker,
}

/// Who waits for what has come of a subcommand.
pub(crate) enum Asker {
    /// A client.
    Client(Arc<Waiter>),
    /// A thread that waits for the reply: it executes a transaction, or the commands of the primary.
    Thread(SyncSender<Vec<u8>>),
}

impl Request {
    /// Whether the reply may take its time. A thread that waits serves nobody meanwhile.
    pub fn may_take_long(&self) -> bool {
        matches!(self.asker, Asker::Client(_))
    }
}

impl ClusterState {
    /// `is_on`: whether the server is a node of a cluster. `databases`: how many there are, if the options are those of a node: also of an
    /// engine beside a node's.
    pub(crate) fn new(is_on: bool, databases: Option<usize>) -> Self {
        ClusterState {
            is_on,
            databases,
            map: Mutex::default(),
            version: AtomicU64::new(0),
            inbox: Mutex::default(),
            wake: OnceLock::new(),
            watches_acks: AtomicBool::new(false),
            info: Mutex::default(),
            migrations: Migrations::default(),
        }
    }

    /// Whether the server is a node of a cluster.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Number of databases of a node.
    #[inline]
    pub(crate) fn databases(&self) -> Option<usize> {
        self.databases
    }

    /// The newest map, which takes the place of the one that a thread has kept; `None` before there is one.
    #[inline]
    pub(crate) fn newest<'k>(&self, kept: &'k mut Option<Arc<SlotMap>>) -> Option<&'k Arc<SlotMap>> {
        let version = self.version.load(Ordering::Acquire);
        if kept.as_ref().is_none_or(|map| map.version != version) {
            kept.clone_from(&self.map.lock());
        }
        kept.as_ref()
    }

    /// The newest map, for those who seldom ask.
    pub(crate) fn map(&self) -> Option<Arc<SlotMap>> {
        self.map.lock().clone()
    }

    /// Hands out a map. Returns the one before.
    pub(crate) fn set_map(&self, map: Arc<SlotMap>) -> Option<Arc<SlotMap>> {
        let mut current = self.map.lock();
        self.version.store(map.version, Ordering::Release);
        current.replace(map)
    }

    /// Who is to be called when there is something for the bus. Once.
    pub(crate) fn set_wake(&self, wake: WakeBus) {
        assert!(self.wake.set(wake).is_ok(), "there is one bus");
    }

    /// Leaves something for the bus.
    pub(crate) fn send(&self, what: ForBus) {
        let mut inbox = self.inbox.lock();
        inbox.push(what);
        let is_first = inbox.len() == 1;
        drop(inbox);
        if is_first {
            self.wake();
        }
    }

    /// Has the bus look at the options, the offset, its mail.
    pub(crate) fn wake(&self) {
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }

    /// Whether the bus is to be woken when a replica says how far it has come.
    pub(crate) fn watch_acks(&self, watches: bool) {
        self.watches_acks.store(watches, Ordering::SeqCst);
    }

    /// A replica has said how far it has come.
    pub(crate) fn note_ack(&self) {
        if self.watches_acks.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Takes what has been left.
    pub(crate) fn take_inbox(&self) -> Vec<ForBus> {
        std::mem::take(&mut self.inbox.lock())
    }

    /// What CLUSTER INFO said last.
    pub(crate) fn info(&self) -> String {
        self.info.lock().clone()
    }

    /// Keeps what CLUSTER INFO says.
    pub(crate) fn set_info(&self, text: String) {
        *self.info.lock() = text;
    }
}
