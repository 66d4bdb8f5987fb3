//! Clients that wait for keys: who waits for what, in which order, and how they are served.
//!
//! A waiting client is registered in the shards of its keys, under their locks. The thread that makes one of the keys ready
//! serves the waiters before it lets go of the lock, in the order in which they came, whichever thread they belong to:
//! nobody can come between. The reply travels to the owner's worker as mail. A waiter is taken exactly once, by the thread that
//! changes its state first: a server of keys, the timeout, CLIENT UNBLOCK, or the end of the connection.
//!
//! A waiter that moves an element to another list needs the lock of that list's shard as well. While a shard
//! has such waiters, every command on the shard that may write locks all shards (`execution/locking.rs`):
//! rare, and free of deadlocks.

use crate::keyspace::kind::Kind;
use larder_collections::keyed_hash::KeyedState;
use larder_collections::stream::StreamId;
use larder_packed::block::End;
use larder_resp::Protocol;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// An end of a sorted set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// The entry of the lowest score.
    Min,
    /// The entry of the highest score.
    Max,
}

/// From where a client that waits reads a stream.
#[derive(Clone, Copy, Debug)]
pub enum ReadFrom {
    /// The entries after this id.
    After(StreamId),
    /// The newest entry, whichever that is when there is one (`+`).
    Newest,
}

impl ReadFrom {
    /// The id after which a stream is read whose highest id is `last`.
    pub(crate) fn after(self, last: StreamId) -> StreamId {
        match self {
            ReadFrom::After(id) => id,
            ReadFrom::Newest => last.previous().unwrap_or(last),
        }
    }
}

/// What a waiter does with a key once it is ready.
#[derive(Clone, Debug)]
pub enum BlockedOp {
    /// BLPOP, BRPOP: one element, with the key.
    Pop(End),
    /// BLMPOP: up to this many elements, with the key.
    PopMany(End, u64),
    /// BLMOVE, BRPOPLPUSH: one element, to another list.
    Move {
        /// Where it is taken.
        from: End,
        /// Where it is put.
        to: End,
        /// The other list.
        target: Box<[u8]>,
    },
    /// BZPOPMIN, BZPOPMAX: one entry of a sorted set, with the key.
    PopScored(Extreme),
    /// WAITAOF: that the log is on the disk; no key.
    OnDisk {
        /// On this server's disk, if `here`: up to this position of the log.
        file: u64,
        /// On the disks of replicas: up to this position of the stream.
        stream: u64,
        /// Whether this server's disk matters.
        here: bool,
        /// Number of replicas.
        wanted: usize,
    },
    /// WAIT: that this many replicas have the stream up to a position; no key.
    Replicas {
        /// The position.
        position: u64,
        /// Number of replicas.
        wanted: usize,
    },
    /// MEMORY ANATOMY: that a thread has walked through the database; no key.
    Anatomy,
    /// CLUSTER: that the thread of the bus answers; no key.
    Cluster,
    /// SCRIPT KILL, or FUNCTION KILL: that the script ends; no key.
    ScriptEnd {
        /// Whether it is FUNCTION KILL.
        function: bool,
    },
    /// SHUTDOWN: that replicas have what was written; no key.
    Shutdown,
    /// BZMPOP: up to this many entries of a sorted set, with the key.
    PopManyScored(Extreme, u64),
    /// XREAD: entries of a stream, with the key.
    Read {
        /// From where in each of the streams waited for.
        from: Vec<ReadFrom>,
        /// At most this many; 0 for no limit.
        count: u64,
    },
    /// XREADGROUP: entries of a stream that its group has not delivered yet, with the key.
    ReadGroup(GroupRead),
}

impl BlockedOp {
    /// Whether what it waits for changes nothing.
    pub(crate) fn only_reads(&self) -> bool {
        matches!(self, BlockedOp::Read { .. })
    }

    /// Whether it waits until a key has something.
    pub(crate) fn waits_for_keys(&self) -> bool {
        match self {
            BlockedOp::Pop(_)
            | BlockedOp::PopMany(..)
            | BlockedOp::Move { .. }
            | BlockedOp::PopScored(_)
            | BlockedOp::PopManyScored(..)
            | BlockedOp::Read { .. }
            | BlockedOp::ReadGroup(_) => true,
            BlockedOp::Anatomy
            | BlockedOp::Cluster
            | BlockedOp::OnDisk { .. }
            | BlockedOp::Replicas { .. }
            | BlockedOp::ScriptEnd { .. }
            | BlockedOp::Shutdown => false,
        }
    }

    /// Whether another thread of this server ends the wait soon, whatever clients and other servers do.
    pub(crate) fn ends_by_itself(&self) -> bool {
        matches!(
            self,
            BlockedOp::Anatomy | BlockedOp::Cluster | BlockedOp::ScriptEnd { .. } | BlockedOp::Shutdown
        )
    }

