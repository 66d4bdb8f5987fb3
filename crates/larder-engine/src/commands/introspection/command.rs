//! COMMAND: the table of commands, as clients may ask for it.

use super::arguments;
use crate::command::keys;
use crate::command::names::Names;
use crate::command::spec::{Begin, Command, Find, Found, KeySpec, flags};
use crate::command::table::table;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::glob;
use crate::text::word::is_word;
use larder_resp::{Args, Reply};

pub(super) fn all(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let commands: Vec<_> = callable(context).collect();
    context.reply.array(commands.len());
    commands.iter().for_each(|found| write_info(&mut context.reply, found));
    Ok(())
}

/// The commands that clients can call, without subcommands.
fn callable<'e>(context: &Context<'e>) -> impl Iterator<Item = &'static Found> + use<'e> {
    let names = &context.engine.names;
    table().commands().filter(|found| names.has(found))
}

pub(super) fn count(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.reply.count(callable(context).count());
    Ok(())
}

pub(super) fn info(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if args.len() == 2 {
        return all(context, args);
    }
    context.reply.array(args.len() - 2);
    for name in args.from(2).iter() {
        match context.engine.names.find_full(name) {
            Some(found) => write_info(&mut context.reply, &found),
            None => context.reply.null(),
        }
    }
    Ok(())
}

fn write_info(reply: &mut Reply<'_>, found: &Found) {
    let command = found.command;
    reply.array(10);
    reply.bulk(found.full_name().as_bytes());
    reply.int(i64::from(command.arity));
    write_flags(reply, command);
    let (first, last, step) = old_style_keys(command);
    for number in [first, last, step] {
        reply.int(i64::from(number));
    }
    let categories = command.acl_categories();
    reply.set(categories.len());
    categories.iter().for_each(|category| reply.simple(&format!("@{category}")));
    reply.set(command.tips.len());
    command.tips.iter().for_each(|tip| reply.bulk(tip.as_bytes()));
    reply.set(command.keys.len());
    command.keys.iter().for_each(|spec| write_key_spec(reply, spec));
    reply.array(command.subcommands.len());
    let subcommands =
        table().all().iter().filter(|sub| sub.parent.is_some_and(|parent| std::ptr::eq(parent, command)));
    subcommands.for_each(|sub| write_info(reply, sub));
}

fn write_flags(reply: &mut Reply<'_>, command: &Command) {
    let mut names: Vec<_> =
        flags::NAMES.iter().filter(|(flag, _)| command.has(*flag)).map(|(_, name)| *name).collect();
    if is_movable(command) {
        names.push("movablekeys");
    }
    reply.set(names.len());
    names.iter().for_each(|name| reply.simple(name));
}

/// Whether the keys cannot be told from the three old-style numbers alone.
fn is_movable(command: &Command) -> bool {
    match command.keys {
        [] => false,
        [spec, rest @ ..] => {
            let plain =
                |spec: &KeySpec| matches!((spec.begin, spec.find), (Begin::Index(_), Find::Range { .. }));
            !plain(spec) || rest.iter().any(|spec| !plain(spec))
        }
    }
}

/// First key, last key and step, as COMMAND INFO gave them before there were key specifications.
fn old_style_keys(command: &Command) -> (i32, i32, i32) {
    let mut result: Option<(i32, i32, i32)> = None;
    for spec in command.keys {
        let (Begin::Index(first), Find::Range { last, step, .. }) = (spec.begin, spec.find) else { continue };
        let last = if last >= 0 { first + last } else { last };
        result = Some(match result {
            None => (first, last, step),
            Some((f, l, s)) if l + 1 == first && s == step => (f, last, s),
            Some(before) => before,
        });
    }
    result.unwrap_or((0, 0, 0))
}

fn write_key_spec(reply: &mut Reply<'_>, spec: &KeySpec) {
    reply.map(3 + usize::from(!spec.notes.is_empty()));
    if !spec.notes.is_empty() {
        reply.bulk(b"notes");
        reply.bulk(spec.notes.as_bytes());
    }
    reply.bulk(b"flags");
    write_key_flags(reply, spec.flags);
    reply.bulk(b"begin_search");
    match spec.begin {
        Begin::Index(index) => write_search(reply, "index", &[("index", index)], None),
        Begin::Keyword { word, from } => write_search(reply, "keyword", &[("startfrom", from)], Some(word)),
        Begin::Unknown => write_search(reply, "unknown", &[], None),
    }
    reply.bulk(b"find_keys");
    match spec.find {
        Find::Range { last, step, limit } => {
            write_search(reply, "range", &[("lastkey", last), ("keystep", step), ("limit", limit)], None);
        }
        Find::KeyNum { at, first, step } => {
            write_search(reply, "keynum", &[("keynumidx", at), ("firstkey", first), ("keystep", step)], None);
        }
        Find::Unknown => write_search(reply, "unknown", &[], None),
    }
}

