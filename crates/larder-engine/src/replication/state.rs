//! What the server is: a primary, or a replica of another; and the names of the history of its data.
//!
//! The names of the history ([`History`]) and the times of the link ([`LinkTimes`]) are types of
//! `larder-cluster`: elections depend on them, and its simulation keeps them as this server does.

use crate::clock::mono_ms;
use crate::replication::failover::{Failover, FailoverPhase};
use crate::replication::own_deadlines::OwnDeadlines;
use crate::replication::reception::Reception;
use crate::replication::replica::Replicas;
use crate::replication::waiting::AckWaiters;
use larder_cluster::{History, HistoryId, LinkTimes, NodeId};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The link to the primary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkState {
    /// To be connected.
    #[default]
    Connect,
    /// Being connected.
    Connecting,
    /// Introducing itself.
    Handshake,
    /// Getting a snapshot.
    Transfer,
    /// Following.
    Connected,
}

impl LinkState {
    /// As ROLE shows it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            LinkState::Connect => "connect",
            LinkState::Connecting => "connecting",
            LinkState::Handshake => "handshake",
            LinkState::Transfer => "sync",
            LinkState::Connected => "connected",
        }
    }
}

/// The primary that this server follows.
#[derive(Clone, Debug, Default)]
pub struct Upstream {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Its name, if it is a node of a cluster.
    pub node: Option<NodeId>,
    /// What the link does.
    pub link: LinkState,
    /// When this and the links before it were of use, in ms of [`mono_ms`].
    pub times: LinkTimes,
    /// The snapshot that is coming: its size (0 if that is not known), and how much has come.
    pub transfer: (u64, u64),
    /// The position up to which the stream has come; what is applied may be less.
    pub received: u64,
    /// The first PSYNC on the next link asks the primary to give up its part (FAILOVER).
    pub takes_over: bool,
}

impl Upstream {
    /// Returns the primary that is to be followed in the place of `former`, if the server is a
    /// replica already.
    pub(crate) fn succeeding(former: Option<&Upstream>, host: String, port: u16) -> Upstream {
        let mut upstream = Upstream { host, port, ..Upstream::default() };
        if let Some(former) = former {
            (upstream.times, upstream.received) = (former.times, former.received);
            upstream.times.lose(mono_ms());
        }
        upstream
    }

    /// Notes what the link does.
    pub fn set_link(&mut self, link: LinkState) {
        let now = mono_ms();
        match link {
            LinkState::Connected => self.times.open(now),
            _ => self.times.lose(now),
        }
        self.link = link;
        self.times.hear(now);
    }

    /// Notes that something came.
    pub fn hear(&mut self) {
        self.times.hear(mono_ms());
    }
}

/// The names of the history, and the role.
#[derive(Clone, Debug)]
pub struct State {
    /// The history of the data.
    pub history: History,
    /// Whom it follows; `None` on a primary.
    pub upstream: Option<Upstream>,
    /// How often the role, or the primary, has changed: a link of another number is over.
    pub epoch: u64,
    /// The stream goes on from where this server's history is: a partial resync may be asked for.
    pub can_resume: bool,
    /// Since when there are no replicas, in ms of the wall clock.
    pub alone_since_ms: Option<u64>,
}

/// Primaries and replicas.
pub struct Replication {
    state: Mutex<State>,
    /// The state has another epoch.
    changed: Condvar,
    is_replica: AtomicBool,
    /// See [`State::epoch`].
    epoch: AtomicU64,
    /// Commands of the primary, or of an append-only file, that have failed.
    pub(crate) unexpected_errors: AtomicU64,
    /// The replicas of this server.
    pub replicas: Replicas,
    /// How far the link to the primary has come with what it has read.
    pub reception: Reception,
    pub(crate) ack_waiters: AckWaiters,
    pub(crate) own_deadlines: OwnDeadlines,
    pub(crate) failover: Mutex<Option<Failover>>,
    /// Whether there is a stream. A replica always has one. A primary has one from its first replica, or its
    /// first export of slots, on, until nobody has followed it for `repl-backlog-ttl`.
    pub(crate) has_stream: AtomicBool,
    /// Until when the server waits for replicas before it ends, in ms of the wall clock; 0: it does not.
    ends_by_ms: AtomicU64,
    /// A replica is to take the place of this primary, which ends.
    hands_over: AtomicBool,
    /// Replicas are to be asked what they have, at the end of the round.
    pub(crate) wants_acks: AtomicBool,
    /// Snapshots sent, partial resyncs granted, and refused.
    pub(crate) full_syncs: AtomicU64,
    pub(crate) partial_syncs: AtomicU64,
    pub(crate) refused_partial_syncs: AtomicU64,
    /// Bytes from the primary, and bytes to replicas.
    pub bytes_in: AtomicU64,
    /// See [`Replication::bytes_in`].
    pub bytes_out: AtomicU64,
}

