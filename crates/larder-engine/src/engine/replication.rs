//! Changes of the role, replicas that come and go, and the workers that send them the stream.

use crate::aof::log::Ends;
use crate::clients::describe::describe;
use crate::clients::session::{ClientShared, client_flags};
use crate::delivery::mailbox::Mail;
use crate::delivery::unblock::deliver;
use crate::engine::{Engine, random_history};
use crate::error::CommandError;
use crate::keyspace::key::SHARDS;
use crate::keyspace::locks::{AllShards, MayWait, ScriptTurn};
use crate::keyspace::shard::Table;
use crate::keyspace::waiting::{BlockedOp, Waiter};
use crate::replication::replica::{Phase, Replica};
use crate::replication::state::{LinkState, Upstream};
use larder_cluster::{HistoryId, NodeId};
use larder_resp::Reply;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const UNBLOCKED: CommandError = CommandError::Fixed(
    "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
);

/// What has become of a request for the stream from a position on.
pub(crate) enum Resumption {
    /// The replica gets it from there on; this is the name of the history.
    Granted(String),
    /// It needs a snapshot.
    Refused,
}

impl Engine {
    /// `repl-backlog-size`.
    pub fn backlog_size(&self) -> u64 {
        self.config.number("repl-backlog-size") as u64
    }

    /// The database that is selected at the end of the stream.
    pub fn stream_db(&self) -> usize {
        self.append_log.stream_place().0.unwrap_or(0)
    }

    /// Whether keys stay until another server says that they expire: on a replica, and with `import-mode`.
    pub fn waits_for_others_to_expire(&self) -> bool {
        self.config.hot.import_mode.load(Relaxed) || self.replication.is_replica()
    }

    /// Whether the primary sees to it that there is enough memory (`replica-ignore-maxmemory`).
    pub(crate) fn ignores_maxmemory(&self) -> bool {
        self.replication.is_replica() && self.config.is_yes("replica-ignore-maxmemory")
    }

    /// Whether there is no key in any database.
    pub fn is_empty(&self, may_wait: &MayWait) -> bool {
        (0..SHARDS).all(|shard| self.shards.lock_one(shard, may_wait).tables().iter().all(Table::is_empty))
    }

    /// The name of the history, and how far it has come.
    pub fn history(&self) -> (String, u64) {
        (self.replication.state().history.id().to_string(), self.append_log.stream_end())
    }

    /// The name of the history of the data, if that is followed. A replica that could not load a snapshot has no history.
    pub(crate) fn history_of_data(&self) -> Option<String> {
        let state = self.replication.state();
        let is_known = state.upstream.is_none() || state.can_resume;
        (is_known && self.replication.has_stream.load(Relaxed)).then(|| state.history.id().to_string())
    }

    /// Notes in the append-only file where in the history the data is, so that a restart goes on from there. `link`: the epoch of the
    /// link that has brought all of it, `None` on a primary. Not while a unit is under way.
    pub fn note_place(&self, link: Option<u64>) {
        if let Some(id) = self.history_of_data() {
            self.append_log.note_place(&id, link);
        }
    }

    /// The same at the end of the server, when nothing changes any more.
    pub fn note_last_place(&self) {
        self.note_place(self.replication.is_replica().then(|| self.replication.epoch()));
    }

    /// There is a stream from now on. A primary that had none begins a new history: what came before was not in the stream.
    pub(crate) fn begin_stream(&self) {
        if self.replication.has_stream.swap(true, Relaxed) {
            return;
        }
        if !self.replication.is_replica() {
            self.replication.state().history.begin(random_history());
        }
        self.append_log.restart_stream(self.append_log.stream_end(), self.backlog_size());
        self.append_log.set_streams(!self.replication.is_replica());
    }

    /// There is no stream any more: nobody has followed it for `repl-backlog-ttl`. What is written from now on is in no history.
    pub(crate) fn end_stream(&self) {
        if !self.replication.has_stream.swap(false, Relaxed) {
            return;
        }
        self.append_log.set_streams(false);
        self.append_log.restart_stream(self.append_log.stream_end(), 0);
        self.replication.state().history.begin(random_history());
    }

