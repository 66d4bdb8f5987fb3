//! Which node executes a command: this one, or the client is told another.
//!
//! The question is asked twice. Before anything else is refused, so that errors take precedence as in Valkey;
//! and again while the shards of the keys are held. The second answer counts, by this rule (R1): *a command
//! is executed only under the map that is current while it holds the shards of its keys*. Whoever hands out a
//! map in which a slot is another's locks the shard of that slot once afterwards (`Engine::settle_slot_map`):
//! what was decided by the map before is over then. A slot that is open is judged by the keys that are there,
//! which is certain under the lock alone.
//!
//! The commands of a primary, and those of a file, are never redirected. A script is judged by its declared keys; what it calls is judged again
//! by the keys of that: those of a slot that it has had to do with by the map of that time, which it has a right to, as it holds the slot's
//! shard, or keys of it are reserved for it ([`JudgedBy`]). So it is not cut off in the middle when a slot goes.
//!
//! Tested by `tests/cluster/redirects.rs` of the server: commands times states of a slot, beside Valkey.

use crate::clients::queue::Queue;
use crate::clients::session::{Session, client_flags};
use crate::cluster::migration::Migration;
use crate::command::keys;
use crate::command::spec::{Command, Found, Scope, flags};
use crate::context::WorkerState;
use crate::engine::Engine;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::deadlines::{due_at, is_due};
use crate::keyspace::locks::Held;
use crate::keyspace::shard::ShardData;
use crate::scripts::declared::flags_of;
use crate::text::number;
use crate::text::word::is_word;
use larder_cluster::{MapNode, SlotMap, Viewer, key_slot};
use larder_resp::Args;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a command is not executed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The key is not here, and its slot is being moved: the slot, and the place of the other node in the
    /// map.
    Ask(u16, u16),
    /// Its keys are of several slots.
    CrossSlot,
    /// The cluster is down.
    Down,
    /// The cluster is down for writes.
    DownForWrites,
    /// Another node has the slot: the slot, and that node's place in the map.
    Moved(u16, u16),
    /// The slot is on its way, and not all keys are here.
    TryAgain,
    /// Nobody has the slot.
    Unbound,
}

/// Whether whatever is done with keys of a slot is done here, as it is with most: there is nothing to be asked then.
#[inline]
pub(crate) fn serves_plainly(engine: &Engine, worker: &mut WorkerState, slot: u16) -> bool {
    engine.cluster.newest(&mut worker.slot_map).is_some_and(|map| map.serves_plainly(slot))
}

