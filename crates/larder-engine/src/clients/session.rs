//! What the engine knows of one connection: the part its worker owns, and the part that others may look at.

use crate::acl::{Acl, User};
use crate::aof::log::Ends;
use crate::clients::access::Access;
use crate::clients::queue::{Queue, Watched};
use crate::clients::sums::Counted;
use crate::cluster::migration::Migration;
use crate::command::spec::Found;
use crate::keyspace::waiting::Waiter;
use crate::keyspace::watch::Touched;
use crate::pubsub::{Message, Subscriptions};
use crate::replication::replica::{Replica, ReplicaInfo};
use crate::scripts::usual::UsualTime;
use crate::tracking::Tracking;
use larder_cluster::Viewer;
use larder_resp::{OwnedArgs, Protocol};
use parking_lot::Mutex;
use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst,
};

/// How a client is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnKind {
    /// By TCP.
    Tcp,
    /// By TLS.
    Tls,
    /// By a unix socket.
    Unix,
}

/// What the server knows of a new connection.
#[derive(Clone, Debug)]
pub struct ConnInfo {
    /// From `Engine::next_client_id`.
    pub id: u64,
    /// The client's address.
    pub addr: String,
    /// The server's address.
    pub laddr: String,
    /// The file descriptor.
    pub fd: i32,
    /// How it is connected.
    pub kind: ConnKind,
}

impl ConnInfo {
    /// Describes a connection by TCP that this server has opened: `id` is a new client's; the addresses are those of the other end and
    /// of this one, empty where the system cannot tell.
    pub fn of_own(id: u64, ends: [io::Result<SocketAddr>; 2], fd: RawFd) -> ConnInfo {
        let [addr, laddr] = ends.map(|end| end.map_or_else(|_| String::new(), |address| address.to_string()));
        ConnInfo { id, addr, laddr, fd, kind: ConnKind::Tcp }
    }
}

/// The classes of clients that output limits distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientClass {
    /// Asks and gets answers.
    Normal,
    /// A replica.
    Replica,
    /// Has subscriptions.
    PubSub,
}

/// Bits of [`ClientShared::flags`], with the letters of CLIENT LIST.
pub mod client_flags {
    /// `b`: waits in a blocking command.
    pub const BLOCKED: u32 = 1;
    /// `x`: in a transaction.
    pub const MULTI: u32 = 1 << 1;
    /// `O`: a monitor.
    pub const MONITOR: u32 = 1 << 3;
    /// `U`: connected by a unix socket.
    pub const UNIX: u32 = 1 << 4;
    /// `e`: exempt from client eviction.
    pub const NO_EVICT: u32 = 1 << 5;
    /// `T`: does not mark keys as used.
    pub const NO_TOUCH: u32 = 1 << 6;
    /// `c`: closes once its output is sent.
    pub const CLOSING: u32 = 1 << 7;
    /// `I`: a source of imported data.
    pub const IMPORT_SOURCE: u32 = 1 << 8;
    /// `P`: has subscriptions.
    pub const PUBSUB: u32 = 1 << 9;
    /// `t`: is told of keys that change.
    pub const TRACKING: u32 = 1 << 10;
    /// `R`: the connection that was to be told instead is gone.
    pub const BROKEN_REDIRECT: u32 = 1 << 11;
    /// `B`: is told of keys by prefix.
    pub const BROADCAST: u32 = 1 << 12;
    /// `S`: a replica.
    pub const REPLICA: u32 = 1 << 14;
    /// `M`: the link to the primary.
    pub const PRIMARY: u32 = 1 << 15;
    /// No letter of its own, but `r` among the capabilities: would follow a redirection.
    pub const CAPA_REDIRECT: u32 = 1 << 13;
    /// `r`: reads from a replica of the cluster.
    pub const READS_REPLICA: u32 = 1 << 16;
    /// `i`: the source of slots that come to this node.
    pub const SLOT_IMPORT: u32 = 1 << 17;
    /// `E`: the target of slots that go from this node.
    pub const SLOT_EXPORT: u32 = 1 << 18;
}

