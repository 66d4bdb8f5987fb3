//! The loop of the bus: waits for events, gives the state machine its inputs, and does what that wants done.
//! The file is written, and the role and the map are handed to the engine, before packets tell of them
//! ([`Bus::act`]).

use super::deeds::{Deeds, Role};
use super::export::Exports;
use super::facts::{Clock, EngineFacts};
use super::file::NodesFile;
use super::links::{Broken, Event, Links, STRANGE_BYTES_MAX};
use super::replies::Question;
use super::set_slot::{Progress, Waiting};
use super::settings;
use super::told::Told;
use crate::listen;
use crate::process;
use crate::settings::system_text;
use crate::shared::Shared;
use crate::tls::Fault;
use larder_cluster::{Action, Cluster, Command, Env, LinkId, Origin, Settings, TICK_MS, parse_nodes_conf};
use larder_engine::{Engine, ForBus, LogLevel, Operation, Request, spawn_background};
use larder_link::dial;
use larder_persist::Persist;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

const WAKE: Token = Token(0);
/// Listeners have the tokens from here on.
const FIRST_LISTENER: usize = 1;
/// Events taken at once.
const EVENTS: usize = 256;
/// How often it is looked whether something that is waited for has come about.
const LOOK: Duration = Duration::from_millis(2);

/// The server cannot be a node; the reason has been logged.
#[derive(Debug)]
pub struct CannotStart;

/// A node of a cluster.
pub struct Bus {
    pub(super) shared: Arc<Shared>,
    pub(super) engine: Arc<Engine>,
    facts: EngineFacts,
    pub(super) clock: Clock,
    pub(super) cluster: Cluster,
    pub(super) file: NodesFile,
    pub(super) deeds: Deeds,
    exports: Exports,
    /// When the sources of imports were last told that this node is alive, in ms since 1970.
    pub(super) acked_ms: u64,
    links: Links,
    poll: Poll,
    listeners: Vec<TcpListener>,
    /// The options that the state machine has.
    settings: Settings,
    bus_port: u16,
    /// Changes of slots that replicas must have first.
    waiting: Vec<Waiting>,
    /// Up to here the primary's stream must be applied for a failover.
    goal: Option<u64>,
    /// In monotonic ms.
    next_tick: u64,
    /// A connection could not be accepted: it is tried again, since there is no event for one that waits already.
    must_accept: bool,
    /// The keys that were loaded have been compared with the slots.
    is_verified: bool,
    told: Told,
}

impl Bus {
    /// Reads what the node knew, and listens for others. Clients are served by its map as soon as this returns. `None` if the server is not
    /// to be a node.
    ///
    /// # Errors
    /// The file, or the port, cannot be used.
    pub fn prepare(shared: &Arc<Shared>, engine: &Arc<Engine>) -> Result<Option<Bus>, CannotStart> {
        if !engine.is_cluster_node() {
            return Ok(None);
        }
        let (config, log) = (&shared.config, &shared.log);
        let refuse = |text: String| {
            log.warning(&text);
            CannotStart
        };
        let bus_port = settings::bus_port(config).ok_or_else(|| {
            refuse(
                "Port number too high: the cluster bus uses the port plus 10000. Set port to 55535 or less, or \
                 set cluster-port."
                    .to_owned(),
            )
        })?;
        let (file, cluster, clock) = restore(shared, bus_port)?;
        let cannot_listen = |error: &io::Error| {
            refuse(format!("Failed listening on port {bus_port} (cluster), aborting: {}", system_text(error)))
        };
        let listeners =
            listen::plain(&config.value("bind"), bus_port).map_err(|error| cannot_listen(&error))?;
        let listeners = listeners.into_iter().map(TcpListener::from_std).collect();
        let mut bus = Bus::build(shared, engine, (file, cluster, clock), listeners, bus_port)
            .map_err(|error| refuse(format!("Failed to start: {}", system_text(&error))))?;
        bus.act();
        engine.set_cluster_info(bus.cluster.info_text(0));
        Ok(Some(bus))
    }