/// Checks that a command, with what is queued before EXEC, is for this node. `held`: the shards of its keys, if they are.
#[cold]
pub(crate) fn check(
    engine: &Engine,
    worker: &mut WorkerState,
    session: &Session,
    (found, args): (Found, Args<'_>),
    held: Option<&mut Held<'_>>,
) -> CommandResult {
    if let Some(import) = &session.import {
        return check_import(import, found, args);
    }
    if session.replays || !may_have_keys(found.command) {
        return Ok(());
    }
    // It is not executed anyway: one of its keys may be watched no more because it has gone to another node.
    if found.command.scope == Scope::Exec && session.shared.is_touched() {
        return Ok(());
    }
    let due_ms = due_at(worker.clock.wall_ms());
    let Some(map) = engine.cluster.newest(&mut worker.slot_map) else {
        return Err(text_of(engine, None, session.shared.viewer, Refusal::Down));
    };
    let presence = Presence { engine, held, due_ms };
    judge(map, presence, &Request::of(session, found, args))
        .map(drop)
        .map_err(|refusal| text_of(engine, Some(map), session.shared.viewer, refusal))
}

/// Checks that a command of the source of a migration is about its slots, and comes while they do.
fn check_import(import: &Migration, found: Found, args: Args<'_>) -> CommandResult {
    let mut keys = keys::of(found, args).peekable();
    if keys.peek().is_some() && !import.state().is_under_way() {
        return Err(CommandError::Fixed("ERR The migration has ended"));
    }
    if keys.all(|key| import.slots.contains(key_slot(key))) {
        return Ok(());
    }
    Err(CommandError::Fixed("ERR The slot of a key is not being imported"))
}

/// The slots that a script has had to do with, and the map by which each of them was judged first.
#[derive(Default)]
pub(crate) struct JudgedBy(BTreeMap<u16, Arc<SlotMap>>);

impl JudgedBy {
    /// A script begins, whose declared keys are of this slot: this thread has just judged it.
    pub(crate) fn declared(worker: &WorkerState, slot: Option<u16>) -> JudgedBy {
        JudgedBy(slot.zip(worker.slot_map.clone()).into_iter().collect())
    }
}

/// The same for a command that a script calls, whose shards are held: the slot of its keys, if it has any.
pub(crate) fn check_call(
    engine: &Engine,
    worker: &mut WorkerState,
    session: &Session,
    (found, args): (Found, Args<'_>),
    held: &mut Held<'_>,
    judged: &mut JudgedBy,
) -> CommandResult<Option<u16>> {
    let due_ms = due_at(worker.clock.wall_ms());
    let presence = Presence { engine, held: Some(held), due_ms };
    let first = declared_slot(found, args);
    let before = first.and_then(|slot| judged.0.get(&slot));
    let outcome = match before.or_else(|| engine.cluster.newest(&mut worker.slot_map)) {
        Some(map) => judge(map, presence, &Request { is_queued: false, ..Request::of(session, found, args) }),
        None => Err(Refusal::Down),
    };
    if let (None, Ok(Some(slot)), Some(map)) = (before, &outcome, &worker.slot_map) {
        judged.0.insert(*slot, Arc::clone(map));
    }
    let name = || found.full_name();
    outcome.map_err(|refusal| match refusal {
        Refusal::Down => CommandError::text(format!(
            "ERR Can not execute a command '{}' while the cluster is down",
            name()
        )),
        Refusal::DownForWrites => CommandError::text(format!(
            "ERR Can not execute a write command '{}' while the cluster is down and readonly",
            name()
        )),
        _ => CommandError::Fixed("ERR Attempted to access a non local key in a cluster node"),
    })
}

/// A script has touched keys of two slots.
pub(crate) const CROSS_SLOT_CALL: CommandError =
    CommandError::Fixed("ERR Script attempted to access keys that do not hash to the same slot");

/// The slot of the keys that a command declares.
pub(crate) fn declared_slot(found: Found, args: Args<'_>) -> Option<u16> {
    keys::of(found, args).next().map(key_slot)
}

/// Whether keys can be among the arguments.
fn may_have_keys(command: &Command) -> bool {
    !command.keys.is_empty() || command.find_keys.is_some() || command.scope == Scope::Exec
}

/// Looks keys of open slots up.
struct Presence<'p, 'h> {
    engine: &'p Engine,
    held: Option<&'p mut Held<'h>>,
    due_ms: u64,
}

impl Presence<'_, '_> {
    /// Whether a key is there. One whose shard cannot be had now is said to be: it is asked for again under the lock.
    fn is_there(&mut self, db: usize, bytes: &[u8]) -> bool {
        let key = self.engine.key(bytes);
        let due_ms = self.due_ms;
        let is_in = |data: &ShardData| {
            let entry = data.table(db).and_then(|table| table.get(key.hash, key.bytes));
            entry.is_some_and(|entry| !is_due(&entry, due_ms))
        };
        match &mut self.held {
            Some(held) => held.shard_mut(key.shard()).is_none_or(|data| is_in(data)),
            None => self.engine.shards.lock_lent_soon(key.shard()).is_none_or(|data| is_in(&data)),
        }
    }
}

/// What is to be executed: a command, or before EXEC those that are queued.
struct Request<'r> {
    found: Found,
    args: Args<'r>,
    queue: Option<&'r Queue>,
    /// The database that is selected.
    db: usize,
    /// The client has said ASKING.
    asking: bool,
    /// The client has said READONLY.
    reads_replica: bool,
    /// It is queued now, and not executed.
    is_queued: bool,
}

impl<'r> Request<'r> {
    fn of(session: &'r Session, found: Found, args: Args<'r>) -> Request<'r> {
        let is_exec = found.command.scope == Scope::Exec;
        Request {
            found,
            args,
            queue: session.multi.as_deref().filter(|_| is_exec),
            db: session.db,
            asking: session.asking,
            reads_replica: session.shared.has(client_flags::READS_REPLICA),
            is_queued: session.multi.is_some() && !is_exec,
        }
    }

    /// Calls `visit` with each command and the database that it works on.
    fn each(
        &self,
        engine: &Engine,
        mut visit: impl FnMut(Found, Args<'r>, usize) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let Some(queue) = self.queue else { return visit(self.found, self.args, self.db) };
        let mut db = self.db;
        for (found, args) in &queue.commands {
            let args = args.as_args();
            if found.command.name == "select" {
                let wanted = args.get(1).and_then(number::parse_i64).and_then(|at| usize::try_from(at).ok());
                db = wanted.filter(|&wanted| wanted < engine.database_count()).unwrap_or(db);
            }
            visit(*found, args, db)?;
        }
        Ok(())
    }

    /// The slot of all keys; `None` without a key.
    fn slot(&self, engine: &Engine) -> Result<Option<u16>, Refusal> {
        let mut slot = None;
        self.each(engine, |found, args, _| {
            keys::of(found, args).map(key_slot).try_for_each(|other| match slot.replace(other) {
                Some(first) if first != other => Err(Refusal::CrossSlot),
                _ => Ok(()),
            })
        })?;
        Ok(slot)
    }

    /// Whether it changes something. A script that says what it does is taken at its word, and one that says nothing for one that reads.
    fn writes(&self, engine: &Engine) -> bool {
        flags_of(&engine.scripts, self.found.command, self.args) & flags::WRITE != 0
            || self.queue.is_some_and(Queue::has_writes)
    }

    /// Whether it is about channels of the shard.
    fn is_for_subscribers(&self) -> bool {
        is_sharded(self.found.command) || self.queue.is_some_and(|queue| queue.any(is_sharded))
    }
}

/// What is known of the keys of a slot that is open.
#[derive(Default)]
struct Keys<'k> {
    first: Option<&'k [u8]>,
    has_several: bool,
    present: usize,
    missing: usize,
}

