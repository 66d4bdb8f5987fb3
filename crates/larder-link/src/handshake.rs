//! The first words of a replica to its primary.

use crate::attempt::{Link, LinkError};
use crate::peer::{Peer, send};
use larder_engine::NoShards;
use larder_engine::config::LinkCompression;
use larder_rdb::BLOCKS_TRAVEL;

/// What the server says of its version: it reads the files of Valkey 9.
const VERSION: &str = larder_engine::VALKEY_VERSION;

/// What the primary answers to PSYNC.
pub enum Answer {
    /// The stream goes on, in this history if it says so.
    Continue(Option<String>),
    /// A snapshot comes, of this history at this offset.
    Full {
        /// The history.
        id: String,
        /// Its offset.
        offset: u64,
    },
    /// A snapshot comes, of a primary that knows no histories: it does not know PSYNC.
    Unnumbered,
}

/// Says who this server is, and logs in.
pub fn introduce(link: &Link, peer: &mut Peer) -> Result<(), LinkError> {
    let config = link.config();
    let pong = peer.ask(link, &["PING"])?;
    let is_known = |start: &&str| pong.starts_with(start);
    if !["+", "-NOAUTH", "-NOPERM", "-ERR operation not permitted"].iter().any(is_known) {
        return Err(LinkError::Refused(format!("Error reply to PING from primary: '{pong}'")));
    }
    let (user, password) = (config.value("masteruser"), config.value("masterauth"));
    if !password.is_empty() {
        let words: &[&str] = if user.is_empty() { &["AUTH", &password] } else { &["AUTH", &user, &password] };
        let answer = peer.ask(link, words)?;
        if answer.starts_with('-') {
            return Err(LinkError::Refused(format!("Unable to AUTH to PRIMARY: {answer}")));
        }
    }
    let ports = [
        config.value("replica-announce-port"),
        if config.is_yes("tls-replication") { config.value("tls-port") } else { "0".to_owned() },
    ];
    let port = ports.into_iter().find(|port| port != "0").unwrap_or_else(|| config.value("port"));
    let ip = config.value("replica-announce-ip");
    peer.ask(link, &["REPLCONF", "listening-port", &port])?;
    if !ip.is_empty() {
        peer.ask(link, &["REPLCONF", "ip-address", &ip])?;
    }
    // Older primaries know less of these; then they say so, and it does not matter.
    let mut words = vec!["REPLCONF", "capa", "eof", "capa", "psync2"];
    let compression = capability(config.choice("repl-compression"));
    for capability in BLOCKS_TRAVEL.then_some("larder-blocks").into_iter().chain(compression) {
        words.extend(["capa", capability]);
    }
    peer.ask(link, &words)?;
    peer.ask(link, &["REPLCONF", "version", VERSION])?;
    if let Some(map) = link.engine().slot_map() {
        // By that name the primary appoints it.
        peer.ask(link, &["REPLCONF", "set-cluster-node-id", map.me().id.as_str()])?;
    }
    Ok(())
}

/// What asks a Larder to compress.
fn capability(compression: LinkCompression) -> Option<&'static str> {
    match compression {
        LinkCompression::No => None,
        LinkCompression::Lz4 => Some("larder-lz4"),
        LinkCompression::Zstd => Some("larder-zstd"),
    }
}

/// Asks for the stream from where this server is.
pub fn ask_for_stream(link: &Link, peer: &mut Peer) -> Result<Answer, LinkError> {
    let engine = link.engine();
    let (id, position) = engine.history();
    let (can_resume, takes_over) = {
        let state = engine.replication().state();
        (state.can_resume, state.upstream.as_ref().is_some_and(|upstream| upstream.takes_over))
    };
    let next = (position + 1).to_string();
    let words: &[&str] = match (can_resume, takes_over) {
        (true, true) => &["PSYNC", &id, &next, "FAILOVER"],
        (true, false) => &["PSYNC", &id, &next],
        (false, _) => &["PSYNC", "?", "-1"],
    };
    if can_resume {
        link.notice(&format!("Trying a partial resynchronization (request {id}:{next})."));
    }
    send(&**peer.socket(), words)?;
    // A primary may take its time until it begins with a snapshot.
    let answer = peer.line(link)?;
    let mut parts = answer.split(' ').collect::<Vec<_>>();
    let compression = match parts.last() {
        Some(&"lz4") => LinkCompression::Lz4,
        Some(&"zstd") => LinkCompression::Zstd,
        _ => LinkCompression::No,
    };
    if compression != LinkCompression::No {
        parts.pop();
        peer.expand(compression)?;
    }
    match parts[..] {
        ["+CONTINUE"] => Ok(Answer::Continue(None)),
        ["+CONTINUE", id, ..] => Ok(Answer::Continue(checked_id(Some(id))?)),
        ["+FULLRESYNC", id, offset, ..] => {
            let offset = offset.parse().ok().zip(checked_id(Some(id))?);
            let (offset, id) = offset.ok_or_else(|| refused(&answer))?;
            link.notice(&format!("Full resync from primary: {id}:{offset}"));
            Ok(Answer::Full { id, offset })
        }
        _ if takes_over => {
            engine.abort_failover_soon(&answer, NoShards::outside_commands());
            Err(refused(&answer))
        }
        _ if is_temporary(&answer) => Err(LinkError::Refused(format!(
            "Primary is currently unable to PSYNC but should be in the future: {answer}"
        ))),
        _ if answer.starts_with('-') => {
            link.notice(&format!("Primary does not support PSYNC or is in error state (reply: {answer})"));
            link.notice("Retrying with SYNC...");
            peer.socket().write_all(b"SYNC\r\n")?;
            Ok(Answer::Unnumbered)
        }
        _ => Err(refused(&answer)),
    }
}

/// Whether a primary that knows PSYNC says that it cannot do it now.
fn is_temporary(answer: &str) -> bool {
    ["-NOMASTERLINK", "-LOADING"].iter().any(|start| answer.starts_with(start))
}

fn refused(answer: &str) -> LinkError {
    LinkError::Refused(format!("Unexpected reply to PSYNC from primary: {answer}"))
}

/// The name of a history has forty characters.
fn checked_id(id: Option<&str>) -> Result<Option<String>, LinkError> {
    match id {
        None => Ok(None),
        Some(id) if id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            Ok(Some(id.to_owned()))
        }
        Some(id) => Err(refused(id)),
    }
}
