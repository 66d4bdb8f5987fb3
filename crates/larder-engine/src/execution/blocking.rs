//! Serving the clients that wait for keys, while the command that made the keys ready still holds their shards.

use crate::clients::session::{Closing, Session, client_flags};
use crate::context::Context;
use crate::context::flow::Flow;
use crate::context::replies::{element_bytes, write_element};
use crate::context::stream_reads::{has_entries, has_unread, serve_group_reader, serve_reader};
use crate::delivery::unblock::each_refused_reader;
use crate::engine::Engine;
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::execution::authorization::{self, WaiterRefusal};
use crate::execution::tracking;
use crate::keyspace::key::Key;
use crate::keyspace::kind::Kind;
use crate::keyspace::locks::Held;
use crate::keyspace::waiting::{BlockedOp, Extreme, Waiter};
use crate::text::number::ScoreText;
use larder_collections::list::{List, ListOptions};
use larder_collections::sorted_set::SortedSet;
use larder_packed::block::End;
use larder_resp::Reply;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Makes the client wait for `keys`, whose shards the command holds. The reply will come later.
pub(crate) fn wait(context: &mut Context<'_>, keys: &[&[u8]], op: BlockedOp, timeout_ms: u64) {
    let (db, now) = (context.db, context.worker.clock.mono_ms());
    let owned = keys.iter().map(|&key| key.into()).collect();
    let (session, worker) = (&mut *context.session, context.worker.index);
    let waiter = Arc::new(Waiter {
        client: session.shared.id,
        worker,
        protocol: session.protocol,
        no_touch: session.no_touch,
        rights_epoch: session.access.epoch(),
        db,
        keys: owned,
        op,
        taken: AtomicBool::new(false),
        dismissed: AtomicBool::new(false),
    });
    register(session, &waiter);
    for bytes in keys {
        let key = context.key(bytes);
        context.shard(&key).waiting.add(bytes, &waiter);
    }
    context.flow = Flow::Blocked { deadline_ms: (timeout_ms > 0).then(|| now.saturating_add(timeout_ms)) };
}

fn register(session: &mut Session, waiter: &Arc<Waiter>) {
    session.waiter = Some(Arc::clone(waiter));
    *session.shared.waiter.lock() = Some(Arc::clone(waiter));
    // The thread that sees that the client waits can end its wait.
    session.shared.set_flag(client_flags::BLOCKED, true);
    // A thread that closes the connection claims the waiter, unless it looked before there was one.
    if session.shared.closing() != Closing::No {
        waiter.dismiss();
    }
}

/// Makes the client wait for the disk or for replicas.
pub(crate) fn wait_for_acks(context: &mut Context<'_>, op: BlockedOp, timeout_ms: u64) {
    let needs_disk = matches!(op, BlockedOp::OnDisk { here: true, .. });
    wait(context, &[], op, timeout_ms);
    if let Some(waiter) = context.session.waiter.clone() {
        context.engine.wait_for_acks(waiter);
    }
    if needs_disk {
        context.engine.append_log.request_sync();
    }
}

/// The reply to a client that waited in vain.
pub(crate) fn write_timeout(engine: &Engine, waiter: &Waiter, reply: &mut Reply<'_>) {
    engine.write_acknowledged(&waiter.op, reply);
}

/// Serves all who wait for the keys that became ready. Serving may make other keys ready; they follow.
///
/// Commands of an append-only file that is loaded again serve no client: they repeat what the clients have seen, and the
/// elements that they push may have been taken later in the file.
pub(crate) fn serve_ready(context: &mut Context<'_>) {
    if context.session.is_of_file() {
        context.ready.clear();
        return;
    }
    let selected = context.db;
    let mut at = 0;
    while at < context.ready.len() {
        let (db, bytes) = std::mem::take(&mut context.ready[at]);
        at += 1;
        context.db = db;
        let key = context.key(&bytes);
        serve_readers(context, &key);
        while let Some(kind) = context.kind_for_waiters(&key).filter(|&kind| kind != Kind::Stream) {
            let Some(waiter) = context.shard(&key).waiting.first(db, &bytes, kind) else { break };
            serve_one(context, &waiter);
        }
    }
    context.ready.clear();
    context.db = selected;
}