/// What is done with keys: the first word, as RW or OW, in upper case, the others in lower case.
fn write_key_flags(reply: &mut Reply<'_>, flags: &str) {
    let names: Vec<_> = flags.split_whitespace().collect();
    reply.set(names.len());
    for name in names {
        let is_kind = matches!(name, "OW" | "RM" | "RO" | "RW");
        reply.simple(&if is_kind { name.to_owned() } else { name.to_ascii_lowercase() });
    }
}

fn write_search(reply: &mut Reply<'_>, kind: &str, numbers: &[(&str, i32)], keyword: Option<&str>) {
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(kind.as_bytes());
    reply.bulk(b"spec");
    reply.map(numbers.len() + usize::from(keyword.is_some()));
    if let Some(word) = keyword {
        reply.bulk(b"keyword");
        reply.bulk(word.as_bytes());
    }
    for (name, number) in numbers {
        reply.bulk(name.as_bytes());
        reply.int(i64::from(*number));
    }
}

pub(super) fn docs(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let found: Vec<Found> = match args.len() {
        2 => callable(context).copied().collect(),
        _ => args.from(2).iter().filter_map(|name| context.engine.names.find_full(name)).collect(),
    };
    context.reply.map(found.len());
    found.iter().for_each(|found| write_docs(&mut context.reply, found));
    Ok(())
}

fn write_docs(reply: &mut Reply<'_>, found: &Found) {
    let command = found.command;
    reply.bulk(found.full_name().as_bytes());
    let list = arguments::parse(command.args);
    let doc_flags = doc_flags(command);
    let lists = [doc_flags.len(), command.history.len(), list.len(), command.subcommands.len()];
    let lists = lists.iter().filter(|&&len| len > 0).count();
    let texts = texts(command);
    reply.map(texts.len() + lists);
    // Valkey's order: what a client reads first comes first.
    let (first, successor) = texts.split_at(texts.len() - 2 * usize::from(command.deprecated.is_some()));
    write_texts(reply, first);
    if !doc_flags.is_empty() {
        reply.bulk(b"doc_flags");
        reply.set(doc_flags.len());
        doc_flags.iter().for_each(|flag| reply.simple(flag));
    }
    write_texts(reply, successor);
    write_history(reply, command);
    if !list.is_empty() {
        reply.bulk(b"arguments");
        arguments::write(reply, &list);
    }
    if !command.subcommands.is_empty() {
        reply.bulk(b"subcommands");
        reply.map(command.subcommands.len());
        let subcommands =
            table().all().iter().filter(|sub| sub.parent.is_some_and(|parent| std::ptr::eq(parent, command)));
        subcommands.for_each(|sub| write_docs(reply, sub));
    }
}

/// The fields that are texts, those on the successor of a command last.
fn texts(command: &Command) -> Vec<(&'static str, String)> {
    let mut texts = vec![
        ("summary", command.summary.to_owned()),
        ("since", command.since.to_owned()),
        ("group", command.group.name().to_owned()),
    ];
    if !command.complexity.is_empty() {
        texts.push(("complexity", command.complexity.to_owned()));
    }
    if let Some(deprecated) = command.deprecated {
        texts.push(("deprecated_since", deprecated.since.to_owned()));
        texts.push(("replaced_by", format!("`{}`", deprecated.replaced_by)));
    }
    texts
}

fn write_texts(reply: &mut Reply<'_>, texts: &[(&str, String)]) {
    for (field, text) in texts {
        reply.bulk(field.as_bytes());
        reply.bulk(text.as_bytes());
    }
}

fn doc_flags(command: &Command) -> Vec<&'static str> {
    let flags = [(command.deprecated.is_some(), "deprecated"), (command.is_internal, "syscmd")];
    flags.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| *name).collect()
}

fn write_history(reply: &mut Reply<'_>, command: &Command) {
    if command.history.is_empty() {
        return;
    }
    reply.bulk(b"history");
    reply.set(command.history.len());
    for (version, change) in command.history {
        reply.array(2);
        reply.bulk(version.as_bytes());
        reply.bulk(change.as_bytes());
    }
}

