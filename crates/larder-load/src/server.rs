//! Another server as the source: its keys by `SCAN`, their values by `DUMP`, when they expire by `PTTL`.
//!
//! It goes on serving meanwhile, and there is no one moment that what is loaded is of: a key is loaded as it was when it was dumped, one that
//! has gone since it was found is counted, and one that has come may be missed.

use crate::connection::{Connection, command, text_of};
use crate::cutter::Cutter;
use crate::error::{Error, Result};
use crate::group::Group;
use crate::pace::Pace;
use crate::security::Security;
use crate::shared::{Shared, lock, now_ms};
use crate::target::Target;
use crate::words::count;
use indicatif::ProgressBar;
use larder_resp::Value;
use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::Ordering::Relaxed;

/// How many keys a step of a scan looks at.
const STEP: &[u8] = b"500";
/// Most databases that a server may say it has.
const DATABASES_MAX: usize = 1 << 20;

/// Hands on the keys of a server: of one database, into `into` or the same one, or of all.
///
/// # Errors
/// The server cannot be reached or refuses; what has been handed on stays so.
pub fn load(
    (source, db): (&Target, Option<u32>),
    into: Option<u32>,
    shared: &Shared<'_>,
    cutter: &mut Cutter<'_>,
    bar: &ProgressBar,
) -> Result<()> {
    let address = source.address();
    let mut connection = source.connect(&address, 0)?;
    let databases = match db {
        Some(db) => vec![db],
        None => databases(&text_of(&source.ask(&mut connection, &[b"INFO", b"keyspace"])?)),
    };
    let seen = Seen { hashers: [RandomState::new(), RandomState::new()], keys: HashSet::new() };
    let mut walk = Walk { source, connection, shared, cutter, bar, seen, number: 0, gone: 0 };
    let mut pace = Pace::default();
    for db in databases {
        source.ask(&mut walk.connection, &[b"SELECT", db.to_string().as_bytes()])?;
        walk.seen.keys.clear();
        walk.database(into.unwrap_or(db), &mut pace)?;
    }
    if walk.gone > 0 {
        let text =
            format!("{} deleted or expired before they could be read", count(walk.gone, "key", "keys"));
        lock(&shared.notes).push(text);
    }
    walk.cutter.flush()
}

/// The databases that have keys, by `INFO keyspace`.
fn databases(info: &str) -> Vec<u32> {
    let lines = info.lines().filter_map(|line| line.strip_prefix("db")?.split_once(':')?.0.parse().ok());
    lines.take(DATABASES_MAX).collect()
}

/// Keys that were handed on: a scan may find a key twice. Kept as 128 bits of a keyed hash each.
struct Seen {
    hashers: [RandomState; 2],
    keys: HashSet<[u64; 2]>,
}

impl Seen {
    fn is_new(&mut self, key: &[u8]) -> bool {
        self.keys.insert(self.hashers.each_ref().map(|hasher| hasher.hash_one(key)))
    }
}

struct Walk<'a, 'b> {
    source: &'a Target,
    connection: Connection,
    shared: &'a Shared<'a>,
    cutter: &'a mut Cutter<'b>,
    bar: &'a ProgressBar,
    seen: Seen,
    /// Keys that were found so far.
    number: u64,
    gone: u64,
}

impl Walk<'_, '_> {
    fn database(&mut self, into: u32, pace: &mut Pace) -> Result<()> {
        let mut cursor = b"0".to_vec();
        loop {
            let words: [&[u8]; 4] = [b"SCAN", &cursor, b"COUNT", STEP];
            let reply = self.source.ask(&mut self.connection, &words)?;
            let (next, mut keys) = step_of(reply).ok_or_else(|| self.odd("SCAN"))?;
            keys.retain(|key| self.seen.is_new(key));
            pace.each(&keys, |some| self.dump(some, into))?;
            if next == b"0" {
                return Ok(());
            }
            cursor = next;
        }
    }

    /// Reads keys and hands them on; returns how many bytes they were.
    fn dump(&mut self, keys: &[Vec<u8>], into: u32) -> Result<usize> {
        let mut requests = Vec::new();
        for key in keys {
            command(&mut requests, &[b"DUMP", key]);
            command(&mut requests, &[b"PTTL", key]);
        }
        self.connection.send(&requests)?;
        let mut bytes = 0;
        for key in keys {
            self.number += 1;
            let (payload, ttl_ms) = (self.connection.reply()?, self.connection.reply()?);
            let (payload, ttl_ms) = match (payload, ttl_ms) {
                (Value::Bytes(payload), Value::Int(ttl)) if ttl != -2 => (payload, ttl),
                (Value::Null, _) | (_, Value::Int(-2)) => {
                    self.gone += 1;
                    continue;
                }
                (Value::Error(error), _) | (_, Value::Error(error)) => {
                    let (address, key) = (self.source.address(), key.escape_ascii());
                    return Err(Error::Target(format!("{address}: {error} (key '{key}')")));
                }
                _ => return Err(self.odd("DUMP")),
            };
            let expire_at_ms = u64::try_from(ttl_ms).ok().map(|ttl| now_ms().saturating_add(ttl.max(1)));
            self.shared.counts.rows.fetch_add(1, Relaxed);
            bytes += payload.len();
            self.cutter.add([Group::new(into, key, &payload, expire_at_ms, self.number)])?;
        }
        self.bar.inc(keys.len() as u64);
        Ok(bytes)
    }