    /// Whether the wait ends with an error when the key goes away.
    fn ends_without_key(&self) -> bool {
        matches!(self, BlockedOp::ReadGroup(_))
    }

    /// The type that the key must have.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            BlockedOp::Pop(_) | BlockedOp::PopMany(..) | BlockedOp::Move { .. } => Kind::List,
            // Is in no key's queue.
            BlockedOp::Anatomy
            | BlockedOp::Cluster
            | BlockedOp::OnDisk { .. }
            | BlockedOp::Replicas { .. }
            | BlockedOp::ScriptEnd { .. }
            | BlockedOp::Shutdown => Kind::String,
            BlockedOp::PopScored(_) | BlockedOp::PopManyScored(..) => Kind::SortedSet,
            BlockedOp::Read { .. } | BlockedOp::ReadGroup(_) => Kind::Stream,
        }
    }
}

/// A client that waits.
#[derive(Debug)]
pub struct Waiter {
    pub(crate) client: u64,
    pub(crate) worker: usize,
    pub(crate) protocol: Protocol,
    /// What serves it leaves the access times of keys as they are.
    pub(crate) no_touch: bool,
    /// The epoch of the users in which the client's rights were checked.
    pub(crate) rights_epoch: u64,
    pub(crate) db: usize,
    pub(crate) keys: Vec<Box<[u8]>>,
    pub(crate) op: BlockedOp,
    pub(crate) taken: AtomicBool,
    /// It was claimed because the connection is closed: no reply will come.
    pub(crate) dismissed: AtomicBool,
}

impl Waiter {
    /// Claims the waiter; true for the one caller that comes first.
    pub(crate) fn take(&self) -> bool {
        !self.taken.swap(true, Ordering::AcqRel)
    }

    /// Claims it for the end of its connection, unless somebody serves it.
    pub(crate) fn dismiss(&self) -> bool {
        let dismissed = self.take();
        if dismissed {
            self.dismissed.store(true, Ordering::Release);
        }
        dismissed
    }

    /// Whether somebody serves it, and the reply is on its way.
    pub(crate) fn is_served(&self) -> bool {
        self.is_taken() && !self.dismissed.load(Ordering::Acquire)
    }

    /// Whether somebody has claimed it.
    pub(crate) fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Acquire)
    }

    fn moves(&self) -> bool {
        matches!(self.op, BlockedOp::Move { .. })
    }
}

struct WaitQueue {
    db: usize,
    waiters: VecDeque<Arc<Waiter>>,
}

/// Numbers of keys that clients wait for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WaitedKeys {
    /// All.
    pub(crate) all: usize,
    /// Those with a waiter that gets an error when the key goes away.
    pub(crate) end_without_key: usize,
}

/// The waiters for the keys of one shard.
#[derive(Default)]
pub(crate) struct WaitMap {
    keys: HashMap<Box<[u8]>, Vec<WaitQueue>, KeyedState>,
    cross_shard: usize,
}

impl WaitMap {
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Adds the keys that unclaimed waiters wait for, each once for each database.
    pub(crate) fn count_keys(&self, counts: &mut WaitedKeys) {
        for queue in self.keys.values().flatten() {
            let mut waiters = queue.waiters.iter().filter(|waiter| !waiter.is_taken()).peekable();
            counts.all += usize::from(waiters.peek().is_some());
            counts.end_without_key += usize::from(waiters.any(|waiter| waiter.op.ends_without_key()));
        }
    }

    /// Whether any waiter will write to a second key.
    pub(crate) fn has_movers(&self) -> bool {
        self.cross_shard > 0
    }

    /// Whether anybody who waits for this key will write to a second one.
    pub(crate) fn has_mover_for(&self, key: &[u8]) -> bool {
        let moves = |line: &WaitQueue| line.waiters.iter().any(|waiter| waiter.moves());
        self.has_movers() && self.keys.get(key).is_some_and(|lines| lines.iter().any(moves))
    }

    /// Whether anybody waits for the key.
    pub(crate) fn waits(&self, db: usize, key: &[u8]) -> bool {
        self.keys.get(key).is_some_and(|lines| lines.iter().any(|line| line.db == db))
    }