/// Serves those who wait for entries of a stream. They take nothing away, so all are served for whom there is something;
/// consumers of a group that is no more, or whose stream is, are told so.
fn serve_readers(context: &mut Context<'_>, key: &Key<'_>) {
    let (db, engine) = (context.db, context.engine);
    let kind = context.kind_for_waiters(key);
    let waiting = &context.shard(key).waiting;
    if kind != Some(Kind::Stream) {
        // A consumer of a group asks for the key again, which deletes an overdue one.
        let is_group_reader = |waiter: &Arc<Waiter>| matches!(waiter.op, BlockedOp::ReadGroup(_));
        if kind.is_none() && waiting.all(db, key.bytes, Kind::Stream).iter().any(is_group_reader) {
            context.peek_exists(key);
        }
        let of_another_type = kind.map(|_| CommandError::WRONG_TYPE);
        let waiting = &context.held.shard_of(key).waiting;
        let answers = &mut context.worker.answers;
        return each_refused_reader(waiting, (db, key.bytes), of_another_type.as_ref(), |waiter, error| {
            let error = match authorization::check_waiter(engine, waiter) {
                Ok(()) => error,
                Err(WaiterRefusal::Denied(denial)) => denial,
                Err(WaiterRefusal::Gone) => return answers.add_empty(waiter),
            };
            answers.add(&engine.errors, waiter, Vec::new(), Err(error));
        });
    }
    for waiter in waiting.all(db, key.bytes, Kind::Stream) {
        let news = news_for(context, &waiter);
        // A client whose rights were taken away learns it when one of its keys changes, even without an entry for it.
        if news.as_ref().is_ok_and(Vec::is_empty) && !authorization::is_denied(engine, &waiter) {
            // The reader has looked at the key again.
            if waiter.op.only_reads() {
                tracking::remember_for(context, &waiter);
            }
            continue;
        }
        // What a group reads counts as delivered, so the waiter must be claimed before.
        if !waiter.take() {
            continue;
        }
        answer_with(context, &waiter, |context, reply| match (&waiter.op, news?) {
            (BlockedOp::Read { from, count }, news) => {
                let streams: Vec<_> = news.into_iter().map(|(at, key)| (key, from[at])).collect();
                serve_reader(context, &streams, *count, reply)?;
                tracking::remember_for(context, &waiter);
                Ok(())
            }
            (BlockedOp::ReadGroup(read), news) => {
                let keys: Vec<_> = news.into_iter().map(|(_, key)| key).collect();
                serve_group_reader(context, &keys, read, reply)
            }
            _ => Ok(()),
        });
    }
}

/// The streams that have something for a waiter, with their places in its command. Those whose shards are not held have
/// nothing: the thread that adds an entry serves those who wait for it before it lets go.
///
/// # Errors
/// One of the keys has got another type.
fn news_for<'w>(context: &mut Context<'_>, waiter: &'w Waiter) -> CommandResult<Vec<(usize, Key<'w>)>> {
    let mut news = Vec::new();
    for (at, key) in keys_of(context, waiter).into_iter().enumerate() {
        if !context.holds(&key) {
            continue;
        }
        let has_any = match &waiter.op {
            BlockedOp::Read { .. } if context.peek_kind(&key).is_some_and(|kind| kind != Kind::Stream) => {
                return Err(CommandError::WRONG_TYPE);
            }
            BlockedOp::Read { from, .. } => has_entries(context, &key, from[at]),
            // A group delivers an entry once.
            BlockedOp::ReadGroup(_) if waiter.keys[..at].iter().any(|other| **other == *key.bytes) => false,
            // A key that has got another type says so when its own turn comes.
            BlockedOp::ReadGroup(read) => match context.peek_kind(&key) {
                Some(Kind::Stream) | None => has_unread(context, &key, read)?,
                Some(_) => false,
            },
            _ => false,
        };
        if has_any {
            news.push((at, key));
        }
    }
    Ok(news)
}

