//! The first words of a replica to its primary.

use super::attempt::{LOOK, Link, LinkError, is_patience};
use super::compression::{Damaged, Decoder};
use crate::tls::{Fault, PeerLink};
use larder_engine::config::LinkCompression;
use larder_rdb::BLOCKS_TRAVEL;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// What the server says of its version: it reads the files of Valkey 9.
const VERSION: &str = larder_engine::VALKEY_VERSION;
/// No line that is expected is longer.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The primary's end of the link, and what has been read of it.
pub struct Peer {
    socket: PeerLink,
    bytes: Vec<u8>,
    /// What comes from now on is compressed.
    decoder: Option<Decoder>,
}

/// What the primary answers to PSYNC.
pub enum Answer {
    /// The stream goes on, in this history if it says so.
    Continue(Option<String>),
    /// A snapshot comes, of this history at this offset.
    Full {
        /// The history.
        id: String,
        /// Its offset.
        offset: u64,
    },
}

fn open(address: SocketAddr, multipath: bool, timeout: Duration) -> io::Result<TcpStream> {
    let protocol = if multipath { Protocol::MPTCP } else { Protocol::TCP };
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(protocol))?;
    socket.connect_timeout(&address.into(), timeout)?;
    Ok(socket.into())
}

/// Talks TLS to the primary, if that is configured.
fn secure(link: &Link, socket: TcpStream, host: &str, timeout: Duration) -> Result<PeerLink, LinkError> {
    if !link.shared.config.is_yes("tls-replication") {
        return Ok(PeerLink::plain(socket));
    }
    let config = link.shared.tls.client().ok_or_else(|| io::Error::other("TLS is not configured"))?;
    PeerLink::secure(socket, config, host, timeout, || link.check().is_ok()).map_err(|error| {
        LinkError::Refused(format!("The TLS handshake with the primary failed: {}", Fault(&error)))
    })
}

/// Sends a command.
pub fn send(socket: &PeerLink, words: &[&str]) -> io::Result<()> {
    let mut bytes = format!("*{}\r\n", words.len());
    for word in words {
        bytes += &format!("${}\r\n{word}\r\n", word.len());
    }
    socket.write_all(bytes.as_bytes())
}

impl Peer {
    /// Connects.
    pub fn connect(link: &Link, host: &str, port: u16) -> Result<Peer, LinkError> {
        let timeout = link.timeout();
        let mut error = io::Error::new(io::ErrorKind::NotFound, "the primary's name has no address");
        for address in (host, port).to_socket_addrs()? {
            link.check()?;
            match open(address, link.shared.config.is_yes("repl-mptcp"), timeout) {
                Ok(socket) => {
                    socket.set_nodelay(true)?;
                    socket.set_read_timeout(Some(LOOK))?;
                    socket.set_write_timeout(Some(timeout))?;
                    let socket = secure(link, socket, host, timeout)?;
                    return Ok(Peer { socket, bytes: Vec::new(), decoder: None });
                }
                Err(reason) => error = reason,
            }
        }
        Err(error.into())
    }

    /// The socket, what has been read and not used, and what takes compressed bytes apart.
    pub fn into_parts(self) -> (PeerLink, Vec<u8>, Option<Decoder>) {
        (self.socket, self.bytes, self.decoder)
    }

    /// What comes after the last line is compressed.
    fn expand(&mut self, compression: LinkCompression) -> Result<(), LinkError> {
        self.decoder = Decoder::new(compression);
        if let Some(decoder) = &mut self.decoder {
            let come = std::mem::take(&mut self.bytes);
            decoder.decode(&come, &mut self.bytes).map_err(|Damaged| LinkError::damaged_message())?;
        }
        Ok(())
    }

    /// A second handle on the socket.
    pub fn socket(&self) -> &PeerLink {
        &self.socket
    }

    /// Puts back what was read beyond what was wanted.
    pub fn unread(&mut self, mut bytes: Vec<u8>) {
        bytes.append(&mut self.bytes);
        self.bytes = bytes;
    }