/// The part of a connection that other threads may look at. Only the worker that owns the connection writes the
/// counters; the names change under their lock. Aligned, so that clients of two workers share no cache line.
#[repr(align(64))]
pub struct ClientShared {
    /// Unique among all connections of the process.
    pub id: u64,
    /// The worker that owns the connection.
    pub worker: usize,
    /// The client's address.
    pub addr: Box<str>,
    /// The server's address.
    pub laddr: Box<str>,
    /// The file descriptor.
    pub fd: i32,
    /// Which addresses of nodes of the cluster it is shown.
    pub(crate) viewer: Viewer,
    /// When it connected, in ms of the wall clock.
    pub created_ms: u64,
    /// When it last sent something, or was sent something, in ms of the wall clock.
    pub last_active_ms: AtomicU64,
    /// Bits of `client_flags`.
    pub flags: AtomicU32,
    /// The selected database.
    pub db: AtomicU32,
    /// Id of the last command, refused or not, plus one; 0 when there was none, or no such command.
    pub last_command: AtomicU16,
    /// 2 or 3.
    pub resp: AtomicU16,
    /// Queued commands of the transaction; -1 before the first MULTI or WATCH.
    pub multi: AtomicI32,
    /// Number of watched keys.
    pub watching: AtomicU32,
    /// What says whether one of them was changed.
    pub touched: Mutex<Option<Arc<Touched>>>,
    /// Bytes held by the queue of the transaction.
    pub multi_bytes: AtomicU32,
    /// Bytes of the arguments of the command that it waits in.
    pub(crate) args_bytes: AtomicU64,
    /// Number of channels subscribed to.
    pub channels: AtomicU32,
    /// Number of patterns subscribed to.
    pub patterns: AtomicU32,
    /// Number of shard channels subscribed to.
    pub shard_channels: AtomicU32,
    /// The client that is told of changed keys instead: -1 without tracking, 0 for none.
    pub redirect: AtomicI64,
    /// Unparsed bytes of input.
    pub query_len: AtomicU64,
    /// Capacity of the input buffer.
    pub query_cap: AtomicU64,
    /// Bytes of output that wait to be sent.
    pub output_bytes: AtomicU64,
    /// Buffers of output that wait to be sent.
    pub output_chain: AtomicU64,
    /// Bytes held for subscriptions.
    pub subscription_bytes: AtomicU64,
    /// Bytes held for client-side caching.
    pub tracking_bytes: AtomicU64,
    /// Bytes held for watched keys.
    pub watched_bytes: AtomicU64,
    /// What of its memory is in which sum.
    pub(crate) counted: Counted,
    /// Bytes received.
    pub net_in: AtomicU64,
    /// Bytes sent or waiting.
    pub net_out: AtomicU64,
    /// Commands executed to their end, those of transactions and scripts among them.
    pub commands: AtomicU64,
    /// Whether the connection is to be closed, as a [`Closing`].
    closing: AtomicU8,
    /// What the client calls itself.
    pub names: Mutex<ClientNames>,
    /// What the connection waits for, while it does.
    pub waiter: Mutex<Option<Arc<Waiter>>>,
    /// The command that it waits in. Set while the shards of the command's keys are held.
    pub(crate) suspended: Mutex<Option<Arc<Suspended>>>,
    /// What it subscribes to.
    pub(crate) subscriptions: Mutex<Option<Box<Subscriptions>>>,
}

/// Whether and how a connection is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Closing {
    /// It stays open.
    No,
    /// When its output has been sent. It executes no further command.
    AfterFlush,
    /// At once. It executes no further command, and is served nothing.
    Now,
}

/// What a client calls itself.
#[derive(Clone, Debug, Default)]
pub struct ClientNames {
    /// CLIENT SETNAME.
    pub name: Box<[u8]>,
    /// CLIENT SETINFO LIB-NAME.
    pub lib_name: Box<[u8]>,
    /// CLIENT SETINFO LIB-VER.
    pub lib_ver: Box<[u8]>,
    /// Who it is; `None`: the default user.
    pub(crate) user: Option<Arc<User>>,
}

impl ClientShared {
    /// Whether a key that it watches was changed. Who panics may hold what says so: then it counts as not.
    pub(crate) fn is_touched(&self) -> bool {
        self.touched
            .try_lock()
            .is_some_and(|touched| touched.as_ref().is_some_and(|touched| touched.is_set()))
    }

    /// Number of keys whose change matters to its next transaction: none once one was changed.
    pub(crate) fn watched(&self) -> u32 {
        if self.is_touched() { 0 } else { self.watching.load(Relaxed) }
    }

