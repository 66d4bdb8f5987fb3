//! CLIENT TRACKING and what goes with it.

use crate::clients::tracking::{turn_off, turn_on};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use crate::text::word::is_word;
use crate::tracking::{Options, Tracking};
use larder_resp::Args;

/// The arguments of CLIENT TRACKING after ON or OFF.
#[derive(Default)]
struct Request<'a> {
    options: Options,
    prefixes: Vec<&'a [u8]>,
}

impl<'a> Request<'a> {
    fn parse(context: &Context<'_>, args: Args<'a>) -> CommandResult<Self> {
        let mut request = Request::default();
        let options = &mut request.options;
        let mut at = 0;
        while let Some(word) = args.get(at) {
            let next = args.get(at + 1);
            at += 1;
            match next {
                Some(id) if is_word(word, "redirect") => {
                    options.redirect = Some(redirect(context, options, id)?);
                    at += 1;
                }
                Some(prefix) if is_word(word, "prefix") => {
                    request.prefixes.push(prefix);
                    at += 1;
                }
                _ if is_word(word, "bcast") => options.broadcast = true,
                _ if is_word(word, "optin") => options.opt_in = true,
                _ if is_word(word, "optout") => options.opt_out = true,
                _ if is_word(word, "noloop") => options.no_loop = true,
                _ => return Err(CommandError::SYNTAX),
            }
        }
        Ok(request)
    }

    /// Whether the options go together, and with those in force.
    fn check(&self, old: Option<&Tracking>) -> CommandResult {
        let new = &self.options;
        if !new.broadcast && !self.prefixes.is_empty() {
            return Err(CommandError::Fixed("ERR PREFIX option requires BCAST mode to be enabled"));
        }
        let before = old.map(|old| old.options);
        if before.is_some_and(|old| old.broadcast != new.broadcast) {
            return Err(CommandError::Fixed(
                "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.",
            ));
        }
        if new.broadcast && (new.opt_in || new.opt_out) {
            return Err(CommandError::Fixed("ERR OPTIN and OPTOUT are not compatible with BCAST"));
        }
        if new.opt_in && new.opt_out {
            return Err(CommandError::Fixed("ERR You can't specify both OPTIN mode and OPTOUT mode"));
        }
        if before.is_some_and(|old| new.opt_in && old.opt_out || new.opt_out && old.opt_in) {
            return Err(CommandError::Fixed(
                "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.",
            ));
        }
        self.check_prefixes(old)
    }

    /// One prefix of a connection must not begin another one: keys would be told twice.
    fn check_prefixes(&self, old: Option<&Tracking>) -> CommandResult {
        for (at, prefix) in self.prefixes.iter().enumerate() {
            let mut old = old.into_iter().flat_map(|old| &old.prefixes);
            if let Some(other) = old.find(|other| overlap(prefix, other)) {
                return Err(overlapping(prefix, "an existing prefix", other));
            }
            if let Some(other) = self.prefixes[at + 1..].iter().find(|other| overlap(prefix, other)) {
                return Err(overlapping(prefix, "another provided prefix", other));
            }
        }
        Ok(())
    }
}

fn redirect(context: &Context<'_>, options: &Options, id: &[u8]) -> CommandResult<u64> {
    if options.redirect.is_some() {
        return Err(CommandError::Fixed("ERR A client can only redirect to a single other client"));
    }
    let id = number::integer(id)?;
    let other = u64::try_from(id).ok().filter(|&id| context.engine.clients.find(id).is_some());
    other.ok_or(CommandError::Fixed("ERR The client ID you want redirect to does not exist"))
}

fn overlap(a: &[u8], b: &[u8]) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

fn overlapping(prefix: &[u8], what: &str, other: &[u8]) -> CommandError {
    let text = [
        b"ERR Prefix '",
        prefix,
        b"' overlaps with ",
        what.as_bytes(),
        b" '",
        other,
        b"'. Prefixes for a single client must not overlap.",
    ];
    CommandError::Text(text.concat())
}

pub(super) fn tracking(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let mut request = Request::parse(context, args.from(3))?;
    match args.at(2) {
        word if is_word(word, "on") => {
            request.check(context.session.tracking.as_deref())?;
            if request.options.broadcast && request.prefixes.is_empty() {
                request.prefixes.push(b"");
            }
            turn_on(&context.engine.trackers, context.session, request.options, &request.prefixes);
        }
        word if is_word(word, "off") => turn_off(&context.engine.trackers, context.session),
        _ => return Err(CommandError::SYNTAX),
    }
    context.reply.ok();
    Ok(())
}

pub(super) fn caching(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let Some(tracking) = &mut context.session.tracking else {
        return Err(CommandError::Fixed(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
        ));
    };
    let (allowed, refusal) = match args.at(2) {
        word if is_word(word, "yes") => (
            tracking.options.opt_in,
            "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.",
        ),
        word if is_word(word, "no") => (
            tracking.options.opt_out,
            "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.",
        ),
        _ => return Err(CommandError::SYNTAX),
    };
    if !allowed {
        return Err(CommandError::Fixed(refusal));
    }
    tracking.caching = true;
    context.reply.ok();
    Ok(())
}

pub(super) fn getredir(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let redirect = redirect_of(context.session.tracking.as_deref());
    context.reply.int(redirect);
    Ok(())
}

/// -1 without tracking, 0 without redirection.
fn redirect_of(tracking: Option<&Tracking>) -> i64 {
    tracking.map_or(-1, |tracking| tracking.options.redirect.unwrap_or(0) as i64)
}

pub(super) fn trackinginfo(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let tracking = context.session.tracking.as_deref();
    let reply = &mut context.reply;
    let flags = flags(tracking);
    reply.map(3);
    reply.bulk(b"flags");
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"redirect");
    reply.int(redirect_of(tracking));
    reply.bulk(b"prefixes");
    let prefixes = || tracking.into_iter().flat_map(|tracking| &tracking.prefixes);
    reply.array(prefixes().count());
    prefixes().for_each(|prefix| reply.bulk(prefix));
    Ok(())
}

fn flags(tracking: Option<&Tracking>) -> Vec<&'static str> {
    let Some(tracking) = tracking else { return vec!["off"] };
    let options = &tracking.options;
    let flags = [
        (true, "on"),
        (options.broadcast, "bcast"),
        (options.opt_in, "optin"),
        (options.opt_in && tracking.caching, "caching-yes"),
        (options.opt_out, "optout"),
        (options.opt_out && tracking.caching, "caching-no"),
        (options.no_loop, "noloop"),
        (tracking.is_broken, "broken_redirect"),
    ];
    flags.iter().filter(|(set, _)| *set).map(|(_, flag)| *flag).collect()
}
