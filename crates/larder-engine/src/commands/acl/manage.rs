//! ACL SETUSER, DELUSER, GENPASS, LOAD, SAVE.

use super::quoting;
use crate::acl::{self, AclChange};
use crate::clients::login;
use crate::context::Context;
use crate::context::flow::Flow;
use crate::error::{CommandError, CommandResult};
use crate::text::{hex, number};
use larder_resp::Args;
use std::sync::Arc;

const NO_FILE: CommandError = CommandError::Fixed(
    "ERR This instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER \
     command and then issue a CONFIG REWRITE (assuming you have a configuration file set) in order to store users in the \
     configuration.",
);
const NOT_SAVED: CommandError = CommandError::Fixed(
    "ERR There was an error trying to save the ACLs. Please check the server logs for more information",
);
const BITS_RANGE: CommandError = CommandError::Fixed(
    "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096",
);

/// Bits of a password when nobody says how many.
const BITS: usize = 256;
const BITS_MAX: usize = 4096;

pub(super) fn setuser(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let name = args.at(2);
    if acl::has_blanks(name) {
        return Err(CommandError::Fixed("ERR Usernames can't contain spaces or null characters"));
    }
    let words = args.from(3);
    let rules = acl::join_selectors(words.iter())
        .map_err(|at| quoting("Unmatched parenthesis in acl selector starting at '", words.at(at), "'."))?;
    let all_channels = acl::starts_with_all_channels(&context.engine.config);
    let aftermath = context.engine.acl.change(name, &rules, all_channels).map_err(|(at, error)| {
        quoting("Error in ACL SETUSER modifier '", &rules[at], &format!("': {error}"))
    })?;
    apply_change(context, &aftermath);
    context.reply.ok();
    Ok(())
}

/// Applies a change of users to all connections. The caller's own is closed after its reply if its user is deleted, or has lost
/// a channel that the connection subscribes to.
fn apply_change(context: &mut Context<'_>, aftermath: &AclChange) {
    context.engine.apply_change(aftermath, context.session.id());
    // The rest of a transaction that changes rights sees them.
    context.session.keeps_rights = false;
    let user = context.session.access.user();
    let is_gone = user.is_gone();
    let is_narrowed = aftermath.narrowed.iter().any(|narrowed| Arc::ptr_eq(narrowed, user));
    if is_gone || is_narrowed && !login::may_stay(&context.engine.acl, context.session) {
        context.flow = Flow::CloseAfterFlush;
    }
}

pub(super) fn deluser(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let names: Vec<&[u8]> = args.from(2).iter().collect();
    if names.contains(&acl::DEFAULT) {
        return Err(CommandError::Fixed("ERR The 'default' user cannot be removed"));
    }
    let aftermath = context.engine.acl.delete(&names);
    apply_change(context, &aftermath);
    context.reply.count(aftermath.gone.len());
    Ok(())
}

pub(super) fn genpass(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let bits = match args.len() {
        2 => BITS,
        3 => {
            let bits = usize::try_from(number::integer(&args[2])?).ok();
            bits.filter(|bits| (1..=BITS_MAX).contains(bits)).ok_or(BITS_RANGE)?
        }
        _ => return Err(super::wrong_count(args)),
    };
    let digits = bits.div_ceil(4);
    let mut random = vec![0; digits.div_ceil(2)];
    getrandom::fill(&mut random)
        .map_err(|_| CommandError::Fixed("ERR The system provides no random numbers"))?;
    let text = hex::digits(&random);
    context.reply.bulk(&text.as_bytes()[..digits]);
    Ok(())
}

/// The path of the ACL file.
fn file(context: &Context<'_>) -> CommandResult<String> {
    Some(context.engine.config.value("aclfile")).filter(|path| !path.is_empty()).ok_or(NO_FILE)
}

pub(super) fn load(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let path = file(context)?;
    let aftermath = context.engine.load_acl_file(&path).map_err(|errors| quoting("", &errors, ""))?;
    apply_change(context, &aftermath);
    context.reply.ok();
    Ok(())
}

pub(super) fn save(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let path = file(context)?;
    context.engine.save_acl_file(&path).map_err(|_| NOT_SAVED)?;
    context.reply.ok();
    Ok(())
}
