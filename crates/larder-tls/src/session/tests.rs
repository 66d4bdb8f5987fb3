//! Two ends that talk to each other in pieces of generated sizes.

use super::*;
use larder_testkit::tls::Authority;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// One direction of a socket that takes as many bytes as there is room for.
#[derive(Default)]
struct Pipe {
    bytes: VecDeque<u8>,
    capacity: usize,
}

struct End {
    from: Rc<RefCell<Pipe>>,
    to: Rc<RefCell<Pipe>>,
}

impl Read for End {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let bytes = &mut self.from.borrow_mut().bytes;
        let n = bytes.len().min(buf.len());
        if n == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        buf.iter_mut().zip(bytes.drain(..n)).for_each(|(to, byte)| *to = byte);
        Ok(n)
    }
}

impl Write for End {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut pipe = self.to.borrow_mut();
        let n = bytes.len().min(pipe.capacity.saturating_sub(pipe.bytes.len()));
        if n == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        pipe.bytes.extend(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Two ends that show each other certificates.
fn pair() -> (Session<UnbufferedServerConnection>, Session<UnbufferedClientConnection>) {
    let authority = Authority::new("authority");
    let identity = authority.issue("server");
    let certificates = |path: &str| {
        let all = CertificateDer::pem_file_iter(path).unwrap();
        all.collect::<Result<Vec<_>, _>>().unwrap()
    };
    let chain = certificates(&identity.certificate);
    let key = || PrivateKeyDer::from_pem_file(&identity.key).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificates(&authority.certificate()).remove(0)).unwrap();
    let (roots, provider) = (Arc::new(roots), Arc::new(default_provider()));
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(clients.build().unwrap())
        .with_single_cert(chain.clone(), key())
        .unwrap();
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key())
        .unwrap();
    let server = UnbufferedServerConnection::new(Arc::new(server)).unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let client = UnbufferedClientConnection::new(Arc::new(client), name).unwrap();
    (Session::new(server), Session::new(client))
}

/// What one side has to send, and what the other one has got.
struct Flow {
    rng: fastrand::Rng,
    unsent: VecDeque<u8>,
    sent: Vec<u8>,
    got: Vec<u8>,
}

impl Flow {
    fn new(seed: u64) -> Flow {
        let rng = fastrand::Rng::with_seed(seed);
        Flow { rng, unsent: VecDeque::new(), sent: Vec::new(), got: Vec::new() }
    }

    /// Has something more to send, and offers all of it, in up to three slices.
    fn send<C: Records>(&mut self, session: &mut Session<C>, socket: &mut End) {
        let new: Vec<u8> = (0..self.rng.usize(0..60_000)).map(|at| (at * at) as u8).collect();
        self.unsent.extend(&new);
        self.sent.extend(new);
        let all = self.unsent.make_contiguous();
        let (first, rest) = all.split_at(self.rng.usize(..=all.len()));
        let (second, third) = rest.split_at(self.rng.usize(..=rest.len()));
        let written = session.write(socket, &[first, second, third].map(IoSlice::new));
        let falls_short = !all.is_empty() && written.as_ref().is_ok_and(|n| *n < all.len());
        match written {
            Ok(n) => drop(self.unsent.drain(..n)),
            Err(ref error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        if (falls_short || written.is_err()) && !session.state().is_handshaking() {
            let pipe = socket.to.borrow();
            assert!(pipe.bytes.len() >= pipe.capacity, "the socket takes more: nobody would offer it again");
        }
    }

    /// Reads by the ways that there are, with rooms of all sizes.
    fn receive<C: Records>(&mut self, session: &mut Session<C>, socket: &mut End) {
        let room = self.rng.usize(1..50_000);
        let outcome = if self.rng.bool() {
            let mut buffer = vec![0; room];
            let outcome = session.read(socket, &mut Room::Buffer(&mut buffer, 0));
            self.got.extend_from_slice(&buffer[..*outcome.as_ref().unwrap_or(&0)]);
            outcome
        } else {
            session.read(socket, &mut Room::End(&mut self.got, room))
        };
        match outcome {
            Ok(n) => {
                assert!(n > 0 && n <= room);
                let is_empty = socket.from.borrow().bytes.is_empty();
                assert!(is_empty || session.may_have_more(), "what the socket has said is forgotten");
            }
            Err(error) => assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)),
        }
    }
}

