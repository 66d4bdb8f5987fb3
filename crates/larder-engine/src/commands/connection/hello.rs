//! Introducing oneself: HELLO, AUTH, SELECT, PING and the like.

use super::client;
use crate::acl::{self, Origin};
use crate::clients::login;
use crate::clients::session::{ClientNames, ReplyMode, client_flags};
use crate::commands::server::write_modules;
use crate::context::Context;
use crate::context::flow::Flow;
use crate::error::{CommandError, CommandResult};
use crate::execution::authorization;
use crate::execution::transaction;
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::{Args, Protocol};
use std::sync::atomic::Ordering::Relaxed;

const WRONG_PASSWORD: CommandError =
    CommandError::Fixed("WRONGPASS invalid username-password pair or user is disabled.");

pub(super) fn ping(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    match args.len() {
        1 | 2 if context.session.only_listens() => {
            context.reply.array(2);
            context.reply.bulk(b"pong");
            context.reply.bulk(args.get(1).unwrap_or_default());
        }
        1 => context.reply.simple("PONG"),
        2 => context.reply.bulk(&args[1]),
        _ => return Err(CommandError::arity("ping")),
    }
    Ok(())
}

pub(super) fn echo(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.bulk(&args[1]);
    Ok(())
}

pub(super) fn quit(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.flow = Flow::CloseAfterFlush;
    context.reply.ok();
    Ok(())
}

pub(super) fn select(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let db = number::database(&args[1], context.engine.database_count())?;
    context.select(db);
    context.reply.ok();
    Ok(())
}

pub(super) fn auth(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    match args.len() {
        2 if context.engine.acl.default_user().rights().nopass() => Err(CommandError::Fixed(
            "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
             configuration is correct?",
        )),
        2 => authenticate(context, acl::DEFAULT, &args[1], &args[0]),
        3 => authenticate(context, &args[1], &args[2], &args[0]),
        _ => Err(CommandError::SYNTAX),
    }?;
    context.reply.ok();
    Ok(())
}

/// `command` is the one that asks, as it was spelled.
fn authenticate(context: &mut Context<'_>, user: &[u8], given: &[u8], command: &[u8]) -> CommandResult {
    let origin = if context.in_exec { Origin::Multi } else { Origin::TopLevel };
    let admitted = authorization::authenticate(context.engine, context.session, user, given, origin, command);
    if admitted { Ok(()) } else { Err(WRONG_PASSWORD) }
}

/// What HELLO asks for.
#[derive(Default)]
struct Hello<'a> {
    protocol: Option<Protocol>,
    auth: Option<(&'a [u8], &'a [u8])>,
    name: Option<&'a [u8]>,
}

impl<'a> Hello<'a> {
    /// Nothing is done unless all of it can be.
    fn parse(args: Args<'a>) -> CommandResult<Self> {
        let mut hello = Hello::default();
        if let Some(version) = args.get(1) {
            hello.protocol = Some(protocol(version)?);
        }
        let mut at = 2;
        while let Some(word) = args.get(at) {
            let left = args.len() - at - 1;
            if is_word(word, "auth") && left >= 2 {
                hello.auth = Some((args.at(at + 1), args.at(at + 2)));
                at += 3;
            } else if is_word(word, "setname") && left >= 1 {
                client::check_name(args.at(at + 1))?;
                hello.name = Some(args.at(at + 1));
                at += 2;
            } else {
                return Err(syntax(word));
            }
        }
        Ok(hello)
    }
}

fn protocol(version: &[u8]) -> CommandResult<Protocol> {
    match number::parse_i64(version) {
        Some(2) => Ok(Protocol::Resp2),
        Some(3) => Ok(Protocol::Resp3),
        Some(_) => Err(CommandError::Fixed("NOPROTO unsupported protocol version")),
        None => Err(CommandError::Fixed("ERR Protocol version is not an integer or out of range")),
    }
}

fn syntax(word: &[u8]) -> CommandError {
    let mut text = b"ERR Syntax error in HELLO option '".to_vec();
    text.extend_from_slice(word);
    text.push(b'\'');
    CommandError::Text(text)
}

pub(super) fn hello(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let hello = Hello::parse(args)?;
    if let Some((user, password)) = hello.auth {
        authenticate(context, user, password, &args[0])?;
    }
    if !context.session.authenticated {
        return Err(CommandError::Fixed(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
        ));
    }
    if let Some(name) = hello.name {
        client::set_name(context, name)?;
    }
    if let Some(protocol) = hello.protocol {
        set_protocol(context, protocol);
    }
    write_hello(context);
    Ok(())
}

fn set_protocol(context: &mut Context<'_>, protocol: Protocol) {
    context.session.protocol = protocol;
    context.reply.set_protocol(protocol);
    let number = if protocol == Protocol::Resp3 { 3 } else { 2 };
    context.session.shared.resp.store(number, Relaxed);
}

fn write_hello(context: &mut Context<'_>) {
    let (id, resp3) = (context.session.id(), context.reply.is_resp3());
    let product = context.engine.config.product();
    let mode = if context.engine.cluster.is_on() { "cluster" } else { "standalone" };
    let role = if context.engine.replication.is_replica() { "replica" } else { "master" };
    let zone = context.engine.config.value("availability-zone");
    let reply = &mut context.reply;
    reply.map(7 + usize::from(!zone.is_empty()));
    for (field, value) in [("server", product.word()), ("version", product.version())] {
        reply.bulk(field.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"proto");
    reply.int(if resp3 { 3 } else { 2 });
    reply.bulk(b"id");
    reply.int(id as i64);
    for (field, value) in [("mode", mode), ("role", role)] {
        reply.bulk(field.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"modules");
    write_modules(reply);
    if !zone.is_empty() {
        reply.bulk(b"availability_zone");
        reply.bulk(zone.as_bytes());
    }
}

pub(super) fn reset(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    transaction::forget(context.engine, context.session);
    crate::commands::pubsub::forget(context.engine, context.session);
    crate::clients::tracking::turn_off(&context.engine.trackers, context.session);
    context.engine.clients.set_monitor(&context.session.shared, false);
    context.session.is_monitor = false;
    context.select(0);
    set_protocol(context, Protocol::Resp2);
    let session = &mut *context.session;
    session.asking = false;
    if session.reply_mode != ReplyMode::Skip {
        session.reply_mode = ReplyMode::On;
    }
    session.no_touch = false;
    let said = client_flags::NO_EVICT
        | client_flags::NO_TOUCH
        | client_flags::IMPORT_SOURCE
        | client_flags::READS_REPLICA;
    session.shared.set_flag(said, false);
    let mut names = session.shared.names.lock();
    *names = ClientNames { name: Box::default(), ..std::mem::take(&mut names) };
    drop(names);
    login::start_over(&context.engine.acl, context.session);
    context.reply.simple("RESET");
    Ok(())
}
