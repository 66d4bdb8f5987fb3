//! Reading fields: by name, all of them, some at random, by cursor.

use crate::commands::draw::draw_repeatedly;
use crate::commands::scan::{Scan, Without, parse_cursor, reply_step_of};
use crate::context::{Context, bytes_as_elements, lookups_as_elements};
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::hash::{Field, Hash};
use larder_resp::{Args, Reply};

/// Reads the hash of the key that the command names.
fn read<'a, R>(
    context: &mut Context<'a>,
    args: Args<'_>,
    f: impl FnOnce(Option<&Hash>, u64, &mut Reply<'a>) -> CommandResult<R>,
) -> CommandResult<R> {
    let (key, due_ms) = (context.key(args.at(1)), context.due_ms());
    context.read_value(&key, |hash: Option<&Hash>, reply| f(hash, due_ms, reply))
}

pub(super) fn hget(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    read(context, args, |hash, due_ms, reply| {
        reply.bulk_or_null(hash.and_then(|hash| hash.get(args.at(2), due_ms)));
        Ok(())
    })
}

pub(super) fn hmget(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (key, due_ms, names) = (context.key(args.at(1)), context.due_ms(), args.from(2));
    context.read_long(
        &key,
        |hash| cost_of_some(hash, names.len() as u64),
        |hash: Option<&Hash>, reply| {
            reply.array(names.len());
            match hash {
                Some(hash) => hash.get_each(names.iter(), due_ms, |value| reply.bulk_or_null(value)),
                None => (0..names.len()).for_each(|_| reply.bulk_or_null(None)),
            }
            Ok(())
        },
    )
}

pub(super) fn hlen(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    // On a replica, in `import-mode`, and while writes are paused, overdue fields are there until they may be deleted, though they are
    // not shown.
    let counts_all = context.leaves_overdue();
    let (key, due_ms) = (context.key(args.at(1)), context.due_ms());
    // Those that are due have to be counted.
    let cost = |hash: &Hash| if counts_all || hash.soonest() > due_ms { 0 } else { hash.len() as u64 };
    context.read_long(&key, cost, |hash: Option<&Hash>, reply| {
        let len = |hash: &Hash| if counts_all { hash.len() } else { hash.live(due_ms) };
        reply.count(hash.map_or(0, len));
        Ok(())
    })
}

pub(super) fn hstrlen(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    read(context, args, |hash, due_ms, reply| {
        reply.count(hash.and_then(|hash| hash.peek(args.at(2), due_ms)).map_or(0, |field| field.value_len()));
        Ok(())
    })
}

pub(super) fn hexists(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    read(context, args, |hash, due_ms, reply| {
        let found = hash.is_some_and(|hash| hash.peek(args.at(2), due_ms).is_some());
        reply.int(i64::from(found));
        Ok(())
    })
}

pub(super) fn hgetall(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if context.worker.wants_hash {
        let (key, due_ms) = (context.key(args.at(1)), context.due_ms());
        let hash = context.read_value(&key, |hash: Option<&Hash>, _| {
            // The client walks over it when all that is to be done here is over.
            Ok(hash.inspect(|hash| hash.prefetch_walk()).cloned())
        })?;
        context.worker.hash = hash.map(|hash| (hash, due_ms));
        return Ok(());
    }
    let fields = |hash: &Hash, due_ms, reply: &mut Reply<'_>| {
        hash.for_each(due_ms, |field| {
            reply.bulk(field.name);
            reply.bulk(field.value);
        });
    };
    all(context, args, cost, |reply, len| reply.map(len), fields)
}

pub(super) fn hkeys(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let names = |hash: &Hash, due_ms, reply: &mut Reply<'_>| {
        hash.peeks(due_ms).for_each(|field| reply.bulk(field.name()));
    };
    all(context, args, |hash| hash.len() as u64, |reply, len| reply.array(len), names)
}

pub(super) fn hvals(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let values = |hash: &Hash, due_ms, reply: &mut Reply<'_>| {
        hash.for_each(due_ms, |field| reply.bulk(field.value));
    };
    all(context, args, cost, |reply, len| reply.array(len), values)
}

/// How many elements take as long as all of the hash: its memory may be that of compressed values, which take four times as long.
fn cost(hash: &Hash) -> u64 {
    // Of one block it would have to be counted.
    let bytes = if hash.is_one_block() { 0 } else { hash.memory_bytes() * 4 };
    (hash.len() as u64).max(bytes_as_elements(bytes))
}

/// The same for some fields of it, if they are like the others.
fn cost_of_some(hash: &Hash, fields: u64) -> u64 {
    let len = hash.len().max(1) as u64;
    let part = u128::from(cost(hash)) * u128::from(fields) / u128::from(len);
    lookups_as_elements(fields, hash.cold_segments()).max(u64::try_from(part).unwrap_or(u64::MAX))
}