    fn build(
        shared: &Arc<Shared>,
        engine: &Arc<Engine>,
        (file, cluster, clock): (NodesFile, Cluster, Clock),
        mut listeners: Vec<TcpListener>,
        bus_port: u16,
    ) -> io::Result<Bus> {
        let poll = Poll::new()?;
        for (at, listener) in listeners.iter_mut().enumerate() {
            poll.registry().register(listener, Token(FIRST_LISTENER + at), Interest::READABLE)?;
        }
        let waker = Waker::new(poll.registry(), WAKE)?;
        // A failed wake leaves the mail to the next event.
        engine.set_cluster_wake(Box::new(move || drop(waker.wake())));
        Ok(Bus {
            shared: Arc::clone(shared),
            engine: Arc::clone(engine),
            facts: EngineFacts(Arc::clone(engine)),
            settings: cluster.settings().clone(),
            next_tick: clock.now().mono_ms,
            clock,
            cluster,
            file,
            deeds: Deeds::new(engine),
            exports: Exports::default(),
            acked_ms: 0,
            links: Links::new(poll.registry().try_clone()?),
            poll,
            listeners,
            bus_port,
            waiting: Vec::new(),
            goal: None,
            must_accept: false,
            is_verified: false,
            told: Told::new(),
        })
    }

    /// Starts the thread. The workers are made.
    ///
    /// # Errors
    /// The system starts no further thread.
    pub fn start(mut self, persist: &Arc<Persist>) -> io::Result<()> {
        self.deeds.begin_deleting();
        let persist = Arc::clone(persist);
        spawn_background("larder-cluster", move |_| self.run(&persist)).map(drop)
    }

    fn run(&mut self, persist: &Persist) {
        let mut events = Events::with_capacity(EVENTS);
        while !self.shared.is_stopping() {
            larder_engine::panic_if_armed();
            if let Err(error) = self.poll.poll(&mut events, Some(self.patience())) {
                assert_eq!(error.kind(), ErrorKind::Interrupted, "events can be waited for");
            }
            for event in &events {
                self.follow_event(event.token());
            }
            for link in self.links.take_unread() {
                self.follow_link(link);
            }
            self.input(|cluster, env| cluster.note_link(env));
            self.take_mail();
            self.look_at_waiting();
            self.tend_imports();
            self.exports.start(&self.shared, &self.engine);
            self.tick_if_due(persist);
            self.act();
            self.deeds.delete_some();
        }
    }

    /// How long nothing needs to be looked at.
    fn patience(&self) -> Duration {
        if self.links.has_unread() || self.deeds.is_urgent() {
            return Duration::ZERO;
        }
        let is_curious = self.goal.is_some() || !self.waiting.is_empty() || self.deeds.is_pending();
        let left = Duration::from_millis(self.next_tick.saturating_sub(self.clock.now().mono_ms));
        if is_curious { left.min(LOOK) } else { left }
    }

    fn follow_event(&mut self, token: Token) {
        match Links::of(token) {
            Some(link) => self.follow_link(link),
            None if token == WAKE => {}
            None => self.accept(token.0 - FIRST_LISTENER),
        }
    }

