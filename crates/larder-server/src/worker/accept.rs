//! New connections: worker 0 accepts them and deals them out to all workers in turn.

use super::EventLoop;
use crate::connection::input::Input;
use crate::connection::output::Output;
use crate::connection::{Arrival, Connection, Flags, Stream};
use crate::listen::{Listener, Security};
use crate::shared::Shared;
use crate::tls::TlsStream;
use larder_engine::{ConnInfo, ConnKind};
use mio::Token;
use mio::net::TcpStream;
use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Between two tries when there were no descriptors for those who wait.
const ACCEPT_RETRY_MS: u64 = 100;

const TOO_MANY: &[u8] = b"-ERR max number of clients reached\r\n";

const DENIED: &[u8] = b"-DENIED Running in protected mode because protected mode is enabled and no password is set for the \
default user. In this mode connections are only accepted from the loopback interface. If you want to connect from external \
computers, you may adopt one of the following solutions: 1) Just disable protected mode sending the command 'CONFIG SET \
protected-mode no' from the loopback interface by connecting from the same host the server is running, however MAKE SURE it's \
not publicly accessible from internet if you do so. Use CONFIG REWRITE to make this change permanent. 2) Alternatively you can \
just disable the protected mode by editing the configuration file, and setting the protected mode option to 'no', and then \
restarting the server. 3) If you started the server manually just for testing, restart it with the '--protected-mode no' \
option. 4) Set up an authentication password for the default user. NOTE: You only need to do one of the above things in order \
for the server to start accepting connections from the outside.\r\n";

/// What the listeners had.
enum Accepted {
    New(Arrival),
    /// Refused, and told so.
    Refused,
    Nothing,
}

impl EventLoop {
    /// Accepts what there is, up to a bound; of TLS, which takes longer, up to a bound of its own.
    pub(super) fn accept(&mut self) {
        let hot = &self.shared.config.hot;
        let mut left = hot.max_new_connections_per_cycle.load(Relaxed);
        let mut left_of_tls = hot.max_new_tls_connections_per_cycle.load(Relaxed);
        while left > 0 || left_of_tls > 0 {
            let may_have = |security: Security| match security {
                Security::Plain => left > 0,
                Security::Tls => left_of_tls > 0,
            };
            match accept_one(&self.shared, self.worker.engine().needs_no_password(), may_have) {
                Ok(Accepted::New(connection)) => {
                    let budget = if connection.kind == ConnKind::Tls { &mut left_of_tls } else { &mut left };
                    *budget -= 1;
                    self.deal(connection);
                }
                Ok(Accepted::Refused) => {
                    left -= 1;
                    self.worker.stats().rejected_connections.add(1);
                }
                Ok(Accepted::Nothing) => {
                    // Those that were not asked may have some.
                    self.accepting = left <= 0 || left_of_tls <= 0;
                    self.accept_again_ms = None;
                    return;
                }
                Err(error) => {
                    // Out of descriptors, as a rule. No event tells when there are some again, for those who already wait.
                    if self.accept_again_ms.is_none() {
                        self.shared.log.warning(&format!("Accepting client connection: {error}"));
                    }
                    self.accepting = false;
                    self.accept_again_ms = Some(self.worker.now_ms() + ACCEPT_RETRY_MS);
                    return;
                }
            }
        }
    }

    fn deal(&mut self, connection: Arrival) {
        self.shared.connections.fetch_add(1, Relaxed);
        let worker = self.next_worker;
        let posts = self.shared.posts();
        self.next_worker = (worker + 1) % posts.len();
        if worker == self.index {
            return self.adopt(connection);
        }
        posts[worker].arrivals.lock().push(connection);
        let _ = posts[worker].waker.wake();
    }

    /// Takes over what worker 0 has accepted.
    pub(super) fn take_arrivals(&mut self) {
        let arrivals = std::mem::take(&mut *self.shared.posts()[self.index].arrivals.lock());
        arrivals.into_iter().for_each(|connection| self.adopt(connection));
    }

    fn adopt(&mut self, new: Arrival) {
        let Arrival { mut stream, addr, laddr, kind, refusal } = new;
        let slot = self.slots.reserve();
        if let Err(error) = stream.register(self.poll.registry(), Token(slot)) {
            self.shared.log.warning(&format!("Failed to register a client connection: {error}"));
            self.shared.connections.fetch_sub(1, Relaxed);
            return self.slots.free(slot);
        }
        let id = self.worker.engine().next_client_id();
        let session = self.worker.connect(ConnInfo { id, addr, laddr, fd: stream.as_fd().as_raw_fd(), kind });
        let flags = Flags { writable: true, greets: kind == ConnKind::Tls, ..Flags::default() };
        let (input, output) = (Input::default(), Output::default());
        let connection = Connection {
            stream,
            session,
            input,
            output,
            noted_bytes: 0,
            deadline_ms: None,
            hold: 0,
            flags,
            refusal,
            away: None,
            outlet: None,
            awaited: None,
            compressed: None,
        };
        self.by_id.insert(id, slot);
        self.slots.put(slot, Box::new(connection));
    }
}

