//! The replication of simulated servers, in the steps of the real one: links that open and are
//! lost, partial resyncs, snapshots that are received and then loaded in the place of the data,
//! files that are behind the data.
//!
//! What a server tells the state machine comes from the types that the real one keeps as well
//! (`History`, `LinkTimes`). Beside it, the simulation knows the truth: with which node the data
//! was last in step ([`Server::synced_with`]).

use fastrand::Rng;
use larder_cluster::{Facts, History, HistoryId, LinkTimes, NodeId, Place, PrimaryLink, SlotSet};

/// Bytes that a primary keeps of its stream.
const BACKLOG: u64 = 2000;
/// How long receiving a snapshot, and loading it, takes at most, in ms.
const TRANSFER_MS: u64 = 800;

/// What a simulated server has: data, a role, a file.
#[derive(Clone, Debug)]
pub struct Server {
    pub keys: SlotSet,
    pub following: Option<NodeId>,
    pub is_paused: bool,
    /// The end of the stream.
    pub offset: u64,
    /// Whether its primary does not answer it.
    pub hangs: bool,
    /// Whether each change is in the file at once.
    pub writes_through: bool,
    /// The node whose stream the data was last in step with, and which of its reigns that was. The
    /// truth, which no node is told.
    pub synced_with: Option<(NodeId, u64)>,
    /// How often it has become a primary.
    pub reign: u64,
    history: History,
    times: LinkTimes,
    sync: Sync,
    disk: Option<Disk>,
    pub now: u64,
}

/// What a server finds when it starts.
#[derive(Clone, Debug)]
struct Disk {
    id: HistoryId,
    offset: u64,
    keys: SlotSet,
    synced_with: Option<(NodeId, u64)>,
}

/// How far a replica is with its primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sync {
    /// It has no link.
    None,
    /// A snapshot comes, until this time. The data is the old one.
    Receiving(u64),
    /// It is loaded, until this time. The old data is gone.
    Loading(u64),
    /// It follows the stream.
    Following,
}

impl Facts for Server {
    fn place(&self) -> Place {
        self.history.place(self.offset)
    }

    fn primary_link(&self) -> PrimaryLink {
        PrimaryLink {
            node: self.following,
            is_up: self.times.is_up(),
            silence_ms: self.times.silence_ms(self.now),
        }
    }

    fn keys_in_slot(&self, slot: u16) -> u64 {
        u64::from(self.keys.contains(slot))
    }

    fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }
}

impl Server {
    pub fn new(rng: &mut Rng) -> Server {
        Server {
            keys: SlotSet::new(),
            following: None,
            is_paused: false,
            offset: 0,
            hangs: false,
            writes_through: rng.bool(),
            synced_with: None,
            reign: 0,
            history: History::new(HistoryId::random(rng)),
            times: LinkTimes::default(),
            sync: Sync::None,
            disk: None,
            now: 0,
        }
    }

    /// Starts again, as a replica or a primary, with what the file says.
    pub fn restart(&mut self, is_replica: bool, rng: &mut Rng) {
        let disk = self.disk.clone();
        let (hangs, writes_through, now) = (self.hangs, self.writes_through, self.now);
        let (following, reign) = (self.following, self.reign);
        *self = Server { hangs, writes_through, now, following, reign, disk, ..Server::new(rng) };
        let Some(disk) = &self.disk else { return };
        (self.offset, self.keys, self.synced_with) = (disk.offset, disk.keys.clone(), disk.synced_with);
        if is_replica {
            self.history.begin(disk.id);
        } else {
            self.history.continue_former(disk.id, disk.offset);
        }
    }

    /// Follows another node from now on.
    pub fn follow(&mut self, primary: NodeId) {
        self.lose_link();
        self.following = Some(primary);
        self.is_paused = false;
    }

    /// Follows nobody from now on.
    pub fn lead(&mut self, rng: &mut Rng) {
        if self.following.take().is_some() {
            self.reign += 1;
            self.history.lead(HistoryId::random(rng), self.offset);
            (self.times, self.sync) = (LinkTimes::default(), Sync::None);
        }
    }

    /// Deletes all data.
    pub fn flush(&mut self) {
        self.keys = SlotSet::new();
    }

    /// Whether it follows the stream of its primary.
    pub fn is_following(&self) -> bool {
        self.sync == Sync::Following
    }

    /// Whether a snapshot is being received, or loaded.
    pub fn is_receiving(&self) -> bool {
        matches!(self.sync, Sync::Receiving(_))
    }

    pub fn is_loading(&self) -> bool {
        matches!(self.sync, Sync::Loading(_))
    }

    /// Loses the link to its primary.
    pub fn lose_link(&mut self) {
        self.times.lose(self.now);
        self.sync = Sync::None;
    }

    /// Writes, as a primary.
    pub fn write(&mut self, bytes: u64, rng: &mut Rng) {
        self.offset += bytes;
        self.save_sometimes(rng);
    }

    /// Writes the file.
    pub fn save(&mut self) {
        if self.place().history.is_some() {
            let (keys, synced_with) = (self.keys.clone(), self.synced_with);
            self.disk = Some(Disk { id: self.history.id(), offset: self.offset, keys, synced_with });
        }
    }

    fn save_sometimes(&mut self, rng: &mut Rng) {
        if self.writes_through || rng.u8(..40) == 0 {
            self.save();
        }
    }

    /// Goes on with its primary, which it reaches and which leads.
    pub fn step(&mut self, id: NodeId, primary: &Server, rng: &mut Rng) {
        if self.hangs {
            return;
        }
        match self.sync {
            Sync::None if self.can_resume(primary) => {
                if self.history.id() != primary.history.id() {
                    self.history.branch(primary.history.id(), self.offset);
                }
                self.copy(id, primary);
            }
            Sync::None => self.sync = Sync::Receiving(self.now + rng.u64(..TRANSFER_MS)),
            Sync::Receiving(end) if self.now >= end => {
                self.history.lose_data();
                (self.keys, self.synced_with) = (SlotSet::new(), None);
                self.sync = Sync::Loading(self.now + rng.u64(..TRANSFER_MS));
            }
            Sync::Loading(end) if self.now >= end => {
                self.history.begin(primary.history.id());
                self.copy(id, primary);
            }
            Sync::Receiving(_) | Sync::Loading(_) => (),
            Sync::Following => self.copy(id, primary),
        }
        self.save_sometimes(rng);
    }

    /// Whether the primary can go on from where this server is.
    fn can_resume(&self, primary: &Server) -> bool {
        let (id, place) = (self.history.id(), primary.place());
        let is_known = place.history == Some(id)
            || place.former.is_some_and(|(former, until)| former == id && self.offset <= until);
        let is_kept = self.offset <= primary.offset && primary.offset - self.offset < BACKLOG;
        self.history.is_intact() && is_known && is_kept
    }

    fn copy(&mut self, id: NodeId, primary: &Server) {
        if self.sync == Sync::Following {
            self.times.hear(self.now);
        } else {
            self.times.open(self.now);
        }
        self.sync = Sync::Following;
        (self.offset, self.keys) = (primary.offset, primary.keys.clone());
        self.synced_with = Some((id, primary.reign));
    }
}
