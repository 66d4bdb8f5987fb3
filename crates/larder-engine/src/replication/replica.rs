//! The replicas of this server.

use crate::aof::stream::Cursor;
use crate::config::LinkCompression;
use larder_cluster::NodeId;
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// What a replica says of itself before it asks for the stream (REPLCONF).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicaInfo {
    /// The port on which it listens; 0 if it did not say.
    pub port: u16,
    /// The address under which it wants to be known, if not the one that it connects from.
    pub ip: Option<String>,
    /// Whether it finds the end of a snapshot whose length nobody knows before.
    pub knows_end_mark: bool,
    /// Whether it understands a partial resync under another name of the history.
    pub knows_psync2: bool,
    /// Whether it wants a snapshot and no stream.
    pub is_rdb_only: bool,
    /// What the snapshot is to have.
    pub filter: Filter,
    /// How it wants the snapshot and the stream to be compressed.
    pub compression: LinkCompression,
    /// It takes collections as the blocks that they lie in.
    pub takes_blocks: bool,
    /// The version of the server, three bytes: major, minor, patch.
    pub version: Option<u32>,
    /// Its name in the cluster.
    pub node: Option<NodeId>,
}

impl ReplicaInfo {
    /// What the primary adds to its answer when it compresses what follows.
    pub fn compression_word(&self) -> &'static str {
        match self.compression {
            LinkCompression::No => "",
            LinkCompression::Lz4 => " lz4",
            LinkCompression::Zstd => " zstd",
        }
    }

    /// Notes what the replica says that it knows (`REPLCONF capa`). What is not known here does not matter.
    pub(crate) fn note_capability(&mut self, word: &[u8]) {
        match word.to_ascii_lowercase().as_slice() {
            b"eof" => self.knows_end_mark = true,
            b"psync2" => self.knows_psync2 = true,
            b"larder-blocks" => self.takes_blocks = true,
            b"larder-lz4" => self.compression = LinkCompression::Lz4,
            b"larder-zstd" => self.compression = LinkCompression::Zstd,
            _ => {}
        }
    }
}

/// What a snapshot for a replica has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// Everything.
    #[default]
    Everything,
    /// Libraries of functions only.
    Functions,
    /// Nothing.
    Nothing,
}

/// How far a replica has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// It waits for a snapshot to begin.
    Waiting,
    /// It is sent a snapshot.
    Loading,
    /// It has been sent a snapshot, and has not said yet that it has loaded it.
    Loaded,
    /// It is sent the stream.
    Online,
    /// Its connection is closed.
    Gone,
}

impl Phase {
    /// As INFO shows it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Phase::Waiting => "wait_bgsave",
            Phase::Loading => "send_bulk",
            Phase::Loaded | Phase::Online | Phase::Gone => "online",
        }
    }
}

/// A replica.
#[derive(Debug)]
pub struct Replica {
    /// Its connection.
    pub client: u64,
    /// The worker that has the connection.
    pub worker: usize,
    /// What it has said of itself.
    pub info: ReplicaInfo,
    /// The address that it connects from, without the port.
    pub peer_ip: String,
    /// It has come by SYNC: it understands no `+FULLRESYNC`, and acknowledges nothing.
    pub is_old: bool,
    phase: AtomicU8,
    cursor: Mutex<Option<Arc<Cursor>>>,
    acked: AtomicU64,
    synced: AtomicU64,
    /// When it last acknowledged, or went online, in ms of the wall clock.
    heard_at_ms: AtomicU64,
    has_acknowledged: AtomicBool,
}

impl Replica {
    pub(crate) fn new(
        client: u64,
        worker: usize,
        peer_ip: String,
        info: ReplicaInfo,
        is_old: bool,
    ) -> Replica {
        Replica {
            client,
            worker,
            info,
            peer_ip,
            is_old,
            phase: AtomicU8::new(Phase::Waiting as u8),
            cursor: Mutex::default(),
            acked: AtomicU64::new(0),
            synced: AtomicU64::new(0),
            heard_at_ms: AtomicU64::new(0),
            has_acknowledged: AtomicBool::new(false),
        }
    }

