//! XGROUP.

use super::{bad_subcommand, changed_quietly, is_stream, no_such_group};
use crate::context::Context;
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::key::Key;
use crate::text::word::is_word;
use crate::text::{number, stream_id};
use larder_collections::stream::{Group, Stream, StreamId};
use larder_resp::Args;

/// The options of CREATE and SETID.
#[derive(Default)]
struct Options {
    make_stream: bool,
    entries_read: Option<u64>,
}

impl Options {
    fn parse(args: Args<'_>, creates: bool) -> CommandResult<Options> {
        let mut options = Options::default();
        let mut at = 5;
        while at < args.len() {
            if creates && is_word(&args[at], "mkstream") {
                options.make_stream = true;
                at += 1;
            } else if is_word(&args[at], "entriesread") && at + 1 < args.len() {
                options.entries_read = match number::integer(&args[at + 1])? {
                    -1 => None,
                    count => Some(u64::try_from(count).map_err(|_| {
                        CommandError::Fixed("ERR value for ENTRIESREAD must be positive or -1")
                    })?),
                };
                at += 2;
            } else {
                return Err(bad_subcommand("XGROUP", args.at(1)));
            }
        }
        Ok(options)
    }
}

const KEY_NEEDED: CommandError = CommandError::Fixed(
    "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option \
     to create an empty stream automatically.",
);

/// `$` or an id.
fn parse_id(arg: &[u8], last: StreamId, strict: bool) -> CommandResult<StreamId> {
    match arg {
        b"$" => Ok(last),
        _ if strict => stream_id::parse_strict(arg, 0),
        _ => stream_id::parse(arg, 0),
    }
}

pub(super) fn create(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let options = Options::parse(args, true)?;
    let key = context.key(args.at(2));
    let existed = is_stream(context, &key)?;
    if !existed && !options.make_stream {
        return Err(KEY_NEEDED);
    }
    if args.len() > 8 {
        return Err(bad_subcommand("XGROUP", args.at(1)));
    }
    context.with_value_or_new(&key, |stream: &mut Stream, _| {
        let id = parse_id(&args[4], stream.last_id(), true)?;
        if stream.add_group(Group::new(&args[3], id, options.entries_read)) {
            Ok(())
        } else {
            Err(CommandError::Fixed("BUSYGROUP Consumer Group name already exists"))
        }
    })?;
    match existed {
        true => changed_quietly(context, 1),
        false => {
            context.modified(&key);
            context.signal_ready(&key);
        }
    }
    context.notify(class::STREAM, "xgroup-create", &key);
    context.reply.ok();
    Ok(())
}

/// Works on a stream that exists.
fn with_stream<R>(
    context: &mut Context<'_>,
    key: &Key<'_>,
    f: impl FnOnce(&mut Stream) -> CommandResult<R>,
) -> CommandResult<R> {
    context.with_value(key, |stream: &mut Stream, _| f(stream))?.ok_or(KEY_NEEDED)
}

/// Works on a group that exists, of the stream of a key.
fn with_group<R>(
    context: &mut Context<'_>,
    key: &Key<'_>,
    args: Args<'_>,
    f: impl FnOnce(&mut Group) -> R,
) -> CommandResult<R> {
    with_stream(context, key, |stream| {
        let group = stream.group_mut(args.at(3)).ok_or_else(|| no_such_group(args.at(2), args.at(3)))?;
        Ok(f(group))
    })
}

pub(super) fn setid(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let options = Options::parse(args, false)?;
    let key = context.key(args.at(2));
    with_stream(context, &key, |stream| {
        let last = stream.last_id();
        let group = stream.group_mut(args.at(3)).ok_or_else(|| no_such_group(args.at(2), args.at(3)))?;
        if args.len() > 7 {
            return Err(bad_subcommand("XGROUP", args.at(1)));
        }
        group.last_id = parse_id(&args[4], last, false)?;
        group.entries_read = options.entries_read;
        Ok(())
    })?;
    changed_quietly(context, 1);
    context.notify(class::STREAM, "xgroup-setid", &key);
    context.reply.ok();
    Ok(())
}

pub(super) fn destroy(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(2));
    let existed = with_stream(context, &key, |stream| Ok(stream.remove_group(args.at(3))))?;
    if existed {
        changed_quietly(context, 1);
        context.notify(class::STREAM, "xgroup-destroy", &key);
        // Those who wait as its consumers are told.
        context.signal_ready(&key);
    }
    context.reply.int(i64::from(existed));
    Ok(())
}

pub(super) fn createconsumer(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (key, now) = (context.key(args.at(2)), context.now_ms());
    let created = with_group(context, &key, args, |group| group.create(args.at(4), now).is_some())?;
    if created {
        changed_quietly(context, 1);
        context.notify(class::STREAM, "xgroup-createconsumer", &key);
    }
    context.reply.int(i64::from(created));
    Ok(())
}

pub(super) fn delconsumer(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(2));
    let removed = with_group(context, &key, args, |group| group.remove_consumer(args.at(4)))?;
    if removed.is_some() {
        changed_quietly(context, 1);
        context.notify(class::STREAM, "xgroup-delconsumer", &key);
    }
    context.reply.int(removed.unwrap_or(0) as i64);
    Ok(())
}

pub(super) fn help(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.help(
        &args[0],
        &[
            "XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            "CREATE <key> <groupname> <id|$> [option]",
            "    Create a new consumer group. Options are:",
            "    * MKSTREAM",
            "      Create the empty stream if it does not exist.",
            "    * ENTRIESREAD entries_read",
            "      Set the group's entries_read counter (internal use).",
            "CREATECONSUMER <key> <groupname> <consumer>",
            "    Create a new consumer in the specified group.",
            "DELCONSUMER <key> <groupname> <consumer>",
            "    Remove the specified consumer.",
            "DESTROY <key> <groupname>",
            "    Remove the specified group.",
            "SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
            "    Set the current group ID and entries_read counter.",
            "HELP",
            "    Print this help.",
        ],
    );
    Ok(())
}
