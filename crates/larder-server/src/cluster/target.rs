//! The way to the target of a migration: its port for clients, or that for TLS where replication uses TLS.

use crate::shared::Shared;
use crate::tls::{Fault, NodeStream};
use larder_engine::{Engine, Migration};
use mio::net::TcpStream;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// How long the target may take to be connected to, and again for the handshake of TLS.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects to the target. The handshake of TLS, if there is one, has not begun; the socket does not block from now on.
///
/// # Errors
/// Why there is no connection, as CLUSTER GETSLOTMIGRATIONS tells it.
pub fn dial(shared: &Shared, engine: &Engine, job: &Migration) -> Result<NodeStream, String> {
    let tls = match shared.config.is_yes("tls-replication") {
        true => Some(shared.tls.client().ok_or("TLS is not configured")?),
        false => None,
    };
    let address = address_of(engine, job, tls.is_some())?;
    let connect = || {
        let socket = std::net::TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        let socket = TcpStream::from_std(socket);
        match tls {
            None => Ok(NodeStream::plain(socket)),
            Some(config) => NodeStream::dialled(socket, config, address.ip()),
        }
    };
    connect().map_err(|error| unreachable(&error))
}

/// What is said of a target that is not reached.
pub fn unreachable(error: &io::Error) -> String {
    format!("Unable to connect to target node: {}", Fault(error))
}

fn address_of(engine: &Engine, job: &Migration, uses_tls: bool) -> Result<SocketAddr, String> {
    let map = engine.slot_map().ok_or("The role has changed")?;
    let node = map.nodes.iter().find(|node| node.id == job.target).ok_or("The target node is unknown")?;
    let port = if uses_tls { node.address.tls_port } else { node.address.port };
    let mut addresses = (&*node.address.ip, port).to_socket_addrs().map_err(|error| unreachable(&error))?;
    addresses.next().ok_or_else(|| "The target node has no address".to_owned())
}
