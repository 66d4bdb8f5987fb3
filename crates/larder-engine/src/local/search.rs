//! Searches through the keys of a database, a slice at a time.
//!
//! A search has no state on the server: each slice ends at a [`Place`], and the caller continues there or forgets the search. A slice
//! takes about [`SLICE`], locks one shard at a time for [`KEYS_PER_HOLD`] keys, and returns a bounded number of keys. Keys that the user
//! may not read are neither shown nor counted, nor are expired keys and those of slots that are being imported.
//!
//! A thread of its own runs slices, but that thread has other clients too. So a slice does not wait for a shard that a script keeps: it
//! ends early, and says so.
//!
//! Tested by `larder-server/tests/console_search.rs`.

use super::LocalWorker;
use crate::acl::{Origin, Rights, may_see_key};
use crate::clients::session::Session;
use crate::command::spec::Found;
use crate::command::table::table;
use crate::commands::generic::encoding_name;
use crate::engine::Engine;
use crate::error::CommandError;
use crate::execution::authorization;
use crate::keyspace::access::AccessRules;
use crate::keyspace::deadlines::is_due;
use crate::keyspace::key::SHARDS;
use crate::keyspace::kind::{Kind, value_bytes};
use crate::text::glob;
use larder_collections::key_table::{Entry, ValueRef};
use larder_collections::value::Value;
use larder_resp::OwnedArgs;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How long a slice takes, about.
const SLICE: Duration = Duration::from_millis(25);
/// Keys looked at while a shard is locked.
const KEYS_PER_HOLD: usize = 256;
/// Blocks of a collection that are looked at for its bytes, as MEMORY USAGE does it.
const SAMPLES: u64 = 5;
/// Longer names are counted, and not shown.
const NAME_BYTES_MAX: usize = 16 << 10;
/// Bytes of the names of one slice.
const NAMES_BYTES_MAX: usize = 1 << 20;
/// Branches of one slice. A slice with more ends early.
const BRANCHES_MAX: usize = 1000;
/// Names of one slice that end at the level.
const LEAVES_MAX: usize = 200;

/// Where a search continues: a shard, and a position in its table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The shard.
    pub shard: usize,
    /// The position.
    pub position: u64,
}

/// Which keys are looked for.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The database.
    pub db: usize,
    /// A glob-style pattern that names match.
    pub pattern: Option<Vec<u8>>,
    /// The name of a type.
    pub kind: Option<Vec<u8>>,
}

/// What keys are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By nothing: keys are returned as they are found, and a slice ends when it has enough.
    #[default]
    None,
    /// The bytes of the name.
    Name,
    /// Bytes in memory.
    Bytes,
    /// Elements of collections.
    Elements,
    /// Time to live; keys without one live longest.
    Ttl,
    /// How often the key is used (with an LFU policy), or how recently.
    Use,
}

/// How many keys are wanted, and in which order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// The order.
    pub order: Order,
    /// Whether the largest come first.
    pub descending: bool,
    /// Keys of one slice.
    pub limit: usize,
    /// Only keys that come before this value in the order.
    pub bound: Option<u64>,
}

/// A key that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundKey {
    /// The name.
    pub name: Vec<u8>,
    /// The type.
    pub kind: &'static str,
    /// The encoding.
    pub encoding: &'static str,
    /// Bytes in memory, as MEMORY USAGE counts them.
    pub bytes: u64,
    /// Elements of a collection; 0 for a string.
    pub elements: u64,
    /// Milliseconds until the key expires, if it does.
    pub ttl_ms: Option<u64>,
    /// How much the key is used: the counter of an LFU policy, or the seconds since it was used, subtracted from 2^32.
    pub used: u64,
}

/// A level of the tree that a delimiter makes of the names.
#[derive(Clone, Debug, Default)]
pub struct Level {
    /// Keys and bytes by the part of the name up to the next delimiter, which it includes.
    pub branches: HashMap<Vec<u8>, (u64, u64)>,
    /// Some names that end at this level.
    pub leaves: Vec<FoundKey>,
    /// Names that end at this level.
    pub leaf_count: u64,
}

/// What one slice has found.
#[derive(Clone, Debug)]
pub struct Slice<T> {
    /// What was found.
    pub found: T,
    /// Keys that were looked at.
    pub looked: u64,
    /// Keys that the user may see and that match.
    pub matched: u64,
    /// Where to continue; `None` at the end.
    pub next: Option<Place>,
    /// Whether the slice ended early because a script or a long command keeps a shard.
    pub is_held_up: bool,
}