    /// A replica asks for the stream of a history from an offset on: the first byte that it wants, counted from 1.
    pub(crate) fn resume(&self, replica: &Arc<Replica>, id: &[u8], offset: i64) -> Resumption {
        let state = self.replication.state();
        let history = &state.history;
        let continues_former = |(former, until): (HistoryId, u64)| {
            former.is_named(id) && u64::try_from(offset).is_ok_and(|offset| offset <= until.saturating_add(1))
        };
        // What is being loaded is not that of the name yet.
        let is_known = history.is_intact()
            && (history.id().is_named(id) || history.former().is_some_and(continues_former));
        let name = history.id().to_string();
        drop(state);
        let position = u64::try_from(offset).ok().and_then(|offset| offset.checked_sub(1));
        let Some(position) = position.filter(|_| is_known && self.replication.has_stream.load(Relaxed))
        else {
            return Resumption::Refused;
        };
        let Some(cursor) = self.append_log.attach_at(position) else { return Resumption::Refused };
        replica.set_cursor(cursor);
        replica.go_online(crate::clock::wall_ms());
        Resumption::Granted(name)
    }

    /// A client has become a replica.
    pub(crate) fn add_replica(&self, replica: &Arc<Replica>) {
        self.replication.state().alone_since_ms = None;
        self.replication.replicas.add(Arc::clone(replica));
    }

    /// The connection of a replica is gone.
    pub(crate) fn remove_replica(&self, replica: &Arc<Replica>) {
        replica.advance_to(Phase::Gone);
        if let Some(cursor) = replica.take_cursor() {
            self.append_log.detach(&cursor);
        }
        if self.replication.replicas.remove(replica) == 0 {
            self.replication.state().alone_since_ms = Some(crate::clock::wall_ms());
        }
        self.check_replicas();
    }

    /// A replica has been given a place in the stream; its connection may have been closed meanwhile, which nobody would tell the
    /// stream any more.
    pub fn detach_if_gone(&self, replica: &Replica) {
        if replica.phase() == Phase::Gone
            && let Some(cursor) = replica.take_cursor()
        {
            self.append_log.detach(&cursor);
        }
    }

    /// One line of CLIENT LIST. O(n) for n replicas if the client is one.
    pub(crate) fn describe(&self, client: &ClientShared, now_ms: u64) -> Vec<u8> {
        let is_replica = client.has(client_flags::REPLICA);
        let replica = is_replica.then(|| self.replication.replicas.find(client.id)).flatten();
        let cursor = replica.and_then(|replica| replica.cursor());
        let end = self.append_log.stream_end();
        describe(client, now_ms, cursor.map_or(0, |cursor| end.saturating_sub(cursor.position())))
    }

    /// Closes the connection of a replica.
    pub fn drop_replica(&self, replica: &Replica) {
        self.mailboxes.send(replica.worker, Mail::Kill { client: replica.client, after_flush: false });
    }

    /// Has all replicas come again: the history has another name.
    fn drop_replicas(&self) {
        self.replication.replicas.list().iter().for_each(|replica| self.drop_replica(replica));
    }

    /// Wakes the workers, but for `from`, that have replicas to which something is to be sent.
    pub fn wake_senders(&self, from: Option<usize>) {
        if self.replication.replicas.any() {
            let end = self.append_log.stream_end();
            self.replication.replicas.each_worker_to_wake(from, end, |worker| self.mailboxes.poke(worker));
        }
    }

    /// Wakes the worker of a replica.
    pub fn wake_sender(&self, replica: &Replica) {
        self.mailboxes.poke(replica.worker);
    }

    /// Asks replicas what they have, if anybody wants to know. For the end of a round.
    pub fn ask_for_acks(&self) {
        let wanted = &self.replication.wants_acks;
        if wanted.load(Relaxed) && wanted.swap(false, Relaxed) && self.append_log.streams() {
            self.append_log.ask_for_acks(|| self.stream_has_ended());
        }
    }

