//! Sockets, a clock and a file for one node: what a server does for the state machine, in threads and without care for speed.

use larder_cluster::packet::packet_len;
use larder_cluster::{
    Action, Cluster, Env, Facts, HistoryId, LinkId, Moment, NodeId, Origin, Place, PrimaryLink, Settings,
    TICK_MS, Viewer, parse_nodes_conf,
};
use larder_testkit::Port;
use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

/// A server with hardly any data.
#[derive(Default)]
pub struct Server {
    pub offset: u64,
    /// Slots that have a key.
    pub keys: HashSet<u16>,
    /// The primary that it follows; the link is always up.
    pub following: Option<NodeId>,
}

impl Facts for Server {
    fn place(&self) -> Place {
        Place { history: HistoryId::parse(&[b'a'; 40]), former: None, offset: self.offset }
    }

    fn primary_link(&self) -> PrimaryLink {
        PrimaryLink { node: self.following, is_up: self.following.is_some(), silence_ms: Some(0) }
    }

    fn keys_in_slot(&self, slot: u16) -> u64 {
        u64::from(self.keys.contains(&slot))
    }

    fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }
}

enum Event {
    Accepted(TcpStream),
    Dialled(LinkId, Option<TcpStream>),
    Packet(LinkId, Vec<u8>),
    Closed(LinkId),
}

/// A node that takes part in a cluster while it is given time.
pub struct Driver {
    pub cluster: Cluster,
    pub server: Server,
    /// What was said of its state, and in which order: `save`, and the types of packets.
    pub journal: Vec<String>,
    pub delivered: Vec<(Vec<u8>, Vec<u8>)>,
    saved: String,
    streams: HashMap<LinkId, TcpStream>,
    events: Receiver<Event>,
    sender: Sender<Event>,
    begun: Instant,
    next_tick: Instant,
    _ports: [Port; 2],
}