    /// How far it has come.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Waiting,
            1 => Phase::Loading,
            2 => Phase::Loaded,
            3 => Phase::Online,
            _ => Phase::Gone,
        }
    }

    /// From now on it is sent the stream; false if it was already, or is gone. Its silence counts from now on, not from the snapshot, nor from
    /// before.
    pub fn go_online(&self, now_ms: u64) -> bool {
        self.heard_at_ms.fetch_max(now_ms, Ordering::Relaxed);
        self.advance_to(Phase::Online)
    }

    /// Goes on to a later phase; false if it is there, or further, already. To be online: [`go_online`](Self::go_online).
    pub fn advance_to(&self, phase: Phase) -> bool {
        self.phase.fetch_max(phase as u8, Ordering::AcqRel) < phase as u8
    }

    /// Whether it is sent the stream.
    pub fn is_online(&self) -> bool {
        self.phase() == Phase::Online
    }

    /// Whether `INFO` shows it as online: it is sent the stream, or has been sent its snapshot and may be loading it.
    pub(crate) fn is_shown_online(&self) -> bool {
        matches!(self.phase(), Phase::Loaded | Phase::Online)
    }

    /// Where in the stream it is; `None` before it is known.
    pub fn cursor(&self) -> Option<Arc<Cursor>> {
        self.cursor.lock().clone()
    }

    /// It gets the stream from here on.
    pub fn set_cursor(&self, cursor: Arc<Cursor>) {
        self.acked.store(cursor.position(), Ordering::Relaxed);
        *self.cursor.lock() = Some(cursor);
    }

    pub(crate) fn take_cursor(&self) -> Option<Arc<Cursor>> {
        self.cursor.lock().take()
    }

    /// It has applied this much of the stream, and has `synced` of it on its disk if it said so.
    pub(crate) fn acknowledge(&self, applied: u64, synced: Option<u64>, now_ms: u64) {
        self.acked.store(applied, Ordering::Release);
        if let Some(synced) = synced {
            self.synced.store(synced, Ordering::Release);
        }
        self.heard_at_ms.store(now_ms, Ordering::Relaxed);
        self.has_acknowledged.store(true, Ordering::Release);
    }

    /// Whether it has acknowledged anything.
    pub fn has_acknowledged(&self) -> bool {
        self.has_acknowledged.load(Ordering::Acquire)
    }

    /// How much of the stream it has acknowledged.
    pub(crate) fn acked(&self) -> u64 {
        self.acked.load(Ordering::Acquire)
    }

    /// How much of the stream is on its disk, as it says.
    pub(crate) fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    /// Milliseconds since it last acknowledged, or went online.
    pub(crate) fn lag_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.heard_at_ms.load(Ordering::Relaxed))
    }

    /// The address under which it is known.
    pub(crate) fn address(&self) -> &str {
        self.info.ip.as_deref().unwrap_or(&self.peer_ip)
    }
}

/// All replicas, in the order in which they came.
#[derive(Default)]
pub struct Replicas {
    all: RwLock<Vec<Arc<Replica>>>,
    count: AtomicUsize,
}

impl Replicas {
    /// Whether there are any.
    #[inline]
    pub fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Number of replicas.
    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// All of them.
    pub fn list(&self) -> Vec<Arc<Replica>> {
        self.all.read().clone()
    }

    /// That of a connection, if it is there.
    pub(crate) fn find(&self, client: u64) -> Option<Arc<Replica>> {
        self.all.read().iter().find(|replica| replica.client == client).cloned()
    }

    pub(crate) fn add(&self, replica: Arc<Replica>) {
        let mut all = self.all.write();
        all.push(replica);
        self.count.store(all.len(), Ordering::Relaxed);
    }

    /// Returns how many are left.
    pub(crate) fn remove(&self, replica: &Arc<Replica>) -> usize {
        let mut all = self.all.write();
        all.retain(|other| !Arc::ptr_eq(other, replica));
        self.count.store(all.len(), Ordering::Relaxed);
        all.len()
    }

    /// How many online replicas satisfy something.
    pub(crate) fn count_online(&self, wanted: impl Fn(&Replica) -> bool) -> usize {
        self.all.read().iter().filter(|replica| replica.is_online() && wanted(replica)).count()
    }

    /// The workers, but for `from`, whose replicas have not been sent everything up to a position of the stream.
    pub(crate) fn each_worker_to_wake(&self, from: Option<usize>, end: u64, mut wake: impl FnMut(usize)) {
        for replica in self.all.read().iter() {
            let is_due =
                || replica.is_online() && replica.cursor().is_some_and(|cursor| cursor.position() < end);
            if from != Some(replica.worker) && is_due() {
                wake(replica.worker);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A replica that goes online has been heard of at that moment, whether or not it has acknowledged anything: it is not taken to be
    /// silent since 1970.
    #[test]
    fn silence_counts_from_going_online() {
        let replica = Replica::new(1, 0, String::new(), ReplicaInfo::default(), false);
        assert!(replica.advance_to(Phase::Loaded));
        assert!(!replica.has_acknowledged());
        assert!(replica.go_online(1_000_000));
        assert!(!replica.go_online(1_000_500), "it was online");
        assert!(!replica.has_acknowledged(), "going online is no acknowledgement");
        assert_eq!(replica.lag_ms(1_001_500), 1000);
        replica.acknowledge(7, None, 1_002_000);
        assert!(replica.has_acknowledged());
        assert_eq!((replica.lag_ms(1_003_000), replica.acked()), (1000, 7));
    }
}