/// Replies with something of every field: `write` of all that are live, after `open` for their number. `cost` is in elements.
fn all(
    context: &mut Context<'_>,
    args: Args<'_>,
    cost: fn(&Hash) -> u64,
    open: impl Fn(&mut Reply<'_>, usize),
    write: impl Fn(&Hash, u64, &mut Reply<'_>),
) -> CommandResult {
    let (key, due_ms) = (context.key(args.at(1)), context.due_ms());
    context.read_long(&key, cost, |hash, reply| {
        open(reply, hash.map_or(0, |hash| hash.live(due_ms)));
        hash.into_iter().for_each(|hash| write(hash, due_ms, reply));
        Ok(())
    })
}

pub(super) fn hrandfield(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let mut rng = context.worker.rng.fork();
    let Some(count) = args.get(2) else {
        return read(context, args, |hash, due_ms, reply| {
            let field = hash.and_then(|hash| hash.random(due_ms, &mut rng));
            reply.bulk_or_null(field.map(|field| field.name));
            Ok(())
        });
    };
    let count = number::negatable(count)?;
    let with_values = args.get(3).is_some();
    if args.len() > 4 || with_values && !is_word(args.at(3), "withvalues") {
        return Err(CommandError::SYNTAX);
    }
    if with_values && count.unsigned_abs() > i64::MAX as u64 / 2 {
        return Err(CommandError::OUT_OF_RANGE);
    }
    if count < 0 {
        return draw(context, args, count.unsigned_abs(), with_values, &mut rng);
    }
    let (key, due_ms) = (context.key(args.at(1)), context.due_ms());
    context.read_long(
        &key,
        |hash: &Hash| {
            let fields = (count as u64).min(hash.len() as u64);
            if with_values { cost_of_some(hash, fields) } else { fields }
        },
        |hash, reply| {
            let Some(hash) = hash else {
                reply.array(0);
                return Ok(());
            };
            let len = hash.live(due_ms).min(count as usize);
            open_random(len, with_values, reply);
            hash.random_distinct(len, due_ms, &mut rng, |field| write_random(field, with_values, reply));
            Ok(())
        },
    )
}

/// Opens the reply of HRANDFIELD: pairs are arrays of their own in RESP3, and lie flat in RESP2.
fn open_random(fields: usize, with_values: bool, reply: &mut Reply<'_>) {
    reply.array(if with_values && !reply.is_resp3() { fields * 2 } else { fields });
}

fn write_random(field: Field<'_>, with_values: bool, reply: &mut Reply<'_>) {
    if with_values && reply.is_resp3() {
        reply.array(2);
    }
    reply.bulk(field.name);
    if with_values {
        reply.bulk(field.value);
    }
}

/// Draws fields that may repeat.
fn draw(
    context: &mut Context<'_>,
    args: Args<'_>,
    count: u64,
    with_values: bool,
    rng: &mut fastrand::Rng,
) -> CommandResult {
    let (key, due_ms) = (context.key(args.at(1)), context.due_ms());
    let hash: Option<Hash> = context.value_clone(&key)?;
    let Some(hash) = hash.filter(|hash| hash.live(due_ms) > 0) else {
        context.reply.array(0);
        return Ok(());
    };
    let open = |reply: &mut Reply<'_>| open_random(count as usize, with_values, reply);
    draw_repeatedly(context, count, open, |reply| {
        let field = hash.random(due_ms, rng).expect("a field is alive");
        write_random(field, with_values, reply);
    })
}

pub(super) fn hscan(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let cursor = parse_cursor(args.at(2))?;
    let (key, due_ms) = (context.key(args.at(1)), context.due_ms());
    reply_step_of(
        context,
        &key,
        args.from(3),
        |hash: &Hash| hash.len() as u64,
        |hash, items| {
            let (scan, no_values) = Scan::parse_with_word(args.from(3), Without::Values)?;
            Ok(collect(hash, cursor, &scan, !no_values, due_ms, items))
        },
    )
}

/// Writes the fields of one step that match; returns the next cursor and the number of items.
fn collect(
    hash: &Hash,
    cursor: u64,
    scan: &Scan<'_>,
    values: bool,
    due_ms: u64,
    items: &mut Reply<'_>,
) -> (u64, usize) {
    let mut count = 0;
    let next = hash.scan(cursor, scan.count, due_ms, |field| {
        if scan.takes(field.name()) {
            items.bulk(field.name());
            if values {
                items.bulk(&field.value());
            }
            count += 1 + usize::from(values);
        }
    });
    (next, count)
}
