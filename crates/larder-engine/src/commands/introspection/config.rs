//! CONFIG.

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::execution::admission::loading_error;
use crate::stats::counters::ThreadStats;
use larder_resp::Args;
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn get(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let patterns: Vec<&[u8]> = args.from(2).iter().collect();
    let found = context.engine.config.get_matching(&patterns);
    context.reply.map(found.len());
    for (name, value) in found {
        context.reply.bulk(name.as_bytes());
        context.reply.bulk(value.as_bytes());
    }
    Ok(())
}

/// Options that say where data is, and how it is kept: they stay as they are while it is loaded.
const SET_AFTER_LOADING: [&str; 2] = ["appendonly", "dir"];

pub(super) fn set(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if !args.len().is_multiple_of(2) {
        return Err(CommandError::arity(&context.command_name()));
    }
    let words: Vec<&[u8]> = args.from(2).iter().collect();
    let pairs: Vec<(&[u8], &[u8])> = words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let is_named = |option: &str| pairs.iter().any(|(name, _)| name.eq_ignore_ascii_case(option.as_bytes()));
    if context.engine.gate.is_loading() && SET_AFTER_LOADING.into_iter().any(is_named) {
        return Err(loading_error(context.engine));
    }
    let host = &context.engine.host;
    let open = crate::execution::checks::is_local_option_allowed(
        context.engine,
        context.session,
        "enable-protected-configs",
    );
    let acl = &context.engine.acl;
    let result = context.engine.config.set_for(&pairs, open, |name, value| {
        if name == "requirepass" {
            acl.set_default_password(value.as_bytes());
        }
        host.apply_config(name, value)
    });
    result.map_err(|error| CommandError::text(format!("ERR {error}")))?;
    context.engine.read_role();
    context.worker.read_options(context.engine);
    if pairs.iter().any(|(name, _)| name.eq_ignore_ascii_case(b"maxmemory")) {
        crate::execution::memory::limit_was_set(context);
    }
    context.reply.ok();
    Ok(())
}

pub(super) fn rewrite(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let users = context.engine.user_lines();
    context
        .engine
        .host
        .rewrite_config(&users, false)
        .map_err(|error| CommandError::text(format!("ERR {error}")))?;
    context.reply.ok();
    Ok(())
}

pub(super) fn resetstat(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let engine = context.engine;
    engine.each_stats(ThreadStats::reset);
    engine.errors.reset();
    engine.rates.reset();
    engine.expired_actively.store(0, Relaxed);
    engine.eviction.reset();
    engine.background.reset();
    engine.client_memory.evicted.store(0, Relaxed);
    engine.replication.reset_counters();
    engine.cluster.migrations.reset_counters();
    engine.scripts.reset_counters();
    engine.persistence().save.lock().saves = 0;
    engine.persistence().log.lock().rewrites = 0;
    context.reply.ok();
    Ok(())
}

pub(super) fn help(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.help(
        &args[0],
        &[
            "CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            "GET <pattern>",
            "    Return parameters matching the glob-like <pattern> and their values.",
            "SET <directive> <value>",
            "    Set the configuration <directive> to <value>.",
            "RESETSTAT",
            "    Reset statistics reported by the INFO command.",
            "REWRITE",
            "    Rewrite the configuration file.",
            "HELP",
            "    Print this help.",
        ],
    );
    Ok(())
}
