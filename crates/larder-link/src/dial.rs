//! Sockets to other servers, from the address that `bind-source-addr` names.

use larder_engine::config::Config;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Returns the address of `bind-source-addr`; `None` if it names none.
pub fn source(config: &Config) -> Option<IpAddr> {
    config.value("bind-source-addr").parse().ok()
}

/// Makes a socket that is to be connected to an address. It begins at `source`, unless that is of
/// the other kind, or not one of this machine's: then the system chooses.
///
/// # Errors
/// The system gives no socket.
pub fn socket(to: SocketAddr, source: Option<IpAddr>, protocol: Protocol) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(protocol))?;
    if let Some(source) = source.filter(|source| source.is_ipv4() == to.is_ipv4()) {
        // As Valkey: a replica without a link is worse than one that comes from another address.
        let _ = socket.bind(&SocketAddr::new(source, 0).into());
    }
    Ok(socket)
}
