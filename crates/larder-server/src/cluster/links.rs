//! The sockets of the bus, which are plain or TLS as `tls-cluster` says when they are made. None of them is ever waited for.
//!
//! Bytes that come are cut into packets by their lengths; what is not of this protocol closes its link. What goes out waits in a queue of packets,
//! which several links may share. A queue beyond `cluster-link-sendbuf-limit` closes its link. From one link
//! no more than [`READS_MAX`] reads are made in a row: then the others have their turn, and the clock.

use crate::tls::{self, NodeStream};
use larder_cluster::LinkId;
use larder_cluster::packet::packet_len;
use larder_engine::config::TlsAuthClients;
use larder_link::dial;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use socket2::{Protocol, SockRef, TcpKeepalive};
use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Tokens of links begin here.
pub const FIRST_LINK: usize = 1 << 16;
/// Bytes read at once.
const READ_BYTES: usize = 16 << 10;
/// Reads of a link before others have their turn.
const READS_MAX: usize = 16;
/// Most bytes of a packet from somebody who is not known as a node, and of what waits to be sent to him.
pub const STRANGE_BYTES_MAX: usize = 128 << 10;
/// A connection on which nothing comes is probed after this long.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A link with a socket.
struct Link {
    stream: NodeStream,
    state: State,
    input: Vec<u8>,
    output: VecDeque<Arc<[u8]>>,
    /// Bytes of the first packet of `output` that have been sent.
    sent: usize,
    queued_bytes: usize,
}

/// How far a link has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The kernel connects.
    Connecting,
    /// The handshake of a link that was dialled is under way.
    Greeting,
    Open,
}

/// The socket of a link is of no use any more.
#[derive(Debug)]
pub struct Broken {
    /// What went wrong in a handshake of TLS.
    pub handshake: Option<io::Error>,
}

const BROKEN: Broken = Broken { handshake: None };

/// All links that have sockets.
pub struct Links {
    registry: Registry,
    links: HashMap<LinkId, Link>,
    /// Links with something to send.
    waiting: Vec<LinkId>,
    /// Links that may have more to read.
    unread: Vec<LinkId>,
    chunk: Vec<u8>,
    /// Links that were closed because too much waited for them.
    pub overflows: u64,
}

/// What has happened on a link.
#[derive(Debug)]
pub enum Event {
    /// A dialled link is open.
    Connected,
    /// A packet.
    Packet(Vec<u8>),
}

impl Links {
    /// None yet. Their events come from the registry's poll.
    pub fn new(registry: Registry) -> Links {
        Links {
            registry,
            links: HashMap::new(),
            waiting: Vec::new(),
            unread: Vec::new(),
            chunk: vec![0; READ_BYTES],
            overflows: 0,
        }
    }

    /// The link that a token stands for.
    pub fn of(token: Token) -> Option<LinkId> {
        token.0.checked_sub(FIRST_LINK).map(|number| LinkId(number as u64))
    }

    /// Takes in a socket that was accepted. By TLS the other node must show a certificate, whatever clients need not.
    pub fn accept(&mut self, id: LinkId, socket: TcpStream, tls: Option<&tls::Context>) -> io::Result<()> {
        let stream = match tls {
            None => NodeStream::plain(socket),
            Some(tls) => {
                let config = tls.server(TlsAuthClients::Yes).ok_or_else(not_configured)?;
                NodeStream::accepted(socket, config)?
            }
        };
        self.add(id, stream, State::Open)
    }

    /// Begins to connect, from the address `source` if there is one.
    pub fn dial(
        &mut self,
        id: LinkId,
        (ip, port): (&str, u16),
        source: Option<IpAddr>,
        tls: Option<&tls::Context>,
    ) -> io::Result<()> {
        let ip: IpAddr = ip.parse().map_err(|_| io::Error::from(ErrorKind::InvalidInput))?;
        let socket = connect(SocketAddr::new(ip, port), source)?;
        let stream = match tls {
            None => NodeStream::plain(socket),
            Some(tls) => NodeStream::dialled(socket, tls.client().ok_or_else(not_configured)?, ip)?,
        };
        self.add(id, stream, State::Connecting)
    }

    fn add(&mut self, id: LinkId, mut stream: NodeStream, state: State) -> io::Result<()> {
        let token = Token(FIRST_LINK + id.0 as usize);
        self.registry.register(stream.socket_mut(), token, Interest::READABLE | Interest::WRITABLE)?;
        let link =
            Link { stream, state, input: Vec::new(), output: VecDeque::new(), sent: 0, queued_bytes: 0 };
        // Without these it works as well.
        let _ = link.stream.socket().set_nodelay(true);
        let keepalive = TcpKeepalive::new().with_time(KEEPALIVE);
        let _ = SockRef::from(link.stream.socket()).set_tcp_keepalive(&keepalive);
        self.links.insert(id, link);
        Ok(())
    }

    /// Closes a link, if it is there.
    pub fn close(&mut self, id: LinkId) {
        if let Some(mut link) = self.links.remove(&id) {
            let _ = self.registry.deregister(link.stream.socket_mut());
        }
    }

    /// Bytes that wait for a link.
    pub fn queued_bytes(&self, id: LinkId) -> usize {
        self.links.get(&id).map_or(0, |link| link.queued_bytes)
    }

