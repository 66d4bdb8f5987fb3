//! ACL CAT, GETUSER, LIST, USERS, WHOAMI, DRYRUN.

use super::quoting;
use crate::acl::{self, Rights};
use crate::command::names::Names;
use crate::command::spec::Found;
use crate::command::table::table;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use larder_resp::{Args, Reply};

pub(super) fn cat(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if args.len() > 3 {
        return Err(super::wrong_count(args));
    }
    let Some(name) = args.get(2) else {
        let categories = acl::categories();
        context.reply.array(categories.len());
        categories.iter().for_each(|category| context.reply.bulk(category.name.as_bytes()));
        return Ok(());
    };
    let category = acl::category(name)
        .ok_or_else(|| quoting("Unknown category '", &name[..name.len().min(128)], "'"))?;
    let members: Vec<&Found> = table().all().iter().filter(|found| category.contains(found.id)).collect();
    context.reply.array(members.len());
    members.iter().for_each(|found| context.reply.bulk(found.full_name().as_bytes()));
    Ok(())
}

pub(super) fn whoami(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let user = context.session.access.user();
    context.reply.bulk(user.name());
    Ok(())
}

pub(super) fn users(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let users = context.engine.acl.all();
    context.reply.array(users.len());
    users.iter().for_each(|user| context.reply.bulk(user.name()));
    Ok(())
}

pub(super) fn list(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let lines = context.engine.acl.lines();
    context.reply.array(lines.len());
    lines.iter().for_each(|line| context.reply.bulk(line));
    Ok(())
}

pub(super) fn getuser(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    match context.engine.acl.find(args.at(2)) {
        Some(user) => write_rights(&mut context.reply, &user.rights()),
        None => context.reply.null(),
    }
    Ok(())
}

fn write_rights(reply: &mut Reply<'_>, rights: &Rights) {
    reply.map(7);
    reply.bulk(b"flags");
    let flags = rights.flags();
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"passwords");
    reply.array(rights.passwords().len());
    rights.passwords().iter().for_each(|hash| reply.bulk(hash.digits()));
    for (at, selector) in rights.selectors().enumerate() {
        if at == 1 {
            reply.bulk(b"selectors");
            reply.array(rights.selectors().count() - 1);
        }
        if at > 0 {
            reply.map(4);
        }
        reply.bulk(b"commands");
        reply.bulk(&selector.commands_text());
        reply.bulk(b"keys");
        reply.bulk(&selector.keys_text());
        reply.bulk(b"channels");
        reply.bulk(&selector.channels_text());
        reply.bulk(b"databases");
        reply.bulk(selector.databases().text().as_bytes());
    }
    if rights.selectors().count() == 1 {
        reply.bulk(b"selectors");
        reply.array(0);
    }
}

pub(super) fn dryrun(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let user =
        context.engine.acl.find(args.at(2)).ok_or_else(|| quoting("User '", args.at(2), "' not found"))?;
    let command = args.from(3);
    let found = lookup(&context.engine.names, command)
        .ok_or_else(|| quoting("Command '", args.at(3), "' not found"))?;
    if !found.command.accepts(command.len()) {
        return Err(CommandError::arity(&found.full_name()));
    }
    match acl::decide(&user.rights(), found, command, context.db, context.engine.database_count()) {
        Ok(()) => context.reply.ok(),
        Err(denial) => context.reply.bulk(&denial.explanation(args.at(2), found, command)),
    }
    Ok(())
}

/// The command that the arguments spell out. A container without subcommand is itself one.
fn lookup(names: &Names, args: Args<'_>) -> Option<Found> {
    let found = names.find(args.at(0))?;
    match args.get(1) {
        Some(sub) if !found.command.subcommands.is_empty() => table().find_sub(found, sub),
        _ => Some(found),
    }
}