    pub(crate) fn new(info: ConnInfo, worker: usize, now_ms: u64) -> Self {
        let flags = if info.kind == ConnKind::Unix { client_flags::UNIX } else { 0 };
        let viewer = Viewer { is_ipv6: info.addr.starts_with('['), is_tls: info.kind == ConnKind::Tls };
        ClientShared {
            id: info.id,
            worker,
            addr: info.addr.into(),
            laddr: info.laddr.into(),
            fd: info.fd,
            viewer,
            created_ms: now_ms,
            last_active_ms: AtomicU64::new(now_ms),
            flags: AtomicU32::new(flags),
            db: AtomicU32::new(0),
            last_command: AtomicU16::new(0),
            resp: AtomicU16::new(2),
            multi: AtomicI32::new(-1),
            watching: AtomicU32::new(0),
            touched: Mutex::default(),
            multi_bytes: AtomicU32::new(0),
            args_bytes: AtomicU64::new(0),
            channels: AtomicU32::new(0),
            patterns: AtomicU32::new(0),
            shard_channels: AtomicU32::new(0),
            redirect: AtomicI64::new(-1),
            query_len: AtomicU64::new(0),
            query_cap: AtomicU64::new(0),
            output_bytes: AtomicU64::new(0),
            output_chain: AtomicU64::new(0),
            subscription_bytes: AtomicU64::new(0),
            tracking_bytes: AtomicU64::new(0),
            watched_bytes: AtomicU64::new(0),
            counted: Counted::default(),
            net_in: AtomicU64::new(0),
            net_out: AtomicU64::new(0),
            commands: AtomicU64::new(0),
            closing: AtomicU8::new(Closing::No as u8),
            names: Mutex::default(),
            waiter: Mutex::default(),
            suspended: Mutex::default(),
            subscriptions: Mutex::default(),
        }
    }

    /// Whether another thread closes the connection at once.
    pub fn closes_now(&self) -> bool {
        self.closing() == Closing::Now
    }

    /// Whether and how the connection is to be closed.
    #[inline]
    pub(crate) fn closing(&self) -> Closing {
        match self.closing.load(SeqCst) {
            0 => Closing::No,
            1 => Closing::AfterFlush,
            _ => Closing::Now,
        }
    }

    /// Notes that the connection is to be closed. One that is to be closed at once stays so.
    pub(crate) fn set_closing(&self, closing: Closing) {
        self.closing.fetch_max(closing as u8, SeqCst);
    }

    /// Whether all bits of `flag` are set.
    pub fn has(&self, flag: u32) -> bool {
        self.flags.load(Relaxed) & flag == flag
    }

    /// Sets or clears a flag.
    pub fn set_flag(&self, flag: u32, on: bool) {
        if on {
            self.flags.fetch_or(flag, Relaxed);
        } else {
            self.flags.fetch_and(!flag, Relaxed);
        }
    }

    /// Records the state of the input buffer.
    pub fn set_query_buffer(&self, len: usize, cap: usize) {
        self.query_len.store(len as u64, Relaxed);
        self.query_cap.store(cap as u64, Relaxed);
    }

    /// Records the memory of the output that waits, and the number of its buffers.
    pub fn set_output(&self, bytes: usize, chain: usize) {
        self.output_bytes.store(bytes as u64, Relaxed);
        self.output_chain.store(chain as u64, Relaxed);
    }

    /// Counts bytes received.
    pub fn add_net_in(&self, bytes: usize) {
        self.net_in.store(self.net_in.load(Relaxed) + bytes as u64, Relaxed);
    }

    /// Counts bytes sent.
    pub fn add_net_out(&self, bytes: usize) {
        self.net_out.store(self.net_out.load(Relaxed) + bytes as u64, Relaxed);
    }
}

/// What CLIENT REPLY asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyMode {
    /// Every command is answered.
    On,
    /// No command is answered.
    Off,
    /// The next command is not answered.
    SkipNext,
    /// This command is not answered.
    Skip,
    /// The client is the source of a migration of slots: it hears what the protocol of migrations says, and an error ends the migration.
    Import,
    /// The client is a replica: an answer would be taken for a part of the stream, so the connection is closed instead.
    Replica,
}

