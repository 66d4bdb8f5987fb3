//! SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE and their opposites.
//!
//! Each name is confirmed by a message of its own, also where nothing changes.

use crate::clients::session::{Session, client_flags};
use crate::clients::subscriptions;
use crate::context::Context;
use crate::engine::Engine;
use crate::error::{CommandError, CommandResult};
use crate::pubsub::Space;
use larder_resp::{Args, Reply};
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn subscribe(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    subscribe_all(context, args, Space::Channels, "subscribe");
    Ok(())
}

pub(super) fn psubscribe(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    subscribe_all(context, args, Space::Patterns, "psubscribe");
    Ok(())
}

pub(super) fn ssubscribe(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if context.in_exec {
        return Err(CommandError::Fixed("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client"));
    }
    subscribe_all(context, args, Space::ShardChannels, "ssubscribe");
    Ok(())
}

pub(super) fn unsubscribe(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    unsubscribe_all(context, args, Space::Channels, "unsubscribe");
    Ok(())
}

pub(super) fn punsubscribe(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    unsubscribe_all(context, args, Space::Patterns, "punsubscribe");
    Ok(())
}

pub(super) fn sunsubscribe(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    unsubscribe_all(context, args, Space::ShardChannels, "sunsubscribe");
    Ok(())
}

fn subscribe_all(context: &mut Context<'_>, args: Args<'_>, space: Space, confirmation: &str) {
    for name in args.from(1).iter() {
        subscriptions::join(&context.engine.pubsub, &context.session.shared, space, name);
        confirm(&mut context.reply, context.session, space, confirmation, Some(name));
    }
    note(context.session);
}

fn unsubscribe_all(context: &mut Context<'_>, args: Args<'_>, space: Space, confirmation: &str) {
    let (engine, session, reply) = (context.engine, &mut *context.session, &mut context.reply);
    for name in args.from(1).iter() {
        subscriptions::leave(&engine.pubsub, &session.shared, space, name);
        confirm(reply, session, space, confirmation, Some(name));
    }
    if args.len() == 1 {
        if session.shared.subscriptions.lock().as_ref().is_none_or(|all| all.len(space) == 0) {
            confirm(reply, session, space, confirmation, None);
        }
        while let Some(name) = subscriptions::leave_any(&engine.pubsub, &session.shared, space) {
            confirm(reply, session, space, confirmation, Some(&name));
        }
    }
    session.has_left = true;
    note(session);
}

/// The channel of a shard is another node's now: ends the subscription, and says so.
pub(crate) fn leave_shard_channel(engine: &Engine, session: &mut Session, channel: &[u8], out: &mut Vec<u8>) {
    if subscriptions::leave(&engine.pubsub, &session.shared, Space::ShardChannels, channel) {
        let mut reply = Reply::new(out, session.protocol);
        confirm(&mut reply, session, Space::ShardChannels, "sunsubscribe", Some(channel));
        session.has_left = true;
        note(session);
    }
}

/// Ends all subscriptions without a word: RESET, and the end of the connection.
pub(crate) fn forget(engine: &Engine, session: &mut Session) {
    if session.subscribes {
        subscriptions::end_all(&engine.pubsub, &session.shared);
        session.has_left = true;
        note(session);
    }
}

fn confirm(reply: &mut Reply<'_>, session: &Session, space: Space, confirmation: &str, name: Option<&[u8]>) {
    reply.push(3);
    reply.bulk(confirmation.as_bytes());
    reply.bulk_or_null(name);
    reply.count(session.shared.subscriptions.lock().as_ref().map_or(0, |all| all.told_count(space)));
}

/// Makes known what others may see of the subscriptions.
fn note(session: &mut Session) {
    let shared = &session.shared;
    let mut subscriptions = shared.subscriptions.lock();
    if subscriptions.as_ref().is_some_and(|all| all.is_empty()) {
        *subscriptions = None;
    }
    session.subscribes = subscriptions.is_some();
    let count = |space| subscriptions.as_ref().map_or(0, |all| all.len(space)) as u32;
    shared.channels.store(count(Space::Channels), Relaxed);
    shared.patterns.store(count(Space::Patterns), Relaxed);
    shared.shard_channels.store(count(Space::ShardChannels), Relaxed);
    let bytes = subscriptions.as_ref().map_or(0, |all| all.memory_bytes());
    shared.subscription_bytes.store(bytes, Relaxed);
    shared.set_flag(client_flags::PUBSUB, session.subscribes);
}
