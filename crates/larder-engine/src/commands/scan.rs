//! What the scanning commands have in common: the cursor, COUNT and MATCH, and the reply of a step.

use crate::commands::cursor::{conceal, reveal};
use crate::context::{Context, MOMENT, Typed};
use crate::error::{CommandError, CommandResult};
use crate::keyspace::key::Key;
use crate::text::word::is_word;
use crate::text::{glob, number};
use larder_resp::{Args, Reply};

/// The options that all of them have.
pub(crate) struct Scan<'a> {
    /// How many elements a step should look at.
    pub count: usize,
    pattern: Option<&'a [u8]>,
}

/// What a scan may leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Without {
    /// The values of a hash.
    Values,
    /// The scores of a sorted set.
    Scores,
}

impl Without {
    fn of(word: &[u8]) -> Option<Without> {
        match word {
            _ if is_word(word, "novalues") => Some(Without::Values),
            _ if is_word(word, "noscores") => Some(Without::Scores),
            _ => None,
        }
    }
}

impl<'a> Scan<'a> {
    /// Parses what stands after the cursor. `own` takes a word that is none of these, with its value if one follows, and
    /// says how many arguments it has used; 0 refuses it.
    pub(crate) fn parse(
        args: Args<'a>,
        mut own: impl FnMut(&'a [u8], Option<&'a [u8]>) -> CommandResult<usize>,
    ) -> CommandResult<Self> {
        let mut scan = Scan { count: 10, pattern: None };
        let mut at = 0;
        while at < args.len() {
            let (word, value) = (args.at(at), args.get(at + 1));
            at += match value {
                Some(value) if is_word(word, "count") => {
                    let count = number::integer(value)?;
                    scan.count =
                        usize::try_from(count).ok().filter(|&n| n > 0).ok_or(CommandError::SYNTAX)?;
                    2
                }
                Some(value) if is_word(word, "match") => {
                    scan.pattern = Some(value);
                    2
                }
                _ => match own(word, value)? {
                    0 => return Err(unknown(word)),
                    used => used,
                },
            };
        }
        Ok(scan)
    }

    /// The same for a command without options of its own.
    pub(crate) fn parse_plain(args: Args<'a>) -> CommandResult<Self> {
        Scan::parse(args, |_, _| Ok(0))
    }

    /// The same for a command of which not all replies have values; also says whether this one has none.
    pub(crate) fn parse_with_word(args: Args<'a>, own: Without) -> CommandResult<(Self, bool)> {
        let mut found = false;
        let scan = Scan::parse(args, |given, _| {
            let is_own = Without::of(given) == Some(own);
            found |= is_own;
            Ok(usize::from(is_own))
        })?;
        Ok((scan, found))
    }

    /// What MATCH asks for.
    pub(crate) fn pattern(&self) -> Option<&'a [u8]> {
        self.pattern
    }

    /// Whether MATCH lets an element through.
    pub(crate) fn takes(&self, text: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| glob::selects(pattern, text))
    }
}

/// The error for a word that a command does not take.
fn unknown(word: &[u8]) -> CommandError {
    match Without::of(word) {
        Some(Without::Values) => CommandError::Fixed("ERR NOVALUES option can only be used in HSCAN"),
        Some(Without::Scores) => CommandError::Fixed("ERR NOSCORES option can only be used in ZSCAN"),
        None => CommandError::SYNTAX,
    }
}

/// What TYPE may be asked for.
const TYPES: [&str; 6] = ["hash", "list", "set", "stream", "string", "zset"];

/// The type that a scan of keys asks for by this word and what follows it; `None` if the word is another one.
pub(crate) fn wanted_type<'a>(word: &[u8], value: Option<&'a [u8]>) -> CommandResult<Option<&'a [u8]>> {
    let Some(value) = value.filter(|_| is_word(word, "type")) else { return Ok(None) };
    if !TYPES.iter().any(|known| is_word(value, known)) {
        let value = number::c_string(value);
        return Err(CommandError::Text([b"ERR unknown type name '", value, b"'"].concat()));
    }
    Ok(Some(value))
}

/// Deletes keys of a shard that a walk has found to be overdue, as any command does that comes across one.
pub(crate) fn delete_overdue(context: &mut Context<'_>, shard: usize, names: &[Vec<u8>]) -> CommandResult {
    if names.is_empty() {
        return Ok(());
    }
    context.with_shard_held(shard, |context| {
        for name in names {
            let key = context.key(name);
            // Looking it up deletes it, unless it was written again since the walk came by.
            context.peek(&key, |_| ());
        }
    })
}

/// The position that a cursor stands for.
pub(crate) fn parse_cursor(arg: &[u8]) -> CommandResult<u64> {
    number::parse_u64_of_c(arg).map(reveal).ok_or(CommandError::INVALID_CURSOR)
}

/// How many elements a step of a collection of this length looks at, with these options, if they may be many.
fn asked(options: Args<'_>, len: u64) -> u64 {
    if len <= MOMENT {
        return 0;
    }
    let scan = Scan::parse(options, |word, _| Ok(usize::from(Without::of(word).is_some())));
    scan.map_or(0, |scan| len.min(scan.count as u64))
}

/// Replies with a step of a collection, that `step` takes; the options may not have been looked at. A long one is taken of a clone.
pub(crate) fn reply_step_of<T: Typed>(
    context: &mut Context<'_>,
    key: &Key<'_>,
    options: Args<'_>,
    len: impl FnOnce(&T) -> u64,
    step: impl FnOnce(&T, &mut Reply<'_>) -> CommandResult<(u64, usize)>,
) -> CommandResult {
    reply_step(context, |context, items| {
        // Without a key, the options do not matter.
        let mut taken = (0, 0);
        let work = |value: &T| asked(options, len(value));
        context.read_long(key, work, |value, _| {
            if let Some(value) = value {
                taken = step(value, items)?;
            }
            Ok(())
        })?;
        Ok(taken)
    })
}

/// Replies with a step: `step` writes the items and returns the next position and the number of items.
pub(crate) fn reply_step(
    context: &mut Context<'_>,
    step: impl FnOnce(&mut Context<'_>, &mut Reply<'_>) -> CommandResult<(u64, usize)>,
) -> CommandResult {
    reply_step_to(context, step, |next, reply| {
        reply.bulk(itoa::Buffer::new().format(conceal(next)).as_bytes());
    })
}

/// The same with cursors of another kind, which `write_cursor` writes.
pub(crate) fn reply_step_to<C>(
    context: &mut Context<'_>,
    step: impl FnOnce(&mut Context<'_>, &mut Reply<'_>) -> CommandResult<(C, usize)>,
    write_cursor: impl FnOnce(C, &mut Reply<'_>),
) -> CommandResult {
    let mut items = std::mem::take(&mut context.worker.scratch);
    items.clear();
    let protocol = context.reply.protocol();
    let done = step(context, &mut Reply::new(&mut items, protocol)).map(|(next, count)| {
        context.reply.array(2);
        write_cursor(next, &mut context.reply);
        context.reply.array(count);
        context.reply.raw(&items);
    });
    items.clear();
    items.shrink_to(1 << 20);
    context.worker.scratch = items;
    done
}