    fn odd(&self, command: &str) -> Error {
        Error::Target(format!("{}: invalid reply to {command}", self.source.address()))
    }
}

/// The cursor and the keys of a reply to `SCAN`.
fn step_of(reply: Value) -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
    let Value::Array(parts) = reply else { return None };
    let [Value::Bytes(cursor), Value::Array(keys)] = <[Value; 2]>::try_from(parts).ok()? else { return None };
    let text = |key| if let Value::Bytes(key) = key { Some(key) } else { None };
    Some((cursor, keys.into_iter().map(text).collect::<Option<_>>()?))
}

/// A server by its address.
pub struct Named {
    /// The server, without TLS.
    pub server: Target,
    /// The database that the address names.
    pub db: Option<u32>,
    /// Whether it is to be talked to by TLS.
    pub is_secure: bool,
}

/// Reads an address: `redis://[user:password@]host[:port][/db]`, or `rediss://`, by TLS; `valkey` is as good.
pub fn parse(url: &str) -> std::result::Result<Named, String> {
    let (is_secure, rest) = match url.split_once("://") {
        Some(("redis" | "valkey", rest)) => (false, rest),
        Some(("rediss" | "valkeys", rest)) => (true, rest),
        _ => return Err(format!("'{url}' is not of the form redis://[user:password@]host[:port][/db]")),
    };
    let (place, db) = match rest.split_once('/') {
        Some((place, "")) => (place, None),
        Some((place, db)) => {
            (place, Some(db.parse().map_err(|_| format!("'{db}' is not a database number"))?))
        }
        None => (rest, None),
    };
    let (who, place) = place.rsplit_once('@').map_or((None, place), |(who, place)| (Some(who), place));
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':').filter(|_| !rest.is_empty())),
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    let port = match port {
        Some(port) => port.parse().map_err(|_| format!("'{port}' is not a port"))?,
        None => 6379,
    };
    if host.is_empty() {
        return Err(format!("'{url}' does not name a host"));
    }
    let (user, password) = match who.map(|who| {
        who.split_once(':').ok_or("the address names a user without a password: use user:password@host")
    }) {
        Some(parts) => {
            let (user, password) = parts?;
            let user = Some(plain(user)?).filter(|user| !user.is_empty());
            (user, Some(plain(password)?))
        }
        None => (None, None),
    };
    let server = Target { host: host.to_owned(), port, user, password, security: Security::default() };
    Ok(Named { server, db, is_secure })
}

/// A part of an address without its percent signs.
fn plain(text: &str) -> std::result::Result<String, String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(
            value.ok_or_else(|| {
                format!("'{text}' has a '%' that is not followed by two hexadecimal digits")
            })?,
        );
        rest = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| format!("'{text}' is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_servers() {
        let parts = |url: &str| {
            let Named { server, db, .. } = parse(url).ok()?;
            Some((server.host, server.port, server.user, server.password, db))
        };
        let is_secure = |url: &str| parse(url).ok().map(|named| named.is_secure);
        let schemes = ["redis", "valkey", "rediss", "valkeys", "tls"];
        let secure = schemes.map(|scheme| is_secure(&format!("{scheme}://a")));
        assert_eq!(secure, [Some(false), Some(false), Some(true), Some(true), None]);
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(parts("redis://a"), Some(("a".to_owned(), 6379, None, None, None)));
        assert_eq!(parts("redis://a:7/3"), Some(("a".to_owned(), 7, None, None, Some(3))));
        assert_eq!(
            parts("valkey://u:p%40%3a@[::1]:8/"),
            Some(("::1".to_owned(), 8, text("u"), text("p@:"), None))
        );
        assert_eq!(parts("redis://:p@a"), Some(("a".to_owned(), 6379, None, text("p"), None)));
        for bad in
            ["", "a:1", "http://a", "redis://", "redis://a:x", "redis://a/x", "redis://u@a", "redis://:%4@a"]
        {
            assert_eq!(parts(bad), None, "{bad}");
        }
        assert_eq!(databases("# Keyspace\r\ndb0:keys=1\r\ndb12:keys=2,x\r\ndbx:1\r\n"), [0, 12]);
    }
}