impl Driver {
    pub fn start(node_timeout_ms: u64) -> Self {
        let ports = [Port::reserve(), Port::reserve()];
        let [port, bus_port] = [ports[0].number(), ports[1].number()];
        let mut settings = Settings::new(port, 0, bus_port);
        settings.node_timeout_ms = node_timeout_ms;
        let (sender, events) = channel();
        let listener = TcpListener::bind(("127.0.0.1", bus_port)).expect("the port is free");
        let accepts = sender.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if accepts.send(Event::Accepted(stream)).is_err() {
                    return;
                }
            }
        });
        let begun = Instant::now();
        let mut driver = Driver {
            cluster: Cluster::new(settings, fastrand::u64(..), moment(begun)),
            server: Server::default(),
            journal: Vec::new(),
            delivered: Vec::new(),
            saved: String::new(),
            streams: HashMap::new(),
            events,
            sender,
            begun,
            next_tick: begun,
            _ports: ports,
        };
        driver.input(|_, _| ());
        driver
    }

    pub fn id(&self) -> String {
        self.cluster.me().id.to_string()
    }

    pub fn nodes(&self) -> String {
        self.cluster.nodes_text(Viewer::default(), moment(self.begun))
    }

    /// What the state machine shows.
    pub fn ask<R>(&self, question: impl FnOnce(&Cluster, &Env<'_>) -> R) -> R {
        question(&self.cluster, &Env { now: moment(self.begun), facts: &self.server })
    }

    /// A command that must succeed.
    pub fn command(&mut self, line: &str) {
        let reply = self.reply(line);
        assert!(!reply.starts_with("ERR"), "{line}: {reply}");
    }

    /// The reply to a command, or the text of its error.
    pub fn reply(&mut self, line: &str) -> String {
        let args: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let result = self.input(|cluster, env| cluster.command(&args, Origin::Client, env));
        result.map_or_else(|error| error.to_string(), |reply| reply.to_string())
    }

    pub fn publish(&mut self, channel: &[u8], payload: &[u8]) {
        self.input(|cluster, env| cluster.publish(channel, payload, false, env));
    }

    /// Takes part until a condition holds.
    pub fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Driver) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !holds(self) {
            assert!(Instant::now() < deadline, "not within a minute: {what}\n{}", self.nodes());
            let pause = Instant::now() + Duration::from_millis(30);
            while Instant::now() < pause {
                self.step();
            }
        }
    }

    /// Waits for an event, not beyond the next tick.
    fn step(&mut self) {
        let wait = self.next_tick.saturating_duration_since(Instant::now());
        if let Ok(event) = self.events.recv_timeout(wait) {
            self.handle(event);
        } else if Instant::now() >= self.next_tick {
            self.next_tick = Instant::now() + Duration::from_millis(TICK_MS);
            self.input(|cluster, env| cluster.tick(env));
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Accepted(stream) => {
                let peer = stream.peer_addr().expect("it is connected").ip().to_string();
                let local = stream.local_addr().expect("it is connected").ip().to_string();
                let link = self.input(|cluster, env| cluster.accepted(&peer, &local, env));
                self.serve(link, stream);
            }
            Event::Dialled(link, Some(stream)) => {
                self.serve(link, stream);
                self.input(|cluster, env| cluster.connected(link, env));
            }
            Event::Dialled(link, None) | Event::Closed(link) => {
                self.streams.remove(&link);
                self.input(|cluster, env| cluster.closed(link, env));
            }
            Event::Packet(link, bytes) => self.input(|cluster, env| cluster.receive(link, &bytes, env)),
        }
    }

    fn serve(&mut self, link: LinkId, stream: TcpStream) {
        let (reader, sender) = (stream.try_clone().expect("a socket has two ends"), self.sender.clone());
        self.streams.insert(link, stream);
        std::thread::spawn(move || {
            read_packets(reader, |bytes| sender.send(Event::Packet(link, bytes)).is_ok());
            let _ = sender.send(Event::Closed(link));
        });
    }

    fn input<R>(&mut self, input: impl FnOnce(&mut Cluster, &Env<'_>) -> R) -> R {
        let env = Env { now: moment(self.begun), facts: &self.server };
        let result = input(&mut self.cluster, &env);
        for action in self.cluster.actions(&env) {
            self.perform(action);
        }
        self.cluster.check_invariants();
        result
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Sync => {}
            Action::Save(text) | Action::Write(text) => {
                parse_nodes_conf(text.as_bytes()).expect("a node reads what it wrote");
                self.saved = text;
                self.journal.push("save".to_owned());
            }
            Action::Dial { link, ip, port } => {
                let sender = self.sender.clone();
                std::thread::spawn(move || {
                    let stream = TcpStream::connect((&*ip, port)).ok();
                    let _ = sender.send(Event::Dialled(link, stream));
                });
            }
            Action::Send { link, bytes } => {
                let kind = u16::from_be_bytes([bytes[12], bytes[13]]);
                self.journal.push(format!("send {kind}"));
                if let Some(stream) = self.streams.get_mut(&link) {
                    let _ = stream.write_all(&bytes);
                }
            }
            Action::Close(link) => {
                if let Some(stream) = self.streams.remove(&link) {
                    let _ = stream.shutdown(Shutdown::Both);
                }
            }
            Action::Deliver { channel, payload, .. } => self.delivered.push((channel.into(), payload.into())),
            // This server has applied all that its primary has.
            Action::WaitForOffset(offset) => self.server.offset = offset,
            other => {
                match &other {
                    Action::BecomeReplicaOf { id, .. } => self.server.following = Some(*id),
                    Action::Promote => self.server.following = None,
                    _ => {}
                }
                self.journal.push(format!("{other:?}").chars().take(20).collect());
            }
        }
    }

    pub fn saved(&self) -> &str {
        &self.saved
    }
}

fn moment(begun: Instant) -> Moment {
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is past 1970");
    Moment { mono_ms: begun.elapsed().as_millis() as u64 + 1, wall_ms: wall.as_millis() as u64 }
}

/// Reads until the connection ends, or nobody takes the packets.
fn read_packets(mut stream: TcpStream, mut take: impl FnMut(Vec<u8>) -> bool) {
    let (mut buffer, mut chunk) = (Vec::new(), [0; 16 << 10]);
    loop {
        let len = match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return,
            Ok(len) => len,
        };
        buffer.extend_from_slice(&chunk[..len]);
        while let Some(len) = packet_len(&buffer).expect("the servers send packets") {
            if buffer.len() < len {
                break;
            }
            if !take(buffer.drain(..len).collect()) {
                return;
            }
        }
    }
}