    /// The next bytes: at least one. An error after `repl-timeout` without any, or when the role changes.
    pub fn read(&mut self, link: &Link, into: &mut [u8]) -> Result<usize, LinkError> {
        if !self.bytes.is_empty() {
            let n = self.bytes.len().min(into.len());
            into[..n].copy_from_slice(&self.bytes[..n]);
            self.bytes.drain(..n);
            return Ok(n);
        }
        let begun = Instant::now();
        loop {
            let has_message = self.decoder.as_ref().is_some_and(Decoder::has_message);
            let come = match if has_message { Ok(0) } else { self.socket.read(into) } {
                Ok(0) if !has_message => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(come) => come,
                Err(error) if is_patience(&error) => {
                    link.check()?;
                    if begun.elapsed() >= link.timeout() {
                        return Err(io::Error::from(io::ErrorKind::TimedOut).into());
                    }
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let Some(decoder) = &mut self.decoder else { return Ok(come) };
            let expanded = decoder.decode(&into[..come], &mut self.bytes);
            expanded.map_err(|Damaged| LinkError::damaged_message())?;
            if !self.bytes.is_empty() {
                return self.read(link, into);
            }
        }
    }

    /// The next line that is not empty, without its end. Empty ones are signs of life.
    pub fn line(&mut self, link: &Link) -> Result<String, LinkError> {
        let mut line = Vec::new();
        let mut piece = [0; 4096];
        loop {
            let n = self.read(link, &mut piece)?;
            let Some(end) = piece[..n].iter().position(|&byte| byte == b'\n') else {
                line.extend_from_slice(&piece[..n]);
                if line.len() > LINE_BYTES_MAX {
                    return Err(LinkError::Refused("The primary sends a line that does not end".to_owned()));
                }
                continue;
            };
            line.extend_from_slice(&piece[..end]);
            self.unread(piece[end + 1..n].to_vec());
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if !text.is_empty() {
                return Ok(text);
            }
            line.clear();
        }
    }

    /// Sends a command and returns the line that answers it.
    fn ask(&mut self, link: &Link, words: &[&str]) -> Result<String, LinkError> {
        send(&self.socket, words)?;
        self.line(link)
    }
}

/// Says who this server is, and logs in.
pub fn introduce(link: &Link, peer: &mut Peer) -> Result<(), LinkError> {
    let config = &link.shared.config;
    let pong = peer.ask(link, &["PING"])?;
    let is_known = |start: &&str| pong.starts_with(start);
    if !["+", "-NOAUTH", "-NOPERM", "-ERR operation not permitted"].iter().any(is_known) {
        return Err(LinkError::Refused(format!("Error reply to PING from primary: '{pong}'")));
    }
    let (user, password) = (config.value("masteruser"), config.value("masterauth"));
    if !password.is_empty() {
        let words: &[&str] = if user.is_empty() { &["AUTH", &password] } else { &["AUTH", &user, &password] };
        let answer = peer.ask(link, words)?;
        if answer.starts_with('-') {
            return Err(LinkError::Refused(format!("Unable to AUTH to PRIMARY: {answer}")));
        }
    }
    let ports = [
        config.value("replica-announce-port"),
        if config.is_yes("tls-replication") { config.value("tls-port") } else { "0".to_owned() },
    ];
    let port = ports.into_iter().find(|port| port != "0").unwrap_or_else(|| config.value("port"));
    let ip = config.value("replica-announce-ip");
    peer.ask(link, &["REPLCONF", "listening-port", &port])?;
    if !ip.is_empty() {
        peer.ask(link, &["REPLCONF", "ip-address", &ip])?;
    }
    // Older primaries know less of these; then they say so, and it does not matter.
    let mut words = vec!["REPLCONF", "capa", "eof", "capa", "psync2"];
    let compression = capability(config.choice("repl-compression"));
    for capability in BLOCKS_TRAVEL.then_some("larder-blocks").into_iter().chain(compression) {
        words.extend(["capa", capability]);
    }
    peer.ask(link, &words)?;
    peer.ask(link, &["REPLCONF", "version", VERSION])?;
    if let Some(map) = link.engine().slot_map() {
        // By that name the primary appoints it.
        peer.ask(link, &["REPLCONF", "set-cluster-node-id", map.me().id.as_str()])?;
    }
    Ok(())
}

/// What asks a Larder to compress.
fn capability(compression: LinkCompression) -> Option<&'static str> {
    match compression {
        LinkCompression::No => None,
        LinkCompression::Lz4 => Some("larder-lz4"),
        LinkCompression::Zstd => Some("larder-zstd"),
    }
}

/// Asks for the stream from where this server is.
pub fn ask_for_stream(link: &Link, peer: &mut Peer) -> Result<Answer, LinkError> {
    let engine = link.engine();
    let (id, position) = engine.history();
    let (can_resume, takes_over) = {
        let state = engine.replication().state();
        (state.can_resume, state.upstream.as_ref().is_some_and(|upstream| upstream.takes_over))
    };
    let next = (position + 1).to_string();
    let words: &[&str] = match (can_resume, takes_over) {
        (true, true) => &["PSYNC", &id, &next, "FAILOVER"],
        (true, false) => &["PSYNC", &id, &next],
        (false, _) => &["PSYNC", "?", "-1"],
    };
    if can_resume {
        link.shared.log.notice(&format!("Trying a partial resynchronization (request {id}:{next})."));
    }
    send(&peer.socket, words)?;
    // A primary may take its time until it begins with a snapshot.
    let answer = peer.line(link)?;
    let mut parts = answer.split(' ').collect::<Vec<_>>();
    let compression = match parts.last() {
        Some(&"lz4") => LinkCompression::Lz4,
        Some(&"zstd") => LinkCompression::Zstd,
        _ => LinkCompression::No,
    };
    if compression != LinkCompression::No {
        parts.pop();
        peer.expand(compression)?;
    }
    match parts[..] {
        ["+CONTINUE"] => Ok(Answer::Continue(None)),
        ["+CONTINUE", id, ..] => Ok(Answer::Continue(checked_id(Some(id))?)),
        ["+FULLRESYNC", id, offset, ..] => {
            let offset = offset.parse().ok().zip(checked_id(Some(id))?);
            let (offset, id) = offset.ok_or_else(|| refused(&answer))?;
            link.shared.log.notice(&format!("Full resync from primary: {id}:{offset}"));
            Ok(Answer::Full { id, offset })
        }
        _ if takes_over => {
            engine.abort_failover(&answer);
            Err(refused(&answer))
        }
        _ => Err(refused(&answer)),
    }
}

fn refused(answer: &str) -> LinkError {
    LinkError::Refused(format!("Unexpected reply to PSYNC from primary: {answer}"))
}

/// The name of a history has forty characters.
fn checked_id(id: Option<&str>) -> Result<Option<String>, LinkError> {
    match id {
        None => Ok(None),
        Some(id) if id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            Ok(Some(id.to_owned()))
        }
        Some(id) => Err(refused(id)),
    }
}
