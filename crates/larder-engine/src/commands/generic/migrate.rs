//! MIGRATE: keys move to another server.
//!
//! The values are taken as clones under their shards' locks and travel without any. Until they have arrived nobody changes the
//! keys: a command that would waits ([`crate::keyspace::departures`]). A key that has changed all the same, by a deadline say, stays and the caller
//! is told; nothing is sent a second time, over what clients of the target may have written. Inside a transaction the shards stay
//! held, as the transaction demands.

use super::dump::{compresses, payload_of, target_version};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::host::Exchange;
use crate::keyspace::locks::ScriptTurn;
use crate::keyspace::watch::Touched;
use crate::ledger::assert_no_shard_is_held;
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::key_table::Captured;
use larder_collections::value::Value;
use larder_rdb::Version;
use larder_resp::Args;
use larder_resp::encode_command;
use std::sync::Arc;
use std::time::Duration;

/// When the timeout is not positive.
const TIMEOUT_MS: u64 = 1000;

const CHANGING: CommandError = CommandError::Fixed(
    "IOERR a key has changed while it was sent: it is still here, and the target has what it was before",
);

struct Request<'a> {
    address: String,
    db: &'a [u8],
    timeout: Duration,
    copy: bool,
    replace: bool,
    auth: Vec<&'a [u8]>,
    keys: Vec<&'a [u8]>,
}

impl<'a> Request<'a> {
    fn parse(args: Args<'a>) -> CommandResult<Self> {
        let (mut copy, mut replace, mut auth, mut keys) = (false, false, Vec::new(), vec![args.at(3)]);
        let mut at = 6;
        while let Some(word) = args.get(at) {
            let left = args.len() - at - 1;
            if is_word(word, "copy") {
                copy = true;
            } else if is_word(word, "replace") {
                replace = true;
            } else if is_word(word, "auth") && left >= 1 {
                auth = vec![args.at(at + 1)];
                at += 1;
            } else if is_word(word, "auth2") && left >= 2 {
                auth = vec![args.at(at + 1), args.at(at + 2)];
                at += 2;
            } else if is_word(word, "keys") {
                if !args[3].is_empty() {
                    return Err(CommandError::Fixed(
                        "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string",
                    ));
                }
                keys = args.from(at + 1).iter().collect();
                break;
            } else {
                return Err(CommandError::SYNTAX);
            }
            at += 1;
        }
        let timeout = number::integer(&args[5])?;
        number::integer(&args[4])?;
        let timeout = u64::try_from(timeout).ok().filter(|&ms| ms > 0).unwrap_or(TIMEOUT_MS);
        let (host, port) = (String::from_utf8_lossy(&args[1]), String::from_utf8_lossy(&args[2]));
        let address = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        Ok(Request {
            address,
            db: args.at(4),
            timeout: Duration::from_millis(timeout),
            copy,
            replace,
            auth,
            keys,
        })
    }
}

/// A key on its way.
struct Traveller<'a> {
    key: &'a [u8],
    captured: Captured<Value>,
    touched: Arc<Touched>,
    /// The target has it.
    arrived: bool,
}

pub(super) fn migrate(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let request = Request::parse(args)?;
    let mut travellers = Vec::new();
    // A thread that waits for the answer of another server must not then wait for a script. A script that calls this holds its shards.
    let turn = if context.in_exec { None } else { Some(context.take_turn()?) };
    let turn = turn.as_ref();
    with_shards(context, turn, &request.keys, |context| {
        travellers = request.keys.iter().filter_map(|key| pack(context, key)).collect();
    });
    if travellers.is_empty() {
        context.reply.simple("NOKEY");
        return Ok(());
    }
    let mut outcome = send(context, &request, &mut travellers);
    // What has arrived is deleted whatever became of the others.
    with_shards(context, turn, &request.keys, |context| {
        for traveller in &travellers {
            let stays = !settle(context, traveller, request.copy);
            if stays && outcome.is_ok() {
                outcome = Err(CHANGING);
            }
        }
    });
    context.propagate_nothing();
    outcome?;
    context.reply.ok();
    Ok(())
}

