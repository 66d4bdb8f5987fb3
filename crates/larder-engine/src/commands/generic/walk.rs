//! Walking the keys: KEYS, SCAN, RANDOMKEY.
//!
//! Shards are locked one at a time, so a walk holds nobody up for long. The cursor of SCAN is a position in a shard's
//! table with the shard's number: it needs no state on the server, and survives any growth.

use crate::cluster::migration::SharedSlots;
use crate::commands::scan::{Scan, delete_overdue, parse_cursor, reply_step, wanted_type};
use crate::context::Context;
use crate::error::CommandResult;
use crate::keyspace::deadlines::is_due;
use crate::keyspace::hash::{prefix_of_slot, slots_of_shard};
use crate::keyspace::key::SHARDS;
use crate::keyspace::kind::Kind;
use crate::keyspace::shard::{ShardData, Table};
use crate::text::glob;
use crate::text::word::is_word;
use larder_collections::key_table::CURSOR_BITS;
use larder_resp::{Args, Reply};

const _: () = assert!(SHARDS.ilog2() + CURSOR_BITS <= 53);

/// Draws of RANDOMKEY that may come to nothing: keys that are overdue and stay (on a replica, in
/// `import-mode`, while writes are paused), or have gone meanwhile.
const RANDOM_TRIES: usize = 100;
/// Up to this many keys more than COUNT are looked at, by chance. The cursor of a server with another
/// hash seed is some place here. A client that asks two such servers in turn jumps from place to
/// place until it comes upon the end, and without chance it could jump in circles.
const COUNT_VARIES: usize = 3;
/// Draws in a shard of which some slots are hidden, before its keys that are to be seen are
/// counted.
const VISIBLE_TRIES: usize = 8;

pub(super) fn keys(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let pattern = args.at(1);
    let (db, due_ms) = (context.db, context.due_ms());
    let hidden = context.engine.cluster.migrations.hidden();
    context.walks()?;
    context.deferred_array(|context, items| {
        let mut count = 0;
        context.each_shard(|data| {
            for entry in data.table(db).into_iter().flat_map(|table| table.iter()) {
                if !is_due(&entry, due_ms)
                    && !hidden.hides(entry.key())
                    && glob::selects(pattern, entry.key())
                {
                    items.bulk(entry.key());
                    count += 1;
                }
            }
        })?;
        Ok(count)
    })
}

/// Where a walk over all shards stands: a cursor of a table, and above it the shard. Together they have 53 bits, all that is concealed.
#[derive(Clone, Copy)]
struct Cursor {
    shard: usize,
    position: u64,
}

impl Cursor {
    fn decode(cursor: u64) -> Self {
        let position = cursor & ((1 << CURSOR_BITS) - 1);
        Cursor { shard: (cursor >> CURSOR_BITS) as usize % SHARDS, position }
    }

    fn encode(self) -> u64 {
        if self.shard == SHARDS { 0 } else { (self.shard as u64) << CURSOR_BITS | self.position }
    }

    /// The place after a step in the current shard that ended at `next`, where 0 is the shard's end.
    fn advance(self, next: u64) -> Self {
        match next {
            0 => Cursor { shard: self.shard + 1, position: 0 },
            position => Cursor { position, ..self },
        }
    }
}

pub(super) fn scan(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let cursor = Cursor::decode(parse_cursor(args.at(1))?);
    let mut wanted = None;
    let scan = Scan::parse(args.from(2), |word, value| {
        let given = wanted_type(word, value)?;
        wanted = given.or(wanted);
        Ok(if given.is_some() { 2 } else { 0 })
    })?;
    context.takes(scan.count as u64)?;
    reply_step(context, |context, items| step(context, cursor, &scan, wanted, items))
}