/// The part of a connection that only its worker touches.
pub struct Session {
    pub(crate) shared: Arc<ClientShared>,
    pub(crate) db: usize,
    pub(crate) protocol: Protocol,
    pub(crate) authenticated: bool,
    /// Whether it ever was.
    pub(crate) was_in: bool,
    /// Who it is and what that allows.
    pub(crate) access: Access,
    /// A transaction or a script runs, to its end with the rights with which it has begun.
    pub(crate) keeps_rights: bool,
    pub(crate) reply_mode: ReplyMode,
    pub(crate) no_touch: bool,
    /// ASKING came: the next command may use a slot that is on its way here.
    pub(crate) asking: bool,
    pub(crate) multi: Option<Box<Queue>>,
    pub(crate) watched: Vec<Watched>,
    /// The command that was let in and waits for the end of a pause, or of a failover.
    pub(crate) paused: Option<Found>,
    /// Monitors have been shown the command that it executes, which has been postponed since.
    pub(crate) is_shown: bool,
    /// How long its transactions take.
    pub(crate) transactions: UsualTime,
    pub(crate) waiter: Option<Arc<Waiter>>,
    /// The command that it waits in.
    pub(crate) suspended: Option<Arc<Suspended>>,
    /// Whether the reply to that command is not sent, because of CLIENT REPLY.
    pub(crate) mutes_wait: bool,
    /// Whether EXEC has left only confirmations of subscriptions in its reply, which CLIENT REPLY does not silence.
    pub(crate) only_confirms: bool,
    /// Whether the connection has subscriptions.
    pub(crate) subscribes: bool,
    pub(crate) tracking: Option<Box<Tracking>>,
    /// Whether a subscription ever ended: messages to it may still be in the mail.
    pub(crate) has_left: bool,
    /// Where the effects of the connection's last write end, or those that the reply to its last blocking command shows.
    pub(crate) written: Ends,
    /// What the client has said of itself as a replica.
    pub(crate) replica_info: Option<Box<ReplicaInfo>>,
    /// The replica that it is.
    pub(crate) replica: Option<Arc<Replica>>,
    /// It has called MONITOR.
    pub(crate) is_monitor: bool,
    /// What it executes has been decided elsewhere: it comes from an append-only file, a primary, the
    /// source of a slot migration, or the bus of the cluster. Nothing is refused.
    pub(crate) replays: bool,
    /// Those commands come from the primary.
    pub(crate) is_of_primary: bool,
    /// Those commands come from an append-only file that is being loaded.
    pub(crate) loads: bool,
    /// They are put into the stream by whoever has it execute them, with others.
    pub(crate) in_batch: bool,
    /// A command that would wait answers at once, as it does in a script.
    pub(crate) never_waits: bool,
    /// The thread that executes its commands serves nobody else meanwhile: it waits itself for the bus of the cluster.
    pub(crate) has_own_thread: bool,
    /// How its scripts are debugged.
    pub(crate) debugging: Mode,
    /// It is the source of slots that come to this node: what it sends is executed as the commands of a primary are.
    pub(crate) import: Option<Arc<Migration>>,
    /// What its commands do is no event: what they delete has gone to another node.
    pub(crate) is_silent: bool,
    /// What the last command of such a source has written is for it.
    pub(crate) speaks_to_source: bool,
}

impl Session {
    pub(crate) fn new(shared: Arc<ClientShared>, acl: &Acl, access: Access) -> Self {
        Session {
            shared,
            db: 0,
            protocol: Protocol::Resp2,
            authenticated: access.is_in(acl),
            was_in: access.is_in(acl),
            access,
            keeps_rights: false,
            reply_mode: ReplyMode::On,
            no_touch: false,
            asking: false,
            multi: None,
            watched: Vec::new(),
            paused: None,
            is_shown: false,
            transactions: UsualTime::default(),
            waiter: None,
            suspended: None,
            mutes_wait: false,
            only_confirms: false,
            subscribes: false,
            tracking: None,
            has_left: false,
            written: Ends::NO_EFFECT,
            replica_info: None,
            replica: None,
            is_monitor: false,
            import: None,
            is_silent: false,
            speaks_to_source: false,
            replays: false,
            is_of_primary: false,
            loads: false,
            in_batch: false,
            never_waits: false,
            has_own_thread: false,
            debugging: Mode::Off,
        }
    }

    /// For commands that have been executed elsewhere, as those of an append-only file.
    pub(crate) fn for_replay(shared: Arc<ClientShared>, acl: &Acl) -> Self {
        Session { replays: true, ..Session::new(shared, acl, Access::of_replay(acl)) }
    }

    /// The connection's id.
    pub fn id(&self) -> u64 {
        self.shared.id
    }

    /// The part that others may look at.
    pub fn shared(&self) -> &ClientShared {
        &self.shared
    }

    /// The same for those that keep it.
    pub fn shared_handle(&self) -> &Arc<ClientShared> {
        &self.shared
    }