impl Wanted {
    /// The value that the order compares. Names are compared as such.
    fn value(&self, key: &FoundKey) -> u64 {
        match self.order {
            Order::None | Order::Name => 0,
            Order::Bytes => key.bytes,
            Order::Elements => key.elements,
            Order::Ttl => key.ttl_ms.unwrap_or(u64::MAX),
            Order::Use => key.used,
        }
    }

    fn compare(&self, a: &FoundKey, b: &FoundKey) -> Ordering {
        let order = match self.order {
            Order::Name => a.name.cmp(&b.name),
            _ => self.value(a).cmp(&self.value(b)),
        };
        if self.descending { order.reverse() } else { order }
    }

    /// Whether a key comes before the bound.
    fn takes(&self, key: &FoundKey) -> bool {
        let value = self.value(key);
        self.bound.is_none_or(|bound| if self.descending { value > bound } else { value < bound })
    }

    fn cut(&self, keys: &mut Vec<FoundKey>) {
        if self.order != Order::None {
            keys.sort_by(|a, b| self.compare(a, b));
            keys.truncate(self.limit);
        }
    }
}

impl LocalWorker {
    /// Searches a slice for keys. The number of keys may exceed the limit by those of one hold, without an order.
    ///
    /// # Errors
    /// The client may not call SCAN in the database.
    pub fn search(
        &mut self,
        session: &mut Session,
        filter: &Filter,
        wanted: Wanted,
        from: Place,
    ) -> Result<Slice<Vec<FoundKey>>, CommandError> {
        let sight = self.sight(session, filter.db)?;
        let mut keys = Vec::new();
        let mut name_bytes = 0;
        let slice = walk(self.engine(), filter, &sight, from, |key| {
            if let Some(key) = key.filter(|key| wanted.takes(key)) {
                name_bytes += key.name.len();
                keys.push(key);
            }
            let is_full = match wanted.order {
                Order::None => keys.len() >= wanted.limit,
                _ if keys.len() >= wanted.limit.saturating_mul(2).max(KEYS_PER_HOLD) => {
                    wanted.cut(&mut keys);
                    name_bytes = keys.iter().map(|key| key.name.len()).sum();
                    false
                }
                _ => false,
            };
            is_full || name_bytes > NAMES_BYTES_MAX
        });
        wanted.cut(&mut keys);
        Ok(slice.with(keys))
    }

    /// Searches a slice for the branches and leaves below a prefix.
    ///
    /// # Errors
    /// The client may not call SCAN in the database.
    pub fn branches(
        &mut self,
        session: &mut Session,
        filter: &Filter,
        (prefix, delimiter): (&[u8], &[u8]),
        from: Place,
    ) -> Result<Slice<Level>, CommandError> {
        let sight = self.sight(session, filter.db)?;
        let mut level = Level::default();
        let mut name_bytes = 0;
        let slice = walk(self.engine(), filter, &sight, from, |key| {
            let Some(key) = key else { return false };
            let Some(rest) = key.name.strip_prefix(prefix) else { return false };
            if let Some(at) = memchr::memmem::find(rest, delimiter) {
                let part = &rest[..at + delimiter.len()];
                if let Some((keys, bytes)) = level.branches.get_mut(part) {
                    *keys += 1;
                    *bytes += key.bytes;
                } else {
                    name_bytes += part.len();
                    level.branches.insert(part.to_vec(), (1, key.bytes));
                }
            } else {
                level.leaf_count += 1;
                if level.leaves.len() < LEAVES_MAX {
                    name_bytes += key.name.len();
                    level.leaves.push(key);
                }
            }
            level.branches.len() >= BRANCHES_MAX || name_bytes > NAMES_BYTES_MAX
        });
        Ok(slice.with(level))
    }

    /// The number of keys of a database, without what a user may not see. `None` while a script keeps a shard.
    pub fn count_keys(&self, db: usize) -> Option<u64> {
        let engine = self.engine();
        (0..SHARDS)
            .map(|shard| {
                Some(engine.shards.lock_soon(shard)?.table(db).map_or(0, |table| table.len() as u64))
            })
            .sum()
    }

