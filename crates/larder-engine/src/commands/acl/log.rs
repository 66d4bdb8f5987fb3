//! ACL LOG.

use crate::acl::LogEntry;
use crate::context::Context;
use crate::error::CommandResult;
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::{Args, Reply};

/// Entries shown when nobody says how many.
const SHOWN: usize = 10;

pub(super) fn log(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let count = match args.get(2) {
        None => SHOWN,
        Some(word) if is_word(word, "reset") => {
            context.engine.acl.log.reset();
            context.reply.ok();
            return Ok(());
        }
        Some(count) => usize::try_from(number::integer(count)?).unwrap_or(0),
    };
    let (entries, now_ms) = (context.engine.acl.log.newest(count), context.now_ms());
    context.reply.array(entries.len());
    entries.iter().for_each(|entry| write_entry(&mut context.reply, entry, now_ms));
    Ok(())
}

fn write_entry(reply: &mut Reply<'_>, entry: &LogEntry, now_ms: u64) {
    reply.map(10);
    reply.bulk(b"count");
    reply.int(entry.count as i64);
    for (field, value) in [
        (&b"reason"[..], entry.reason.name().as_bytes()),
        (b"context", entry.origin.as_bytes()),
        (b"object", &entry.object),
        (b"username", &entry.user),
    ] {
        reply.bulk(field);
        reply.bulk(value);
    }
    reply.bulk(b"age-seconds");
    let age_s = now_ms.saturating_sub(entry.updated_ms) as f64 / 1000.0;
    reply.double(age_s.to_string().as_bytes());
    reply.bulk(b"client-info");
    reply.bulk(&entry.client);
    for (field, value) in [
        (&b"entry-id"[..], entry.id),
        (b"timestamp-created", entry.created_ms),
        (b"timestamp-last-updated", entry.updated_ms),
    ] {
        reply.bulk(field);
        reply.int(value as i64);
    }
}