    fn accept(&mut self, at: usize) {
        loop {
            let (socket, peer) = match self.listeners[at].accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    // There may be no file descriptors for a while.
                    if !std::mem::replace(&mut self.must_accept, true) {
                        let text = format!("Error accepting a node: {}", system_text(&error));
                        self.shared.log.warning(&text);
                    }
                    return;
                }
            };
            let Ok(local) = socket.local_addr() else { continue };
            let (peer, local) = (plain_ip(peer.ip()), plain_ip(local.ip()));
            let link = self.input(|cluster, env| cluster.accepted(&peer, &local, env));
            let shared = Arc::clone(&self.shared);
            if self.links.accept(link, socket, settings::bus_tls(&shared)).is_err() {
                self.input(|cluster, env| cluster.closed(link, env));
            }
        }
    }

    fn follow_link(&mut self, link: LinkId) {
        let (events, outcome) = self.links.follow(link, self.cluster.is_of_node(link));
        for event in events {
            self.input(|cluster, env| match event {
                Event::Connected => cluster.connected(link, env),
                Event::Packet(bytes) => cluster.receive(link, &bytes, env),
            });
        }
        if let Err(Broken { handshake }) = outcome {
            if let Some(error) = handshake.filter(|_| self.shared.log.wants(LogLevel::Verbose)) {
                let text = format!("The TLS handshake with a node failed: {}", Fault(&error));
                self.shared.log.verbose(&text);
            }
            self.drop_link(link);
        } else if !self.cluster.is_of_node(link) && self.links.queued_bytes(link) > STRANGE_BYTES_MAX {
            self.drop_link(link);
        }
    }

    fn drop_link(&mut self, link: LinkId) {
        self.links.close(link);
        self.input(|cluster, env| cluster.closed(link, env));
    }

    /// Gives the state machine an input. What is to be done because of it is done by [`Bus::act`].
    pub(super) fn input<R>(&mut self, input: impl FnOnce(&mut Cluster, &Env<'_>) -> R) -> R {
        let env = Env { now: self.clock.now(), facts: &self.facts };
        input(&mut self.cluster, &env)
    }

    fn tick_if_due(&mut self, persist: &Persist) {
        let now = self.clock.now().mono_ms;
        if self.goal.is_some_and(|goal| self.engine.append_log().stream_end() >= goal) {
            self.goal = None;
            self.input(|cluster, env| cluster.offset_reached(env));
        }
        if now < self.next_tick {
            return;
        }
        self.next_tick = now + TICK_MS;
        let synced = self.file.sync();
        self.check_file(synced);
        if std::mem::take(&mut self.must_accept) {
            (0..self.listeners.len()).for_each(|at| self.accept(at));
        }
        self.read_settings();
        if !self.is_verified && persist.is_loaded() {
            self.is_verified = true;
            self.verify_keys();
        }
        self.input(|cluster, env| cluster.tick(env));
        self.told.note_hindrance(self.cluster.hindrance(), &self.shared.log);
        self.engine.set_cluster_info(self.cluster.info_text(self.links.overflows));
        // One may have subscribed by the map before the last.
        if let Some(map) = self.engine.slot_map() {
            self.engine.end_shard_subscriptions(&map);
        }
    }

    /// Hands the options to the state machine, if they have changed.
    fn read_settings(&mut self) {
        let settings = settings::of(&self.shared.config, self.bus_port);
        if settings != self.settings {
            self.settings = settings.clone();
            self.cluster.configure(settings);
        }
    }

    /// Keys were loaded of slots that the node does not have: it takes those that nobody has, and deletes those of others' slots.
    fn verify_keys(&mut self) {
        if self.cluster.me().is_replica() || self.facts_have_no_keys() {
            return;
        }
        let Some(map) = self.engine.slot_map() else { return };
        for slot in 0..larder_cluster::SLOTS {
            let is_known = map.is_mine(slot) || map.importing.contains_key(&slot);
            if is_known || self.engine.keys_in_slot(slot).unwrap_or(0) == 0 {
                continue;
            }
            let log = &self.shared.log;
            if map.owner_at(slot).is_some() {
                log.warning(&format!(
                    "Found keys in slot {slot}, which belongs to another node: deleting them"
                ));
                self.deeds.drop_slots(&std::iter::once(slot).collect());
            } else {
                log.warning(&format!(
                    "Found keys in slot {slot}, which has no owner: this node takes the slot"
                ));
                let number = slot.to_string();
                let words: [&[u8]; 2] = [b"addslots", number.as_bytes()];
                let taken = self.input(|cluster, env| cluster.command(&words, Origin::Client, env));
                assert!(taken.is_ok(), "nobody has it");
            }
        }
    }

    fn facts_have_no_keys(&self) -> bool {
        self.engine.has_keys().is_ok_and(|has| !has)
    }

    fn take_mail(&mut self) {
        let mails = self.engine.take_cluster_mail();
        if mails.iter().any(|mail| matches!(mail, ForBus::Ask(_))) {
            // A client that has just changed an option sees that.
            self.read_settings();
            // The slot map gets what the reply will show: a client that reads an address is sent to it from then on.
            self.act();
        }
        for mail in mails {
            match mail {
                ForBus::Ask(request) => self.answer(request),
                ForBus::Export(job) => self.exports.add(job),
                ForBus::OpenSlots(text) => self.input(|cluster, _| cluster.open_slots(&text)),
                ForBus::PrepareToTake(job) => self.prepare_import(&job),
                ForBus::TakeSlots(job) => self.take_import(&job),
                ForBus::Publish { channel, payload, is_sharded } => {
                    self.input(|cluster, env| cluster.publish(&channel, &payload, is_sharded, env));
                }
            }
        }
    }

    fn answer(&mut self, request: Request) {
        let env = Env { now: self.clock.now(), facts: &self.facts };
        let question = Question {
            args: request.args.as_args(),
            viewer: request.viewer,
            config: &self.shared.config,
            links: &self.links,
        };
        match question.answer(&mut self.cluster, &env, request.protocol) {
            Some(bytes) => self.engine.answer_cluster_request(&request, |reply| reply.raw(&bytes)),
            None => self.command(request),
        }
    }

    /// A subcommand that changes something. Its reply comes when that is done.
    fn command(&mut self, request: Request) {
        let words: Vec<&[u8]> = request.args.as_args().from(1).iter().collect();
        let origin = request.origin;
        if let Some(text) = self.refusal_for_migration(&words, origin) {
            return self.engine.answer_cluster_request(&request, |reply| reply.error(text.as_bytes()));
        }
        let checked = self.input(|cluster, env| cluster.check(&words, origin, env));
        let command = match checked {
            Ok(command) => command,
            Err(error) => {
                let text = error.to_string();
                return self.engine.answer_cluster_request(&request, |reply| reply.error(text.as_bytes()));
            }
        };
        let request = match command {
            Command::SaveConfig => return self.save_as_asked(&request),
            Command::SetSlot { .. } if origin == Origin::Client && !request.may_take_long() => {
                let words: Vec<&[u8]> = request.args.as_args().iter().collect();
                self.engine.tell_replicas(&words);
                request
            }
            Command::SetSlot { timeout_ms, .. } if origin == Origin::Client => {
                let now = self.clock.now().mono_ms;
                match Waiting::begin(&self.engine, request, timeout_ms, now) {
                    Ok(waiting) => return self.waiting.push(waiting),
                    Err(request) => *request,
                }
            }
            _ => request,
        };
        self.apply(&request, &command);
    }

    /// SAVECONFIG: nothing depends on it but the reply.
    fn save_as_asked(&mut self, request: &Request) {
        let saved = self.file.save(&self.cluster.saved_text(self.clock.now()));
        self.engine.answer_cluster_request(request, |reply| match &saved {
            Ok(()) => reply.ok(),
            Err(error) => {
                let text = format!("ERR error saving the cluster node config: {}", system_text(error));
                reply.error(text.as_bytes());
            }
        });
    }

    /// No slot is moved by SETSLOT while there is an atomic migration.
    fn refusal_for_migration(&self, words: &[&[u8]], origin: Origin) -> Option<&'static str> {
        let is_set_slot = words.first().is_some_and(|word| word.eq_ignore_ascii_case(b"setslot"));
        if !is_set_slot || origin != Origin::Client || self.cluster.me().is_replica() {
            return None;
        }
        let active = self.engine.migrations().active();
        let refusals = [
            (Operation::Import, "ERR Slot import in progress."),
            (Operation::Export, "ERR Slot export in progress."),
        ];
        let is_under_way = |operation: Operation| active.iter().any(|job| job.operation == operation);
        refusals.into_iter().find(|&(operation, _)| is_under_way(operation)).map(|(_, text)| text)
    }

    fn apply(&mut self, request: &Request, command: &Command) {
        let reply = self.input(|cluster, env| cluster.apply(command, env));
        self.act();
        let text = reply.to_string();
        self.engine.answer_cluster_request(request, |reply| reply.simple(&text));
    }

    /// Looks whether replicas have what was waited for.
    fn look_at_waiting(&mut self) {
        self.engine.watch_acks(!self.waiting.is_empty());
        let now = self.clock.now().mono_ms;
        for waiting in std::mem::take(&mut self.waiting) {
            match waiting.progress(&self.engine, now) {
                Progress::Waits => self.waiting.push(waiting),
                Progress::Late => {
                    self.engine.answer_cluster_request(&waiting.request, |reply| {
                        reply.error(b"NOREPLICAS Not enough good replicas to write.");
                    });
                }
                Progress::Done => self.set_slot(&waiting.request),
            }
        }
    }

    /// The replicas have it: it is done here, if it still can be.
    fn set_slot(&mut self, request: &Request) {
        let words: Vec<&[u8]> = request.args.as_args().from(1).iter().collect();
        let checked = self.input(|cluster, env| cluster.check(&words, Origin::Client, env));
        match checked {
            Ok(command) => self.apply(request, &command),
            Err(error) => {
                let text = error.to_string();
                self.engine.answer_cluster_request(request, |reply| reply.error(text.as_bytes()));
            }
        }
    }

    /// Does what is to be done, until nothing is left that can be.
    pub(super) fn act(&mut self) {
        loop {
            let env = Env { now: self.clock.now(), facts: &self.facts };
            let actions = self.cluster.actions(&env);
            let is_idle = actions.is_empty();
            let (before, packets): (Vec<_>, Vec<_>) = actions.into_iter().partition(is_before_packets);
            before.into_iter().for_each(|action| self.prepare_to_say(action));
            let has_paused = self.deeds.work();
            if has_paused {
                self.input(|cluster, env| cluster.writes_paused(env));
            }
            packets.into_iter().for_each(|action| self.say(action));
            for link in self.links.flush(settings::link_bytes_max(&self.shared.config)) {
                self.drop_link(link);
            }
            if is_idle && !has_paused {
                return;
            }
        }
    }

    /// What comes before anything is said of it.
    fn prepare_to_say(&mut self, action: Action) {
        match action {
            Action::Save(text) => self.save(&text),
            Action::Write(text) => {
                let written = self.file.write(&text);
                self.check_file(written);
            }
            Action::Sync => {
                self.deeds.show_map();
                let synced = self.file.sync();
                self.check_file(synced);
            }
            Action::BecomeReplicaOf { id, ip, port, tls_port } => {
                let uses_tls = self.shared.config.is_yes("tls-replication");
                let port = if uses_tls { tls_port } else { port };
                self.shared.log.notice(&format!("This node is now a replica of {ip}:{port}"));
                self.deeds.take_role(Role::Follow(id, ip.into(), port));
            }
            Action::Promote => {
                self.shared.log.notice("This node is now a primary");
                self.deeds.take_role(Role::Lead);
            }
            Action::FlushAll => self.deeds.flush(),
            Action::UseSlotMap(map) => {
                self.told.note_state(map.is_down, &self.shared.log);
                self.deeds.keep_slots(|slot| map.is_mine(slot));
                self.deeds.use_map(map);
            }
            Action::DropSlotKeys(slots) => self.deeds.drop_slots(&slots),
            Action::PauseWrites => self.deeds.pause(),
            Action::ResumeWrites => self.deeds.resume(),
            other => unreachable!("{other:?} is said"),
        }
    }

    fn say(&mut self, action: Action) {
        match action {
            Action::Dial { link, ip, port } => {
                let shared = Arc::clone(&self.shared);
                let source = dial::source(&shared.config);
                if self.links.dial(link, (&*ip, port), source, settings::bus_tls(&shared)).is_err() {
                    self.drop_link(link);
                }
            }
            Action::Send { link, bytes } => self.links.send(link, bytes),
            Action::Close(link) => self.links.close(link),
            Action::WaitForOffset(goal) => self.goal = Some(goal),
            Action::Deliver { channel, payload, is_sharded } => {
                self.engine.deliver_from_cluster(&channel, &payload, is_sharded);
            }
            other => unreachable!("{other:?} comes before"),
        }
    }

    /// What others are told depends on it: a node that cannot write must not go on, unless it is told to.
    fn save(&mut self, text: &str) {
        let saved = self.file.save(text);
        self.check_file(saved);
    }

    /// Ends the process if the file could not be written, unless the options say otherwise.
    fn check_file(&self, done: io::Result<()>) {
        let Err(error) = done else { return };
        let log = &self.shared.log;
        log.warning(&format!("Can't write the cluster config file: {}", system_text(&error)));
        if self.shared.config.value("cluster-config-save-behavior") == "best-effort" {
            log.warning("Cluster config updated even though writing the cluster config file to disk failed.");
            return;
        }
        log.warning("Fatal: can't update cluster config file.");
        process::clean_up(&self.shared);
        std::process::exit(1);
    }
}