    /// Whether nothing more may be said to replicas, but for the end of writes that have begun. When the server ends, the last
    /// snapshot says where the stream ends; and a replica that takes over has been told up to where it must have come: Valkey waits
    /// for that very position.
    pub(crate) fn stream_has_ended(&self) -> bool {
        self.gate.is_closing() || self.pause.is_for_failover()
    }

    /// Follows another server from now on. No write is under way.
    pub(crate) fn follow(&self, host: String, port: u16, all: AllShards<'_>) {
        self.follow_with(host, port, false, all);
    }

    /// The same; `takes_over`: the other is asked to lead.
    pub(crate) fn follow_with(&self, host: String, port: u16, takes_over: bool, all: AllShards<'_>) {
        let former = self.replication.state().upstream.clone();
        let upstream = Upstream { takes_over, ..Upstream::succeeding(former.as_ref(), host, port) };
        self.follow_upstream(upstream, all);
    }

    /// Follows a node of the cluster from now on. No write is under way.
    pub(crate) fn follow_node(&self, node: NodeId, host: String, port: u16, all: AllShards<'_>) {
        let former = self.replication.state().upstream.clone();
        let upstream = Upstream { node: Some(node), ..Upstream::succeeding(former.as_ref(), host, port) };
        self.follow_upstream(upstream, all);
    }

    fn follow_upstream(&self, upstream: Upstream, _: AllShards<'_>) {
        let was_primary = !self.replication.is_replica();
        if was_primary {
            self.unblock_all(&upstream);
            // Of a history that begins now nobody else has heard: asking for it would count as a partial resync that was refused.
            let is_followed = self.replication.has_stream.load(Relaxed);
            self.begin_stream();
            self.append_log.set_streams(false);
            self.replication.state().can_resume = is_followed;
        }
        self.replication.set_upstream(Some(upstream));
        self.append_log.set_source(Some(self.replication.epoch()));
        self.note_role();
        self.read_role();
        self.drop_replicas();
    }

    /// What `CONFIG GET replicaof` shows, and CONFIG REWRITE writes.
    fn note_role(&self) {
        // A node of a cluster has its role from the cluster, and the option in a file would keep it from starting.
        if self.cluster.is_on() {
            return;
        }
        let state = self.replication.state();
        let text = match &state.upstream {
            Some(upstream) => format!("{} {}", upstream.host, upstream.port),
            None => "no one".to_owned(),
        };
        drop(state);
        // A name of a host that the option cannot say is not kept.
        let _ = self.config.store_own("replicaof", &text);
    }

    /// Follows the server that the configuration names, if it names one. For the time before there are clients.
    pub fn follow_configured(&self, turn: &ScriptTurn<'_>) {
        let value = self.config.value("replicaof");
        if let Some((host, port)) = value.split_once(' ')
            && let Ok(port) = port.parse()
        {
            let held = self.shards.lock_all(turn);
            self.follow(host.to_owned(), port, held.all_shards());
            drop(held);
        }
    }

    /// The data that was loaded is that of a history, at a position. A replica asks its primary to go on from there; a primary begins a
    /// history of its own, and lets those who were there go on. For the time before there are clients.
    pub fn restore_history(&self, id: &str, position: u64, db: usize) {
        // What is no name of a history, nobody can ask for.
        let Some(id) = HistoryId::parse(id.as_bytes()) else { return };
        self.begin_stream();
        self.append_log.restart_stream(position, self.backlog_size());
        let mut state = self.replication.state();
        if state.upstream.is_some() {
            state.history.begin(id);
            state.can_resume = true;
            drop(state);
            self.append_log.set_stream_db(db);
        } else {
            state.history.continue_former(id, position);
        }
    }

    /// Follows nobody from now on. No write is under way.
    pub(crate) fn lead(&self, _: AllShards<'_>) {
        let end = self.append_log.stream_end();
        let mut state = self.replication.state();
        state.history.lead(random_history(), end);
        state.can_resume = false;
        drop(state);
        self.replication.set_upstream(None);
        self.append_log.set_source(None);
        self.append_log.set_streams(self.replication.has_stream.load(Relaxed));
        self.note_role();
        self.read_role();
        self.drop_replicas();
    }

