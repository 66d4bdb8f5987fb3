//! Reading and changing a list by position and by value.

use super::{position, range};
use crate::commands::scan::{Scan, parse_cursor, reply_step_of};
use crate::context::Context;
use crate::context::replies::{element_bytes, write_element};
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::list::{Element, List};
use larder_packed::block::{Direction, Needle};
use larder_resp::{Args, Reply};
use std::ops::ControlFlow;

pub(super) fn llen(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    context.read_value(&key, |list: Option<&List>, reply| {
        reply.int(list.map_or(0, |list| list.len() as i64));
        Ok(())
    })
}

pub(super) fn lindex(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    context.read_value(&key, |list: Option<&List>, reply| {
        let Some(list) = list else {
            reply.null();
            return Ok(());
        };
        let at = position(number::integer(&args[2])?, list.len());
        if at.and_then(|at| list.with_element(at, |element| write_element(reply, element))).is_none() {
            reply.null();
        }
        Ok(())
    })
}

pub(super) fn lrange(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (start, end) = (number::integer(&args[2])?, number::integer(&args[3])?);
    let key = context.key(args.at(1));
    let count = |list: &List| range(start, end, list.len()).1;
    context.read_long(&key, count, |list, reply| {
        let (from, count) = list.map_or((0, 0), |list| range(start, end, list.len()));
        reply.array(count as usize);
        if let Some(list) = list.filter(|_| count > 0) {
            let _ = list.for_each_range::<()>(from, count, |element| {
                write_element(reply, element);
                ControlFlow::Continue(())
            });
        }
        Ok(())
    })
}

pub(super) fn lset(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    let set = context.with_list(&key, |list, options, _| {
        let at = position(number::integer(&args[2])?, list.len()).ok_or(CommandError::INDEX_OUT_OF_RANGE)?;
        list.set(at, &args[3], options);
        Ok(())
    })?;
    set.ok_or(CommandError::NO_SUCH_KEY)?;
    context.modified(&key);
    context.notify(class::LIST, "lset", &key);
    context.reply.ok();
    Ok(())
}

pub(super) fn linsert(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let after = match &args[2] {
        word if is_word(word, "after") => true,
        word if is_word(word, "before") => false,
        _ => return Err(CommandError::SYNTAX),
    };
    let key = context.key(args.at(1));
    let options = context.worker.list_options;
    let inserted = context.change_long(&key, args, all_of, move |list: &mut List, (), args, _| {
        let pivot = find(list, &args[3])?;
        list.insert(pivot + u64::from(after), &args[4], &options);
        Some(list.len() as i64)
    })?;
    if let Some(Some(_)) = inserted {
        context.modified(&key);
        context.notify(class::LIST, "linsert", &key);
    }
    context.reply.int(inserted.map_or(0, |found| found.unwrap_or(-1)));
    Ok(())
}

/// The plan of a command that goes through all elements.
fn all_of(list: &List) -> (u64, ()) {
    (list.len(), ())
}

/// Position of the first element equal to `value`.
fn find(list: &List, value: &[u8]) -> Option<u64> {
    list.find(value, 0, list.len(), Direction::Forward)
}

pub(super) fn lrem(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let count = number::negatable(&args[2])?;
    let key = context.key(args.at(1));
    let options = context.worker.list_options;
    let removed = context.change_long(&key, args, all_of, move |list: &mut List, (), args, _| {
        list.remove_matching(&args[3], count.unsigned_abs(), count < 0, &options)
    })?;
    let removed = removed.unwrap_or(0);
    if removed > 0 {
        context.modified_by(&key, removed as usize);
        context.notify(class::LIST, "lrem", &key);
        context.notify_emptied(&key);
    }
    context.reply.int(removed as i64);
    Ok(())
}

pub(super) fn ltrim(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (start, end) = (number::integer(&args[2])?, number::integer(&args[3])?);
    let key = context.key(args.at(1));
    let moment = context.moment();
    let trimmed = context.with_list(&key, |list, options, _| {
        let before = list.len();
        let (from, count) = range(start, end, before);
        // Whole blocks go at once.
        moment.allows((before - count) / 16)?;
        list.remove_range(from + count, list.len() - from - count, options);
        list.remove_range(0, from, options);
        Ok(before - list.len())
    })?;
    if let Some(removed) = trimmed {
        if removed > 0 {
            context.modified_by(&key, removed as usize);
        }
        context.notify(class::LIST, "ltrim", &key);
        context.notify_emptied(&key);
    }
    context.reply.ok();
    Ok(())
}

