//! The way to the target of a migration: its port for clients, or that for TLS where replication uses TLS.

use crate::shared::Shared;
use crate::tls::{Fault, NodeStream};
use larder_engine::{ConnInfo, Engine, Migration};
use larder_link::dial;
use mio::net::TcpStream;
use socket2::Protocol;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::time::Duration;
use std::{fmt, io};

/// How long the target may take to be connected to, and again for the handshake of TLS.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why the target is not reached. Its text is what CLUSTER GETSLOTMIGRATIONS tells.
#[derive(Debug)]
pub enum Unreachable {
    /// This node follows another one.
    RoleChanged,
    /// It is not in the slot map.
    UnknownNode,
    /// Its name stands for no address.
    NoAddress,
    /// TLS is to be used, and this node has no certificate.
    NoTls,
    /// It does not answer, or not as a node does.
    Failed(io::Error),
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unreachable::RoleChanged => "The role has changed",
            Unreachable::UnknownNode => "The target node is unknown",
            Unreachable::NoAddress => "The target node has no address",
            Unreachable::NoTls => "TLS is not configured",
            Unreachable::Failed(error) => {
                return write!(f, "Unable to connect to target node: {}", Fault(error));
            }
        })
    }
}

impl std::error::Error for Unreachable {}

impl From<io::Error> for Unreachable {
    fn from(error: io::Error) -> Self {
        Unreachable::Failed(error)
    }
}

/// Connects to the target. The handshake of TLS, if there is one, has not begun; the socket does not block from now on.
pub fn dial(shared: &Shared, engine: &Engine, job: &Migration) -> Result<NodeStream, Unreachable> {
    let tls = match shared.config.is_yes("tls-replication") {
        true => Some(shared.tls.client().ok_or(Unreachable::NoTls)?),
        false => None,
    };
    let address = address_of(engine, job, tls.is_some())?;
    let socket = dial::socket(address, dial::source(&shared.config), Protocol::TCP)?;
    socket.connect_timeout(&address.into(), CONNECT_TIMEOUT)?;
    let socket = std::net::TcpStream::from(socket);
    socket.set_nodelay(true)?;
    socket.set_nonblocking(true)?;
    let socket = TcpStream::from_std(socket);
    Ok(match tls {
        None => NodeStream::plain(socket),
        Some(config) => NodeStream::dialled(socket, config, address.ip())?,
    })
}

/// The connection as CLIENT LIST shows it.
pub fn describe(engine: &Engine, stream: &NodeStream) -> ConnInfo {
    let socket = stream.socket();
    let ends = [socket.peer_addr(), socket.local_addr()];
    ConnInfo::of_own(engine.next_client_id(), ends, socket.as_raw_fd())
}

fn address_of(engine: &Engine, job: &Migration, uses_tls: bool) -> Result<SocketAddr, Unreachable> {
    let map = engine.slot_map().ok_or(Unreachable::RoleChanged)?;
    let node = map.nodes.iter().find(|node| node.id == job.target).ok_or(Unreachable::UnknownNode)?;
    let port = if uses_tls { node.address.tls_port } else { node.address.port };
    (&*node.address.ip, port).to_socket_addrs()?.next().ok_or(Unreachable::NoAddress)
}