impl Replication {
    pub(crate) fn new(id: HistoryId) -> Replication {
        Replication {
            state: Mutex::new(State {
                history: History::new(id),
                upstream: None,
                epoch: 0,
                can_resume: false,
                alone_since_ms: None,
            }),
            changed: Condvar::new(),
            is_replica: AtomicBool::new(false),
            epoch: AtomicU64::new(0),
            unexpected_errors: AtomicU64::new(0),
            replicas: Replicas::default(),
            reception: Reception::default(),
            ack_waiters: AckWaiters::default(),
            own_deadlines: OwnDeadlines::default(),
            failover: Mutex::default(),
            has_stream: AtomicBool::new(false),
            ends_by_ms: AtomicU64::new(0),
            hands_over: AtomicBool::new(false),
            wants_acks: AtomicBool::new(false),
            full_syncs: AtomicU64::new(0),
            partial_syncs: AtomicU64::new(0),
            refused_partial_syncs: AtomicU64::new(0),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
        }
    }

    /// What CONFIG RESETSTAT forgets.
    pub(crate) fn reset_counters(&self) {
        let syncs = [&self.full_syncs, &self.partial_syncs, &self.refused_partial_syncs];
        let others = [&self.bytes_in, &self.bytes_out, &self.unexpected_errors];
        syncs.into_iter().chain(others).for_each(|counter| counter.store(0, Relaxed));
    }

    /// The state, for a short look or change. No shard and no lock of the log is taken while it is held.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Whether the server follows another.
    #[inline]
    pub fn is_replica(&self) -> bool {
        self.is_replica.load(Relaxed)
    }

    /// How far a failover has come, if there is one.
    pub(crate) fn failover_phase(&self) -> Option<FailoverPhase> {
        self.failover.lock().as_ref().map(|failover| failover.phase)
    }

    /// See [`State::epoch`].
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Relaxed)
    }

    /// Follows another server, or nobody. The link in use is over. All shards are held.
    pub(crate) fn set_upstream(&self, upstream: Option<Upstream>) {
        let mut state = self.state.lock();
        self.is_replica.store(upstream.is_some(), Relaxed);
        if upstream.is_none() {
            self.own_deadlines.clear();
        }
        state.upstream = upstream;
        state.epoch += 1;
        self.epoch.store(state.epoch, Relaxed);
        self.changed.notify_all();
    }

    /// Sleeps until the epoch is another one, for `patience` at most, or until it is woken; says whether it is.
    pub fn wait_for_change(&self, epoch: u64, patience: Duration) -> bool {
        let mut state = self.state.lock();
        if state.epoch == epoch {
            self.changed.wait_for(&mut state, patience);
        }
        state.epoch != epoch
    }

    /// Notes until when the server waits for replicas before it ends, in ms of the wall clock; `None`: it does not wait.
    pub fn set_ending(&self, by_ms: Option<u64>) {
        self.ends_by_ms.store(by_ms.map_or(0, |by_ms| by_ms.max(1)), Relaxed);
    }

    /// Until when the server waits for replicas before it ends, if it does.
    pub(crate) fn ends_by_ms(&self) -> Option<u64> {
        Some(self.ends_by_ms.load(Relaxed)).filter(|&by_ms| by_ms > 0)
    }

    /// Whether it still does.
    pub fn is_ending(&self) -> bool {
        self.ends_by_ms().is_some()
    }

    /// The server is not to end, though it waits for replicas to do so; false if it does not.
    pub(crate) fn abort_shutdown(&self) -> bool {
        self.ends_by_ms.swap(0, Relaxed) > 0
    }

    /// A replica is to take the place of this primary, which ends; or it does not end, after all.
    pub fn set_handing_over(&self, on: bool) {
        self.hands_over.store(on, Relaxed);
    }

    /// Whether it is so.
    pub fn is_handing_over(&self) -> bool {
        self.hands_over.load(Relaxed)
    }

    /// Wakes the thread of the link, for the end of the server.
    pub fn wake_link(&self) {
        self.changed.notify_all();
    }

    /// Changes what is known of the primary, unless the role has changed since `epoch`.
    pub fn update_upstream(&self, epoch: u64, change: impl FnOnce(&mut Upstream)) {
        let mut state = self.state.lock();
        if state.epoch == epoch
            && let Some(upstream) = &mut state.upstream
        {
            change(upstream);
        }
    }
}