    /// The keys of a database that are waited for.
    pub(crate) fn keys_of(&self, db: usize) -> Vec<Box<[u8]>> {
        self.keys
            .iter()
            .filter(|(_, lines)| lines.iter().any(|l| l.db == db))
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// Puts a waiter at the end of the queue of a key. O(databases in which the name is waited for).
    pub(crate) fn add(&mut self, key: &[u8], waiter: &Arc<Waiter>) {
        let lines = self.keys.entry(key.into()).or_default();
        let at = lines.iter().position(|line| line.db == waiter.db).unwrap_or_else(|| {
            lines.push(WaitQueue { db: waiter.db, waiters: VecDeque::new() });
            lines.len() - 1
        });
        lines[at].waiters.push_back(Arc::clone(waiter));
        self.cross_shard += usize::from(waiter.moves());
    }

    /// The first in the queue of a key of this type that nobody has claimed. Those before it that are claimed
    /// are taken out.
    pub(crate) fn first(&mut self, db: usize, key: &[u8], kind: Kind) -> Option<Arc<Waiter>> {
        let lines = self.keys.get_mut(key)?;
        let line = lines.iter_mut().find(|line| line.db == db)?;
        let mut at = 0;
        while let Some(waiter) = line.waiters.get(at) {
            if waiter.is_taken() {
                self.cross_shard -= usize::from(waiter.moves());
                line.waiters.remove(at);
            } else if waiter.op.kind() == kind {
                return Some(Arc::clone(waiter));
            } else {
                at += 1;
            }
        }
        self.tidy(db, key);
        None
    }

    /// All in the queue of a key of this type that nobody has claimed.
    pub(crate) fn all(&self, db: usize, key: &[u8], kind: Kind) -> Vec<Arc<Waiter>> {
        let line = self.keys.get(key).and_then(|lines| lines.iter().find(|line| line.db == db));
        let waiters = line.into_iter().flat_map(|line| &line.waiters);
        waiters.filter(|waiter| waiter.op.kind() == kind && !waiter.is_taken()).cloned().collect()
    }

    /// Takes a waiter out of the queue of a key. O(waiters in it).
    pub(crate) fn remove(&mut self, key: &[u8], waiter: &Arc<Waiter>) {
        let Some(lines) = self.keys.get_mut(key) else { return };
        let Some(line) = lines.iter_mut().find(|line| line.db == waiter.db) else { return };
        let before = line.waiters.len();
        line.waiters.retain(|other| !Arc::ptr_eq(other, waiter));
        if waiter.moves() {
            self.cross_shard -= before - line.waiters.len();
        }
        self.tidy(waiter.db, key);
    }

    /// Forgets empty queues.
    fn tidy(&mut self, db: usize, key: &[u8]) {
        let Some(lines) = self.keys.get_mut(key) else { return };
        lines.retain(|line| line.db != db || !line.waiters.is_empty());
        if lines.is_empty() {
            self.keys.remove(key);
        }
    }
}

/// What a consumer of a group asks for.
#[derive(Clone, Debug)]
pub(crate) struct GroupRead {
    pub(crate) group: Box<[u8]>,
    pub(crate) consumer: Box<[u8]>,
    /// 0 for no limit.
    pub(crate) count: u64,
    /// What is delivered counts as acknowledged.
    pub(crate) no_ack: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiter(client: u64, op: BlockedOp) -> Arc<Waiter> {
        Arc::new(Waiter {
            client,
            worker: 0,
            protocol: Protocol::Resp2,
            no_touch: false,
            rights_epoch: 0,
            db: 0,
            keys: vec![b"k".as_slice().into()],
            op,
            taken: AtomicBool::new(false),
            dismissed: AtomicBool::new(false),
        })
    }

    #[test]
    fn first_come_first_served() {
        let mut map = WaitMap::default();
        let (a, b) = (waiter(1, BlockedOp::Pop(End::Front)), waiter(2, BlockedOp::Pop(End::Front)));
        map.add(b"k", &a);
        map.add(b"k", &b);
        assert!(map.waits(0, b"k") && !map.waits(1, b"k"));
        assert_eq!(map.first(0, b"k", Kind::List).map(|w| w.client), Some(1));
        assert!(a.take() && !a.take());
        assert_eq!(map.first(0, b"k", Kind::List).map(|w| w.client), Some(2));
        assert!(b.take());
        assert!(map.first(0, b"k", Kind::List).is_none() && map.is_empty());
    }

    #[test]
    fn those_who_want_another_type_stay_in_the_line() {
        let mut map = WaitMap::default();
        let (a, b) = (waiter(1, BlockedOp::Pop(End::Front)), waiter(2, BlockedOp::PopScored(Extreme::Min)));
        map.add(b"k", &a);
        map.add(b"k", &b);
        assert_eq!(map.first(0, b"k", Kind::SortedSet).map(|w| w.client), Some(2));
        assert!(b.take() && map.first(0, b"k", Kind::SortedSet).is_none());
        assert_eq!(map.first(0, b"k", Kind::List).map(|w| w.client), Some(1));
    }

    #[test]
    fn movers_are_counted_until_they_leave() {
        let mut map = WaitMap::default();
        let op = BlockedOp::Move { from: End::Front, to: End::Back, target: b"t".as_slice().into() };
        let (a, b) = (waiter(1, op.clone()), waiter(2, op));
        map.add(b"k", &a);
        map.add(b"k", &b);
        map.add(b"j", &b);
        assert!(map.has_movers() && map.has_mover_for(b"j") && !map.has_mover_for(b"i"));
        map.remove(b"k", &b);
        map.remove(b"j", &b);
        assert!(map.has_movers() && a.take());
        assert!(map.first(0, b"k", Kind::List).is_none() && !map.has_movers());
    }
}
