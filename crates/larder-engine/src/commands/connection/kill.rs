//! CLIENT KILL and UNBLOCK, and the filters that KILL and LIST share.

use crate::acl;
use crate::aof::log::Ends;
use crate::clients::describe::{capability_letters, flag_letters};
use crate::clients::session::{ClientShared, Closing, client_flags};
use crate::context::Context;
use crate::context::flow::Flow;
use crate::delivery::unblock::deliver;
use crate::error::{CommandError, CommandResult};
use crate::execution::blocking;
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::{Args, Reply};
use std::mem::discriminant;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The letters that a filter by flags may name, whether a client of this server can have them or not.
const FLAG_LETTERS: &[u8] = b"OSMPxbtRBdcuAUreTIiEN";
/// The same for capabilities.
const CAPABILITY_LETTERS: &[u8] = b"r";

/// One property that a client may be asked for.
enum Criterion {
    Id(Vec<u64>),
    Type(&'static str),
    User(Vec<u8>),
    Addr(Vec<u8>),
    Laddr(Vec<u8>),
    MaxAge(u64),
    Idle(u64),
    Name(Vec<u8>),
    Flags(Vec<u8>),
    LibName(Vec<u8>),
    LibVer(Vec<u8>),
    Db(u32),
    Capa(Vec<u8>),
    Ip(Vec<u8>),
}

/// Which clients a command means: those that fit every criterion, each of which may be negated. The last of a kind counts,
/// but ids add up.
pub(super) struct Filter {
    criteria: Vec<(bool, Criterion)>,
    skip_me: bool,
}

impl Filter {
    /// What LIST starts from.
    pub(super) fn for_list() -> Self {
        Filter { criteria: Vec::new(), skip_me: false }
    }

    /// What KILL starts from: the client that asks is spared unless it says otherwise.
    fn for_kill() -> Self {
        Filter { criteria: Vec::new(), skip_me: true }
    }

    pub(super) fn parse(context: &Context<'_>, args: Args<'_>, mut filter: Filter) -> CommandResult<Self> {
        let mut at = 0;
        while let Some(word) = args.get(at) {
            let value = args.get(at + 1).ok_or(CommandError::SYNTAX)?;
            at += if is_word(word, "skipme") {
                filter.skip_me = parse_yes_no(value)?;
                2
            } else {
                filter.take(context, word, args.from(at + 1))?
            };
        }
        Ok(filter)
    }

    /// Takes one criterion and returns how many arguments it used.
    fn take(&mut self, context: &Context<'_>, word: &[u8], values: Args<'_>) -> CommandResult<usize> {
        let lower = word.to_ascii_lowercase();
        let (negated, name) = match lower.strip_prefix(b"not-") {
            Some(rest) => (true, rest),
            None => (false, &lower[..]),
        };
        if name == b"id" {
            let ids = parse_ids(values)?;
            let used = 1 + ids.len();
            self.add_ids(negated, ids);
            return Ok(used);
        }
        let criterion = criterion(context, name, values.at(0), negated)?;
        match self.of_kind(negated, &criterion) {
            Some(earlier) => *earlier = criterion,
            None => self.criteria.push((negated, criterion)),
        }
        Ok(2)
    }

    fn add_ids(&mut self, negated: bool, ids: Vec<u64>) {
        match self.of_kind(negated, &Criterion::Id(Vec::new())) {
            Some(Criterion::Id(earlier)) => earlier.extend(ids),
            _ => self.criteria.push((negated, Criterion::Id(ids))),
        }
    }

    /// The criterion of the same kind that is there already.
    fn of_kind(&mut self, negated: bool, kind: &Criterion) -> Option<&mut Criterion> {
        let is_same = |there: &Criterion| discriminant(there) == discriminant(kind);
        self.criteria
            .iter_mut()
            .find(|(not, there)| *not == negated && is_same(there))
            .map(|(_, there)| there)
    }