/// The options of LPOS.
struct Search {
    rank: i64,
    count: Option<u64>,
    max_len: u64,
}

const RANK_ZERO: CommandError = CommandError::Fixed(
    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from \
     the end of the list",
);

impl Search {
    fn parse(args: Args<'_>) -> CommandResult<Self> {
        let mut search = Search { rank: 1, count: None, max_len: 0 };
        for at in (0..args.len()).step_by(2) {
            let (word, value) = (&args[at], args.get(at + 1).ok_or(CommandError::SYNTAX)?);
            if is_word(word, "rank") {
                search.rank = number::negatable(value)?;
            } else if is_word(word, "count") {
                search.count =
                    Some(number::positive_or(value, CommandError::Fixed("ERR COUNT can't be negative"))?
                        as u64);
            } else if is_word(word, "maxlen") {
                search.max_len =
                    number::positive_or(value, CommandError::Fixed("ERR MAXLEN can't be negative"))? as u64;
            } else {
                return Err(CommandError::SYNTAX);
            }
            if search.rank == 0 {
                return Err(RANK_ZERO);
            }
        }
        Ok(search)
    }

    /// How many elements are looked at, at most.
    fn reach(&self, list: &List) -> u64 {
        if self.max_len == 0 { list.len() } else { self.max_len.min(list.len()) }
    }

    /// The positions found, in the order of the search.
    fn run(&self, list: &List, value: &[u8]) -> Vec<u64> {
        let wanted = Needle::new(value);
        let look_at = self.reach(list);
        let find_max = match self.count {
            None => 1,
            Some(0) => u64::MAX,
            Some(count) => count,
        };
        let mut skip = self.rank.unsigned_abs() - 1;
        let (mut seen, mut found) = (0, Vec::new());
        let visit = |element: Element<'_>| {
            if wanted.matches(element) {
                if skip == 0 {
                    found.push(seen);
                } else {
                    skip -= 1;
                }
            }
            seen += 1;
            if found.len() as u64 >= find_max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        if self.rank > 0 {
            let _ = list.for_each_range(0, look_at, visit);
        } else {
            let _ = list.for_each_range_rev(list.len() - 1, look_at, visit);
            found.iter_mut().for_each(|at| *at = list.len() - 1 - *at);
        }
        found
    }
}

pub(super) fn lpos(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let search = Search::parse(args.from(3))?;
    let key = context.key(args.at(1));
    context.read_long(
        &key,
        |list: &List| search.reach(list),
        |list, reply| {
            let found = list.map_or_else(Vec::new, |list| search.run(list, &args[2]));
            match (search.count, found.first()) {
                (None, Some(&at)) => reply.int(at as i64),
                (None, None) => reply.null(),
                (Some(_), _) => {
                    reply.array(found.len());
                    found.iter().for_each(|&at| reply.int(at as i64));
                }
            }
            Ok(())
        },
    )
}

pub(super) fn lscan(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let cursor = parse_cursor(&args[2])?;
    let scan = Scan::parse_plain(args.from(3))?;
    let key = context.key(args.at(1));
    reply_step_of(context, &key, args.from(3), List::len, |list, items| collect(list, cursor, &scan, items))
}

/// Writes the elements of one step that match; returns the next cursor and their number.
fn collect(list: &List, cursor: u64, scan: &Scan<'_>, items: &mut Reply<'_>) -> CommandResult<(u64, usize)> {
    let mut count = 0;
    let mut number = itoa::Buffer::new();
    let next = list.scan(cursor, scan.count, |element| {
        let text = element_bytes(&element, &mut number);
        if scan.takes(text) {
            items.bulk(text);
            count += 1;
        }
    });
    Ok((next.map_err(|_| CommandError::INVALID_CURSOR)?, count))
}
