//! Listening sockets: TCP on every address of `bind`, for plain connections and for TLS, and the unix socket.

use crate::log::Log;
use crate::settings::system_text;
use crate::sys;
use larder_engine::config::Config;
use mio::net::{TcpListener, UnixListener};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Connections that the kernel keeps waiting for what [`plain`] makes.
const PLAIN_BACKLOG: i32 = 64;

/// One listening socket.
pub enum Listener {
    /// By TCP.
    Tcp(TcpListener, Security),
    /// By a file.
    Unix(UnixListener, PathBuf),
}

/// What is spoken on a TCP connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// The protocol itself.
    #[default]
    Plain,
    /// TLS.
    Tls,
}

impl Security {
    /// As the log calls it.
    fn name(self) -> &'static str {
        match self {
            Security::Plain => "tcp",
            Security::Tls => "tls",
        }
    }
}

/// Where to listen by TCP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// As in the option `bind`.
    bind: String,
    /// 0: not at all.
    port: u16,
    backlog: i32,
    /// `socket-mark-id`; 0 is none.
    mark: u32,
    /// Multipath TCP.
    multipath: bool,
    security: Security,
}

impl Place {
    /// As configured.
    pub fn of(config: &Config, security: Security) -> Place {
        let backlog = config.number("tcp-backlog") as i32;
        let port = match security {
            Security::Plain => config.number("port"),
            Security::Tls => config.number("tls-port"),
        };
        Place {
            bind: config.value("bind"),
            port: port as u16,
            backlog,
            mark: config.number("socket-mark-id") as u32,
            multipath: config.is_yes("mptcp"),
            security,
        }
    }

    /// What is spoken there.
    pub fn security(&self) -> Security {
        self.security
    }
}

/// An address of `bind`.
#[derive(Debug, PartialEq, Eq)]
struct Address<'a> {
    text: &'a str,
    /// A leading `-`: fine if the machine does not have it.
    optional: bool,
}

/// Why the server cannot listen; has been logged.
#[derive(Debug)]
pub struct CannotListen;

/// Listens by TCP; an error has been logged.
pub fn tcp(place: &Place, log: &Log) -> Result<Vec<Listener>, CannotListen> {
    let mut listeners = Vec::new();
    let port = place.port;
    for address in addresses(&place.bind).filter(|_| port != 0) {
        let text = address.text;
        match bind_one(text, place) {
            Ok(listener) => listeners.push(Listener::Tcp(listener, place.security)),
            Err(error) if address.optional && not_here(&error) => {}
            Err(error) => {
                let reason = system_text(&error);
                log.warning(&format!(
                    "Warning: Could not create server TCP listening socket {text}:{port}: bind: {reason}"
                ));
                log.warning(&format!(
                    "Failed listening on port {port} ({}), aborting.",
                    place.security.name()
                ));
                return Err(CannotListen);
            }
        }
    }
    Ok(listeners)
}

/// Listens on a port of the addresses in `bind`, for sockets that no event loop of a worker serves.
pub fn plain(bind: &str, port: u16) -> io::Result<Vec<std::net::TcpListener>> {
    let mut listeners = Vec::new();
    let place = Place { port, backlog: PLAIN_BACKLOG, ..Place::default() };
    for address in addresses(bind) {
        match bind_socket(address.text, &place) {
            Ok(socket) => listeners.push(socket.into()),
            Err(error) if address.optional && not_here(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(listeners)
}

/// Listens on the unix socket, if there is to be one.
pub fn unix(config: &Config, log: &Log) -> Result<Option<Listener>, CannotListen> {
    let path = config.value("unixsocket");
    if path.is_empty() {
        return Ok(None);
    }
    match bind_unix(Path::new(&path), config) {
        Ok(listener) => Ok(Some(Listener::Unix(listener, PathBuf::from(path)))),
        Err(error) => {
            log.warning(&format!("Failed opening Unix socket: bind: {}", system_text(&error)));
            Err(CannotListen)
        }
    }
}

fn addresses(bind: &str) -> impl Iterator<Item = Address<'_>> {
    bind.split(' ').filter(|text| !text.is_empty()).map(|text| match text.strip_prefix('-') {
        Some(text) => Address { text, optional: true },
        None => Address { text, optional: false },
    })
}

fn not_here(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::EADDRNOTAVAIL
                | libc::EAFNOSUPPORT
                | libc::EPROTONOSUPPORT
                | libc::ENOPROTOOPT
                | libc::EPFNOSUPPORT
        )
    )
}

fn resolve(text: &str, port: u16) -> io::Result<SocketAddr> {
    match text {
        "*" => Ok((IpAddr::V4(Ipv4Addr::UNSPECIFIED), port).into()),
        "::*" => Ok((IpAddr::V6(Ipv6Addr::UNSPECIFIED), port).into()),
        _ => (text, port)
            .to_socket_addrs()?
            .next()
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "Name or service not known")),
    }
}

fn bind_one(text: &str, place: &Place) -> io::Result<TcpListener> {
    Ok(TcpListener::from_std(bind_socket(text, place)?.into()))
}

fn bind_socket(text: &str, place: &Place) -> io::Result<Socket> {
    let address = resolve(text, place.port)?;
    let protocol = if place.multipath { Protocol::MPTCP } else { Protocol::TCP };
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(protocol))?;
    if place.mark != 0 {
        socket.set_mark(place.mark)?;
    }
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(place.backlog)?;
    Ok(socket)
}

fn bind_unix(path: &Path, config: &Config) -> io::Result<UnixListener> {
    let mode = config.number("unixsocketperm") as u32;
    let group = config.value("unixsocketgroup");
    // One left over by a crash would be in the way. Anything else at this path is somebody's file, and in the way for good.
    if path.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_socket()) {
        let _ = std::fs::remove_file(path);
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::unix(path)?)?;
    socket.listen(config.number("tcp-backlog") as i32)?;
    if mode != 0 {
        sys::set_permissions(path, mode)?;
    }
    if !group.is_empty() {
        sys::set_group(path, &group)?;
    }
    Ok(UnixListener::from_std(socket.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_engine::config::LogThreshold;

    #[test]
    fn bind_words() {
        let words: Vec<_> = addresses("* -::*  127.0.0.1").collect();
        let expected = [("*", false), ("::*", true), ("127.0.0.1", false)];
        assert_eq!(words, expected.map(|(text, optional)| Address { text, optional }));
    }

    #[test]
    fn optional_addresses_may_be_missing() {
        let log = Log::new("/dev/null", LogThreshold::Warning);
        let port = larder_testkit::Port::reserve();
        let place = |bind: &str| Place {
            bind: bind.to_string(),
            port: port.number(),
            backlog: 5,
            ..Place::default()
        };
        assert_eq!(tcp(&place("-192.0.2.1 127.0.0.1"), &log).unwrap().len(), 1);
        assert!(tcp(&place("192.0.2.1"), &log).is_err());
    }
}
