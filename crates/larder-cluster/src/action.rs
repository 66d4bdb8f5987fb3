//! What is to be done, in the order in which it is to be done.

use crate::id::NodeId;
use crate::link::LinkId;
use crate::slot_map::SlotMap;
use crate::slot_set::SlotSet;
use std::sync::Arc;

/// Something to be done by the one who has the sockets, the files and the data.
#[derive(Clone, Debug)]
pub enum Action {
    /// Writes `nodes.conf`, so that it survives a crash, before anything else of the list is done: what the packets say is a promise
    /// that is in this text. A node that cannot write must not go on.
    Save(String),
    /// Writes it so that it survives the end of this process, and, soon, a crash of the machine: nothing is promised but which slots an operator
    /// has moved, or this node has lost, which other nodes know as well.
    Write(String),
    /// Follows another primary: stops following the one before, and takes this one's data.
    BecomeReplicaOf {
        /// The primary.
        id: NodeId,
        /// Its address.
        ip: Box<str>,
        /// Its port for clients without TLS; 0: none.
        port: u16,
        /// Its port for clients with TLS; 0: none.
        tls_port: u16,
    },
    /// Stops following a primary: the data is kept, and has a history of its own from here on.
    Promote,
    /// Deletes all data.
    FlushAll,
    /// Hands this map to those that serve clients, in place of the one before.
    UseSlotMap(Arc<SlotMap>),
    /// Waits until what the last [`Action::Write`] wrote survives a crash, as with [`Action::Save`].
    Sync,
    /// Deletes the keys of slots that this node has lost.
    DropSlotKeys(SlotSet),
    /// Pauses the writes of clients; then [`crate::Cluster::writes_paused`] is called.
    PauseWrites,
    /// Ends that pause.
    ResumeWrites,
    /// Calls [`crate::Cluster::offset_reached`] as soon as the stream of the primary has been applied up to here.
    WaitForOffset(u64),
    /// Connects to the bus of a node; then [`crate::Cluster::connected`] or [`crate::Cluster::closed`] is called.
    Dial {
        /// The name of the link to be.
        link: LinkId,
        /// The address.
        ip: Box<str>,
        /// The port of the bus.
        port: u16,
    },
    /// Sends a packet on a link; if it is not there any more, the packet is lost.
    Send {
        /// The link.
        link: LinkId,
        /// The packet.
        bytes: Arc<[u8]>,
    },
    /// Closes a link, or stops dialling. Nothing more is reported of it.
    Close(LinkId),
    /// Gives a message to the subscribers of a channel.
    Deliver {
        /// The channel.
        channel: Box<[u8]>,
        /// The message.
        payload: Box<[u8]>,
        /// Whether it is one of the shard's channels.
        is_sharded: bool,
    },
}