/// The actions that are done before packets go out.
fn is_before_packets(action: &Action) -> bool {
    !matches!(
        action,
        Action::Dial { .. }
            | Action::Send { .. }
            | Action::Close(_)
            | Action::WaitForOffset(_)
            | Action::Deliver { .. }
    )
}

/// The node that the file describes, or a new one.
fn restore(shared: &Shared, bus_port: u16) -> Result<(NodesFile, Cluster, Clock), CannotStart> {
    let (config, log) = (&shared.config, &shared.log);
    let path = config.value("cluster-config-file");
    let (file, text) = NodesFile::open(&path).map_err(|error| {
        if error.kind() == ErrorKind::WouldBlock {
            log.warning(&format!(
                "Sorry, the cluster configuration file {path} is already used by a different Cluster node. Please make \
                 sure that different nodes use different cluster configuration files."
            ));
        } else {
            log.warning(&format!("Can't open {path} in order to acquire a lock: {}", system_text(&error)));
        }
        CannotStart
    })?;
    let saved = parse_nodes_conf(&text).map_err(|error| {
        log.warning(&format!("{error}"));
        log.warning(&format!("Unrecoverable error: corrupted cluster config file \"{path}\"."));
        CannotStart
    })?;
    if !saved.contested.is_empty() {
        let count = saved.contested.len();
        log.warning(&format!(
            "{path} assigns {count} slots to several nodes: the first of these nodes keeps each slot"
        ));
    }
    let clock = Clock::new();
    let seed = fastrand::u64(..);
    let cluster = Cluster::restore(&saved, settings::of(config, bus_port), seed, clock.now());
    let id = cluster.me().id;
    log.notice(&match saved.nodes.is_empty() {
        true => format!("No cluster configuration found, I'm {id}"),
        false => format!("Node configuration loaded, I'm {id}"),
    });
    Ok((file, cluster, clock))
}

/// An address of IPv4 that came as one of IPv6 is shown as what it is.
fn plain_ip(ip: std::net::IpAddr) -> String {
    ip.to_canonical().to_string()
}