/// The keys of a waiter. The shards of all of them are locked, as far as they are free: what these keys have become matters, since the waiter's
/// command looks at all of them. A key whose shard another thread holds at this moment counts as one that is not there.
fn keys_of<'w>(context: &mut Context<'_>, waiter: &'w Waiter) -> Vec<Key<'w>> {
    let keys: Vec<Key<'w>> = waiter.keys.iter().map(|name| context.key(name)).collect();
    if !keys.iter().all(|key| context.holds(key)) {
        let held = std::mem::replace(&mut context.held, Held::None);
        context.held = context.engine.shards.widen_now(held, keys.iter().map(Key::shard));
        context.begin_check();
    }
    keys
}

/// Serves a waiter, unless somebody else claims it first: from the first of its keys that has something, which may be another
/// than the one that became ready first in a transaction or a script. A key before it that has got another type is an error.
fn serve_one(context: &mut Context<'_>, waiter: &Arc<Waiter>) {
    if !waiter.take() {
        return;
    }
    let first = keys_of(context, waiter).into_iter().find_map(|key| {
        if context.holds(&key) { context.peek_kind(&key).map(|kind| (key, kind)) } else { None }
    });
    let (key, kind) = first.expect("a key that it waits for is ready, and held");
    answer_with(context, waiter, |context, reply| {
        let granted = match kind == waiter.op.kind() {
            true => grant(context, &key, waiter, reply),
            false => Err(CommandError::WRONG_TYPE),
        };
        // A use of the key, also when nothing could be taken from it.
        if granted.is_err() {
            context.exists_to_write(&key);
        }
        granted
    });
}

/// Answers a claimed waiter with what `write` writes, as if it executed its command itself: the rights of its user are
/// checked again if they may have changed. The reply leaves when the effects of the unit are in the log.
fn answer_with<'c>(
    context: &mut Context<'c>,
    waiter: &Arc<Waiter>,
    write: impl FnOnce(&mut Context<'c>, &mut Reply<'_>) -> CommandResult,
) {
    let engine = context.engine;
    let mut bytes = Vec::new();
    let result = match authorization::check_waiter(engine, waiter) {
        Ok(()) => {
            let no_touch = std::mem::replace(&mut context.session.no_touch, waiter.no_touch);
            context.worker.served = Some(waiter.client);
            let result = write(context, &mut Reply::new(&mut bytes, waiter.protocol));
            context.worker.served = None;
            context.session.no_touch = no_touch;
            result
        }
        Err(WaiterRefusal::Denied(error)) => Err(error),
        Err(WaiterRefusal::Gone) => return context.worker.answers.add_empty(waiter),
    };
    context.worker.answers.add(&engine.errors, waiter, bytes, result);
}

fn grant(context: &mut Context<'_>, key: &Key<'_>, waiter: &Waiter, reply: &mut Reply<'_>) -> CommandResult {
    match &waiter.op {
        BlockedOp::Pop(end) => {
            reply.array(2);
            reply.bulk(key.bytes);
            pop_into(context, key, *end, reply)
        }
        BlockedOp::PopMany(end, count) => pop_many_into(context, key, *end, *count, reply),
        BlockedOp::Move { from, to, target } => {
            let target = context.key(target);
            move_one(context, key, &target, *from, *to, reply)
        }
        BlockedOp::PopScored(extreme) => pop_scored(context, key, *extreme, 1, PopForm::OneWithKey, reply),
        BlockedOp::Anatomy
        | BlockedOp::Cluster
        | BlockedOp::OnDisk { .. }
        | BlockedOp::Replicas { .. }
        | BlockedOp::ScriptEnd { .. }
        | BlockedOp::Shutdown => Ok(()),
        BlockedOp::PopManyScored(extreme, count) => {
            pop_scored(context, key, *extreme, *count, PopForm::PairsWithKey, reply)
        }
        // Those who read take nothing: `serve_readers` sees to them.
        BlockedOp::Read { .. } | BlockedOp::ReadGroup(_) => Ok(()),
    }
}