    pub(super) fn accepts(&self, client: &ClientShared, me: u64, now_ms: u64) -> bool {
        // A list of clients may have been taken before another thread has closed one of them.
        if self.skip_me && client.id == me || client.closing() == Closing::Now {
            return false;
        }
        self.criteria.iter().all(|(negated, criterion)| criterion.fits(client, now_ms) != *negated)
    }
}

fn criterion(context: &Context<'_>, name: &[u8], value: &[u8], negated: bool) -> CommandResult<Criterion> {
    Ok(match name {
        b"type" => Criterion::Type(client_type(value)?),
        b"user" => Criterion::User(user(context, value)?),
        b"addr" => Criterion::Addr(value.to_vec()),
        b"laddr" => Criterion::Laddr(value.to_vec()),
        b"maxage" if !negated => Criterion::MaxAge(seconds(value, "maxage")?),
        b"idle" if !negated => Criterion::Idle(seconds(value, "idle")?),
        b"name" => Criterion::Name(value.to_vec()),
        b"flags" => Criterion::Flags(letters(value, FLAG_LETTERS, "flags", negated)?),
        b"lib-name" => Criterion::LibName(value.to_vec()),
        b"lib-ver" => Criterion::LibVer(value.to_vec()),
        b"db" => Criterion::Db(database(context, value, negated)?),
        b"capa" => Criterion::Capa(letters(value, CAPABILITY_LETTERS, "capa", negated)?),
        b"ip" => Criterion::Ip(value.to_vec()),
        _ => return Err(CommandError::SYNTAX),
    })
}

/// A set of letters, all of them known.
fn letters(value: &[u8], known: &[u8], name: &str, negated: bool) -> CommandResult<Vec<u8>> {
    if value.iter().all(|letter| known.contains(letter)) {
        return Ok(value.to_vec());
    }
    let filter = if negated { format!("NOT-{}", name.to_ascii_uppercase()) } else { "provided".to_owned() };
    let text = format!("ERR Unknown {name} found in the {filter} filter: ");
    Err(CommandError::Text([text.as_bytes(), value].concat()))
}

fn parse_yes_no(value: &[u8]) -> CommandResult<bool> {
    match value {
        _ if is_word(value, "yes") => Ok(true),
        _ if is_word(value, "no") => Ok(false),
        _ => Err(CommandError::SYNTAX),
    }
}

/// The ids from here on: as many arguments as are numbers, at least one.
fn parse_ids(values: Args<'_>) -> CommandResult<Vec<u64>> {
    let numbers = values.iter().map_while(number::parse_i64);
    let positive = |id: i64| u64::try_from(id).ok().filter(|&id| id > 0);
    let ids: Option<Vec<u64>> = numbers.map(positive).collect();
    match ids {
        None => Err(CommandError::Fixed("ERR client-id should be greater than 0")),
        Some(ids) if ids.is_empty() => Err(CommandError::SYNTAX),
        Some(ids) => Ok(ids),
    }
}

fn seconds(value: &[u8], name: &str) -> CommandResult<u64> {
    let seconds = number::parse_i64(value)
        .ok_or_else(|| CommandError::text(format!("ERR {name} is not an integer or out of range")))?;
    let positive = u64::try_from(seconds).ok().filter(|&seconds| seconds > 0);
    positive.ok_or_else(|| CommandError::text(format!("ERR {name} should be greater than 0")))
}

fn database(context: &Context<'_>, value: &[u8], negated: bool) -> CommandResult<u32> {
    let filter = if negated { "NOT-DB" } else { "DB" };
    let db = number::parse_i64(value);
    let db =
        db.ok_or_else(|| CommandError::text(format!("ERR {filter} is not an integer or out of range")))?;
    let count = context.engine.database_count();
    let known = u32::try_from(db).ok().filter(|&db| (db as usize) < count);
    known.ok_or_else(|| {
        CommandError::text(format!("ERR {filter} number should be between 0 and {}", count - 1))
    })
}

fn client_type(value: &[u8]) -> CommandResult<&'static str> {
    let names = [
        ("normal", "normal"),
        ("slave", "replica"),
        ("replica", "replica"),
        ("pubsub", "pubsub"),
        ("master", "master"),
        ("primary", "master"),
    ];
    let found = names.iter().find(|(name, _)| is_word(value, name)).map(|(_, kind)| *kind);
    found.ok_or_else(|| quoted("ERR Unknown client type '", value))
}

fn user(context: &Context<'_>, value: &[u8]) -> CommandResult<Vec<u8>> {
    let known = context.engine.acl.find(value).map(|user| user.name().to_vec());
    known.ok_or_else(|| quoted("ERR No such user '", value))
}

fn quoted(text: &str, value: &[u8]) -> CommandError {
    CommandError::Text([text.as_bytes(), value, b"'"].concat())
}

/// The type that CLIENT KILL and LIST mean. Connections of slot migrations have none that a client can name.
fn type_of(client: &ClientShared) -> &'static str {
    if client.has(client_flags::SLOT_IMPORT) || client.has(client_flags::SLOT_EXPORT) {
        "slot-migration"
    } else if client.has(client_flags::REPLICA) {
        "replica"
    } else if client.has(client_flags::PRIMARY) {
        "master"
    } else if client.has(client_flags::PUBSUB) {
        "pubsub"
    } else {
        "normal"
    }
}