    /// The data is that of another history, at a position, where database `db` is selected in its stream. To be called before anybody may
    /// save the data: a file says where in the history it is.
    ///
    /// # Panics
    /// `id` is no name of a history.
    pub fn begin_history(&self, id: &str, position: u64, db: usize) {
        let id = HistoryId::parse(id.as_bytes()).expect("the link has checked it");
        self.drop_replicas();
        self.replication.state().history.begin(id);
        self.append_log.restart_stream(position, self.backlog_size());
        self.append_log.set_stream_db(db);
    }

    /// The primary goes on with its stream under another name: its own primary has changed, or it was promoted.
    pub fn rename_history(&self, id: &str) {
        let end = self.append_log.stream_end();
        let mut state = self.replication.state();
        if let Some(id) = HistoryId::parse(id.as_bytes()).filter(|&id| id != state.history.id()) {
            state.history.branch(id, end);
            drop(state);
            self.drop_replicas();
        }
    }

    /// Notes that a replica drops its data, or replaces it by that of a snapshot. Until
    /// [`Engine::begin_history`] names the history of the new data, it is that of no history.
    pub fn lose_data(&self) {
        let mut state = self.replication.state();
        if state.upstream.is_some() {
            state.history.lose_data();
        }
    }

    /// DEBUG CHANGE-REPL-ID: replicas need a snapshot.
    pub(crate) fn change_history(&self) {
        self.replication.state().history.begin(random_history());
    }

    /// What the role, the link and the options forbid clients is forbidden from now on.
    pub fn read_role(&self) {
        let is_replica = self.replication.is_replica();
        let is_linked = self
            .replication
            .state()
            .upstream
            .as_ref()
            .is_none_or(|upstream| upstream.link == LinkState::Connected);
        self.host.set_log_role(is_replica);
        self.gate.set_read_only(is_replica && self.config.is_yes("replica-read-only"));
        self.gate.set_stale(!is_linked && !self.config.is_yes("replica-serve-stale-data"));
        self.check_replicas();
        // Elections depend on it.
        self.cluster.wake();
    }

    /// Puts a PING into the stream of a primary if nothing is in it yet, so that a replica that has
    /// synced has an offset: 0 is that of a replica without data.
    pub fn open_stream(&self) {
        if !self.replication.is_replica() && self.append_log.stream_end() == 0 {
            self.append_log.append_to_stream(&[b"ping"], || self.stream_has_ended());
        }
    }

    /// Whether enough replicas follow closely, as `min-replicas-to-write` and `min-replicas-max-lag` want it.
    pub(crate) fn check_replicas(&self) {
        let wanted = self.config.hot.min_replicas_to_write.load(Relaxed);
        let is_asked = self.wants_replicas() && !self.replication.is_replica();
        self.gate.set_replicas_missing(is_asked && self.good_replicas() < wanted as usize);
    }

    /// Whether `min-replicas-to-write` and `min-replicas-max-lag` ask for replicas.
    pub(crate) fn wants_replicas(&self) -> bool {
        let hot = &self.config.hot;
        hot.min_replicas_to_write.load(Relaxed) > 0 && hot.min_replicas_max_lag.load(Relaxed) > 0
    }

    /// How many replicas are online and have acknowledged lately.
    pub(crate) fn good_replicas(&self) -> usize {
        let (now_ms, lag_s) = (crate::clock::wall_ms(), self.config.hot.min_replicas_max_lag.load(Relaxed));
        self.replication.replicas.count_online(|replica| replica.lag_ms(now_ms) / 1000 <= lag_s as u64)
    }

    /// Whether a replica that has been sent a snapshot has not said that it has loaded it, or not acknowledged everything since.
    pub fn replicas_lag(&self) -> bool {
        let end = self.append_log.stream_end();
        self.replication.replicas.list().iter().any(|replica| match replica.phase() {
            Phase::Loaded => true,
            Phase::Online => replica.acked() < end,
            Phase::Waiting | Phase::Loading | Phase::Gone => false,
        })
    }

    /// Replicas are to say what they have: the server waits for that, to end.
    pub fn hurry_replicas(&self) {
        if self.append_log.streams() {
            self.append_log.ask_for_acks(|| false);
            self.wake_senders(None);
        }
    }