/// Pops one element of a list that exists and writes it.
pub(crate) fn pop_into(
    context: &mut Context<'_>,
    key: &Key<'_>,
    end: End,
    reply: &mut Reply<'_>,
) -> CommandResult {
    context.with_list(key, |list, options, _| {
        list.pop_with(end, options, |element| write_element(reply, element));
        Ok(())
    })?;
    note_popped(context, key, end, 1);
    context.propagate_instead(&[pop_name(end), key.bytes]);
    Ok(())
}

/// Pops up to `count` elements of a list that exists and writes the key and them.
pub(crate) fn pop_many_into(
    context: &mut Context<'_>,
    key: &Key<'_>,
    end: End,
    count: u64,
    reply: &mut Reply<'_>,
) -> CommandResult {
    reply.array(2);
    reply.bulk(key.bytes);
    let popped = context.with_list(key, |list, options, _| Ok(pop_all(list, options, end, count, reply)))?;
    note_many_popped(context, key, end, count, popped.unwrap_or(0));
    Ok(())
}

/// Tells everybody that this many elements were popped from a list where `count` were asked for, whatever command has popped them.
pub(crate) fn note_many_popped(context: &mut Context<'_>, key: &Key<'_>, end: End, count: u64, popped: u64) {
    note_popped(context, key, end, popped as usize);
    log_popped(context, pop_name(end), key, count);
}

/// Notes the command that pops up to this many elements of a key, whatever command has popped them.
fn log_popped(context: &mut Context<'_>, name: &[u8], key: &Key<'_>, count: u64) {
    if context.logs() {
        context.propagate_instead(&[name, key.bytes, itoa::Buffer::new().format(count).as_bytes()]);
    }
}

/// Tells everybody that elements were popped from a list, which counts as `changes`.
pub(crate) fn note_popped(context: &mut Context<'_>, key: &Key<'_>, end: End, changes: usize) {
    context.modified_by(key, changes);
    context.notify(class::LIST, if end == End::Front { "lpop" } else { "rpop" }, key);
    context.notify_emptied(key);
}

/// The event of a push.
pub(crate) fn push_event(end: End) -> &'static str {
    if end == End::Front { "lpush" } else { "rpush" }
}

fn pop_name(end: End) -> &'static [u8] {
    match end {
        End::Front => b"LPOP",
        End::Back => b"RPOP",
    }
}

fn end_name(end: End) -> &'static [u8] {
    match end {
        End::Front => b"LEFT",
        End::Back => b"RIGHT",
    }
}

/// Pops up to `count` elements and writes them as an array; returns how many there were.
pub(crate) fn pop_all(
    list: &mut List,
    options: &ListOptions,
    end: End,
    count: u64,
    reply: &mut Reply<'_>,
) -> u64 {
    let count = count.min(list.len());
    reply.array(count as usize);
    for _ in 0..count {
        list.pop_with(end, options, |element| write_element(reply, element));
    }
    count
}

/// How popped entries of a sorted set are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PopForm {
    /// Members and scores in turns.
    Flat,
    /// An array of pairs.
    Pairs,
    /// The key, a member and its score.
    OneWithKey,
    /// The key and an array of pairs.
    PairsWithKey,
}

impl PopForm {
    /// Opens the reply with the key, if it has one.
    pub(crate) fn write_key(self, key: &[u8], reply: &mut Reply<'_>) {
        let items = match self {
            PopForm::Flat | PopForm::Pairs => return,
            PopForm::OneWithKey => 3,
            PopForm::PairsWithKey => 2,
        };
        reply.array(items);
        reply.bulk(key);
    }
}