    fn sight(&mut self, session: &mut Session, db: usize) -> Result<Sight, CommandError> {
        let engine = self.engine();
        if db >= engine.database_count() {
            return Err(CommandError::Fixed("ERR DB index is out of range"));
        }
        let found = table().find(b"scan").expect("it is a command");
        let args: OwnedArgs = [&b"SCAN"[..], b"0"].into_iter().collect();
        session.db = db;
        let checked = authorization::check(engine, session, found, args.as_args(), Origin::TopLevel);
        checked.map_err(|denial| denial.refusal(session.access.user().name(), found))?;
        let all = authorization::is_unrestricted(engine, session);
        let rights = (!all).then(|| session.access.shared_rights());
        Ok(Sight { rights, found, args, db, databases: engine.database_count() })
    }
}

/// What a user may see.
struct Sight {
    /// The rights, unless the user may do everything.
    rights: Option<Arc<Rights>>,
    found: Found,
    args: OwnedArgs,
    db: usize,
    databases: usize,
}

impl Sight {
    fn sees(&self, key: &[u8]) -> bool {
        let sees = |rights: &Arc<Rights>| {
            may_see_key(rights, self.found, self.args.as_args(), (self.db, self.databases), key)
        };
        self.rights.as_ref().is_none_or(sees)
    }
}

impl Slice<()> {
    fn with<T>(self, found: T) -> Slice<T> {
        let Slice { looked, matched, next, is_held_up, .. } = self;
        Slice { found, looked, matched, next, is_held_up }
    }
}

/// Walks until the time is over or `take` returns true. It gets the keys that match, and `None` for those with long names, while no shard is
/// locked; those of one hold all of them.
fn walk(
    engine: &Engine,
    filter: &Filter,
    sight: &Sight,
    from: Place,
    mut take: impl FnMut(Option<FoundKey>) -> bool,
) -> Slice<()> {
    let begun = crate::clock::instant();
    let now_ms = crate::clock::wall_ms();
    let facts = Facts { now_ms, access: AccessRules::load(&engine.config.hot) };
    let mut slice = Slice { found: (), looked: 0, matched: 0, next: Some(from), is_held_up: false };
    let mut place = from;
    let mut is_full = false;
    let mut batch = Vec::new();
    while place.shard < SHARDS && !is_full && begun.elapsed() < SLICE {
        let Some(data) = engine.shards.lock_soon(place.shard) else {
            slice.is_held_up = true;
            break;
        };
        let hidden = engine.cluster.migrations.hidden();
        let next = data.table(filter.db).map_or(0, |table| {
            table.scan_with_shares(place.position, KEYS_PER_HOLD, |entry, share| {
                slice.looked += 1;
                let is_shown = !is_due(&entry, now_ms)
                    && filter.takes(&entry)
                    && !hidden.hides(entry.key())
                    && sight.sees(entry.key());
                if is_shown {
                    let fits = entry.key().len() <= NAME_BYTES_MAX;
                    batch.push(fits.then(|| facts.of(&entry, share)));
                }
            })
        });
        drop(data);
        slice.matched += batch.len() as u64;
        batch.drain(..).for_each(|key| is_full |= take(key));
        place = match next {
            0 => Place { shard: place.shard + 1, position: 0 },
            position => Place { position, ..place },
        };
    }
    slice.next = (place.shard < SHARDS).then_some(place);
    slice
}

impl Filter {
    fn takes(&self, entry: &Entry<'_, Value>) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| glob::selects(pattern, entry.key()))
            && self.kind.as_ref().is_none_or(|kind| Kind::of(&entry.kept()).name().as_bytes() == &kind[..])
    }
}

/// What the facts about keys depend on.
struct Facts {
    now_ms: u64,
    access: AccessRules,
}

impl Facts {
    fn of(&self, entry: &Entry<'_, Value>, share: usize) -> FoundKey {
        let value = entry.value();
        let bytes = share as u64 + value_bytes(entry, SAMPLES);
        let mut elements = 0;
        if let ValueRef::Out(value) = &value {
            elements = value.elements();
        }
        let word = entry.access();
        let used = match self.access.counts {
            true => u64::from(self.access.counter(word, self.now_ms / 1000)),
            false => (1 << 32) - u64::from(self.access.idle_s(word, self.now_ms / 1000)),
        };
        FoundKey {
            name: entry.key().to_vec(),
            kind: Kind::of(&value).name(),
            encoding: encoding_name(entry.key(), entry),
            bytes,
            elements,
            ttl_ms: entry.expire_at_ms().map(|at| at.saturating_sub(self.now_ms)),
            used,
        }
    }
}