/// A server that has read the end of the client's handshake, and 100 bytes of the 5,000 that came with it, for more of which it had no room.
fn after_a_handshake() -> (Session<UnbufferedServerConnection>, End, Session<UnbufferedClientConnection>, End)
{
    let (mut server, mut client) = pair();
    let [up, down] =
        [(); 2].map(|()| Rc::new(RefCell::new(Pipe { capacity: usize::MAX, ..Pipe::default() })));
    let mut ours = End { from: Rc::clone(&up), to: Rc::clone(&down) };
    let mut theirs = End { from: Rc::clone(&down), to: Rc::clone(&up) };
    while client.state().is_handshaking() {
        let _ = client.greet(&mut theirs);
        if client.state().is_handshaking() {
            let _ = server.read(&mut ours, &mut Room::Buffer(&mut [0; 10], 0));
        }
    }
    assert_eq!(client.write(&mut theirs, &[IoSlice::new(&[7; 5000])]).unwrap(), 5000);
    let mut got = [0; 100];
    assert_eq!(server.read(&mut ours, &mut Room::Buffer(&mut got, 0)).unwrap(), 100);
    assert_eq!(got, [7; 100]);
    (server, ours, client, theirs)
}

#[test]
fn replies_go_out_at_once_after_a_handshake() {
    let (mut server, mut ours, mut client, mut theirs) = after_a_handshake();
    let written = server.write(&mut ours, &[IoSlice::new(b"+OK\r\n")]).unwrap();
    assert_eq!(written, 5, "nobody would offer it again");
    let mut reply = [0; 10];
    let n = client.read(&mut theirs, &mut Room::Buffer(&mut reply, 0)).unwrap();
    assert_eq!(&reply[..n], b"+OK\r\n");
}

#[test]
fn goodbye_is_said_after_a_handshake() {
    let (mut server, mut ours, mut client, mut theirs) = after_a_handshake();
    server.close(&mut ours);
    let mut rest = [0; 10];
    assert_eq!(client.read(&mut theirs, &mut Room::Buffer(&mut rest, 0)).unwrap(), 0);
}

#[test]
fn everything_arrives_in_order() {
    let seed = larder_testkit::seed(9);
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut server, mut client) = pair();
    let [up, down] = [(); 2].map(|()| Rc::new(RefCell::new(Pipe { capacity: 3000, ..Pipe::default() })));
    let mut ours = End { from: Rc::clone(&up), to: Rc::clone(&down) };
    let mut theirs = End { from: Rc::clone(&down), to: Rc::clone(&up) };
    let mut flows = [Flow::new(seed), Flow::new(seed + 1)];
    assert!(server.write(&mut ours, &[IoSlice::new(b"early")]).is_err(), "nothing before the handshake");
    while client.state().is_handshaking() {
        if let Err(error) = client.greet(&mut theirs) {
            assert_eq!(error.kind(), ErrorKind::WouldBlock, "SEED={seed}");
        }
        flows[1].receive(&mut server, &mut ours);
    }
    for _ in 0..600 {
        up.borrow_mut().capacity = rng.usize(1..200_000);
        down.borrow_mut().capacity = rng.usize(1..200_000);
        match rng.u8(..4) {
            0 => flows[0].send(&mut server, &mut ours),
            1 => flows[1].send(&mut client, &mut theirs),
            2 => flows[0].receive(&mut client, &mut theirs),
            _ => flows[1].receive(&mut server, &mut ours),
        }
        assert!(server.owed <= CHUNK_BYTES && client.owed <= CHUNK_BYTES, "I2, SEED={seed}");
        assert!(client.outgoing.len() <= CHUNK_BYTES + 8 * OVERHEAD_BYTES + UNSENT_BYTES_MAX, "SEED={seed}");
    }
    up.borrow_mut().capacity = usize::MAX;
    down.borrow_mut().capacity = usize::MAX;
    for _ in 0..20_000 {
        flows[0].send_rest(&mut server, &mut ours);
        flows[1].send_rest(&mut client, &mut theirs);
        flows[0].receive(&mut client, &mut theirs);
        flows[1].receive(&mut server, &mut ours);
        if flows.iter().all(|flow| flow.got.len() == flow.sent.len()) {
            break;
        }
    }
    assert!(flows.iter().all(|flow| flow.got == flow.sent), "SEED={seed}");
    // Nobody holds a buffer when nothing waits.
    assert_eq!(server.incoming.capacity() + server.plain.capacity() + server.outgoing.capacity(), 0);
    client.close(&mut theirs);
    assert_eq!(server.read(&mut ours, &mut Room::Buffer(&mut [0; 10], 0)).unwrap(), 0);
}

impl Flow {
    fn send_rest<C: Records>(&mut self, session: &mut Session<C>, socket: &mut End) {
        let all = self.unsent.make_contiguous();
        if let Ok(n) = session.write(socket, &[IoSlice::new(all)]) {
            self.unsent.drain(..n);
        }
    }
}