/// Pops up to `count` entries of a sorted set that exists, one at least, and writes them.
pub(crate) fn pop_scored(
    context: &mut Context<'_>,
    key: &Key<'_>,
    extreme: Extreme,
    count: u64,
    form: PopForm,
    reply: &mut Reply<'_>,
) -> CommandResult {
    form.write_key(key.bytes, reply);
    let popped = context.with_value(key, |set: &mut SortedSet, _| {
        Ok(pop_entries(set, extreme, count.min(set.len()), form, reply))
    })?;
    note_popped_scores(context, key, extreme, count, popped.unwrap_or(0));
    Ok(())
}

/// Pops this many entries, which there are, and writes them after their key; returns how many.
pub(crate) fn pop_entries(
    set: &mut SortedSet,
    extreme: Extreme,
    count: u64,
    form: PopForm,
    reply: &mut Reply<'_>,
) -> usize {
    let pairs = matches!(form, PopForm::Pairs | PopForm::PairsWithKey);
    match form {
        PopForm::Flat => reply.array(2 * count as usize),
        PopForm::Pairs | PopForm::PairsWithKey => reply.array(count as usize),
        PopForm::OneWithKey => {}
    }
    let mut write = |score, member: &[u8]| {
        if pairs {
            reply.array(2);
        }
        reply.bulk(member);
        reply.double(ScoreText::of(score).as_bytes());
    };
    match extreme {
        Extreme::Min => {
            set.remove_ranks(0, count, write);
        }
        Extreme::Max => (0..count).for_each(|_| set.pop_max(&mut write)),
    }
    count as usize
}

/// Tells everybody that this many entries were popped from a sorted set where `count` were asked for.
pub(crate) fn note_popped_scores(
    context: &mut Context<'_>,
    key: &Key<'_>,
    extreme: Extreme,
    count: u64,
    popped: usize,
) {
    context.modified_by(key, popped);
    let (event, name): (_, &[u8]) = match extreme {
        Extreme::Min => ("zpopmin", b"ZPOPMIN"),
        Extreme::Max => ("zpopmax", b"ZPOPMAX"),
    };
    context.notify(class::SORTED_SET, event, key);
    context.notify_emptied(key);
    log_popped(context, name, key, count);
}

/// Moves one element from a list that exists to another, which is created if need be, and writes it.
pub(crate) fn move_one(
    context: &mut Context<'_>,
    source: &Key<'_>,
    target: &Key<'_>,
    from: End,
    to: End,
    reply: &mut Reply<'_>,
) -> CommandResult {
    if context.kind(target).is_some_and(|kind| kind != Kind::List) {
        return Err(CommandError::WRONG_TYPE);
    }
    let mut number = itoa::Buffer::new();
    let mut scratch = std::mem::take(&mut context.worker.scratch);
    scratch.clear();
    if source.bytes == target.bytes {
        rotate(context, source, from, to, &mut scratch)?;
    } else {
        context.with_list(source, |list, options, _| {
            list.pop_with(from, options, |element| {
                scratch.extend_from_slice(element_bytes(&element, &mut number));
            });
            Ok(())
        })?;
        context.with_list_or_new(target, |list, options, _| {
            list.push(to, &scratch, options);
            Ok(())
        })?;
    }
    context.modified(target);
    context.notify(class::LIST, push_event(to), target);
    note_popped(context, source, from, 0);
    context.signal_ready(target);
    context.propagate_instead(&[b"LMOVE", source.bytes, target.bytes, end_name(from), end_name(to)]);
    reply.bulk(&scratch);
    context.worker.scratch = scratch;
    Ok(())
}

/// Moves an element within one list, which must not vanish in between.
fn rotate(
    context: &mut Context<'_>,
    key: &Key<'_>,
    from: End,
    to: End,
    scratch: &mut Vec<u8>,
) -> CommandResult {
    let mut number = itoa::Buffer::new();
    context.with_list(key, |list, options, _| {
        list.pop_with(from, options, |element| {
            scratch.extend_from_slice(element_bytes(&element, &mut number));
        });
        list.push(to, scratch, options);
        Ok(())
    })?;
    Ok(())
}