    /// Has the script that runs end, whatever it has done: the server ends.
    pub fn abandon_scripts(&self) {
        self.scripts.running.abandon();
    }

    /// The server does not end, after all: those who have asked for it are told.
    pub fn shutdown_failed(&self) {
        let error = CommandError::Fixed("ERR Errors trying to SHUTDOWN. Check logs.");
        for client in self.clients.snapshot() {
            self.end_wait(&client, |waiter| matches!(waiter.op, BlockedOp::Shutdown), &error);
        }
    }

    /// All who wait in a command are told that they wait in vain, and their connections closed. Not so those whose command may be why the
    /// role changes: they are told what has become of it. Nor those that follow redirections: if they wait for keys, they are told
    /// where the primary is, or wait on until the one leads that is asked to.
    fn unblock_all(&self, upstream: &Upstream) {
        let is_handing_over = self.replication.is_handing_over();
        let follows =
            |client: &ClientShared| !self.cluster.is_on() && client.has(client_flags::CAPA_REDIRECT);
        for client in self.clients.snapshot() {
            let follows = follows(&client);
            let waits_in_vain = |waiter: &Waiter| match waiter.op {
                BlockedOp::Cluster => false,
                BlockedOp::Shutdown => !is_handing_over,
                _ => !follows || !waiter.op.waits_for_keys(),
            };
            if let Some(waiter) = claim(&client, waits_in_vain) {
                self.close_client_after(&client, || self.refuse_waiter(&waiter, &UNBLOCKED));
            }
        }
        if !upstream.takes_over {
            self.redirect_waiting(&upstream.host, upstream.port);
        }
    }

    /// Tells clients that wait for keys and follow redirections where the primary is; those that only read wait on if they have said
    /// READONLY.
    pub(crate) fn redirect_waiting(&self, host: &str, port: u16) {
        if self.cluster.is_on() {
            return;
        }
        let error = redirection(host, port);
        for client in self.clients.snapshot().iter().filter(|client| client.has(client_flags::CAPA_REDIRECT))
        {
            let stays = client.has(client_flags::READS_REPLICA);
            let leaves = |waiter: &Waiter| waiter.op.waits_for_keys() && !(stays && waiter.op.only_reads());
            if self.end_wait(client, leaves, &error) {
                self.errors.count(&error);
            }
        }
    }

    /// Where the primary is, as clients are told that follow redirections; `None` if this server is no replica, or of a cluster, which
    /// has redirections of its own.
    pub(crate) fn place_of_primary(&self) -> Option<CommandError> {
        if self.cluster.is_on() || !self.replication.is_replica() {
            return None;
        }
        let state = self.replication.state();
        state.upstream.as_ref().map(|upstream| redirection(&upstream.host, upstream.port))
    }

    /// Answers a client that waits in a command with an error, if it does and waits for what `concerns` says. False: it goes on as before.
    pub(crate) fn end_wait(
        &self,
        client: &ClientShared,
        concerns: impl FnOnce(&Waiter) -> bool,
        error: &CommandError,
    ) -> bool {
        let waiter = claim(client, concerns);
        if let Some(waiter) = &waiter {
            self.refuse_waiter(waiter, error);
        }
        waiter.is_some()
    }

    /// Answers a claimed waiter with an error.
    fn refuse_waiter(&self, waiter: &Waiter, error: &CommandError) {
        let mut reply = Vec::new();
        Reply::new(&mut reply, waiter.protocol).error(&error.wire());
        deliver(&self.mailboxes, waiter, reply, Ends::NO_EFFECT);
    }
}

fn redirection(host: &str, port: u16) -> CommandError {
    CommandError::Redirected(format!("REDIRECT {host}:{port}").into_bytes())
}

/// Claims what a client waits for, if it waits and for what `concerns` says.
fn claim(client: &ClientShared, concerns: impl FnOnce(&Waiter) -> bool) -> Option<Arc<Waiter>> {
    client.waiter.lock().clone().filter(|waiter| concerns(waiter) && waiter.take())
}