/// Works with the shards of keys held, for the length of the call. Without a turn they are held already.
fn with_shards(
    context: &mut Context<'_>,
    turn: Option<&ScriptTurn<'_>>,
    keys: &[&[u8]],
    f: impl FnOnce(&mut Context<'_>),
) {
    let Some(turn) = turn else { return f(context) };
    let wanted = keys.iter().map(|key| context.engine.key(key).shard()).collect();
    context.held = context.engine.shards.lock_many(wanted, turn);
    context.begin_check();
    f(context);
    context.settle();
    context.release_shards();
}

/// Takes a clone of a key, and has every later change of it noted.
fn pack<'a>(context: &mut Context<'_>, name: &'a [u8]) -> Option<Traveller<'a>> {
    let key = context.key(name);
    let captured = context.read(&key, |entry, _| entry.map(|entry| Captured::of(&entry)))?;
    let touched = Arc::new(Touched::default());
    let db = context.db;
    context.shard(&key).watched.add(db, name, &touched, false);
    if !context.in_exec {
        context.engine.departures.add(db, name);
    }
    Some(Traveller { key: name, captured, touched, arrived: false })
}

/// The key has arrived or not: it is deleted here, unless it is to stay. False if it should be deleted and has changed.
fn settle(context: &mut Context<'_>, traveller: &Traveller<'_>, copy: bool) -> bool {
    let (key, db) = (context.key(traveller.key), context.db);
    context.shard(&key).watched.remove(db, traveller.key, &traveller.touched);
    context.engine.departures.remove(db, traveller.key);
    if copy || !traveller.arrived {
        return true;
    }
    // One that is gone has expired.
    if traveller.touched.is_set() && context.exists(&key) {
        return false;
    }
    context.delete(&key);
    context.propagate_also(&[b"DEL", key.bytes]);
    true
}

/// Sends the keys and marks those that arrive.
fn send(context: &mut Context<'_>, request: &Request<'_>, travellers: &mut [Traveller<'_>]) -> CommandResult {
    let mut version = target_version(context.engine);
    loop {
        let (bytes, lines) = encode_all(context, request, travellers, version);
        if !context.in_exec && !context.in_script {
            assert_no_shard_is_held("talks to another server");
        }
        let replies = context.engine.host.exchange(&Exchange {
            address: &request.address,
            tls: context.engine.config.is_yes("tls-cluster"),
            credentials: &request.auth,
            timeout: request.timeout,
            request: &bytes,
            replies: lines,
        });
        let replies = replies.map_err(|what| CommandError::text(format!("IOERR error or timeout {what}")))?;
        let (head, restored) = replies.split_at(lines - travellers.iter().filter(|t| !t.arrived).count());
        let refusal = |line: &String| line.strip_prefix('-').map(str::to_owned);
        if let Some(error) = head.iter().find_map(refusal) {
            return Err(replied(&error));
        }
        let mut first_error = None;
        for (traveller, line) in travellers.iter_mut().filter(|t| !t.arrived).zip(restored) {
            match refusal(line) {
                None => traveller.arrived = true,
                Some(error) => first_error = first_error.or(Some(error)),
            }
        }
        match first_error {
            None => return Ok(()),
            // An older server: it may read what is written for it.
            Some(error) if error.contains("DUMP payload version") && version > Version::V10 => {
                version = Version::V10;
            }
            Some(error) => return Err(replied(&error)),
        }
    }
}

fn replied(error: &str) -> CommandError {
    CommandError::text(format!("ERR Target instance replied with error: {error}"))
}

/// The commands to send, and how many replies will come.
fn encode_all(
    context: &Context<'_>,
    request: &Request<'_>,
    travellers: &[Traveller<'_>],
    version: Version,
) -> (Vec<u8>, usize) {
    let (mut bytes, mut lines) = (Vec::new(), 1);
    if !request.auth.is_empty() {
        let words: Vec<&[u8]> =
            [b"AUTH".as_slice()].into_iter().chain(request.auth.iter().copied()).collect();
        encode_command(&mut bytes, words.into_iter());
        lines += 1;
    }
    encode_command(&mut bytes, [b"SELECT", request.db].into_iter());
    let compress = compresses(context.engine);
    for traveller in travellers.iter().filter(|traveller| !traveller.arrived) {
        let value = payload_of(&traveller.captured.value, version, compress);
        let left = traveller.captured.expire_at_ms.map_or(0, |at| at.saturating_sub(context.now_ms()).max(1));
        let left = itoa::Buffer::new().format(left).to_owned();
        let restore: &[u8] = if context.engine.cluster.is_on() { b"RESTORE-ASKING" } else { b"RESTORE" };
        let mut words: Vec<&[u8]> = vec![restore, traveller.key, left.as_bytes(), &value];
        if request.replace {
            words.push(b"REPLACE");
        }
        encode_command(&mut bytes, words.into_iter());
        lines += 1;
    }
    (bytes, lines)
}
