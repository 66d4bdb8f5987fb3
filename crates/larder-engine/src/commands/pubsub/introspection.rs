//! PUBSUB: what is subscribed to, and by how many.

use crate::context::Context;
use crate::error::CommandResult;
use crate::pubsub::Space;
use crate::text::glob;
use larder_resp::Args;

pub(super) fn channels(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    names(context, args, Space::Channels)
}

pub(super) fn shardchannels(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    names(context, args, Space::ShardChannels)
}

fn names(context: &mut Context<'_>, args: Args<'_>, space: Space) -> CommandResult {
    if args.len() > 3 {
        return Err(wrong_arguments(context));
    }
    let pattern = args.get(2);
    let names =
        context.engine.pubsub.names(space, |name| pattern.is_none_or(|pattern| glob::matches(pattern, name)));
    context.reply.array(names.len());
    names.iter().for_each(|name| context.reply.bulk(name));
    Ok(())
}

pub(super) fn numsub(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    counts(context, args, Space::Channels)
}

pub(super) fn shardnumsub(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    counts(context, args, Space::ShardChannels)
}

fn counts(context: &mut Context<'_>, args: Args<'_>, space: Space) -> CommandResult {
    let names = args.from(2);
    context.reply.array(2 * names.len());
    for name in names.iter() {
        context.reply.bulk(name);
        context.reply.count(context.engine.pubsub.audience_len(space, name));
    }
    Ok(())
}

pub(super) fn numpat(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.reply.count(context.engine.pubsub.len(Space::Patterns));
    Ok(())
}

fn wrong_arguments(context: &Context<'_>) -> crate::error::CommandError {
    let name = context.found.command.name.to_ascii_uppercase();
    crate::error::CommandError::text(format!(
        "ERR unknown subcommand or wrong number of arguments for '{name}'. Try PUBSUB HELP."
    ))
}

pub(super) fn help(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.help(
        &args[0],
        &[
            "PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            "CHANNELS [<pattern>]",
            "    Return the channels that clients subscribe to, all or those that match.",
            "NUMPAT",
            "    Return the number of different patterns that clients subscribe to.",
            "NUMSUB [<channel> ...]",
            "    Return the number of subscribers of each channel, without those by pattern.",
            "SHARDCHANNELS [<pattern>]",
            "    Return the shard channels that clients subscribe to.",
            "SHARDNUMSUB [<shardchannel> ...]",
            "    Return the number of subscribers of each shard channel.",
            "HELP",
            "    Print this help.",
        ],
    );
    Ok(())
}