pub(super) fn list(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let known = table().all().iter().filter(|found| context.engine.names.has(found));
    let mut names: Vec<String> = known.map(Found::full_name).collect();
    match args.len() {
        2 => {}
        5 if is_word(&args[2], "filterby") => {
            let (kind, value) = (args.at(3), args.at(4));
            if is_word(kind, "module") {
                names.clear();
            } else if is_word(kind, "pattern") {
                names.retain(|name| glob::matches_with(value, name.as_bytes(), true));
            } else if is_word(kind, "aclcat") {
                retain_category(&mut names, value);
            } else {
                return Err(CommandError::SYNTAX);
            }
        }
        _ => return Err(CommandError::SYNTAX),
    }
    context.reply.array(names.len());
    names.iter().for_each(|name| context.reply.bulk(name.as_bytes()));
    Ok(())
}

fn retain_category(names: &mut Vec<String>, category: &[u8]) {
    let category = category.to_ascii_lowercase();
    names.retain(|name| {
        let found = table().find_full(name.as_bytes()).expect("the name came from the table");
        found.command.acl_categories().iter().any(|c| c.as_bytes() == category)
    });
}

pub(super) fn getkeys(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let found = inner_keys(&context.engine.names, args.from(2))?;
    context.reply.array(found.len());
    found.iter().for_each(|(at, _)| context.reply.bulk(args.at(at + 2)));
    Ok(())
}

pub(super) fn getkeysandflags(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let found = inner_keys(&context.engine.names, args.from(2))?;
    context.reply.array(found.len());
    for (at, flags) in found {
        context.reply.array(2);
        context.reply.bulk(args.at(at + 2));
        write_key_flags(&mut context.reply, flags);
    }
    Ok(())
}

/// The positions of the keys of the command that the arguments spell out, and what is done with them.
fn inner_keys(names: &Names, args: Args<'_>) -> CommandResult<Vec<(usize, &'static str)>> {
    const INVALID_COMMAND: CommandError = CommandError::Fixed("ERR Invalid command specified");
    const INVALID_COUNT: CommandError =
        CommandError::Fixed("ERR Invalid number of arguments specified for command");
    const INVALID_ARGUMENTS: CommandError =
        CommandError::Fixed("ERR Invalid arguments specified for command");
    let found = names.find(args.at(0)).ok_or(INVALID_COMMAND)?;
    let found = match args.get(1) {
        Some(sub) if !found.command.subcommands.is_empty() => {
            table().find_sub(found, sub).ok_or(INVALID_COMMAND)?
        }
        _ => found,
    };
    let is_key = |flags: &str| !flags.contains("NOT_KEY");
    if !found.command.keys.iter().any(|spec| is_key(spec.flags)) {
        return Err(CommandError::Fixed("ERR The command has no key arguments"));
    }
    if !found.command.accepts(args.len()) {
        return Err(INVALID_COUNT);
    }
    // Keys that may be left out (those that PFMERGE reads) must be there to be told.
    let begins = |spec: &KeySpec| !matches!(spec.begin, Begin::Index(at) if at as usize >= args.len());
    if !found.command.keys.iter().all(begins) {
        return Err(INVALID_ARGUMENTS);
    }
    let mut keys = Vec::new();
    let valid = keys::positions(found.command, args, |at, flags| keys.push((at, flags)));
    keys.retain(|&(_, flags)| is_key(flags));
    match valid {
        Err(_) if found.command.has(flags::NO_MANDATORY_KEYS) => Ok(Vec::new()),
        Err(_) => Err(INVALID_ARGUMENTS),
        Ok(()) => Ok(keys),
    }
}

pub(super) fn help(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.help(
        &args[0],
        &[
            "COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            "(no subcommand)",
            "    Return details about all commands.",
            "COUNT",
            "    Return the number of commands.",
            "LIST [FILTERBY (MODULE <module-name>|ACLCAT <category>|PATTERN <pattern>)]",
            "    Return the names of the commands.",
            "INFO [<command-name> ...]",
            "    Return details about the commands named, or all.",
            "DOCS [<command-name> ...]",
            "    Return the documentation of the commands named, or all.",
            "GETKEYS <full-command>",
            "    Return the keys of a full command.",
            "GETKEYSANDFLAGS <full-command>",
            "    Return the keys of a full command and how it uses them.",
            "HELP",
            "    Print this help.",
        ],
    );
    Ok(())
}