/// Writes the keys of one step that match; returns the next cursor and their number.
fn step(
    context: &mut Context<'_>,
    mut cursor: Cursor,
    scan: &Scan<'_>,
    wanted: Option<&[u8]>,
    items: &mut Reply<'_>,
) -> CommandResult<(u64, usize)> {
    let (db, due_ms) = (context.db, context.due_ms());
    let hidden = context.engine.cluster.migrations.hidden();
    let (mut seen, mut count) = (0, 0);
    let mut visited = 0;
    let wanted_count = scan.count.saturating_add(context.worker.rng.usize(..=COUNT_VARIES));
    // Empty shards are stepped over, but not without bound: one call looks at no more than all of them.
    while seen < wanted_count && cursor.shard < SHARDS && visited <= SHARDS {
        let shard = cursor.shard;
        let mut overdue = Vec::new();
        cursor = context.with_shard(shard, |data| {
            let Some(table) = data.table(db) else { return cursor.advance(0) };
            let left = wanted_count - seen;
            let next = table.scan(cursor.position, left, |entry| {
                seen += 1;
                let kind = || Kind::of(&entry.kept()).name();
                if hidden.hides(entry.key())
                    || !scan.takes(entry.key())
                    || wanted.is_some_and(|wanted| !is_word(wanted, kind()))
                {
                    return;
                }
                if is_due(&entry, due_ms) {
                    overdue.push(entry.key().to_vec());
                } else {
                    items.bulk(entry.key());
                    count += 1;
                }
            });
            cursor.advance(next)
        })?;
        delete_overdue(context, shard, &overdue)?;
        visited += 1;
    }
    Ok((cursor.encode(), count))
}

pub(super) fn randomkey(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let key = random_key(context)?;
    context.reply.bulk_or_null(key.as_deref());
    Ok(())
}

/// A key drawn uniformly: a shard by its number of keys, then a key of the shard. Where keys that
/// are overdue stay, and nothing else is found, it is one of these, as in Valkey.
fn random_key(context: &mut Context<'_>) -> CommandResult<Option<Vec<u8>>> {
    let (mut missed, mut overdue) = (0, None);
    while missed < RANDOM_TRIES {
        match draw(context)? {
            Draw::Empty => return Ok(None),
            Draw::Overdue(key) if context.leaves_overdue() => {
                missed += 1;
                overdue = Some(key);
            }
            Draw::Overdue(_) => {}
            Draw::Missed => missed += 1,
            Draw::Key(key) => return Ok(Some(key)),
        }
    }
    Ok(overdue)
}

enum Draw {
    /// The database has no keys.
    Empty,
    /// A key whose time is over. It is deleted, unless such keys stay.
    Overdue(Vec<u8>),
    /// One that has gone in between.
    Missed,
    Key(Vec<u8>),
}

fn draw(context: &mut Context<'_>) -> CommandResult<Draw> {
    let (db, due_ms) = (context.db, context.due_ms());
    let hidden = context.engine.cluster.migrations.hidden();
    let len = |shard: usize| {
        move |data: &mut ShardData| data.table(db).map_or(0, |table| hidden.visible_len(shard, table))
    };
    let lens =
        (0..SHARDS).map(|shard| context.with_shard(shard, len(shard))).collect::<CommandResult<Vec<_>>>()?;
    let total: usize = lens.iter().sum();
    if total == 0 {
        return Ok(Draw::Empty);
    }
    let mut pick = context.worker.rng.usize(..total);
    let shard = lens.iter().position(|&len| {
        pick < len || {
            pick -= len;
            false
        }
    });
    let shard = shard.expect("the number drawn is below the sum");
    let mut rng = context.worker.rng.fork();
    let drawn = context.with_shard(shard, |data| {
        let table = data.table(db)?;
        let mut tries = std::iter::repeat_with(|| table.random(&mut rng)).take(VISIBLE_TRIES);
        match tries.find_map(|entry| entry.filter(|entry| !hidden.hides(entry.key()))) {
            Some(entry) => Some((entry.key().to_vec(), is_due(&entry, due_ms))),
            None => visible_at(shard, table, hidden, pick, due_ms),
        }
    })?;
    match drawn {
        Some((key, true)) => {
            delete_overdue(context, shard, std::slice::from_ref(&key))?;
            Ok(Draw::Overdue(key))
        }
        Some((key, false)) => Ok(Draw::Key(key)),
        None => Ok(Draw::Missed),
    }
}

/// The key at a place among those of a shard that are to be seen, and whether it is overdue. O(keys
/// before it in its slot + slots).
fn visible_at(
    shard: usize,
    table: &Table,
    hidden: &SharedSlots,
    mut place: usize,
    due_ms: u64,
) -> Option<(Vec<u8>, bool)> {
    for slot in slots_of_shard(shard).filter(|&slot| !hidden.contains(slot)) {
        let count = table.count_prefix(prefix_of_slot(slot));
        if place >= count {
            place -= count;
            continue;
        }
        let mut found = None;
        table.walk_prefix(prefix_of_slot(slot), |entry| {
            if place == 0 {
                found = Some((entry.key().to_vec(), is_due(&entry, due_ms)));
            }
            place = place.wrapping_sub(1);
            found.is_none()
        });
        return found;
    }
    None
}