    /// Whether the connection may send large requests.
    pub fn authenticated(&self) -> bool {
        self.authenticated
    }

    /// Whether nothing is known of the client: it has to authenticate, and never has.
    pub fn is_stranger(&self) -> bool {
        !self.authenticated && !self.was_in
    }

    /// Bytes of the arguments that wait for EXEC.
    pub fn queued_bytes(&self) -> usize {
        self.multi.as_ref().map_or(0, |queue| queue.argument_bytes())
    }

    /// Whether its next script is debugged.
    pub fn debugs(&self) -> bool {
        self.debugging != Mode::Off
    }

    /// Whether its commands are executed by the thread that has it, whatever they are: their order among those of others matters.
    pub(crate) fn is_bound(&self) -> bool {
        self.replays || self.in_batch || self.import.is_some() || self.replica.is_some() || self.debugs()
    }

    /// Whether a watched key has changed: EXEC will execute nothing.
    pub(crate) fn is_doomed(&self) -> bool {
        self.watched.first().is_some_and(|watched| watched.touched.is_set())
    }

    /// The queued commands, which EXEC stands for when it is admitted; `None` outside a transaction, and if EXEC will execute nothing.
    pub(crate) fn commands_of_exec(&self) -> Option<&Queue> {
        self.multi.as_deref().filter(|_| !self.is_doomed())
    }

    /// Whether its next command waits for the end of a pause.
    pub fn waits_for_pause(&self) -> bool {
        self.waiter.is_none() && self.shared.has(client_flags::BLOCKED)
    }

    /// Whether the connection waits in a blocking command.
    pub fn is_blocked(&self) -> bool {
        self.waiter.is_some()
    }

    /// Whether it has waited and is served: the reply is on its way to its worker.
    pub fn is_served(&self) -> bool {
        self.waiter.as_ref().is_some_and(|waiter| waiter.is_served())
    }

    /// Whether a replica is to answer it with the address of its primary, as it has asked for (`CLIENT CAPA redirect`).
    #[inline]
    pub(crate) fn follows_redirects(&self) -> bool {
        self.shared.has(client_flags::CAPA_REDIRECT)
    }

    /// Whether its commands come from an append-only file.
    pub(crate) fn is_of_file(&self) -> bool {
        self.loads && self.import.is_none()
    }

    /// Whether commands are queued: MULTI was called.
    pub fn is_queueing(&self) -> bool {
        self.multi.is_some()
    }

    /// The protocol spoken.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Nothing but the stream is sent from now on: the client is a replica.
    pub fn begin_stream(&mut self) {
        self.reply_mode = ReplyMode::Replica;
    }

    /// The replica that the client is, if it is one.
    pub fn replica(&self) -> Option<&Arc<Replica>> {
        self.replica.as_ref()
    }

    /// The class that output limits go by.
    pub fn class(&self) -> ClientClass {
        if self.replica.is_some() {
            ClientClass::Replica
        } else if self.subscribes {
            ClientClass::PubSub
        } else {
            ClientClass::Normal
        }
    }

    /// Whether the idle timeout passes it by.
    pub fn exempt_from_timeout(&self) -> bool {
        self.is_blocked() || self.subscribes || self.replica.is_some() || self.is_monitor
    }

    /// Whether only commands about subscriptions are allowed: messages could be mistaken for the replies of others.
    pub(crate) fn only_listens(&self) -> bool {
        self.protocol == Protocol::Resp2 && self.subscribes
    }

    /// Selects a database.
    #[inline]
    pub fn select(&mut self, db: usize) {
        self.db = db;
        self.shared.db.store(db as u32, Relaxed);
    }

    /// Whether the connection still subscribes to what the message was sent to.
    pub fn hears(&self, message: &Message) -> bool {
        let (space, name) = message.subscription();
        let still_subscribes =
            || self.shared.subscriptions.lock().as_ref().is_some_and(|all| all.contains(space, name));
        !self.has_left || still_subscribes()
    }
}

/// A command of a client that waits.
pub(crate) struct Suspended {
    pub(crate) found: Found,
    pub(crate) args: OwnedArgs,
    pub(crate) took_ns: u64,
    /// Whether the client wants to be notified of changes of the keys that the command reads.
    pub(crate) tracks: bool,
}

/// How the scripts of a client are debugged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// They are not.
    #[default]
    Off,
    /// On a copy of the data.
    Copy,
    /// On the data.
    InPlace,
}