    /// Puts a packet into the queue of a link, if it is there.
    pub fn send(&mut self, id: LinkId, bytes: Arc<[u8]>) {
        if let Some(link) = self.links.get_mut(&id) {
            link.queued_bytes += bytes.len();
            link.output.push_back(bytes);
            self.waiting.push(id);
        }
    }

    /// Something has happened on the socket of a link: what, and whether it is over. `is_of_node`: whose packets may have any length.
    pub fn follow(&mut self, id: LinkId, is_of_node: bool) -> (Vec<Event>, Result<(), Broken>) {
        let mut events = Vec::new();
        let Some(link) = self.links.get_mut(&id) else { return (events, Ok(())) };
        if link.state != State::Open {
            match link.open() {
                Ok(true) => events.push(Event::Connected),
                Ok(false) => return (events, Ok(())),
                Err(broken) => return (events, Err(broken)),
            }
        }
        let bytes_max = if is_of_node { usize::MAX } else { STRANGE_BYTES_MAX };
        let outcome = link.read(&mut self.chunk, bytes_max, &mut events).and_then(|has_more| {
            if has_more {
                self.unread.push(id);
            }
            link.write()
        });
        (events, outcome)
    }

    /// Whether some links are to be followed without an event of theirs.
    pub fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Takes the links that are to be followed without an event of theirs.
    pub fn take_unread(&mut self) -> Vec<LinkId> {
        std::mem::take(&mut self.unread)
    }

    /// Sends what waits. Returns the links that broke, or for which too much waits: more than `bytes_max`, if that is not 0.
    pub fn flush(&mut self, bytes_max: usize) -> Vec<LinkId> {
        let mut over = Vec::new();
        for id in std::mem::take(&mut self.waiting) {
            let Some(link) = self.links.get_mut(&id).filter(|link| link.state == State::Open) else {
                continue;
            };
            let is_broken = link.write().is_err();
            let overflows = bytes_max > 0 && link.queued_bytes > bytes_max;
            self.overflows += u64::from(overflows);
            if is_broken || overflows {
                over.push(id);
            }
        }
        over
    }
}

impl Link {
    /// Goes on with opening a link that was dialled; whether it is open now.
    fn open(&mut self) -> Result<bool, Broken> {
        if self.state == State::Connecting {
            let socket = self.stream.socket();
            if socket.take_error().map_or(true, |error| error.is_some()) {
                return Err(BROKEN);
            }
            match socket.peer_addr() {
                Ok(_) => self.state = State::Greeting,
                Err(error) if error.kind() == ErrorKind::NotConnected => return Ok(false),
                Err(_) => return Err(BROKEN),
            }
        }
        let is_open = self.stream.greet().map_err(|error| Broken { handshake: Some(error) })?;
        if is_open {
            self.state = State::Open;
        }
        Ok(is_open)
    }

    /// Reads until nothing is left, or others are to have their turn: whether there may be more.
    fn read(&mut self, chunk: &mut [u8], bytes_max: usize, events: &mut Vec<Event>) -> Result<bool, Broken> {
        if self.cut(bytes_max, events)? {
            return Ok(true);
        }
        for _ in 0..READS_MAX {
            match self.stream.read(chunk) {
                Ok(0) => return Err(self.broken(ErrorKind::UnexpectedEof.into())),
                Ok(len) => {
                    self.input.extend_from_slice(&chunk[..len]);
                    if self.cut(bytes_max, events)? {
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.broken(error)),
            }
        }
        Ok(true)
    }

    fn broken(&self, error: io::Error) -> Broken {
        Broken { handshake: self.stream.is_handshaking().then_some(error) }
    }

    /// Cuts the packets off that are complete. Whether those before a long one may say that the sender is a node, which may send it.
    fn cut(&mut self, bytes_max: usize, events: &mut Vec<Event>) -> Result<bool, Broken> {
        let (mut from, mut is_too_long) = (0, false);
        loop {
            let rest = &self.input[from..];
            match packet_len(rest) {
                Ok(Some(len)) if len <= rest.len() => {
                    events.push(Event::Packet(rest[..len].to_vec()));
                    from += len;
                }
                Ok(Some(len)) if len > bytes_max => {
                    is_too_long = true;
                    break;
                }
                Ok(_) => break,
                Err(_) => return Err(BROKEN),
            }
        }
        self.input.drain(..from);
        if is_too_long && events.is_empty() {
            return Err(BROKEN);
        }
        Ok(is_too_long)
    }

    /// Sends until the socket takes no more.
    fn write(&mut self) -> Result<(), Broken> {
        while let Some(first) = self.output.front() {
            match self.stream.write(&first[self.sent..]) {
                Ok(len) => {
                    self.sent += len;
                    self.queued_bytes -= len;
                    if self.sent == first.len() {
                        self.sent = 0;
                        self.output.pop_front();
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(BROKEN),
            }
        }
        Ok(())
    }
}

/// Begins to connect a socket that does not block.
fn connect(to: SocketAddr, source: Option<IpAddr>) -> io::Result<TcpStream> {
    let socket = dial::socket(to, source, Protocol::TCP)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&to.into()) {
        Err(error) if error.raw_os_error() != Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => {
            Err(error)
        }
        _ => Ok(TcpStream::from_std(socket.into())),
    }
}

fn not_configured() -> io::Error {
    io::Error::other("TLS is not configured")
}