/// The next connection of a listener that `may_have` one. `open`: the default user has no password.
fn accept_one(shared: &Shared, open: bool, may_have: impl Fn(Security) -> bool) -> io::Result<Accepted> {
    let listeners = shared.listeners.lock();
    for listener in listeners.iter() {
        let accepted = match listener {
            Listener::Tcp(_, security) if !may_have(*security) => continue,
            Listener::Unix(..) if !may_have(Security::Plain) => continue,
            Listener::Tcp(socket, security) => {
                socket.accept().and_then(|(stream, peer)| tcp(shared, open, stream, peer, *security))
            }
            Listener::Unix(socket, path) => socket.accept().map(|(stream, _)| {
                let addr = format!("{}:0", path.display());
                admit(shared, open, Stream::Unix(stream), None, addr.clone(), addr)
            }),
        };
        match accepted {
            Ok(accepted) => return Ok(accepted),
            Err(error) if passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Accepted::Nothing)
}

/// Nothing to accept, or nobody there any more.
fn passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | Interrupted | WouldBlock)
}

fn tcp(
    shared: &Shared,
    open: bool,
    stream: TcpStream,
    peer: SocketAddr,
    security: Security,
) -> io::Result<Accepted> {
    // Without these the connection still works.
    let _ = stream.set_nodelay(true);
    let seconds = shared.config.hot.tcp_keepalive_s.load(Relaxed).max(0) as u64;
    if seconds > 0 {
        let interval = Duration::from_secs((seconds / 3).max(1));
        let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(seconds)).with_interval(interval);
        let _ = SockRef::from(&stream).set_tcp_keepalive(&keepalive.with_retries(3));
    }
    let laddr = stream.local_addr().map_or_else(|_| String::new(), |addr| addr.to_string());
    let stream = match security {
        Security::Plain => Stream::Tcp(stream),
        // Nothing can be said before the handshake, which is not worth its while.
        Security::Tls if is_full(shared) => return Ok(Accepted::Refused),
        Security::Tls => Stream::Tls(begin_tls(shared, stream)?),
    };
    Ok(admit(shared, open, stream, Some(peer.ip()), peer.to_string(), laddr))
}

fn begin_tls(shared: &Shared, stream: TcpStream) -> io::Result<TlsStream> {
    let config = shared.tls.server(shared.config.hot.tls_auth_clients.get());
    // The port is opened after that.
    TlsStream::accept(stream, config.ok_or_else(|| io::Error::other("TLS is not configured"))?)
}

/// Refuses who must not or cannot be served.
fn admit(
    shared: &Shared,
    open: bool,
    mut stream: Stream,
    peer: Option<IpAddr>,
    addr: String,
    laddr: String,
) -> Accepted {
    let full = is_full(shared);
    let is_denied = open && shared.config.hot.protected_mode.load(Relaxed) && is_outside(peer);
    let kind = match &stream {
        Stream::Tcp(_) => ConnKind::Tcp,
        Stream::Unix(_) => ConnKind::Unix,
        Stream::Tls(_) => ConnKind::Tls,
    };
    if !full && (!is_denied || kind == ConnKind::Tls) {
        shared.log.verbose(&format!("Accepted {addr}"));
        // By TLS it is said after the handshake.
        return Accepted::New(Arrival { stream, addr, laddr, kind, refusal: is_denied.then_some(DENIED) });
    }
    // The socket is new: the text fits, or the peer is gone.
    stream.offer(if full { TOO_MANY } else { DENIED });
    Accepted::Refused
}

/// Whether there are as many connections as there may be.
fn is_full(shared: &Shared) -> bool {
    shared.connections.load(Relaxed) >= shared.config.hot.maxclients.load(Relaxed) as usize
}

fn is_outside(peer: Option<IpAddr>) -> bool {
    peer.is_some_and(|ip| !ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_outside;

    #[test]
    fn who_is_outside() {
        let outside = |text: &str| is_outside(Some(text.parse().unwrap()));
        assert!(outside("192.0.2.1") && outside("2001:db8::1") && outside("::ffff:192.0.2.1"));
        assert!(!outside("127.0.0.9") && !outside("::1") && !outside("::ffff:127.0.0.1"));
        assert!(!is_outside(None), "a unix socket is local");
    }
}