impl<'k> Keys<'k> {
    fn of(request: &Request<'k>, presence: &mut Presence<'_, '_>) -> Result<Keys<'k>, Refusal> {
        let mut keys = Keys::default();
        // What is there when the command is queued says nothing.
        let counts = !request.is_queued && !request.is_for_subscribers();
        request.each(presence.engine, |found, args, db| {
            for key in keys::of(found, args) {
                keys.has_several |= *keys.first.get_or_insert(key) != key;
                if leaves_database(found.command, args, db) {
                    return Err(Refusal::TryAgain);
                }
                match counts && presence.is_there(db, key) {
                    true => keys.present += 1,
                    false => keys.missing += usize::from(counts),
                }
            }
            Ok(())
        })?;
        Ok(keys)
    }
}

/// Whether this node executes a request, and in which slot; `None`: without a key.
fn judge(
    map: &SlotMap,
    mut presence: Presence<'_, '_>,
    request: &Request<'_>,
) -> Result<Option<u16>, Refusal> {
    let (engine, command) = (presence.engine, request.found.command);
    let Some(slot) = request.slot(engine)? else { return Ok(None) };
    let owner = map.owner_at(slot).ok_or(Refusal::Unbound)?;
    let is_primary = map.me().primary.is_none();
    // Replicas know of open slots what their primary knows.
    let sees_open = is_primary || request.reads_replica;
    let is_own = map.is_mine(slot) || map.is_my_primarys(slot);
    let migrates_to = map.migrating.get(&slot).copied().filter(|_| sees_open && is_own);
    let is_importing = sees_open && migrates_to.is_none() && map.importing.contains_key(&slot);
    let is_open = migrates_to.is_some() || is_importing;
    let keys = if is_open { Keys::of(request, &mut presence)? } else { Keys::default() };
    if map.is_down {
        judge_while_down(engine, request)?;
    }
    if is_open && is_primary && command.name == "migrate" {
        return Ok(Some(slot));
    }
    if let Some(other) = migrates_to.filter(|_| keys.missing > 0) {
        return Err(if keys.present > 0 { Refusal::TryAgain } else { Refusal::Ask(slot, other) });
    }
    if is_importing && (request.asking || command.has(flags::ASKING)) {
        let is_torn = keys.has_several && keys.missing > 0;
        return if is_torn { Err(Refusal::TryAgain) } else { Ok(Some(slot)) };
    }
    let reads_here = request.reads_replica || request.is_for_subscribers();
    let is_served = owner == map.myself || reads_here && map.is_my_primarys(slot) && !request.writes(engine);
    if is_served { Ok(Some(slot)) } else { Err(Refusal::Moved(slot, owner)) }
}

/// Whether it is about channels of the shard.
fn is_sharded(command: &Command) -> bool {
    matches!(command.name, "spublish" | "ssubscribe" | "sunsubscribe")
}

/// Whether a command needs a key in another database: whether that is there is not asked.
fn leaves_database(command: &Command, args: Args<'_>, db: usize) -> bool {
    let other = |word: &[u8]| number::parse_i64(word).and_then(|at| usize::try_from(at).ok()) != Some(db);
    match command.name {
        "move" => true,
        "copy" => {
            let mut at = 3;
            while let (Some(word), Some(value)) = (args.get(at), args.get(at + 1)) {
                let is_db = is_word(word, "db");
                if is_db && other(value) {
                    return true;
                }
                at += 1 + usize::from(is_db);
            }
            false
        }
        _ => false,
    }
}

/// Whether a request is executed though the cluster is down.
fn judge_while_down(engine: &Engine, request: &Request<'_>) -> Result<(), Refusal> {
    let config = &engine.config;
    let allowed = |option: &str| if config.is_yes(option) { Ok(()) } else { Err(Refusal::Down) };
    if request.is_for_subscribers() {
        return allowed("cluster-allow-pubsubshard-when-down");
    }
    allowed("cluster-allow-reads-when-down")?;
    // What is queued is not asked, as in Valkey.
    let writes = Request { queue: None, ..*request }.writes(engine);
    if writes { Err(Refusal::DownForWrites) } else { Ok(()) }
}

/// What a client that waits for keys is to be told, if their slot is not served here any more.
pub(crate) fn ends_wait(map: &SlotMap, key: &[u8], reads_replica: bool) -> Option<Refusal> {
    if map.is_down {
        return Some(Refusal::Down);
    }
    let slot = key_slot(key);
    if map.is_mine(slot) || map.importing.contains_key(&slot) || reads_replica && map.is_my_primarys(slot) {
        return None;
    }
    Some(map.owner_at(slot).map_or(Refusal::Unbound, |owner| Refusal::Moved(slot, owner)))
}

/// The error that a client gets.
pub(crate) fn text_of(
    engine: &Engine,
    map: Option<&Arc<SlotMap>>,
    viewer: Viewer,
    refusal: Refusal,
) -> CommandError {
    let place = |code: &str, slot: u16, at: u16| {
        let node = map.and_then(|map| map.nodes.get(usize::from(at)));
        let (host, port) = node.map_or((String::new(), 0), |node| {
            (endpoint(engine, node, viewer), viewer.port(&node.address, &node.names))
        });
        format!("{code} {slot} {host}:{port}")
    };
    let text = match refusal {
        Refusal::Ask(slot, at) => place("ASK", slot, at),
        Refusal::CrossSlot => "CROSSSLOT Keys in request don't hash to the same slot".to_owned(),
        Refusal::Down => "CLUSTERDOWN The cluster is down".to_owned(),
        Refusal::DownForWrites => "CLUSTERDOWN The cluster is down and only accepts read commands".to_owned(),
        Refusal::Moved(slot, at) => place("MOVED", slot, at),
        Refusal::TryAgain => "TRYAGAIN Multiple keys request during rehashing of slot".to_owned(),
        Refusal::Unbound => "CLUSTERDOWN Hash slot not served".to_owned(),
    };
    CommandError::Redirected(text.into_bytes())
}

/// What a client is told to connect to, as `cluster-preferred-endpoint-type` wants it.
fn endpoint(engine: &Engine, node: &MapNode, viewer: Viewer) -> String {
    match &*engine.config.value("cluster-preferred-endpoint-type") {
        "hostname" if node.names.hostname.is_empty() => "?".to_owned(),
        "hostname" => node.names.hostname.to_string(),
        "unknown-endpoint" => String::new(),
        _ => viewer.ip(&node.address, &node.names).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_leaves_its_database_is_seen() {
        for (line, db, leaves) in [
            ("COPY a b DB 1", 0, true),
            ("COPY a b DB 1", 1, false),
            ("COPY a b", 0, false),
            ("COPY a b REPLACE", 0, false),
            ("COPY a b REPLACE DB 1", 0, true),
            ("COPY a b DB 0 DB 1", 0, true),
            ("COPY a b DB x", 0, true),
            ("MOVE a 1", 0, true),
            ("GET a", 0, false),
        ] {
            let args: larder_resp::OwnedArgs = line.split(' ').map(str::as_bytes).collect();
            let found = crate::command::table::table().find(args.as_args().at(0));
            let command = found.expect("it is a command").command;
            assert_eq!(leaves_database(command, args.as_args(), db), leaves, "{line}");
        }
    }
}