impl Criterion {
    fn fits(&self, client: &ClientShared, now_ms: u64) -> bool {
        let age = |since: u64| now_ms.saturating_sub(since) / 1000;
        match self {
            Criterion::Id(ids) => ids.contains(&client.id),
            Criterion::Type(kind) => *kind == type_of(client),
            Criterion::User(_) if client.is_outgoing() => false,
            Criterion::User(user) => {
                client.names.lock().user.as_ref().map_or(acl::DEFAULT, |user| user.name()) == user
            }
            Criterion::Addr(addr) => client.addr.as_bytes() == addr,
            Criterion::Laddr(laddr) => client.laddr.as_bytes() == laddr,
            Criterion::MaxAge(min) => age(client.created_ms) >= *min,
            Criterion::Idle(min) => age(client.last_active_ms.load(Relaxed)) >= *min,
            Criterion::Name(name) => is_given(&client.names.lock().name, name),
            Criterion::Flags(wanted) => {
                wanted.iter().all(|letter| flag_letters(client).as_bytes().contains(letter))
            }
            Criterion::LibName(name) => is_given(&client.names.lock().lib_name, name),
            Criterion::LibVer(version) => is_given(&client.names.lock().lib_ver, version),
            Criterion::Db(db) => client.db.load(Relaxed) == *db,
            Criterion::Capa(wanted) => {
                wanted.iter().all(|letter| capability_letters(client).as_bytes().contains(letter))
            }
            Criterion::Ip(ip) => ip_of(client).is_some_and(|own| own.as_bytes() == ip),
        }
    }
}

/// The address that a client has come from, without the brackets of IPv6; one that uses the unix socket has none.
fn ip_of(client: &ClientShared) -> Option<&str> {
    let (host, _) = client.addr.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.parse::<IpAddr>().is_ok().then_some(host)
}

/// Whether a client has given itself this name. One without a name does not have the empty one.
fn is_given(name: &[u8], wanted: &[u8]) -> bool {
    !wanted.is_empty() && name == wanted
}

pub(super) fn kill(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if args.len() == 3 {
        return kill_by_address(context, args.at(2));
    }
    let filter = Filter::parse(context, args.from(2), Filter::for_kill())?;
    let killed = kill_all(context, &filter);
    context.reply.count(killed);
    Ok(())
}

fn kill_by_address(context: &mut Context<'_>, addr: &[u8]) -> CommandResult {
    let criteria = vec![(false, Criterion::Addr(addr.to_vec()))];
    let filter = Filter { criteria, skip_me: false };
    if kill_all(context, &filter) == 0 {
        return Err(CommandError::Fixed("ERR No such client"));
    }
    context.reply.ok();
    Ok(())
}

fn kill_all(context: &mut Context<'_>, filter: &Filter) -> usize {
    let (me, now) = (context.session.id(), context.now_ms());
    let mut killed = 0;
    for client in context.engine.clients.snapshot() {
        if filter.accepts(&client, me, now) {
            kill_one(context, &client);
            killed += 1;
        }
    }
    killed
}

/// A client that kills itself still gets its answer.
fn kill_one(context: &mut Context<'_>, client: &Arc<ClientShared>) {
    if client.id == context.session.id() {
        context.flow = Flow::CloseAfterFlush;
    } else {
        context.engine.close_client(client);
    }
}

pub(super) fn unblock(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let with_error = match args.get(3) {
        None => false,
        Some(word) if is_word(word, "timeout") => false,
        Some(word) if is_word(word, "error") => true,
        Some(_) => return Err(CommandError::Fixed("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")),
    };
    let id = number::integer(&args[2])?;
    let unblocked = u64::try_from(id).is_ok_and(|id| unblock_one(context, id, with_error));
    context.reply.int(i64::from(unblocked));
    Ok(())
}

fn unblock_one(context: &Context<'_>, id: u64, with_error: bool) -> bool {
    let Some(client) = context.engine.clients.find(id) else { return false };
    let Some(waiter) = client.waiter.lock().clone().filter(|waiter| waiter.take()) else { return false };
    let mut bytes = Vec::new();
    let mut reply = Reply::new(&mut bytes, waiter.protocol);
    if with_error {
        let error = CommandError::Fixed("UNBLOCKED client unblocked via CLIENT UNBLOCK");
        context.engine.errors.count(&error);
        // As the peers count it: an error was written while this command ran.
        context.worker.returned_errors.set(true);
        reply.error(&error.wire());
    } else {
        blocking::write_timeout(context.engine, &waiter, &mut reply);
    }
    deliver(&context.engine.mailboxes, &waiter, bytes, Ends::NO_EFFECT);
    true
}
