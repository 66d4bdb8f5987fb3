//! Connections as CLIENT LIST and the logs describe them.

use super::session::{ClientNames, ClientShared, client_flags};
use crate::acl;
use crate::aof::stream::BLOCK_BYTES;
use crate::command::table::table;
use std::sync::atomic::Ordering::Relaxed;

/// The letters of a client's flags.
pub(crate) fn flag_letters(client: &ClientShared) -> String {
    let letters = [
        (client.has(client_flags::MONITOR), 'O'),
        (client.has(client_flags::REPLICA), 'S'),
        (client.has(client_flags::PRIMARY), 'M'),
        (client.has(client_flags::PUBSUB), 'P'),
        (client.has(client_flags::MULTI), 'x'),
        (client.has(client_flags::BLOCKED), 'b'),
        (client.has(client_flags::TRACKING), 't'),
        (client.has(client_flags::BROKEN_REDIRECT), 'R'),
        (client.has(client_flags::BROADCAST), 'B'),
        (client.is_touched(), 'd'),
        (client.has(client_flags::CLOSING), 'c'),
        (client.has(client_flags::UNIX), 'U'),
        (client.has(client_flags::READS_REPLICA), 'r'),
        (client.has(client_flags::NO_EVICT), 'e'),
        (client.has(client_flags::NO_TOUCH), 'T'),
        (client.has(client_flags::IMPORT_SOURCE), 'I'),
        (client.has(client_flags::SLOT_IMPORT), 'i'),
        (client.has(client_flags::SLOT_EXPORT), 'E'),
    ];
    let set: String = letters.iter().filter(|(is_set, _)| *is_set).map(|(_, letter)| *letter).collect();
    if set.is_empty() { "N".to_owned() } else { set }
}

/// The letters of what a client has said it can do.
pub(crate) fn capability_letters(client: &ClientShared) -> &'static str {
    if client.has(client_flags::CAPA_REDIRECT) { "r" } else { "" }
}

/// One line of CLIENT LIST. `stream_bytes` of the stream wait for the client, if it is a replica.
pub(crate) fn describe(client: &ClientShared, now_ms: u64, stream_bytes: u64) -> Vec<u8> {
    let names = client.names.lock().clone();
    let user = if client.is_outgoing() { &b"(superuser)"[..] } else { name_of_user(&names) };
    describe_with(client, now_ms, stream_bytes, &names, user)
}

/// The same for the log, which may not show what users have chosen.
pub(crate) fn describe_for_log(client: &ClientShared, now_ms: u64, hides_user_data: bool) -> Vec<u8> {
    let mut names = client.names.try_lock().map(|names| names.clone()).unwrap_or_default();
    if hides_user_data {
        names = ClientNames { name: REDACTED.into(), user: None, ..names };
    }
    let user: &[u8] = if hides_user_data { REDACTED } else { name_of_user(&names) };
    describe_with(client, now_ms, 0, &names, user)
}

fn describe_with(
    client: &ClientShared,
    now_ms: u64,
    stream_bytes: u64,
    names: &ClientNames,
    user: &[u8],
) -> Vec<u8> {
    let (query_len, query_cap) = (client.query_len.load(Relaxed), client.query_cap.load(Relaxed));
    let output = client.output_bytes.load(Relaxed) + stream_bytes;
    let multi_bytes = u64::from(client.multi_bytes.load(Relaxed));
    let total = client.memory() + stream_bytes;
    let mut line =
        format!("id={} addr={} laddr={} fd={} name=", client.id, client.addr, client.laddr, client.fd)
            .into_bytes();
    line.extend_from_slice(&names.name);
    let numbers = format!(
        " age={} idle={} flags={} capa={} db={} sub={} psub={} ssub={} multi={} watch={} qbuf={query_len} qbuf-free={} argv-mem={} \
         multi-mem={multi_bytes} rbs=0 rbp=0 obl=0 oll={} omem={output} tot-mem={total} events={} cmd={} user=",
        now_ms.saturating_sub(client.created_ms) / 1000,
        now_ms.saturating_sub(client.last_active_ms.load(Relaxed)) / 1000,
        flag_letters(client),
        capability_letters(client),
        client.db.load(Relaxed),
        client.channels.load(Relaxed),
        client.patterns.load(Relaxed),
        client.shard_channels.load(Relaxed),
        client.multi.load(Relaxed),
        client.watched(),
        query_cap.saturating_sub(query_len),
        client.args_bytes.load(Relaxed),
        client.output_chain.load(Relaxed) + stream_bytes.div_ceil(BLOCK_BYTES as u64),
        if output > 0 { "rw" } else { "r" },
        last_command(client),
    );
    line.extend_from_slice(numbers.as_bytes());
    line.extend_from_slice(user);
    let numbers = format!(" redir={} resp={}", client.redirect.load(Relaxed), client.resp.load(Relaxed));
    line.extend_from_slice(numbers.as_bytes());
    for (field, value) in [(" lib-name=", &names.lib_name), (" lib-ver=", &names.lib_ver)] {
        line.extend_from_slice(field.as_bytes());
        line.extend_from_slice(value);
    }
    let totals = format!(
        " tot-net-in={} tot-net-out={} tot-cmds={}",
        client.net_in.load(Relaxed),
        client.net_out.load(Relaxed),
        client.commands.load(Relaxed)
    );
    line.extend_from_slice(totals.as_bytes());
    line
}

/// Stands in the log in the place of what users have chosen.
pub(crate) const REDACTED: &[u8] = b"*redacted*";

pub(crate) fn name_of_user(names: &ClientNames) -> &[u8] {
    names.user.as_ref().map_or(acl::DEFAULT, |user| user.name())
}

pub(crate) fn last_command(client: &ClientShared) -> String {
    match client.last_command.load(Relaxed) {
        0 => "NULL".to_owned(),
        id => table().by_id(id - 1).full_name(),
    }
}
